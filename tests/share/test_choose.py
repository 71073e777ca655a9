from __future__ import annotations

import json
import math
import time
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from muntin import Window, agg, hopping, tumbling
from muntin.errors import AggregateError, MuntinError, OptimizeError, ShowError, WindowError
from muntin.logical.cost import cost_model
from muntin.logical.optimize import plan_groups
from muntin.share import candidates
from muntin.share.choose import WAYS, plan_queries
from muntin.share.explain import WIDTH
from muntin.share.queries import query_set
from muntin.share.technique import TECHNIQUES
from muntin.share.workload import Workload

if TYPE_CHECKING:
    from muntin.aggregate.algebra import AggregateFunction
    from muntin.share.plan import SharePlan

QUERIES = Workload(queries=40, longest_slide=120, overlap=50).windows(seed=2)


def cheapest(plan: SharePlan, way: str) -> float:
    return min(c.cost for c in plan.candidates if c.optimizer == way and c.cost is not None)


def test_auto_takes_the_cheapest_of_all_ways_and_techniques() -> None:
    for aggregate in (agg.sum, agg.max):
        plan = plan_queries(QUERIES, aggregate)
        assert {c.optimizer for c in plan.candidates} == set(WAYS)
        costs = [c.cost for c in plan.candidates if c.cost is not None]
        assert plan.cost == pytest.approx(min(costs))
        assert plan.baseline_cost == pytest.approx(cheapest(plan, "none"))
        assert {c.technique for c in plan.candidates if c.optimizer == "weave"} == {
            t for t in TECHNIQUES if not (t in ("SlickDeque-Inv", "Panes-Inv") and aggregate is agg.max)
        } - ({"SlickDeque-NonInv"} if aggregate is agg.sum else set())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("estimate", ["due", "paper"])
def test_each_way_can_be_asked_for_and_its_trees_hold_every_query_once(way: str, estimate: str) -> None:
    plan = plan_queries(QUERIES, agg.sum, optimizer=way, estimate=estimate)  # type: ignore[arg-type]
    assert plan.optimizer == way
    assert plan.cost == pytest.approx(cheapest(plan, way))
    if way == "factor":
        assert plan.trees == ()
        assert plan.factor_plan is not None
        return
    members = sorted(window.id for tree in plan.trees for window in tree.members)
    assert members == sorted(window.id for window in QUERIES)
    fold = float(plan.rate) if plan.shared_edges is not None else 0.0
    assert sum(tree.cost for tree in plan.trees) + fold == pytest.approx(plan.cost)
    assert {"none": len(QUERIES), "full": 1}.get(way, len(plan.trees)) == len(plan.trees)
    for tree in plan.trees:
        assert tree.final_cost == pytest.approx(float(tree.edges) * tree.omega)
        assert tree.slicing.edge_count == tree.edges * tree.slicing.period


def test_weaving_costs_no_more_than_separate_trees() -> None:
    for technique in TECHNIQUES:
        aggregate = agg.max if technique == "SlickDeque-NonInv" else agg.sum
        for rate in ("1/100", 1, 100):
            plan = plan_queries(QUERIES, aggregate, technique=technique, optimizer="weave", rate=rate)
            assert plan.cost <= cheapest(plan, "none") * (1 + 1e-9)
            assert plan.guarantee.bound is not None
            assert plan.guarantee.bound <= plan.cost * (1 + 1e-9)


def test_the_cost_of_factor_windows_is_in_the_same_unit() -> None:
    # One tumbling window: either way each event is folded once, and a result handed out every 10.
    plan = plan_queries([Window(10, 10)], agg.sum, rate=7, technique="Panes")
    assert cheapest(plan, "factor") == pytest.approx(7 + 1 / 10)
    assert cheapest(plan, "full") == pytest.approx(7 + 1 / 10)
    assert plan.optimizer == "full"
    # Table 3 knows no results.
    plan = plan_queries([Window(10, 10)], agg.sum, rate=7, technique="SlickDeque-Inv", estimate="paper")
    assert cheapest(plan, "factor") == pytest.approx(7)


@pytest.mark.parametrize("aggregate", [agg.sum, agg.min], ids=lambda function: function.name)
def test_factor_windows_are_chosen_without_a_clock_and_as_well_as_with_one(aggregate: AggregateFunction) -> None:
    for seed in range(4):
        queries = Workload(queries=15, longest_slide=120, overlap=30).windows(seed)
        windows = list(dict.fromkeys(queries))
        model = cost_model(windows, period="steady")
        (searched,) = plan_groups(windows, [aggregate], "auto", model, seconds=5)
        found = plan_queries(queries, aggregate, optimizer="factor", technique="Panes")
        assert found.factor_plan is not None
        assert found.factor_plan.cost <= Fraction(11, 10) * searched.cost
        results = sum(1 / w.slide for w in windows)
        assert found.cost == pytest.approx(float(Fraction(found.factor_plan.cost) / model.period) + results)
        assert found.factor_plan.windows == tuple(windows)


