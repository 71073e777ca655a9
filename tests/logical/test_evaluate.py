"""The whole logical half at once: whatever the plan, its results are those of each window from scratch."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from muntin import Window, agg, optimize
from muntin.aggregate.define import define
from muntin.aggregate.names import BUILT_IN
from muntin.errors import OptimizeError
from muntin.logical.cost import CostModel, Period, cost_model
from muntin.logical.optimize import OPTIMIZERS, search
from muntin.logical.relation import Covers, Relation, Sharing
from muntin.testing import count_reads, evaluate, from_scratch
from muntin.window.interval import Interval
from tests.logical.draw import Event, draw_events, draw_windows, seeds

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.logical.forest import Forest

EVALUATED = {name: f for name, f in BUILT_IN.items() if not f.sketch}
SHARED = {name: f for name, f in EVALUATED.items() if f.shareable}
RATES: list[int | str] = [1, "3/2", 4, 100]
PERIODS: list[Period] = ["paper", "steady"]
COVERS: list[Covers] = ["dense", "sparse"]

# Few values, because ties and repeated values show what order and overlap do; nulls among them.
NUMBERS = [None, 0, 1, 1, 2, -3, 10**20, 7]
FLOATS = [None, 0.1, 0.2, 0.7, 1e6, 3.5, 12.25, 1 / 3]
VALUES: dict[str, list[Any]] = {
    name: NUMBERS for name in ("min", "max", "count", "range", "min_count", "max_count", "first", "last")
} | {
    "sum": NUMBERS,
    "collect": NUMBERS,
    "collect_distinct": NUMBERS,
    "any": [None, True, False, False, False],
    "all": [None, True, True, True, False],
    "concat": [None, "a", "b", "", "cd"],
    "arg_min": [(None, "x"), (1, "a"), (1, "b"), (2, None), (0, "c"), (0, "d")],
    "arg_max": [(None, "x"), (1, "a"), (1, "b"), (2, None), (2, "c"), (0, "d")],
    "median": FLOATS,
    "count_distinct": NUMBERS,
}

# What happened where, in order, and with nothing counted twice: no other aggregate sees more of a plan.
LOG = agg.collect
SEEN = agg.collect_distinct


def values_of(function: AggregateFunction) -> list[Any]:
    return VALUES.get(function.name, FLOATS)


def agree(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return type(one) is type(other) and bool(one == other)


def check_results(case: object, plan: Any, windows: list[Window], events: list[Event], f: AggregateFunction) -> int:
    evaluation = evaluate(plan, events, f)
    compared = 0
    for window in windows:
        expected = from_scratch(window, events, f)
        found = evaluation[window]
        assert list(found) == list(expected), (case, window, f)
        for interval, result in expected.items():
            assert agree(found[interval], result), (case, window, f, interval, found[interval], result)
            compared += 1
    return compared


def forests(windows: list[Window], model: CostModel, sharing: Sharing) -> Iterator[Forest]:
    """All different forests that the optimizers make of a window set under one sharing."""
    found: dict[object, Forest] = {}
    for optimizer, covers in product(OPTIMIZERS, COVERS):
        forest = search(optimizer, windows, Relation(sharing, covers), model).forest
        found[tuple((n.window, n.parent, forest.starts(n)) for n in forest.nodes)] = forest
    return iter(found.values())


def numbered(rng: random.Random) -> list[Event]:
    """Draw events whose values tell them apart."""
    return [(time, i) for i, (time, _) in enumerate(draw_events(rng, [0]))]


@pytest.mark.parametrize("part", [0, 1, *(pytest.param(part, marks=pytest.mark.slow) for part in range(2, 6))])
def test_every_plan_of_every_optimizer_sees_each_event_where_it_belongs(part: int) -> None:
    """Exact partitions keep a full log of events; overlapping covers, the log without repetitions."""
    compared = shared = factors = 0
    for seed, rng in seeds(60, start=1000 * part):
        windows = draw_windows(rng, most=6, longest=24, pane=rng.choice([1, 1, 2]))
        model = cost_model(windows, rate=rng.choice(RATES), period=rng.choice(PERIODS))
        events = numbered(rng)
        for sharing, function in (("partitioned", LOG), ("covered", SEEN)):
            for forest in forests(windows, model, sharing):  # type: ignore[arg-type]
                compared += check_results((seed, forest), forest, windows, events, function)
                shared += any(node.parent for node in forest.nodes)
                factors += bool(forest.factor_windows)
    assert compared > 5000
    assert shared > 100
    assert factors > 60


@pytest.mark.parametrize("name", SHARED)
def test_every_shareable_aggregate(name: str) -> None:
    """Each aggregate by itself, through the plans that `optimize` makes for it."""
    function = SHARED[name]
    compared = shared = 0
    for seed, rng in seeds(14, start=7000):
        windows = draw_windows(rng, most=5, longest=24)
        events = draw_events(rng, values_of(function))
        for optimizer in OPTIMIZERS:
            plan = optimize(windows, function, optimizer=optimizer, rate=rng.choice(RATES), period=rng.choice(PERIODS))
            compared += check_results((seed, optimizer), plan, windows, events, function)
            shared += any(node.parent for node in plan.groups[0].forest.nodes)
    assert compared > 500
    assert shared > 10


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_several_aggregates_in_one_plan(part: int) -> None:
    """All aggregates together, grouped and merged as the planner sees fit, holistic ones beside them."""
    for seed, rng in seeds(12, start=8000 + 100 * part):
        windows = draw_windows(rng, most=5, longest=24)
        functions = list(EVALUATED.values())
        for optimizer in OPTIMIZERS:
            plan = optimize(windows, functions, optimizer=optimizer, rate=rng.choice(RATES))
            for function in functions:
                events = draw_events(rng, values_of(function), most=25)
                check_results((seed, optimizer), plan, windows, events, function)


@pytest.mark.parametrize("sharing", ["covered", "partitioned"])
@pytest.mark.parametrize("period", PERIODS)
def test_counted_reads_are_the_cost(sharing: Sharing, period: Period) -> None:
    """Run over one period at the model's rate, each node folds as many items as the model says, to the item."""
    whole = 0
    for seed, rng in seeds(40, start=9000):
        # Even lengths: at 3/2 events per unit they hold whole numbers of events.
        windows = draw_windows(rng, most=4, longest=20, pane=2, period=240)
        model = cost_model(windows, rate=rng.choice(RATES[:3]), unit=1, period=period)
        for forest in forests(windows, model, sharing):
            if any((model.rate * n.window.range).denominator != 1 for n in forest.nodes):
                continue
            counted = count_reads(forest)
            for node in forest.nodes:
                assert counted[node.window] == math.floor(node.instances) * node.reads, (seed, forest, node)
            if all(node.instances == math.floor(node.instances) for node in forest.nodes):
                assert sum(counted.values()) == forest.cost, (seed, forest)
                whole += 1
    assert whole > 60


