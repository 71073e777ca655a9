"""The optimizers against brute force and against each other."""

from __future__ import annotations

import random
from collections import deque
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING

import pytest

from muntin import Window, agg, hopping, optimize, tumbling
from muntin.logical.cost import CostModel, Number, Period, cost_model
from muntin.logical.graph import coverage_graph
from muntin.logical.mincost import min_cost
from muntin.logical.optimize import OPTIMIZERS, Optimizer, search
from muntin.logical.relation import Covers, Relation, Sharing
from muntin.logical.search import factor_search
from tests.logical.draw import draw_windows, seeds
from tests.logical.literal import Setting, covered, covering_set, partitioned, spans

if TYPE_CHECKING:
    from muntin.logical.exact import Found

KINDS: list[tuple[Sharing, Covers]] = [
    ("covered", "dense"),
    ("covered", "sparse"),
    ("partitioned", "dense"),
    ("partitioned", "sparse"),
]
RATES: list[int | str] = [1, "3/2", 100]
PERIODS: list[Period] = ["paper", "steady"]


def reads(child: Window, parent: Window, relation: Relation) -> int | None:
    """Count by definition what a child reads of a parent: all of the covering set, or the fewest that do."""
    overlap = relation.sharing == "covered"
    if relation.covers == "dense":
        allowed = covered(child, parent) if overlap else partitioned(child, parent)
        return len(covering_set(child, parent)) if allowed else None
    counts = {fewest(start, child, parent, overlap) for start in (child.offset, child.offset + child.slide)}
    return counts.pop() if len(counts) == 1 else None


def fewest(start: int, child: Window, parent: Window, overlap: bool) -> int | None:
    """Breadth-first over how far an interval has been covered."""
    inside = spans(parent, start, start + child.range)
    steps = {start: 0}
    queue = deque(steps)
    while queue:
        reached = queue.popleft()
        for a, b in inside:
            if (a <= reached < b if overlap else a == reached) and b not in steps:
                steps[b] = steps[reached] + 1
                queue.append(b)
    return steps.get(start + child.range)


def cheapest_assignment(windows: list[Window], relation: Relation, model: CostModel) -> Number:
    """Try every parent for every window, cycles excepted."""
    setting = Setting(model.period, Fraction(model.rate), model.steady)
    options = {
        w: {None: setting.events(w)}
        | {p: Fraction(n) for p in windows if p != w and (n := reads(w, p, relation)) is not None}
        for w in windows
    }
    totals = []
    for choice in product(*(options[w] for w in windows)):
        parents = dict(zip(windows, choice, strict=True))
        if all(reaches_events(w, parents) for w in windows):
            totals.append(sum(setting.recurrence(w) * options[w][parents[w]] for w in windows))
    return min(totals)


def reaches_events(window: Window, parents: dict[Window, Window | None]) -> bool:
    steps, at = 0, parents[window]
    while at is not None and steps <= len(parents):
        at, steps = parents[at], steps + 1
    return at is None


@pytest.mark.parametrize(("sharing", "covers"), KINDS)
def test_min_cost_is_the_cheapest_of_all_assignments(sharing: Sharing, covers: Covers) -> None:
    shared = 0
    for seed, rng in seeds(80):
        windows = draw_windows(rng, most=5, longest=24)
        relation = Relation(sharing, covers)
        # At a quarter of an event per unit a parent may have more intervals than there are events.
        model = cost_model(windows, rate=rng.choice([*RATES, "1/4"]), period=rng.choice(PERIODS))
        found = min_cost(coverage_graph(windows, relation), model)
        assert found.cost == cheapest_assignment(windows, relation, model), (seed, windows, relation, model)
        shared += any(node.parent for node in found.nodes)
    assert shared > 10


@pytest.mark.parametrize(("sharing", "covers"), KINDS)
def test_every_factor_window_of_algorithm_3_pays_for_itself(sharing: Sharing, covers: Covers) -> None:
    """Take any one out, let its readers find other parents among the rest: the plan is no cheaper."""
    used = 0
    for seed, rng in seeds(150, start=400):
        windows = draw_windows(rng, most=8, longest=30)
        model = cost_model(windows, rate=rng.choice(RATES), period=rng.choice(PERIODS))
        relation = Relation(sharing, covers)
        found = factor_search(coverage_graph(windows, relation), model)
        for factor in found.factor_windows:
            rest = [w for w in (*windows, *found.factor_windows) if w != factor]
            without = min_cost(coverage_graph(rest, relation), model, windows)
            assert found.cost <= without.cost, (seed, windows, relation, model, factor)
            used += 1
    assert used > 40


