from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import Window, agg
from muntin.errors import IncrementalError, WindowError
from muntin.incremental import ALGORITHMS
from muntin.share.choose import plan_queries
from muntin.share.combs import CUTS
from muntin.share.edges import edges_of
from muntin.share.run import TreeRun
from muntin.share.schedule import schedule
from muntin.window.slices import pairs

FITTING = {name: agg.max if name == "SlickDeque-NonInv" else agg.sum for name in ALGORITHMS}

windows = st.lists(
    st.builds(
        lambda s, more, offset: Window(s + more, s, offset),
        st.sampled_from([1, 2, 3, 4, 6]),
        st.integers(0, 18),
        st.integers(0, 6),
    ),
    min_size=1,
    max_size=4,
)


def by_definition(found: list[Window], values: list[int], name: str) -> list[list[object]]:
    """Each window's results in order of time; what came before the first value is not there."""
    function, length = FITTING[name], len(values)
    return [
        [
            function.evaluate(values[max(0, end - w.range) : end])
            for end in range(1, length + 1)
            if (end - w.range - w.offset) % w.slide == 0
        ]
        for w in found
    ]


@pytest.mark.parametrize("name", ALGORITHMS)
@given(windows, st.sampled_from(CUTS), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_a_shared_tree_gives_what_each_window_gives_alone(name: str, found: list[Window], cut: str, seed: int) -> None:
    plan = schedule(found, cut)  # type: ignore[arg-type]
    turns = max(2, 50 // plan.period)
    draw = random.Random(seed)
    values = [draw.randint(-9, 9) for _ in range(turns * plan.period)]
    function = FITTING[name]
    run = TreeRun(plan, name, function)
    answers: list[list[object]] = [[] for _ in found]
    for turn in range(turns):
        items = [function.lift(v) for v in values[turn * plan.period : (turn + 1) * plan.period]]
        for place, partial in run.turn(items):
            answers[place].append(function.lower(partial))
    assert answers == by_definition(found, values, name)


@given(windows)
@settings(max_examples=60, deadline=None)
def test_a_tree_fed_with_ready_slices_gives_the_same(found: list[Window]) -> None:
    # TriWeave: the slices of all queries in place of the events, for the tree of the first query alone.
    everyone = pairs(*dict.fromkeys(found))
    whole = schedule(found)
    mine = found[:1]
    period = whole.period
    starts = list(everyone.edges_between(0, period))
    if starts[0]:
        return  # a slice lies across the end of the composite slide: the plain schedule starts on an edge
    draw = random.Random(0)
    direct = TreeRun(schedule(mine, period=period), "FlatFIT", agg.sum)
    fed = TreeRun(schedule(mine, period=period), "FlatFIT", agg.sum, starts)
    for _ in range(3):
        values = [draw.randint(-9, 9) for _ in range(period)]
        ends = [*starts[1:], period]
        slices = [sum(values[a:b]) for a, b in zip(starts, ends, strict=True)]
        expected = [(place, partial.total) for place, partial in direct.turn([agg.sum.lift(v) for v in values])]
        assert [(place, partial.total) for place, partial in fed.turn([agg.sum.lift(s) for s in slices])] == expected


@given(windows, st.sampled_from(CUTS))
@settings(deadline=None)
def test_a_schedule_has_the_edges_and_the_results_of_its_composite_slide(found: list[Window], cut: str) -> None:
    plan = schedule(found, cut)  # type: ignore[arg-type]
    assert plan.edges == edges_of(found, cut).rate * plan.period  # type: ignore[arg-type]
    assert plan.results == sum(plan.period // w.slide for w in found)
    assert [p.at for p in plan.points] == sorted({p.at for p in plan.points})


def test_schedules_too_long_to_write_out_are_refused() -> None:
    with pytest.raises(WindowError, match="too many to write out"):
        schedule([Window(p, p) for p in (997, 991, 983, 977)])
    with pytest.raises(WindowError, match="no multiple"):
        schedule([Window(6, 2)], period=3)


def test_a_turn_takes_as_many_items_as_a_composite_slide_has() -> None:
    run = TreeRun(schedule([Window(6, 2)]), "DABA", agg.sum)
    assert run.items == 2
    with pytest.raises(IncrementalError, match="has 2 items here, got 3"):
        run.turn([agg.sum.lift(1)] * 3)
    with pytest.raises(IncrementalError, match="unknown technique"):
        TreeRun(schedule([Window(6, 2)]), "Bins", agg.sum)


@given(windows, st.sampled_from(["weave", "triweave", "full", "none"]), st.sampled_from(["1/10", 1, 30]))
@settings(max_examples=40, deadline=None)
def test_the_trees_of_a_plan_give_what_separate_evaluation_gives(found: list[Window], way: str, rate: object) -> None:
    queries = [Window(w.range, w.slide, w.offset, id=f"q{i}") for i, w in enumerate(found)]
    plan = plan_queries(queries, agg.sum, optimizer=way, technique="FlatFIT", rate=rate)  # type: ignore[arg-type]
    draw = random.Random(1)
    length = math.lcm(*(w.slide for w in queries)) * 12
    values = [draw.randint(-9, 9) for _ in range(length)]
    answers: dict[str, list[object]] = {}
    for tree in plan.trees:
        distinct = list(dict.fromkeys(tree.members))
        run = TreeRun(schedule(distinct, tree.cut, period=length), plan.technique or "", agg.sum)
        results = run.turn([agg.sum.lift(value) for value in values])
        for query in tree.members:
            place = distinct.index(query)
            answers[query.id] = [agg.sum.lower(partial) for i, partial in results if i == place]
    expected = by_definition(queries, values, "FlatFIT")
    assert answers == {query.id: results for query, results in zip(queries, expected, strict=True)}
