"""Several aggregates in one plan: which go together, through which forest, and at what cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from muntin import LogicalPlan, Window, agg, optimize
from muntin.errors import OptimizeError
from muntin.logical.optimize import OPTIMIZERS, Optimizer
from muntin.logical.relation import Relation, sharing_of
from tests.logical.draw import draw_windows, seeds

if TYPE_CHECKING:
    from muntin.aggregate.algebra import AggregateFunction

HOPPING = [Window(8, 2), Window(10, 2)]
TUMBLING = [Window(20, 20), Window(30, 30), Window(40, 40)]
ALL_KINDS: list[AggregateFunction] = [agg.min, agg.max, agg.sum, agg.avg, agg.median]


def names(plan: LogicalPlan) -> list[list[str]]:
    return [[function.name for function in group.functions] for group in plan.groups]


def test_what_shares_goes_through_one_tree() -> None:
    """The strictest decides: beside `sum` even `max` may read no overlapping cover."""
    plan = optimize(HOPPING, ALL_KINDS, optimizer="mincost")
    assert names(plan) == [["min", "max", "sum", "avg"], ["median"]]
    assert [group.forest.relation.sharing for group in plan.groups] == ["partitioned", "none"]
    assert [group.reason for group in plan.groups] == [
        "an event must count once for sum and avg: covers must not overlap",
        "no bounded partial to share: each window reads the events",
    ]
    assert plan.parent_of(Window(10, 2), "max") is None
    assert optimize(HOPPING, [agg.min, agg.max], optimizer="mincost").parent_of(Window(10, 2)) == Window(8, 2)
    assert plan.cost == sum(group.cost for group in plan.groups)
    assert plan.baseline_cost == 2 * sum(plan.model.from_events(w) for w in HOPPING)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_tree_for_several_costs_what_it_costs_for_the_strictest(optimizer: Optimizer) -> None:
    for seed, rng in seeds(20):
        windows = draw_windows(rng, most=5, longest=20)
        plan = optimize(windows, ALL_KINDS, optimizer=optimizer, rate=4)
        alone = optimize(windows, agg.sum, optimizer=optimizer, rate=4)
        assert names(plan) == [["min", "max", "sum", "avg"], ["median"]], (seed, windows)
        assert (plan.groups[0].cost, plan.groups[0].gap) == (alone.cost, alone.gap), (seed, windows)
        assert plan.cost == alone.cost + alone.baseline_cost, (seed, windows)
        assert plan.baseline_cost == 2 * alone.baseline_cost, (seed, windows)


def test_more_effort_never_costs_more_for_several_aggregates() -> None:
    for seed, rng in seeds(20):
        windows = draw_windows(rng, most=5, longest=20)
        plans = [optimize(windows, ALL_KINDS, optimizer=o, rate=4) for o in ("none", "mincost", "factor", "auto")]
        costs = [plan.cost for plan in plans]
        assert costs == sorted(costs, reverse=True), (seed, windows)


def test_factor_windows_of_all_groups() -> None:
    windows = [Window(16, 4), Window(24, 4)]
    plan = optimize(windows, [agg.min, agg.sum, agg.median], optimizer="exact", rate=4)
    assert len(plan.groups) == 2
    found = {w for group in plan.groups for w in group.forest.factor_windows}
    assert plan.factor_windows == tuple(sorted(found))
    assert plan.groups[1].forest.factor_windows == ()
    assert plan.gap == 0.0
    assert optimize(windows, [agg.min, agg.median], optimizer="factor").gap is None


def test_share_false_keeps_every_window_to_itself() -> None:
    for optimizer in OPTIMIZERS:
        plan = optimize(HOPPING, ALL_KINDS, optimizer=optimizer, share=False, rate=100)
        assert plan.cost == plan.baseline_cost
        assert plan.optimizer == "none"
        assert plan.factor_windows == ()
        assert all(node.parent is None for group in plan.groups for node in group.forest.nodes)
    assert optimize(HOPPING, agg.median, optimizer="factor", share=False).cost == 17 * 8 + 16 * 10


def test_sharing_asked_for() -> None:
    """A tolerant aggregate may be held to partitions; `none` is legal for all."""
    for optimizer in OPTIMIZERS:
        strict = optimize(HOPPING, agg.min, optimizer=optimizer, sharing="partitioned")
        assert strict.groups[0].forest.relation.sharing == "partitioned"
        assert strict.cost == optimize(HOPPING, agg.sum, optimizer=optimizer).cost
        nothing = optimize(HOPPING, [agg.min, agg.sum, agg.median], optimizer=optimizer, sharing="none")
        assert nothing.cost == nothing.baseline_cost
    both = optimize(HOPPING, [agg.min, agg.sum], optimizer="mincost", sharing="partitioned")
    assert names(both) == [["min", "sum"]]


def test_covers_asked_for() -> None:
    """The paper's optimizers on sparse covers, and `exact` on the paper's dense ones."""
    windows = [Window(12, 2), Window(24, 2)]
    dense, sparse = (optimize(windows, agg.sum, optimizer="mincost", covers=c) for c in ("dense", "sparse"))
    assert (dense.parent_of(windows[1]), sparse.parent_of(windows[1])) == (None, windows[0])
    assert dense.groups[0].forest.relation == Relation("partitioned", "dense")
    assert optimize(windows, agg.sum, optimizer="mincost").groups[0].forest.relation.covers == "dense"
    assert optimize(windows, agg.sum, optimizer="exact").groups[0].forest.relation.covers == "sparse"
    for seed, rng in seeds(25):
        ws = draw_windows(rng, most=4, longest=20)
        for function in (agg.min, agg.sum):
            costs = [optimize(ws, function, optimizer="exact", covers=c, rate=4).cost for c in ("dense", "sparse")]
            paper = optimize(ws, function, optimizer="factor", rate=4).cost
            assert costs[1] <= costs[0] <= paper, (seed, ws, function)


def test_each_function_once() -> None:
    plan = optimize(TUMBLING, ["min", agg.min, agg.min("temp"), "MINIMUM", agg.sum("x")])
    assert names(plan) == [["min", "sum"]]


def test_sketches_share_as_their_kind_allows() -> None:
    for named, sharing in ((["approx_distinct", "theta"], "covered"), (["theta", "approx_quantile"], "partitioned")):
        plan = optimize(HOPPING, named, optimizer="mincost")
        assert names(plan) == [named]
        assert plan.groups[0].forest.relation.sharing == sharing


def test_sharing_of_several() -> None:
    assert sharing_of([agg.first, agg.min]) == "covered"
    assert sharing_of([agg.first, agg.count]) == "partitioned"
    assert sharing_of([agg.first, agg.count, agg.median]) == "none"


def test_parent_of_what_is_not_there() -> None:
    plan = optimize(TUMBLING, [agg.min, agg.median], optimizer="factor")
    message = r"Window\(50, 50\) is not in the plan, whose windows are Window\(10, 10\), Window\(20, 20\), "
    with pytest.raises(OptimizeError, match=message):
        plan.parent_of(Window(50, 50))
    with pytest.raises(OptimizeError, match=r"no aggregate 'sum' in the plan, which has min, median"):
        plan.parent_of(Window(20, 20), "sum")
    # The factor window belongs to the shared group alone.
    assert plan.parent_of(Window(10, 10), "min") is None
    with pytest.raises(OptimizeError, match=r"Window\(10, 10\) is not in the plan"):
        plan.parent_of(Window(10, 10), "median")