def test_counted_reads_of_the_running_example() -> None:
    windows = [Window(20, 20), Window(30, 30), Window(40, 40)]
    for optimizer, cost in (("none", 360), ("mincost", 246), ("factor", 150), ("exact", 150)):
        plan = optimize(windows, agg.min, optimizer=optimizer)  # type: ignore[arg-type]
        assert sum(count_reads(plan.groups[0].forest).values()) == plan.cost == cost


def test_sparse_covers_read_less() -> None:
    windows = [Window(72, 1), Window(144, 1)]
    dense, sparse = (
        optimize(windows, agg.sum, optimizer="mincost", period="steady", rate=4, covers=covers) for covers in COVERS
    )
    # SUM cannot read a hopping parent densely: its 73 intervals overlap. Two of them tile it.
    assert dense.parent_of(Window(144, 1)) is None
    assert sparse.parent_of(Window(144, 1)) == Window(72, 1)
    assert count_reads(sparse.groups[0].forest)[Window(144, 1)] == 2 * 144
    events = [(t, t % 7) for t in range(-200, 200, 3)]
    check_results("sparse", sparse, windows, events, agg.sum)


def test_order_matters_to_the_evaluator() -> None:
    """Events of one time keep the order in which they came; partials are joined earlier first."""
    windows = [Window(2, 2), Window(4, 4)]
    plan = optimize(windows, agg.concat, optimizer="mincost")
    assert plan.parent_of(Window(4, 4)) == Window(2, 2)
    events = [(3, "d"), (0, "a"), (0, "b"), (2, "c")]
    assert evaluate(plan, events, agg.concat)[Window(4, 4)] == {Interval(0, 4): "abcd"}
    assert from_scratch(Window(4, 4), events, agg.concat) == {Interval(0, 4): "abcd"}