def test_units_scale_all_costs_alike() -> None:
    queries = [hopping("1h", slide="10m"), hopping("24h", slide="15m"), tumbling("40m")]
    minute = plan_queries(queries, agg.sum, rate=1_000, unit="minute")
    second = plan_queries(queries, agg.sum, rate=Fraction(1_000, 60), unit="second")
    assert minute.cost == pytest.approx(60 * second.cost)
    assert [t.members for t in minute.trees] == [t.members for t in second.trees]
    assert "1,000 events per minute" in minute.explain()
    plain = plan_queries([Window(60, 10), Window(1440, 15), Window(40, 40)], agg.sum, rate=1_000)
    assert plain.cost == pytest.approx(minute.cost)


def test_more_events_make_fewer_trees() -> None:
    def trees(rate: float) -> int:
        return len(
            plan_queries(QUERIES, agg.sum, technique="FlatFIT", optimizer="weave", rate=rate, estimate="paper").trees
        )

    assert trees(100) < trees(1) < trees(0.01)


def test_identical_queries_are_computed_once() -> None:
    once = plan_queries(QUERIES, agg.max, optimizer="weave")
    thrice = plan_queries([*QUERIES, *QUERIES, *QUERIES], agg.max, optimizer="weave")
    assert thrice.cost == once.cost
    assert [tree.distinct for tree in thrice.trees] == [tree.distinct for tree in once.trees]
    assert sum(len(tree.members) for tree in thrice.trees) == 3 * len(QUERIES)
    assert thrice.baseline_cost == pytest.approx(3 * once.baseline_cost)
    same = plan_queries([Window(6, 2)] * 5, agg.max, technique="DABA")
    assert (same.optimizer, len(same.trees), len(same.trees[0].members)) == ("full", 1, 5)
    assert "5 queries (1 distinct)" in same.explain()


def test_planning_is_deterministic() -> None:
    one, other = plan_queries(QUERIES, agg.sum), plan_queries(QUERIES, agg.sum)
    assert one.to_dict() == other.to_dict()
    assert one.explain() == other.explain()


@pytest.mark.parametrize("rate", [0, -1, "0", float("nan"), "fast", True])
def test_a_rate_of_zero_or_of_nothing_is_refused(rate: object) -> None:
    with pytest.raises(OptimizeError, match="rate must be a positive number"):
        plan_queries(QUERIES, agg.sum, rate=rate)  # type: ignore[arg-type]


def test_zero_queries_and_what_is_no_query() -> None:
    with pytest.raises(WindowError, match="there are no queries"):
        plan_queries([], agg.sum)
    with pytest.raises(WindowError, match="a query is a window such as"):
        plan_queries(["1h"], agg.sum)  # type: ignore[list-item]
    with pytest.raises(WindowError, match="cannot be planned together"):
        plan_queries([Window(6, 2), tumbling("1h")], agg.sum)
    assert len(plan_queries(Window(6, 2), agg.sum).queries) == 1  # type: ignore[arg-type]


def test_options_that_are_none() -> None:
    with pytest.raises(OptimizeError, match="optimizer must be one of 'auto'"):
        plan_queries(QUERIES, agg.sum, optimizer="best")  # type: ignore[arg-type]
    with pytest.raises(OptimizeError, match="estimate must be either"):
        plan_queries(QUERIES, agg.sum, estimate="guess")  # type: ignore[arg-type]
    with pytest.raises(WindowError, match="cut must be one of"):
        plan_queries(QUERIES, agg.sum, cut="slices")  # type: ignore[arg-type]
    with pytest.raises(OptimizeError, match="unknown technique"):
        plan_queries(QUERIES, agg.sum, technique="Heap")


def test_aggregates_that_cannot_be_shared_and_mixtures() -> None:
    with pytest.raises(AggregateError, match="`median` cannot be shared"):
        plan_queries(QUERIES, [agg.sum, agg.median])
    with pytest.raises(AggregateError, match="no aggregate"):
        plan_queries(QUERIES, [])
    with pytest.raises(AggregateError, match="has no inverse"):
        plan_queries(QUERIES, [agg.sum, agg.max], technique="SlickDeque-Inv")
    both = plan_queries(QUERIES, ["sum", agg.max])
    assert both.aggregates == ("sum", "max")
    assert {c.technique for c in both.candidates} == {"Panes", "FlatFAT", "FlatFIT", "TwoStacks", "DABA", None}


def test_coprime_slides_with_an_astronomical_composite_are_planned() -> None:
    primes = [p for p in range(1_000, 1_400) if all(p % d for d in range(2, 40))]
    assert math.prod(primes) > 10**100
    start = time.process_time()
    queries = [Window(3 * p + 1, p) for p in primes]  # with fragments: two combs each
    plan = plan_queries(queries, agg.sum, technique="DABA", rate=50)
    assert time.process_time() - start < 30
    assert all(len(line) <= WIDTH for line in plan.explain().splitlines())
    json.dumps(plan.to_dict())
    assert "10^" in plan.explain() or "counted" in plan.explain() or plan.trees == ()


