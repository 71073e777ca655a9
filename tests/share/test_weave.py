from __future__ import annotations

import itertools
import math
import random
import time
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import Window
from muntin.errors import OptimizeError
from muntin.share import bundle as bundle_module
from muntin.share import weave as weave_module
from muntin.share.bound import least_final
from muntin.share.bundle import Bundle, bundles_of, merged, settled
from muntin.share.cost import WeaveCost
from muntin.share.edges import edge_rate
from muntin.share.queries import query_set
from muntin.share.technique import ESTIMATES, TECHNIQUES
from muntin.share.weave import NOISE, weave
from muntin.share.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from muntin.share.technique import Estimate

windows = st.lists(
    st.builds(
        lambda s, overlap, more: Window(s * overlap + more % s, s),
        st.sampled_from([1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30]),
        st.integers(1, 50),
        st.sampled_from([0, 0, 0, 1, 3]),
    ),
    min_size=1,
    max_size=9,
    unique=True,
)
techniques = st.sampled_from(list(TECHNIQUES.values()))
rates = st.sampled_from([0.01, 0.3, 1.0, 20.0])


def total(trees: Sequence[Bundle], cost: WeaveCost) -> float:
    return cost.common + sum(map(cost.tree, trees))


def naive(bundles: Sequence[Bundle], cost: WeaveCost) -> list[Bundle]:
    """Weigh all pairs anew each time, and merge the one that saves most; of equals the first."""
    trees = dict(enumerate(bundles))
    while True:
        gains = [
            (cost.tree(trees[i]) + cost.tree(trees[j]) - cost.tree(merged(trees[i], trees[j])), i, j)
            for i, j in itertools.combinations(trees, 2)
        ]
        gains = [(g, i, j) for g, i, j in gains if g > NOISE * (cost.tree(trees[i]) + cost.tree(trees[j]))]
        if not gains:
            return list(trees.values())
        _, i, j = min(gains, key=lambda gain: (-gain[0], gain[1], gain[2]))
        new = merged(trees.pop(i), trees.pop(j))
        trees[max(*trees, i, j, len(bundles) - 1) + 1 if trees else len(bundles)] = new


def models(found: Sequence[Window], technique: str, estimate: Estimate, events: float) -> Iterator[WeaveCost]:
    yield WeaveCost(TECHNIQUES[technique], estimate, events)
    yield WeaveCost(TECHNIQUES[technique], estimate, events, query_set(found).whole.edges)


@given(windows, techniques, st.sampled_from(ESTIMATES), rates)
@settings(max_examples=120, deadline=None)
def test_incremental_greedy_is_naive_greedy(
    found: list[Window], technique: object, estimate: Estimate, events: float
) -> None:
    bundles = bundles_of(found, "pairs")
    for cost in models(found, technique.name, estimate, events):  # type: ignore[attr-defined]
        expected = {frozenset(tree.places) for tree in naive(bundles, cost)}
        assert {frozenset(tree.places) for tree in weave(bundles, cost).trees} == expected


def _one_by_one(found: Sequence[Window]) -> list[Bundle]:
    return [replace_places(bundles_of([window], "pairs")[0], (place,)) for place, window in enumerate(found)]


def replace_places(bundle: Bundle, places: tuple[int, ...]) -> Bundle:
    from dataclasses import replace

    return replace(bundle, places=places)


@given(windows, st.sampled_from(["Panes", "FlatFIT"]), rates)
@settings(max_examples=80, deadline=None)
def test_queries_of_the_same_edges_are_together_also_where_greedy_starts_from_single_queries(
    found: list[Window], technique: str, events: float
) -> None:
    cost = WeaveCost(TECHNIQUES[technique], "paper", events)
    together = weave(bundles_of(found, "pairs"), cost).trees
    apart = weave(_one_by_one(found), cost).trees
    # Ties may fall otherwise, costs may not.
    assert math.isclose(total(together, cost), total(apart, cost), rel_tol=0.2)
    for bundle in bundles_of(found, "pairs"):
        assert any(set(bundle.places) <= set(tree.places) for tree in apart)