def test_incomplete_and_negative_intervals() -> None:
    results = from_scratch(Window(10, 4, 1), [(-1, "x")], agg.collect)
    assert results == {Interval(-7, 3): ["x"], Interval(-3, 7): ["x"]}
    assert from_scratch(Window(10, 4), [], agg.collect) == {}
    plan = optimize([Window(10, 4, 1)], agg.collect)
    assert evaluate(plan, [(-1, "x")], agg.collect)[Window(10, 4, 1)] == results
    assert evaluate(plan, [], agg.collect).results == {"hopping_10_4_offset_1": {}}


def test_a_window_of_nulls_only_is_there() -> None:
    windows = [Window(2, 2), Window(4, 4)]
    for function, expected in ((agg.sum, None), (agg.count, 0), (agg.collect, [])):
        plan = optimize(windows, function, optimizer="mincost")
        found = evaluate(plan, [(0, None), (9, 1)], function)
        assert found[Window(4, 4)][Interval(0, 4)] == expected
        assert Interval(4, 8) not in found[Window(4, 4)]


def test_holistic_aggregates_evaluate_natively() -> None:
    windows = [Window(4, 4), Window(8, 8)]
    plan = optimize(windows, [agg.min, agg.median], optimizer="factor")
    events = [(t, float(t * t % 11)) for t in range(-9, 17)]
    check_results("median", plan, windows, events, agg.median)
    assert plan.parent_of(Window(8, 8), "median") is None
    assert plan.parent_of(Window(8, 8), "min") == Window(4, 4)


def test_user_defined_aggregates_go_through_plans() -> None:
    digits = define("digits", lift=str, combine=lambda x, y: x + y, bounded=False)
    for seed, rng in seeds(10, start=600):
        windows = draw_windows(rng, most=4, longest=20)
        plan = optimize(windows, digits, optimizer="exact", rate=4)
        check_results(seed, plan, windows, draw_events(rng, [1, 2, 3, None]), digits)


def test_the_evaluator_is_not_fooled() -> None:
    """A plan that reads the wrong thing shows: a lost interval, a doubled one, a wrong order."""
    windows = [Window(4, 2), Window(8, 4)]
    events = [(t, t) for t in range(-10, 30)]
    good = optimize(windows, agg.sum, optimizer="mincost", covers="sparse").groups[0].forest
    assert good.node(Window(8, 4)).parent == Window(4, 2)
    check_results("good", good, windows, events, agg.sum)
    # Dense starts (0, 2, 4) under a sum: the middle is counted twice.
    bad = replace(good, relation=Relation("covered", "dense"))
    assert bad.starts(bad.node(Window(8, 4))) == (0, 2, 4)
    with pytest.raises(AssertionError):
        check_results("bad", bad, windows, events, agg.sum)
    # And min does not mind.
    check_results("bad", bad, windows, events, agg.min)


def test_plans_know_their_aggregates() -> None:
    plan = optimize([Window(4, 4)], agg.min)
    with pytest.raises(OptimizeError, match="no aggregate 'sum' in the plan, which has min"):
        evaluate(plan, [(0, 1)], agg.sum)


def test_coinciding_windows_with_two_ids() -> None:
    """One window under two names is computed once, and both names have its results."""
    windows = [Window(4, 4, id="a"), Window(8, 8, id="b"), Window(8, 8, id="c")]
    events = [(t, t) for t in range(-10, 30, 3)]
    for optimizer in OPTIMIZERS:
        plan = optimize(windows, agg.sum, optimizer=optimizer)
        alone = optimize(windows[:2], agg.sum, optimizer=optimizer)
        assert plan.cost == alone.cost, optimizer
        # Written by hand each name would be a query of its own: the baseline counts them all.
        assert (plan.baseline_cost, alone.baseline_cost) == (24, 16), optimizer
        found = evaluate(plan, events, agg.sum).results
        assert list(found) == ["a", "b", "c"]
        assert found["b"] == found["c"] == from_scratch(windows[1], events, agg.sum)
        assert plan.parent_of(windows[1]) == plan.parent_of(windows[2]) == alone.parent_of(windows[1]), optimizer


def test_the_forest_alone_will_do() -> None:
    plan = optimize([Window(20, 20), Window(30, 30)], agg.max, optimizer="factor", rate=3)
    forest = plan.groups[0].forest
    events = [(t, -t) for t in range(-50, 50, 7)]
    assert forest.factor_windows == (Window(10, 10),)
    found = evaluate(forest, events, agg.max)
    assert set(found.results) == {"tumbling_20", "tumbling_30"}
    assert found.results == evaluate(plan, events, agg.max).results
    assert set(found.reads) == {Window(10, 10), Window(20, 20), Window(30, 30)}
