"""Partial aggregation in front of final aggregation: slices, Table 1, and every algorithm against a fold per window."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import Window
from muntin.aggregate import catalog as agg
from muntin.errors import AggregateError, IncrementalError, WindowError
from muntin.incremental import ALGORITHMS, MULTI_RANGE
from muntin.incremental.partial import Partials, Slice
from muntin.incremental.sliced import Answer, SlicedAggregator
from muntin.testing.closeness import close
from muntin.window.interval import Interval
from muntin.window.slices import cutty, pairs, panes
from tests.incremental.counting import Stop, counted
from tests.incremental.operators import CASES, Case, legal

if TYPE_CHECKING:
    from collections.abc import Callable

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.window.slices import Slicing

    Cut = Callable[..., Slicing]

CUTS: list[Cut] = [panes, pairs, cutty]


# --- slices of the figures ------------------------------------------------------------------------------


def sliced(cut: Cut, window: Window, times: range) -> list[tuple[Interval, list[int]]]:
    partials: Partials[Any] = Partials(cut(window), agg.collect)
    closed = [slice_ for time in times for slice_ in partials.add(time, (time,))]
    return [(slice_.interval, agg.collect.lower(slice_.partial)) for slice_ in closed]


def test_panes_of_figure_2() -> None:
    assert sliced(panes, Window(4, 1), range(4)) == [(Interval(t, t + 1), [t]) for t in range(3)]


def test_pairs_of_figure_3() -> None:
    # f2 = 14 % 8 = 6 and f1 = 2
    found = sliced(pairs, Window(14, 8), range(17))
    assert [(interval.start, len(times)) for interval, times in found] == [(0, 6), (6, 2), (8, 6), (14, 2)]


def test_cutty_of_figure_4() -> None:
    found = sliced(cutty, Window(5, 3), range(10))
    assert [(interval.start, times) for interval, times in found] == [(0, [0, 1, 2]), (3, [3, 4, 5]), (6, [6, 7, 8])]


def test_slices_without_events_are_given_out_too() -> None:
    partials: Partials[Any] = Partials(pairs(Window(14, 8)), agg.sum)
    assert partials.add(-3, agg.sum.lift(5)) == []
    nothing = agg.sum.identity
    assert partials.add(9, agg.sum.lift(1)) == [
        Slice(Interval(-8, -2), agg.sum.lift(5)),
        Slice(Interval(-2, 0), nothing),
        Slice(Interval(0, 6), nothing),
        Slice(Interval(6, 8), nothing),
    ]


def test_an_event_costs_one_combine_and_the_first_of_a_slice_none() -> None:
    function, calls = counted(agg.sum)
    partials: Partials[Any] = Partials(panes(Window(10, 5)), function)
    for time in (0, 1, 4, 5, 20, 21):
        partials.add(time, function.lift(1))
    assert calls.count == 3


def test_only_cutty_is_read_while_open() -> None:
    for cut in (panes, pairs):
        partials: Partials[Any] = Partials(cut(Window(5, 3)), agg.sum)
        partials.add(0, agg.sum.lift(1))
        with pytest.raises(IncrementalError, match=f"a slice of {cut.__name__} is read when it is over"):
            partials.read()


# --- Table 1 --------------------------------------------------------------------------------------------


def counted_partials(cut: Cut, window: Window) -> set[int]:
    """Count the partials of each interval once the stream is longer than the range."""
    counts = SlicedAggregator([window], agg.count, cut=cut)
    answers = [answer for time in range(4 * window.range) for answer in counts.add(time, 1)]
    assert all(answer.partial == window.range for answer in answers if answer.interval.start >= 0)
    return {answer.partials for answer in answers if answer.interval.start >= 0}


@pytest.mark.parametrize(
    "shape", [(4, 1), (12, 4), (7, 7), (14, 8), (5, 3), (9, 2), (10, 4), (23, 7), (8, 6), (6, 5)], ids=str
)
def test_partials_per_window_are_those_of_table_1(shape: tuple[int, int]) -> None:
    r, s = shape
    window = Window(r, s)
    whole = r % s == 0
    assert counted_partials(panes, window) == {r // s if whole else r // math.gcd(r, s)}
    assert counted_partials(pairs, window) == {r // s if whole else 2 * (r // s) + 1}
    assert counted_partials(cutty, window) == {r // s if whole else -(-r // s)}


# --- every algorithm against a fold of each interval ------------------------------------------------------


class Event(NamedTuple):
    time: int
    partial: Any


def from_scratch(windows: list[Window], function: AggregateFunction, stream: list[Event], until: int) -> list[Any]:
    """Fold each interval that ended by `until` and has events: end, window and partial, in order of the ends."""
    found = []
    for place, window in enumerate(windows):
        for start in range(stream[0].time - window.range, until):
            end = start + window.range
            held = [event.partial for event in stream if start <= event.time < end]
            if (start - window.offset) % window.slide == 0 and end <= until and held:
                found.append((end, place, function.merge(held)))
    return sorted(found, key=lambda row: row[:2])


def answers_of(aggregator: SlicedAggregator[Any], stream: list[Event], until: int) -> list[Answer[Any]]:
    answers = [answer for event in stream for answer in aggregator.add(*event)]
    return answers + aggregator.advance(until)


def assert_same(
    answers: list[Answer[Any]], expected: list[Any], windows: list[Window], function: AggregateFunction
) -> None:
    assert [(a.interval.end, windows.index(a.window)) for a in answers] == [row[:2] for row in expected]
    for answer, (end, place, partial) in zip(answers, expected, strict=True):
        assert answer.interval == Interval(end - windows[place].range, end)
        assert close(function.lower(answer.partial), function.lower(partial), beside=[row[2] for row in expected])


@st.composite
def window_of(draw: st.DrawFn) -> Window:
    slide = draw(st.integers(1, 9))
    return Window(draw(st.integers(slide, 25)), slide, draw(st.integers(0, 8)))


@st.composite
def times(draw: st.DrawFn) -> list[int]:
    time = draw(st.integers(-40, 20))
    steps = draw(st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 7, 30, 61]), max_size=25))
    return [time := time + step for step in [0, *steps]]


SHARP = [case for case in CASES if case.label in {"collect", "affine", "arg_max", "max", "sum of integers", "first"}]


@settings(max_examples=250, deadline=None)
@given(
    st.lists(window_of(), min_size=1, max_size=3, unique=True),
    times(),
    st.sampled_from(SHARP),
    st.sampled_from(CUTS),
    st.data(),
)
def test_sliced_results_are_those_of_each_interval(
    windows: list[Window], at: list[int], case: Case, cut: Cut, data: st.DataObject
) -> None:
    known = ALGORITHMS if len(windows) == 1 else MULTI_RANGE
    algorithm = data.draw(st.sampled_from([name for name in known if legal(name, case)]))
    stream = [Event(time, partial) for time, partial in zip(at, case.partials(len(at), len(at)), strict=True)]
    until = stream[-1].time + data.draw(st.integers(0, 40))
    aggregator = SlicedAggregator(windows, case.function, cut=cut, algorithm=algorithm)
    answers = answers_of(aggregator, stream, until)
    assert_same(answers, from_scratch(windows, case.function, stream, until), windows, case.function)


SETS = {
    "one": [Window(14, 8, offset=3)],
    "many": [Window(5, 3), Window(12, 4, offset=1), Window(10, 10, offset=7), Window(23, 6)],
}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_every_algorithm_takes_every_operator_it_may(algorithm: str, case: Case) -> None:
    at = [-31, -30, -29, -27, -27, -22, -13, -1, 0, 1, 2, 3, 5, 8, 40, 41, 43, 44, 45, 46, 47, 48, 49, 50, 53, 70]
    stream = [Event(time, partial) for time, partial in zip(at, case.partials(3, len(at)), strict=True)]
    for name, windows in SETS.items():
        for cut in CUTS:
            if not legal(algorithm, case):
                with pytest.raises(AggregateError, match=algorithm):
                    SlicedAggregator(windows[:1], case.function, cut=cut, algorithm=algorithm)
            elif name == "one" or algorithm in MULTI_RANGE:
                aggregator = SlicedAggregator(windows, case.function, cut=cut, algorithm=algorithm)
                answers = answers_of(aggregator, stream, 100)
                assert_same(answers, from_scratch(windows, case.function, stream, 100), windows, case.function)


# --- silence, order, failure ------------------------------------------------------------------------------


def test_a_long_silence_costs_nothing() -> None:
    function, calls = counted(agg.sum)
    aggregator = SlicedAggregator([Window(10, 3), Window(50, 7)], function)
    aggregator.add(0, function.lift(1))
    answers = aggregator.add(10**15, function.lift(2))
    assert len(answers) == 4 + 8 and calls.count < 100
    assert aggregator.slices == 0
    (first, *_) = aggregator.advance(10**15 + 100)
    assert function.lower(first.partial) == 2


def test_slices_that_no_window_needs_are_let_go() -> None:
    aggregator = SlicedAggregator([Window(10, 3), Window(50, 7)], agg.count, cut=pairs)
    most = 0
    for time in range(2000):
        aggregator.add(time, 1)
        most = max(most, aggregator.slices)
    assert most <= 50
    assert len(aggregator._starts) <= 2 * most + 1


@pytest.mark.parametrize("cut", CUTS)
def test_time_goes_one_way(cut: Cut) -> None:
    aggregator = SlicedAggregator([Window(5, 3)], agg.sum, cut=cut)
    aggregator.add(7, agg.sum.lift(1))
    before = aggregator.snapshot()
    with pytest.raises(IncrementalError, match=r"an event at time 6 comes after time 7 was reached: .* in order"):
        aggregator.add(6, agg.sum.lift(1))
    assert aggregator.snapshot() == before
    aggregator.advance(500)
    with pytest.raises(IncrementalError, match="time 499 comes after time 500 was reached"):
        aggregator.add(499, agg.sum.lift(1))


def test_algorithms_for_one_range_take_one_window() -> None:
    with pytest.raises(IncrementalError, match=r"DABA aggregates one range only, and 2 windows .* Use one of Panes, "):
        SlicedAggregator([Window(5, 3), Window(4, 2)], agg.sum, algorithm="DABA")
    with pytest.raises(IncrementalError, match=r"unknown algorithm 'Daba': known are .*DABA"):
        SlicedAggregator([Window(5, 3)], agg.sum, algorithm="Daba")
    with pytest.raises(WindowError, match="the window set is empty"):
        SlicedAggregator([], agg.sum)


def step(aggregator: SlicedAggregator[Any], event: Event) -> list[Answer[Any]]:
    return aggregator.advance(event.time) if event.partial is None else aggregator.add(*event)


@pytest.mark.parametrize("algorithm", ["FlatFIT", "FlatFAT", "SlickDeque-Inv"])
def test_a_call_that_raised_can_be_made_again(algorithm: str) -> None:
    windows = [Window(14, 8), Window(5, 3), Window(6, 2)]
    stream = [Event(time, agg.sum.lift(time)) for time in (0, 1, 1, 4, 9, 10, 11, 12, 19, 20, 21, 40)]
    expected = answers_of(SlicedAggregator(windows, agg.sum, algorithm=algorithm), stream, 60)
    function, calls = counted(agg.sum)
    answers_of(SlicedAggregator(windows, function, algorithm=algorithm), stream, 60)
    for nth in range(1, calls.taken() + 1):
        aggregator = SlicedAggregator(windows, function, algorithm=algorithm)
        calls.reset(fail_at=nth)
        found: list[Answer[Any]] = []
        failures = 0
        for event in [*stream, Event(60, None)]:
            try:
                found += step(aggregator, event)
            except Stop:
                failures += 1
                # A snapshot taken now holds the results that were ready, and the rest to do.
                data = aggregator.snapshot()
                aggregator = SlicedAggregator.restore(windows, function, data, algorithm=algorithm)
                found += step(aggregator, event)
        assert failures == 1 and found == expected


# --- snapshots --------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(window_of(), min_size=1, max_size=3, unique=True), times(), st.sampled_from(CUTS), st.data())
def test_a_restored_aggregator_goes_on_identically(
    windows: list[Window], at: list[int], cut: Cut, data: st.DataObject
) -> None:
    algorithm = data.draw(st.sampled_from(list(MULTI_RANGE if len(windows) > 1 else ALGORITHMS)))
    case = next(case for case in CASES if legal(algorithm, case) and case.label != "count")
    (function, calls), (twin, other_calls) = counted(case.function), counted(case.function)
    stream = [Event(time, partial) for time, partial in zip(at, case.partials(1, len(at)), strict=True)]
    one = SlicedAggregator(windows, function, cut=cut, algorithm=algorithm)
    middle = data.draw(st.integers(0, len(stream)))
    for event in stream[:middle]:
        one.add(*event)
    other = SlicedAggregator.restore(windows, twin, one.snapshot(), cut=cut, algorithm=algorithm)
    calls.reset()
    for event in stream[middle:]:
        assert one.add(*event) == other.add(*event)
        assert calls.taken() == other_calls.taken()
    assert one.advance(stream[-1].time + 50) == other.advance(stream[-1].time + 50)
    assert one.snapshot() == other.snapshot()


def test_a_snapshot_of_other_windows_is_refused() -> None:
    data = SlicedAggregator([Window(5, 3)], agg.sum).snapshot()
    with pytest.raises(IncrementalError, match=r"Window\(6, 3\).* was expected, .*Window\(5, 3\)"):
        SlicedAggregator.restore([Window(6, 3)], agg.sum, data)


# --- costs ------------------------------------------------------------------------------------------------


def test_windows_share_their_slices() -> None:
    windows = [Window(60, 5), Window(30, 10), Window(120, 20)]
    function, calls = counted(agg.max)
    together = SlicedAggregator(windows, function, algorithm="SlickDeque-NonInv")
    for time in range(5000):
        together.add(time, time * 7919 % 1000)
    shared = calls.taken()
    for window in windows:
        alone = SlicedAggregator([window], function, algorithm="SlickDeque-NonInv")
        for time in range(5000):
            alone.add(time, time * 7919 % 1000)
    # The events are folded once in place of three times, and the final aggregation is below 2 for 5 events.
    assert shared < 5000 * 1.4 and calls.count > 2 * shared


def test_ranges_are_registered_where_the_algorithm_keeps_aggregates_for_them() -> None:
    windows = [Window(400, 1), Window(200, 1)]
    function, calls = counted(agg.sum)
    aggregator = SlicedAggregator(windows, function, algorithm="SlickDeque-Inv")
    for time in range(1000):
        aggregator.add(time, function.lift(1))
    calls.reset()
    for time in range(1000, 1100):
        aggregator.add(time, function.lift(1))
    assert calls.count <= 100 * 4  # two operations for each of two ranges; folded anew, 199 and more


@pytest.mark.parametrize("time", [1.5, True, None, "1", np.int64(2**63 - 2)])
def test_a_time_must_be_a_whole_number(time: Any) -> None:
    counts = SlicedAggregator([Window(5, 3)], agg.count)
    counts.add(0, 1)
    before = counts.snapshot()
    for call in (counts.advance, lambda time: counts.add(time, 1)):
        with pytest.raises(IncrementalError, match="a time must be a whole number"):
            call(time)
    assert counts.snapshot() == before