def test_lazy_weighing_finds_what_eager_weighing_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(5)
    for technique, estimate, events in itertools.product(
        ("Panes", "FlatFIT", "SlickDeque-NonInv"), ESTIMATES, (0.1, 5)
    ):
        found = list({Window(s * draw.randint(1, 40), s) for s in draw.sample(range(1, 60), 18)})
        bundles = bundles_of(sorted(found), "pairs")
        for cost in models(found, technique, estimate, events):
            eager = weave(bundles, cost)
            monkeypatch.setattr(weave_module, "EAGER", 0)
            lazy = weave(bundles, cost)
            monkeypatch.undo()
            assert [tree.places for tree in lazy.trees] == [tree.places for tree in eager.trees]
            assert lazy.weighed <= eager.weighed


def test_looking_at_the_nearest_alone_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(6)
    found = sorted({Window(s * draw.randint(1, 40), s) for s in draw.sample(range(1, 300), 60)})
    bundles = bundles_of(found, "pairs")
    for technique, events in (("Panes", 1.0), ("SlickDeque-NonInv", 0.05), ("SlickDeque-Inv", 1.0)):
        cost = WeaveCost(TECHNIQUES[technique], "due", events)
        every = weave(bundles, cost)
        monkeypatch.setattr(weave_module, "ALL_PAIRS", 5)
        monkeypatch.setattr(weave_module, "EAGER", 5)
        nearest = weave(bundles, cost)
        monkeypatch.undo()
        assert every.every_pair
        assert not nearest.every_pair
        assert nearest.weighed < every.weighed or technique != "Panes"
        assert total(nearest.trees, cost) < 1.05 * total(every.trees, cost)
        assert sorted(place for tree in nearest.trees for place in tree.places) == list(range(len(found)))


@given(windows, techniques, st.sampled_from(ESTIMATES), rates)
@settings(max_examples=80, deadline=None)
def test_no_plan_undercuts_the_bound_and_greedy_reaches_a_quarter_of_the_savings(
    found: list[Window], technique: object, estimate: Estimate, events: float
) -> None:
    queries = query_set(found[:6])
    singles = _one_by_one(queries.distinct)
    name = technique.name  # type: ignore[attr-defined]
    for cost in models(queries.distinct, name, estimate, events):
        costs = [total([_all(part) for part in parts], cost) for parts in partitions(singles)]
        bound = events + least_final(name, estimate, queries.ranges, queries.slides, queries.edges)
        assert min(costs) >= bound * (1 - 1e-9)
        if cost.shared is None:
            greedy = total(weave(queries.bundles, cost).trees, cost)
            separate = total(singles, cost)
            assert separate - greedy >= (separate - min(costs)) / 4 - 1e-9


def _all(parts: Sequence[Bundle]) -> Bundle:
    whole = parts[0]
    for part in parts[1:]:
        whole = merged(whole, part)
    return whole


def partitions(items: list[Bundle]) -> Iterator[list[list[Bundle]]]:
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for parts in partitions(rest):
        yield [[first], *parts]
        for i in range(len(parts)):
            yield [*parts[:i], [first, *parts[i]], *parts[i + 1 :]]


def test_greedy_merging_is_deterministic_whatever_the_order_of_the_queries() -> None:
    found = list(dict.fromkeys(Workload(queries=200, overlap=100).windows(seed=4)))
    cost = WeaveCost(TECHNIQUES["FlatFIT"], "paper", 1.0)

    def trees(order: list[Window]) -> set[frozenset[Window]]:
        return {frozenset(order[i] for i in tree.places) for tree in weave(bundles_of(order, "pairs"), cost).trees}

    shuffled = found.copy()
    random.Random(1).shuffle(shuffled)
    assert trees(found) == trees(shuffled) == trees(found)


