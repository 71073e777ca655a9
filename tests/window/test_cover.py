"""Coverage against brute force: Definitions 1 to 5 written out over intervals, and never the theorems."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import Window
from muntin.errors import CoverError
from muntin.window import cover
from muntin.window.interval import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 24
Span = tuple[int, int]


# --- the definitions ------------------------------------------------------------------------------


def spans(window: Window, low: int, high: int) -> list[Span]:
    """All intervals [m * slide + offset, m * slide + offset + range) that touch [low, high]."""
    reach = (abs(low) + abs(high) + window.range) // window.slide + 2
    starts = (m * window.slide + window.offset for m in range(-reach, reach + 1))
    return [(a, a + window.range) for a in starts if a <= high and a + window.range >= low]


def hyper_period(child: Window, parent: Window) -> tuple[list[Span], list[Span]]:
    """The child's intervals over two hyper-periods around zero, and all parent intervals that touch them."""
    period = math.lcm(child.slide, parent.slide)
    children = [span for span in spans(child, -period, period) if -period <= span[0] < period]
    return children, spans(parent, -period, period + child.range)


def is_covered(child: Window, parent: Window) -> bool:
    """Definition 1."""
    if (child.range, child.slide, child.offset) == (parent.range, parent.slide, parent.offset):
        return True
    children, parents = hyper_period(child, parent)
    return child.range > parent.range and all(
        any(u == a and x < b for u, x in parents) and any(v == b and a < y for y, v in parents) for a, b in children
    )


def covering(span: Span, parents: Iterable[Span]) -> list[Span]:
    """Definition 2."""
    return [(u, v) for u, v in parents if span[0] <= u and v <= span[1]]


def times_covered(span: Span, parts: Iterable[Span]) -> set[int]:
    """In how many parts each point of an interval lies; {1} is Definition 4, no 0 is Definition 3."""
    parts = list(parts)
    return {sum(u <= tick < v for u, v in parts) for tick in range(*span)}


def is_partitioned(child: Window, parent: Window) -> bool:
    """Definition 5."""
    children, parents = hyper_period(child, parent)
    return is_covered(child, parent) and all(times_covered(span, covering(span, parents)) == {1} for span in children)


def fewest(span: Span, parents: Iterable[Span], *, overlap: bool) -> int | None:
    """The fewest parts whose union is the interval: breadth-first over how far it has been covered."""
    inside = covering(span, parents)
    steps = {span[0]: 0}
    queue = deque(steps)
    while queue:
        reached = queue.popleft()
        for u, v in inside:
            fits = u <= reached < v if overlap else u == reached
            if fits and v not in steps:
                steps[v] = steps[reached] + 1
                queue.append(v)
    return steps.get(span[1])


# --- windows to try them on -----------------------------------------------------------------------


def all_windows(longest: int) -> list[Window]:
    return [Window(r, s, o) for r in range(1, longest + 1) for s in range(1, r + 1) for o in range(s)]


@st.composite
def windows(draw: st.DrawFn, longest: int = LONGEST) -> Window:
    size = draw(st.integers(1, longest))
    slide = draw(st.integers(1, size))
    return Window(size, slide, draw(st.integers(0, slide - 1)))