def test_too_many_windows_for_factor_windows_are_said_to_be() -> None:
    many = Workload(queries=400, longest_slide=1_000).windows(seed=1)
    plan = plan_queries(many, agg.max, technique="SlickDeque-NonInv")
    (factor,) = [c for c in plan.candidates if c.optimizer == "factor"]
    assert factor.cost is None
    assert "not weighed" in factor.note
    assert "not weighed" in plan.explain()
    with pytest.raises(OptimizeError, match="'factor' has no plan"):
        plan_queries(many, agg.max, optimizer="factor")


def test_merging_is_spared_where_no_plan_of_a_technique_can_win(monkeypatch: pytest.MonkeyPatch) -> None:
    every = plan_queries(QUERIES, agg.sum)
    monkeypatch.setattr(candidates, "EAGER", 2)
    spared = plan_queries(QUERIES, agg.sum)
    named = [sorted((c.optimizer, c.technique or "") for c in plan.candidates) for plan in (every, spared)]
    assert named[0] == named[1]
    skipped = [c for c in spared.candidates if c.cost is None]
    assert {"Panes"} <= {c.technique for c in skipped}
    assert all(c.optimizer in ("weave", "triweave") and "another technique" in c.note for c in skipped)
    # What is left is the cheapest of each way all the same.
    for way in WAYS:
        assert cheapest(spared, way) == cheapest(every, way)
    assert spared.explain() == every.explain()


def test_a_plan_that_costs_more_than_separate_trees_says_so() -> None:
    plan = plan_queries([Window(10_000, 1), Window(10_007, 7)], agg.sum, optimizer="factor")
    assert plan.cost > plan.baseline_cost
    assert f"more than the {plan.baseline_cost:.4g} without sharing" in plan.explain()
    assert "as without sharing" in plan_queries([Window(10, 10)], agg.sum).explain()


def test_explain_fits_a_hundred_columns_and_shows_every_candidate() -> None:
    cases = [
        plan_queries(QUERIES, agg.max),
        plan_queries(QUERIES, agg.sum, optimizer="triweave", estimate="paper", technique="Panes"),
        plan_queries(QUERIES, agg.sum, optimizer="none"),
        plan_queries([hopping("24h", slide="1m", id="ü" * 200), tumbling("7m")], ["sum", "max", "count"], rate="3/7"),
        plan_queries([Window(2, 2)], agg.sum),
        plan_queries([Window(20, 10), Window(30, 10)], agg.max, optimizer="factor"),
    ]
    for plan in cases:
        text = plan.explain()
        assert str(plan) == text
        assert all(len(line) <= WIDTH for line in text.splitlines()), text
        assert all(any(line.startswith(way) for line in text.splitlines()) for way in WAYS)
        assert text.count("chosen") == 1
    assert "more," in cases[2].explain(limit=5)
    assert "more," not in cases[2].explain(limit=None)
    with pytest.raises(ShowError, match="limit must be"):
        cases[0].explain(limit=0)


def test_plans_go_into_json() -> None:
    plan = plan_queries(QUERIES, agg.sum, optimizer="triweave")
    shown = json.loads(json.dumps(plan.to_dict()))
    assert shown["cost"] == plan.cost
    assert [Fraction(tree["edges"]) for tree in shown["trees"]] == [tree.edges for tree in plan.trees]
    assert shown["trees"][0]["members"] == [w.id for w in plan.trees[0].members]
    assert len(shown["candidates"]) == len(plan.candidates)
    assert repr(plan).startswith("<plan by triweave with ")
    assert plan.tree_of(QUERIES[3]) is not None
    assert QUERIES[3] in plan.tree_of(QUERIES[3]).members  # type: ignore[union-attr]


def test_cuts_are_recorded_and_cutty_has_no_more_edges_than_pairs() -> None:
    odd = [Window(14, 8), Window(33, 10), Window(50, 20)]
    rates = {}
    for cut in ("cutty", "pairs", "panes"):
        plan = plan_queries(odd, agg.sum, optimizer="full", cut=cut)
        assert plan.trees[0].cut == cut
        rates[cut] = plan.trees[0].edges
    assert rates["cutty"] < rates["pairs"] < rates["panes"]


def test_own_edges_of_each_query() -> None:
    found = query_set([Window(14, 8), Window(16, 8), Window(14, 8)])
    assert found.often == (2, 1)
    assert found.edges.tolist() == [2 / 8, 1 / 8]


def test_every_refusal_is_ours() -> None:
    for wrong in (WindowError, OptimizeError, AggregateError, ShowError):
        assert issubclass(wrong, MuntinError)