def test_ten_thousand_queries_plan_in_seconds() -> None:
    found = query_set(Workload(queries=10_000).windows(seed=0))
    for technique in ("Panes", "FlatFAT", "SlickDeque-NonInv"):
        start = time.process_time()
        weave(found.bundles, WeaveCost(TECHNIQUES[technique], "paper", 1.0))
        assert time.process_time() - start < 10


def test_slides_that_have_nothing_to_do_with_one_another_plan_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(8)
    found = query_set(Window(draw.randint(s, 100 * s), s) for s in draw.sample(range(100, 100_000), 90))
    for shared in (None, found.whole.edges):
        cost = WeaveCost(TECHNIQUES["DABA"], "due", 1.0, shared)
        every = weave(found.bundles, cost)
        monkeypatch.setattr(weave_module, "ALL_PAIRS", 45)
        monkeypatch.setattr(weave_module, "EAGER", 10)
        start = time.process_time()
        woven = weave(found.bundles, cost)
        assert time.process_time() - start < 20
        monkeypatch.undo()
        # Nearly every pair that is weighed is merged: what is unlikely to be the best is bounded only.
        assert woven.weighed < 3 * woven.merges
        assert total(woven.trees, cost) < 1.1 * total(every.trees, cost) < total(found.bundles, cost)


# --- bundles


def test_costs_of_weaveshare_and_triweave_by_hand() -> None:
    one, other = bundles_of([Window(6, 2), Window(9, 3)], "pairs")
    events = 5.0
    weaveshare = WeaveCost(TECHNIQUES["Panes"], "paper", events)
    triweave = WeaveCost(TECHNIQUES["Panes"], "paper", events, merged(one, other).edges)
    assert total([one, other], weaveshare) == pytest.approx(2 * events + 3 / 2 + 3 / 3)
    assert total([merged(one, other)], weaveshare) == pytest.approx(events + Fraction(2, 3) * 6)
    # One partial aggregator for both trees, whose 2/3 slices per unit go to either.
    assert total([one, other], triweave) == pytest.approx(events + 2 * 2 / 3 + 3 / 2 + 3 / 3)
    assert total([merged(one, other)], triweave) == total([merged(one, other)], weaveshare)


def test_bundles_refuse_queries_that_stand_twice() -> None:
    with pytest.raises(OptimizeError, match="distinct queries"):
        bundles_of([Window(6, 2), Window(6, 2)], "pairs")


def test_edges_that_take_long_are_bounded_from_above_and_settled_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(7)
    for cut in ("pairs", "cutty"):
        found = [Window(s + draw.randint(0, 9), s) for s in draw.sample(range(20, 90), 12)]
        exact = _all(_one_by_one(found)) if cut == "pairs" else _all(bundles_of(found, "cutty"))
        monkeypatch.setattr(bundle_module, "COMBS", 0)
        bounded = _all(_one_by_one(found)) if cut == "pairs" else _all(bundles_of(found, "cutty"))
        monkeypatch.undo()
        assert exact.exact
        assert not bounded.exact
        assert exact.edges <= bounded.edges <= Fraction(1, bounded.pane[0])
        assert bounded.load.rate == pytest.approx(float(bounded.edges))
        assert settled(bounded).edges == exact.edges
        assert settled(bounded).combs == exact.combs


@given(st.lists(st.integers(1, 60), min_size=2, max_size=8))
def test_slides_that_start_together_hit_no_fewer_edges_than_chance(slides: list[int]) -> None:
    # What the upper bound rests on: 1 - E >= the product of the 1 - 1/s.
    assert 1 - edge_rate(slides) >= math.prod(1 - Fraction(1, s) for s in slides)


def test_loads_of_a_merged_bundle_are_those_of_its_queries() -> None:
    found = [Window(6, 2), Window(8, 4), Window(35, 7)]
    whole = query_set(found).whole
    assert sorted(whole.places) == [0, 1, 2]
    assert np.array_equal(np.sort(whole.load.ranges), [6, 8, 35])
    assert whole.edges == edge_rate([2, 7])
