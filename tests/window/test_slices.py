"""Slices against brute force: edges from the windows' own intervals, Table 1, and sums over partials."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import Window, hopping, tumbling
from muntin.errors import CoverError, WindowError
from muntin.window import slices
from muntin.window.interval import Interval
from muntin.window.slices import Slicing, cutty, pairs, pane_width, panes

if TYPE_CHECKING:
    from collections.abc import Callable

    Cut = Callable[..., Slicing]

ALL: list[Cut] = [panes, pairs, cutty]


@st.composite
def windows(draw: st.DrawFn, longest: int = 24, slowest: int = 24) -> Window:
    slide = draw(st.integers(1, slowest))
    size = draw(st.integers(slide, max(slide, longest)))
    return Window(size, slide, draw(st.integers(0, slide - 1)))


# Slides up to 8: a composite slide of at most 840, so that whole hyper-periods can be walked.
sets = st.lists(windows(24, 8), min_size=1, max_size=3)
cuts = st.sampled_from(ALL)


def starts(found: list[Window], low: int, high: int) -> set[int]:
    return {t for t in range(low, high) for w in found if (t - w.offset) % w.slide == 0}


def ends(found: list[Window], low: int, high: int) -> set[int]:
    return {t for t in range(low, high) for w in found if (t - w.range - w.offset) % w.slide == 0}


def hyper(found: list[Window]) -> int:
    return math.lcm(*(w.slide for w in found))


# --- where the edges fall -------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(sets)
def test_pairs_cut_at_every_start_and_end_and_nowhere_else(found: list[Window]) -> None:
    period = hyper(found)
    edges = list(pairs(*found).edges_between(-period, period))
    assert edges == sorted(starts(found, -period, period) | ends(found, -period, period))


@settings(max_examples=60, deadline=None)
@given(sets)
def test_cutty_cuts_at_every_start_and_nowhere_else(found: list[Window]) -> None:
    period = hyper(found)
    assert list(cutty(*found).edges_between(-period, period)) == sorted(starts(found, -period, period))


@settings(max_examples=60, deadline=None)
@given(sets)
def test_panes_are_the_longest_equal_slices_that_meet_every_start_and_end(found: list[Window]) -> None:
    period = hyper(found)
    needed = starts(found, -period, period) | ends(found, -period, period)
    slicing = panes(*found)
    assert needed <= set(slicing.edges_between(-period, period))
    (width,) = slicing.lengths
    assert width == slicing.period == pane_width(found)
    longer = range(width + 1, 2 * period + 1)
    assert not any(len({t % wider for t in needed}) == 1 for wider in longer)


@settings(max_examples=60, deadline=None)
@given(windows())
def test_pairs_cut_each_slide_in_two_with_f2_first(window: Window) -> None:
    f2 = window.range % window.slide
    f1 = window.slide - f2
    slicing = pairs(window)
    start = window.offset
    if f2 == 0:
        assert slicing.lengths == (window.slide,)
        return
    assert slicing.slice_of(start) == (start, start + f2)
    assert slicing.slice_of(start + f2) == (start + f2, start + f2 + f1)
    # The other order would leave the ends off the edges, except where the two are equally long.
    f1_first = {start % window.slide, (start + f1) % window.slide}
    assert ((start + window.range) % window.slide in f1_first) == (f1 == f2)


@settings(max_examples=60, deadline=None)
@given(sets, cuts)
def test_edges_repeat_every_period(found: list[Window], cut: Cut) -> None:
    slicing = cut(*found)
    edges, period = slicing.edges, slicing.period
    assert list(edges) == sorted(set(edges))
    assert all(0 <= edge < period for edge in edges)
    assert hyper(found) % period == 0
    assert list(slicing.edges_between(-period, 2 * period)) == [k * period + e for k in (-1, 0, 1) for e in edges]
    assert len(slicing.lengths) == slicing.edge_count == len(edges)
    assert sum(slicing.lengths) == period
    assert [slicing.slice_of(e).end - e for e in edges] == list(slicing.lengths)


@settings(max_examples=60, deadline=None)
@given(sets, cuts, st.integers(-200, 200), st.integers(0, 300))
def test_slices_tile_time(found: list[Window], cut: Cut, time: int, span: int) -> None:
    slicing = cut(*found)
    edges = set(slicing.edges_between(time - 50, time + 50))
    start, end = slicing.slice_of(time)
    assert start <= time < end
    assert start in edges
    assert end in edges
    assert not any(start < edge < end for edge in edges)
    assert slicing.is_edge(time) == (time in edges) == (start == time)
    between = list(slicing.edges_between(time, time + span))
    assert between == [t for t in range(time, time + span) if slicing.is_edge(t)]
    assert slicing.count_between(time, time + span) == len(between)


# --- how many partials a window is made of --------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(windows())
def test_table_1(window: Window) -> None:
    size, slide = window.range, window.slide
    if size % slide == 0:
        assert [cut(window).per_window(window) for cut in ALL] == [size // slide] * 3
    else:
        assert panes(window).per_window(window) == size // math.gcd(size, slide)
        assert pairs(window).per_window(window) == 2 * (size // slide) + 1
        assert cutty(window).per_window(window) == math.ceil(size / slide)


@settings(max_examples=60, deadline=None)
@given(sets, cuts)
def test_partials_per_window_are_the_mean_over_the_hyper_period(found: list[Window], cut: Cut) -> None:
    slicing = cut(*found)
    period = hyper(found)
    for window in found:
        made = [
            len(slicing.compose(Interval(a, a + window.range)))
            for a in range(window.offset, window.offset + period, window.slide)
        ]
        assert slicing.per_window(window) * len(made) == sum(made)


@settings(max_examples=60, deadline=None)
@given(sets, windows(12, 6), cuts)
def test_a_stranger_is_made_of_slices_where_all_its_edges_are_there(
    found: list[Window], stranger: Window, cut: Cut
) -> None:
    slicing = cut(*found)
    span = math.lcm(hyper(found), stranger.slide)
    wanted = starts([stranger], 0, span) | (set() if cut is cutty else ends([stranger], 0, span))
    if wanted <= set(slicing.edges_between(0, span)):
        assert slicing.per_window(stranger) >= 1
    else:
        with pytest.raises(CoverError, match=r"on an edge\. Pass it to"):
            slicing.per_window(stranger)


def test_two_combs_together_can_carry_a_window_that_neither_carries() -> None:
    slicing = pairs(Window(6, 4))
    assert slicing.edges == (0, 2)
    assert slicing.per_window(Window(2, 2)) == 1


# --- what a window is made of ---------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(sets, cuts, st.integers(-5, 5))
def test_compose_tiles_the_interval_with_slices(found: list[Window], cut: Cut, index: int) -> None:
    slicing = cut(*found)
    for window in found:
        start = window.offset + index * window.slide
        parts = slicing.compose(Interval(start, start + window.range))
        assert parts[0].start == start
        assert parts[-1].end == start + window.range
        assert all(a.end == b.start for a, b in pairwise(parts))
        assert list(parts[:-1]) == [slicing.slice_of(part.start) for part in parts[:-1]]
        last, whole = parts[-1], slicing.slice_of(parts[-1].start)
        assert last == whole if not slicing.reads_open else last.end <= whole.end


events = st.lists(st.tuples(st.integers(-40, 40), st.integers(-9, 9)), max_size=40)


@settings(max_examples=60, deadline=None)
@given(sets, st.sampled_from([panes, pairs]), events)
def test_a_sum_over_partials_is_the_sum_over_events(
    found: list[Window], cut: Cut, happened: list[tuple[int, int]]
) -> None:
    slicing = cut(*found)
    partial: defaultdict[Interval, int] = defaultdict(int)
    for time, value in happened:
        partial[slicing.slice_of(time)] += value
    for window in found:
        for interval in window.intervals(-70, 70):
            direct = sum(value for time, value in happened if interval.start <= time < interval.end)
            assert sum(partial[part] for part in slicing.compose(interval)) == direct


@settings(max_examples=60, deadline=None)
@given(sets, events)
def test_cutty_reads_the_open_slice_in_time(found: list[Window], happened: list[tuple[int, int]]) -> None:
    """Walk through time: at each tick the windows that end read their partials, then events arrive."""
    slicing = cutty(*found)
    partial: defaultdict[int, int] = defaultdict(int)
    for now in range(-80, 80):
        for window in found:
            start = now - window.range
            if (start - window.offset) % window.slide:
                continue
            parts = slicing.compose(Interval(start, now))
            direct = sum(value for time, value in happened if start <= time < now)
            assert sum(partial[part.start] for part in parts) == direct
        for time, value in happened:
            if time == now:
                partial[slicing.slice_of(time).start] += value


# --- the paper's figures --------------------------------------------------------------------------


def test_figure_2_panes_of_range_4_slide_1() -> None:
    window = Window(4, 1)
    slicing = panes(window)
    assert slicing.lengths == (1,)
    # F2 iterates over P2, P3, P4 and P5.
    assert slicing.compose(Interval(1, 5)) == ((1, 2), (2, 3), (3, 4), (4, 5))
    assert slicing.per_window(window) == 4


def test_figure_3_pairs_of_range_14_slide_8() -> None:
    window = Window(14, 8)
    slicing = pairs(window)
    assert sorted(slicing.lengths) == [2, 6]
    assert slicing.compose(Interval(8, 22)) == ((8, 14), (14, 16), (16, 22))
    assert slicing.per_window(window) == 3
    assert panes(window).per_window(window) == 7


def test_figure_4_cutty_of_range_5_slide_3() -> None:
    window = Window(5, 3)
    slicing = cutty(window)
    assert slicing.lengths == (3,)
    assert slicing.compose(Interval(3, 8)) == ((3, 6), (6, 8))
    assert slicing.slice_of(6) == (6, 9)
    assert slicing.per_window(window) == 2


def test_an_offset_moves_the_edges() -> None:
    assert pairs(Window(14, 8, offset=5)).edges == (3, 5)
    assert cutty(Window(5, 3, offset=1)).edges == (1,)
    assert panes(Window(4, 4, offset=3)).edges == (3,)


def test_windows_of_durations() -> None:
    day = hopping("24h", slide="7m")
    assert pane_width([day, tumbling("20m")]) == 60_000_000
    # 24 h is 205 slides of 7 minutes and 5 minutes more.
    assert pairs(day).lengths == (300_000_000, 120_000_000)


# --- bounds and refusals --------------------------------------------------------------------------

HUGE = [Window(2 * step, step) for step in (10**9 + 7, 10**9 + 9, 10**9 + 21, 10**9 + 33)]


def test_an_astronomical_period_costs_nothing_until_it_is_written_out() -> None:
    slicing = pairs(*HUGE)
    assert slicing.period == math.prod(w.slide for w in HUGE)
    assert slicing.slice_of(10**9 + 8) == (10**9 + 7, 10**9 + 9)
    assert next(slicing.edges_between(1, slicing.period)) == 10**9 + 7
    assert slicing.per_window(HUGE[0]) > 7
    assert slicing.edge_count == slicing.count_between(slicing.period, 2 * slicing.period) > 10**27
    with pytest.raises(WindowError) as caught:
        _ = slicing.edges
    assert str(caught.value) == (
        "these pairs have more than 10,000,000 edges in [0, 10^36): too many to write out. Take them one by "
        "one with edges_between(start, end), or use slides that divide one another"
    )


def test_the_lengths_and_the_parts_of_one_long_interval_are_bounded_too() -> None:
    with pytest.raises(WindowError, match="more than 10,000,000 edges"):
        _ = pairs(*HUGE).lengths
    long = hopping("24h", slide="1us")
    assert panes(long).per_window(long) == 86_400_000_000
    with pytest.raises(WindowError, match=r"edges in \[0, 86400000000\)"):
        panes(long).compose(Interval(0, long.range))


def test_too_many_edges_are_refused_before_the_first_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        pytest.fail("edges were produced")

    monkeypatch.setattr(slices, "merge", never)
    with pytest.raises(WindowError, match="more than 10,000,000 edges"):
        _ = pairs(*HUGE).edges


def test_the_bound_counts_the_union(monkeypatch: pytest.MonkeyPatch) -> None:
    slicing = pairs(Window(2, 2), Window(3, 3))
    monkeypatch.setattr(slices, "EDGE_LIMIT", 4)
    assert slicing.edges == (0, 2, 3, 4)
    # Neither comb alone holds more than three edges: only the union shows that it is one too many.
    monkeypatch.setattr(slices, "EDGE_LIMIT", 3)
    with pytest.raises(WindowError, match="more than 3 edges"):
        _ = slicing.edges


def test_many_windows_count_without_writing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    slicing = pairs(*(Window(5 * n, 5 * n, offset=n) for n in range(2, 10)))
    expected = len(slicing.edges)
    monkeypatch.setattr(slices, "FEW", 0)
    assert slicing.edge_count == expected


@pytest.mark.parametrize("cut", ALL)
def test_no_windows_no_slices(cut: Cut) -> None:
    with pytest.raises(WindowError, match="the window set is empty: declare at least one window"):
        cut()


@pytest.mark.parametrize("cut", ALL)
def test_units_do_not_mix(cut: Cut) -> None:
    with pytest.raises(WindowError, match="cannot stand in one set"):
        cut(Window(20, 20), tumbling("20m"))


@settings(max_examples=60, deadline=None)
@given(windows(), cuts)
def test_a_window_under_two_names_is_cut_once(window: Window, cut: Cut) -> None:
    twin = Window(window.range, window.slide, window.offset, id="twin")
    assert cut(window, twin, window) == cut(window)


def test_an_interval_off_the_edges_says_which_end() -> None:
    slicing = pairs(Window(14, 8))
    for interval, why in [
        (Interval(1, 14), "its start 1 is no edge"),
        (Interval(0, 13), "its end 13 is no edge"),
        (Interval(1, 13), "its start 1 and its end 13 are no edges"),
        (Interval(8, 0), "its start is not before its end"),
        (Interval(8, 8), "its start is not before its end"),
    ]:
        with pytest.raises(CoverError) as caught:
            slicing.compose(interval)
        assert str(caught.value) == (
            f"[{interval.start}, {interval.end}) is not made of these pairs: {why}. "
            "Pass the window it belongs to to pairs(...) with the others"
        )


def test_a_window_off_the_edges_says_which_end() -> None:
    with pytest.raises(CoverError) as caught:
        pairs(Window(14, 8)).per_window(Window(9, 8))
    assert str(caught.value) == (
        "Window(9, 8) is not made of these pairs: not all its intervals end on an edge. "
        "Pass it to pairs(...) with the others"
    )
    with pytest.raises(CoverError, match="not all its intervals start on an edge"):
        cutty(Window(14, 8)).per_window(Window(14, 8, offset=1))
    # Cutty needs no edge at the end: it reads the running slice.
    assert cutty(Window(14, 8)).per_window(Window(9, 8)) == 2


def test_only_cutty_reads_open_slices() -> None:
    assert [cut(Window(5, 3)).reads_open for cut in ALL] == [False, False, True]
