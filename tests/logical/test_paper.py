"""Every example and figure of the factor-windows paper that speaks of plans and their costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from muntin import LogicalPlan, Window, agg, optimize
from muntin.logical.cost import cost_model
from muntin.logical.factors import best_partitioning_factor, partitioning_candidates
from muntin.logical.graph import coverage_graph
from muntin.logical.optimize import OPTIMIZERS, Optimizer
from muntin.logical.relation import Relation
from muntin.logical.search import factor_search

if TYPE_CHECKING:
    from muntin.aggregate.algebra import AggregateFunction

W10, W20, W30, W40 = (Window(n, n) for n in (10, 20, 30, 40))
SHARINGS = pytest.mark.parametrize("function", [agg.min, agg.sum], ids=["covered", "partitioned"])


def parents(plan: LogicalPlan) -> dict[Window, Window | None]:
    return {node.window: node.parent for node in plan.groups[0].forest.nodes}


@SHARINGS
def test_example_6(function: AggregateFunction) -> None:
    """Figure 6: four tumbling windows cost 480, and 150 when they share."""
    windows = [W10, W20, W30, W40]
    assert optimize(windows, function, optimizer="none").cost == 480
    plan = optimize(windows, function, optimizer="mincost")
    assert (plan.baseline_cost, plan.cost) == (480, 150)
    assert parents(plan) == {W10: None, W20: W10, W30: W10, W40: W20}
    costs = {node.window: node.cost for node in plan.groups[0].forest.nodes}
    assert costs == {W10: 120, W20: 12, W30: 12, W40: 6}
    assert plan.factor_windows == ()


def test_example_6_before_algorithm_1() -> None:
    """Figure 6(a): the graph with all its edges."""
    graph = coverage_graph([W10, W20, W30, W40], Relation("partitioned"))
    assert set(graph.edges) == {(W10, W20, 2), (W10, W30, 3), (W10, W40, 4), (W20, W40, 2)}
    assert graph.downstream(None) == (W10,)
    assert graph.downstream(W20) == (W40,)


@SHARINGS
def test_example_7(function: AggregateFunction) -> None:
    """Figure 7: without W(10,10) 360, 246 shared, 150 with it back as a factor window."""
    windows = [W20, W30, W40]
    assert optimize(windows, function, optimizer="none").cost == 360
    shared = optimize(windows, function, optimizer="mincost")
    assert (shared.baseline_cost, shared.cost, shared.factor_windows) == (360, 246, ())
    assert parents(shared) == {W20: None, W30: None, W40: W20}
    for optimizer in ("factor", "exact", "auto"):
        plan = optimize(windows, function, optimizer=optimizer)
        assert (plan.baseline_cost, plan.cost, plan.factor_windows) == (360, 150, (W10,)), optimizer
        assert parents(plan) == {W10: None, W20: W10, W30: W10, W40: W20}, optimizer
        assert plan.parent_of(W40) == W20
        assert plan.parent_of(W10) is None
        assert [node.window for node in plan.groups[0].forest.nodes if node.factor] == [W10]


def test_example_8() -> None:
    """Three candidates below the root, whose readers are 20 and 30; the widest covers the others and stays."""
    windows = [W20, W30, W40]
    model = cost_model(windows)
    graph = coverage_graph(windows, Relation("partitioned"))
    downstream = graph.downstream(None)
    assert downstream == (W20, W30)
    assert partitioning_candidates(None, downstream, model) == [W10, Window(5, 5), Window(2, 2)]
    assert best_partitioning_factor(None, downstream, model) == W10


def test_example_5_refusal() -> None:
    """W(10,2) is covered by W(8,2) and not partitioned by it: MIN may read it, SUM may not."""
    fine, coarse = Window(8, 2), Window(10, 2)
    assert coverage_graph([fine, coarse], Relation("covered")).parents[coarse] == {fine: 2}
    assert coverage_graph([fine, coarse], Relation("partitioned")).parents[coarse] == {}
    assert optimize([fine, coarse], agg.min, optimizer="mincost").parent_of(coarse) == fine
    assert optimize([fine, coarse], agg.sum, optimizer="mincost").parent_of(coarse) is None
    for optimizer in OPTIMIZERS:
        # The fewest intervals are no way around it either: 8 does not divide 10.
        assert optimize([fine, coarse], agg.sum, optimizer=optimizer).parent_of(coarse) != fine


def test_footnote_3() -> None:
    """Algorithm 3 never looks at W(15,15): it is no divisor of gcd(20, 30, 40). The full search does."""
    windows = [W20, W30, W40]
    model = cost_model(windows)
    graph = coverage_graph(windows, Relation("partitioned"))
    seen = {f for target in (None, W20) for f in partitioning_candidates(target, graph.downstream(target), model)}
    assert seen == {W10, Window(5, 5), Window(2, 2)}
    assert factor_search(graph, model).factor_windows == (W10,)
    # Where W(15,15) is of use it is found: here two readers want it, and gcd(15, 30, 45, 32) is 1.
    others = [Window(30, 30), Window(45, 45), Window(32, 32)]
    plan = optimize(others, agg.sum, optimizer="exact")
    assert plan.factor_windows == (Window(15, 15),)
    assert plan.cost < optimize(others, agg.sum, optimizer="factor").cost


COPRIME = [Window(15, 15), Window(17, 17), Window(19, 19)]


@SHARINGS
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_coprime_windows_share_nothing_at_rate_1(optimizer: Optimizer, function: AggregateFunction) -> None:
    """Section III-B, Limitations."""
    plan = optimize(COPRIME, function, optimizer=optimizer)
    assert plan.cost == plan.baseline_cost == 3 * 15 * 17 * 19
    assert plan.factor_windows == ()
    assert set(parents(plan).values()) == {None}


@SHARINGS
def test_coprime_windows_share_nearly_all_at_rate_100(function: AggregateFunction) -> None:
    period = 15 * 17 * 19
    for optimizer in ("none", "mincost"):
        assert optimize(COPRIME, function, optimizer=optimizer, rate=100).cost == 300 * period
    for optimizer in ("factor", "exact", "auto"):
        plan = optimize(COPRIME, function, optimizer=optimizer, rate=100)  # type: ignore[arg-type]
        # One pass over the events and three over the unit panes, where there were three over the events.
        assert plan.factor_windows == (Window(1, 1),), optimizer
        assert plan.cost == 100 * period + 3 * period, optimizer


def test_tumbling_windows_cover_just_where_they_partition() -> None:
    """Example 6 again: it does not matter there which aggregate is chosen."""
    windows = [Window(n, n) for n in (4, 6, 9, 12, 18, 36)]
    dense, sparse = (
        [coverage_graph(windows, Relation(sharing, covers)).parents for sharing in ("covered", "partitioned")]
        for covers in ("dense", "sparse")
    )
    assert dense[0] == dense[1] == sparse[0] == sparse[1]
    for optimizer in OPTIMIZERS:
        costs = {optimize(windows, function, optimizer=optimizer).cost for function in (agg.min, agg.sum)}
        assert len(costs) == 1, optimizer


def test_speed_up_of_the_figures() -> None:
    """The reductions of Example 7: 31.7 %, 58.3 % and 39 %. (For Example 6 the paper prints 62.5 %; it is 68.75 %.)"""
    plan = optimize([W10, W20, W30, W40], agg.min, optimizer="mincost")
    assert 1 - plan.cost / plan.baseline_cost == 0.6875
    none, mincost, factor = (
        optimize([W20, W30, W40], agg.min, optimizer=optimizer).cost for optimizer in ("none", "mincost", "factor")
    )
    assert 1 - mincost / none == pytest.approx(0.317, abs=5e-4)
    assert 1 - factor / none == pytest.approx(0.583, abs=5e-4)
    assert 1 - factor / mincost == pytest.approx(0.39, abs=5e-3)