@st.composite
def children_of(draw: st.DrawFn, parent: Window) -> Window:
    """Draw a window likely, but not sure, to be made of `parent`: random pairs hardly ever are."""
    size = parent.range + parent.slide * draw(st.integers(0, 12)) + draw(st.sampled_from([0, 0, 0, 1]))
    slide = parent.slide * draw(st.integers(1, max(1, size // parent.slide)))
    shift = parent.slide * draw(st.integers(0, 3)) + draw(st.sampled_from([0, 0, 0, 1]))
    return Window(size, min(slide, size), parent.offset + shift)


@st.composite
def tiled_by(draw: st.DrawFn, parent: Window) -> Window:
    """Draw a window whose range is a multiple of the parent's."""
    size = parent.range * draw(st.integers(1, 4))
    slide = parent.slide * draw(st.integers(1, size // parent.slide))
    return Window(size, slide, parent.offset)


related = windows().flatmap(
    lambda parent: st.tuples(st.one_of(windows(), children_of(parent), tiled_by(parent)), st.just(parent))
)
chains = windows(8).flatmap(
    lambda a: children_of(a).flatmap(lambda b: st.tuples(st.just(a), st.one_of(st.just(b), windows()), children_of(b)))
)
SMALL = [(child, parent) for child in all_windows(10) for parent in all_windows(5)]


# --- covered by, partitioned by -------------------------------------------------------------------


def check_relations(child: Window, parent: Window) -> None:
    assert child.covered_by(parent) == is_covered(child, parent), (child, parent)
    assert child.partitioned_by(parent) == is_partitioned(child, parent), (child, parent)


def test_relations_meet_the_definitions_on_every_pair_of_small_windows() -> None:
    for child, parent in SMALL:
        check_relations(child, parent)
    # Neither answer is rare enough for the loop to prove nothing.
    assert sum(child.covered_by(parent) for child, parent in SMALL) > 200
    assert sum(child.partitioned_by(parent) for child, parent in SMALL) > 100


@settings(max_examples=120, deadline=None)
@given(related)
def test_relations_meet_the_definitions(pair: tuple[Window, Window]) -> None:
    check_relations(*pair)


@settings(max_examples=150, deadline=None)
@given(windows().flatmap(lambda w: st.tuples(children_of(w), st.just(w), st.integers(-30, 30))))
def test_shifting_both_windows_changes_nothing(drawn: tuple[Window, Window, int]) -> None:
    child, parent, by = drawn
    moved = [Window(w.range, w.slide, w.offset + by) for w in (child, parent)]
    assert moved[0].covered_by(moved[1]) == child.covered_by(parent)
    assert moved[0].partitioned_by(moved[1]) == child.partitioned_by(parent)


def test_offsets_that_do_not_line_up_do_not_cover() -> None:
    assert Window(10, 2, offset=2).covered_by(Window(8, 2))
    assert not Window(10, 2, offset=1).covered_by(Window(8, 2))
    assert Window(40, 40, offset=20).partitioned_by(Window(20, 20))
    assert not Window(40, 40, offset=10).partitioned_by(Window(20, 20))


@settings(max_examples=60, deadline=None)
@given(windows())
def test_both_relations_are_reflexive(window: Window) -> None:
    assert window.covered_by(window)
    assert window.partitioned_by(window)
    assert window.multiplier(window) == 1


def test_both_relations_are_antisymmetric() -> None:
    for a, b in SMALL:
        assert a == b or not (a.covered_by(b) and b.covered_by(a))
        assert a == b or not (a.partitioned_by(b) and b.partitioned_by(a))


@settings(max_examples=120, deadline=None)
@given(chains)
def test_both_relations_are_transitive(chain: tuple[Window, Window, Window]) -> None:
    a, b, c = chain
    if c.covered_by(b) and b.covered_by(a):
        assert c.covered_by(a)
    if c.partitioned_by(b) and b.partitioned_by(a):
        assert c.partitioned_by(a)


def test_both_relations_are_transitive_on_every_three_small_windows() -> None:
    found = all_windows(6)
    for relation in (cover.covered_by, cover.partitioned_by):
        above = {a: {b for b in found if relation(a, b)} for a in found}
        assert all(above[b] <= above[a] for a in found for b in above[a])


# --- covering set and multiplier ------------------------------------------------------------------


@settings(max_examples=120, deadline=None)
@given(related)
def test_multiplier_counts_the_covering_set(pair: tuple[Window, Window]) -> None:
    child, parent = pair
    children, parents = hyper_period(child, parent)
    for span in children:
        assert list(cover.covering_set(Interval(*span), parent)) == covering(span, parents)
    if is_covered(child, parent):
        sizes = {len(covering(span, parents)) for span in children}
        assert {child.multiplier(parent)} == sizes
        for a, b in children:
            dense = [(a + at, a + at + parent.range) for at in cover.dense_cover(child, parent)]
            assert dense == covering((a, b), parents)
            assert 0 not in times_covered((a, b), dense)
    else:
        for refuse in (child.multiplier, lambda w: cover.dense_cover(child, w)):
            with pytest.raises(CoverError, match="is not covered by"):
                refuse(parent)


# --- sparse covers --------------------------------------------------------------------------------


def check_sparse(child: Window, parent: Window, *, overlap: bool) -> None:
    children, parents = hyper_period(child, parent)
    counts = {fewest(span, parents, overlap=overlap) for span in children}
    expected = None if None in counts else counts.pop()
    assert cover.sparse_count(child, parent, overlap=overlap) == expected, (child, parent, overlap)
    starts = cover.sparse_cover(child, parent, overlap=overlap)
    if expected is None:
        assert starts is None
        return
    assert not counts, "intervals of one window need equally many"
    assert starts is not None
    assert len(starts) == expected
    for a, b in children:
        parts = [(a + at, a + at + parent.range) for at in starts]
        assert set(parts) <= set(covering((a, b), parents))
        times = times_covered((a, b), parts)
        assert 0 not in times if overlap else times == {1}


@pytest.mark.parametrize("overlap", [True, False])
def test_sparse_cover_is_the_fewest_on_every_pair_of_small_windows(overlap: bool) -> None:
    for child, parent in SMALL:
        check_sparse(child, parent, overlap=overlap)


@settings(max_examples=120, deadline=None)
@given(related, st.booleans())
def test_sparse_cover_is_the_fewest(pair: tuple[Window, Window], overlap: bool) -> None:
    check_sparse(*pair, overlap=overlap)


@settings(max_examples=120, deadline=None)
@given(related)
def test_a_sparse_cover_never_needs_more_than_the_covering_set(pair: tuple[Window, Window]) -> None:
    child, parent = pair
    loose = cover.sparse_count(child, parent, overlap=True)
    exact = cover.sparse_count(child, parent, overlap=False)
    if child.covered_by(parent):
        assert loose is not None
        assert loose <= child.multiplier(parent)
    if child.partitioned_by(parent):
        assert exact == child.multiplier(parent)
    if exact is not None:
        assert loose is not None
        assert loose <= exact


def test_a_hopping_parent_tiles_exactly() -> None:
    assert cover.sparse_cover(Window(1440, 1), Window(720, 1), overlap=False) == (0, 720)
    assert not Window(1440, 1).partitioned_by(Window(720, 1))


def test_a_parent_of_the_same_range_and_a_finer_slide_gives_its_own_intervals() -> None:
    assert cover.sparse_cover(Window(10, 4), Window(10, 2), overlap=False) == (0,)
    # Definition 1 asks for a longer range, so the paper's relation leaves this pair out.
    assert not Window(10, 4).covered_by(Window(10, 2))


# --- the paper's examples -------------------------------------------------------------------------

W1, W2 = Window(10, 2), Window(8, 2)


def test_examples_2_and_3_coverage() -> None:
    assert list(W1.intervals(0, 12)) == [(0, 10), (2, 12)]
    assert list(W2.intervals(0, 12)) == [(0, 8), (2, 10), (4, 12)]
    assert W1.covered_by(W2)
    assert not W2.covered_by(W1)


def test_example_4_covering_sets() -> None:
    assert cover.covering_set(Interval(0, 10), W2) == ((0, 8), (2, 10))
    assert cover.covering_set(Interval(2, 12), W2) == ((2, 10), (4, 12))
    assert W1.multiplier(W2) == 2


def test_example_5_is_refused() -> None:
    assert not W1.partitioned_by(W2)
    # The same conditions with a tumbling parent hold: it is the hopping parent that is refused.
    assert W1.partitioned_by(Window(2, 2))


def test_figure_4_partitioning_with_two_intervals() -> None:
    assert Window(20, 20).partitioned_by(Window(10, 10))
    assert Window(20, 20).multiplier(Window(10, 10)) == 2


def test_a_multiplier_that_does_not_exist_says_why() -> None:
    with pytest.raises(CoverError) as caught:
        Window(10, 2).multiplier(Window(7, 2))
    assert str(caught.value) == (
        "Window(10, 2) is not covered by Window(7, 2): the parent's slide must divide the child's slide, the "
        "difference of the ranges and the difference of the offsets, and its range must be shorter"
    )