def test_theorem_7_every_plan_is_a_forest() -> None:
    """One parent at most, parents first, no cycle, no idle factor window, every wanted window there once."""
    for seed, rng in seeds(60, start=100):
        windows = draw_windows(rng, most=6, longest=20)
        for optimizer, (sharing, covers) in product(OPTIMIZERS, KINDS):
            model = cost_model(windows, rate=rng.choice(RATES))
            found = search(optimizer, windows, Relation(sharing, covers), model).forest
            case = (seed, windows, optimizer, sharing, covers)
            before: set[Window] = set()
            for node in found.nodes:
                assert node.parent is None or node.parent in before, case
                assert node.window not in before, case
                assert node.factor == (node.window not in windows), case
                before.add(node.window)
            assert before >= set(windows), case
            assert all(found.children(factor) for factor in found.factor_windows), case
            assert [node for _, node in found.walk()] != [] and {node for _, node in found.walk()} == set(found.nodes)
            # Each wanted window and factor window pays what it reads, as often as it recurs.
            assert found.cost == sum(
                model.instances(n.window) * (model.events(n.window) if n.parent is None else len(found.starts(n)))
                for n in found.nodes
            ), case


def check_order(seed: int, windows: list[Window], sharing: Sharing, model: CostModel) -> dict[Optimizer, Found]:
    """Each optimizer as `optimize` runs it: the paper's on dense covers, those beyond it on sparse ones."""
    found = {
        optimizer: search(
            optimizer, windows, Relation(sharing, "sparse" if optimizer in ("exact", "auto") else "dense"), model
        )
        for optimizer in OPTIMIZERS
    }
    cost = {optimizer: answer.forest.cost for optimizer, answer in found.items()}
    case = (seed, windows, sharing, model, cost)
    assert cost["none"] == sum(model.from_events(w) for w in windows), case
    assert cost["mincost"] <= cost["none"], case
    assert cost["factor"] <= cost["mincost"], case
    assert cost["auto"] <= cost["factor"], case
    assert found["exact"].gap == 0, case
    assert cost["exact"] <= cost["auto"], case
    gap = found["auto"].gap
    # What `auto` proves must hold of the true optimum.
    if gap is not None:
        assert 0 <= gap <= 1, case
        assert float(cost["exact"]) >= float(cost["auto"]) * (1 - gap) * (1 - 1e-9), case
    return found


@pytest.mark.parametrize("sharing", ["covered", "partitioned"])
@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("rate", RATES)
def test_none_mincost_factor_auto_exact_in_order(rate: int | str, period: Period, sharing: Sharing) -> None:
    better = dict.fromkeys(OPTIMIZERS, 0)
    for seed, rng in seeds(40, start=200):
        windows = draw_windows(rng, most=6, longest=24, pane=rng.choice([1, 1, 3]))
        found = check_order(seed, windows, sharing, cost_model(windows, rate=rate, period=period))
        for worse, optimizer in pairwise(OPTIMIZERS[:4]):
            better[optimizer] += found[optimizer].forest.cost < found[worse].forest.cost
    assert better["mincost"] > 3
    assert better["exact"] > 3


@pytest.mark.slow
@pytest.mark.parametrize("sharing", ["covered", "partitioned"])
def test_order_holds_for_many_more_sets(sharing: Sharing) -> None:
    for seed, rng in seeds(150, start=10_000):
        windows = draw_windows(rng, most=8, longest=30)
        check_order(seed, windows, sharing, cost_model(windows, rate=rng.choice(RATES), period=rng.choice(PERIODS)))


def test_durations_plan_as_whole_numbers_do() -> None:
    """The same windows in minutes and in plain numbers have the same plans and costs."""
    timed = [tumbling("20m"), hopping("1h", slide="10m"), hopping("90m", slide="30m", offset="10m")]
    plain = [Window(20, 20), Window(60, 10), Window(90, 30, 10)]
    for optimizer in OPTIMIZERS:
        for function in (agg.min, agg.sum):
            a, b = (optimize(ws, function, optimizer=optimizer, rate=7) for ws in (timed, plain))
            assert (a.cost, a.baseline_cost, a.gap) == (b.cost, b.baseline_cost, b.gap), optimizer
            assert [str(w) for w in a.factor_windows] == [
                str(Window(w.range, w.slide, w.offset)).replace("+", "m+").replace("/", "m/") + "m"
                for w in b.factor_windows
            ], optimizer


def test_rate_and_unit_scale_together() -> None:
    """100 events per 10 are 10 per 1; a wider unit never changes what an event costs."""
    windows = [Window(20, 20), Window(30, 30), Window(50, 10)]
    for optimizer in OPTIMIZERS:
        one = optimize(windows, agg.min, optimizer=optimizer, rate=10)
        ten = optimize(windows, agg.min, optimizer=optimizer, rate=100, unit=10)
        assert one.cost == ten.cost, optimizer
        assert one.baseline_cost == ten.baseline_cost, optimizer


def test_plans_are_the_same_on_every_run() -> None:
    for seed, rng in seeds(20, start=300):
        windows = draw_windows(rng, most=6, longest=24)
        shuffled = random.Random(seed).sample(windows, len(windows))
        for optimizer in ("none", "mincost", "factor", "exact"):
            first, second = (
                optimize(ws, agg.min, optimizer=optimizer, rate=4).groups[0].forest for ws in (windows, shuffled)
            )
            assert first == second, (seed, windows, optimizer)
