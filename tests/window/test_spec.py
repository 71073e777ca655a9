"""Windows as values: ids, order, repr, intervals, text, and every bad input by what its error says."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import MuntinError, Window, hopping, tumbling
from muntin.duration import format_duration
from muntin.errors import DurationError, WindowError
from muntin.window.spec import parse_window, window_set

if TYPE_CHECKING:
    from random import Random

EXPECTED = (
    "Write a number and a unit, for example '15m', '1h30m', '90 seconds', '250ms' or ISO-8601 'PT1H30M'; "
    "units are w, d, h, m, s, ms, us or their names"
)


@st.composite
def plain(draw: st.DrawFn, longest: int = 24, id: str = "") -> Window:
    size = draw(st.integers(1, longest))
    slide = draw(st.integers(1, size))
    return Window(size, slide, draw(st.integers(-longest, longest)), id)


@st.composite
def timed(draw: st.DrawFn) -> Window:
    unit = draw(st.sampled_from([1, 1_000, 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000]))
    size = draw(st.integers(1, 100))
    slide = draw(st.integers(1, size))
    lengths = [size * unit, slide * unit, draw(st.integers(0, 100)) * unit]
    return hopping(*map(format_duration, lengths[:2]), offset=format_duration(lengths[2]))


names = st.text("ab1 =_é'\"\\\n", max_size=8)


def fields(window: Window) -> tuple[int, int, int, str, bool]:
    """Everything about a window; equality leaves out its name and its unit."""
    return window.range, window.slide, window.offset, window.id, window.timed


# --- names, equality, order -------------------------------------------------------------------------


def test_default_ids() -> None:
    assert tumbling("20m").id == "tumbling_20m"
    assert hopping("1h", slide="10m").id == "hopping_1h_10m"
    assert hopping("1h", slide="10m", offset="5m").id == "hopping_1h_10m_offset_5m"
    assert Window(20, 20, 3).id == "tumbling_20_offset_3"
    assert tumbling("20m", id="dashboard").id == "dashboard"
    # A slide of the whole range is a tumbling window, whichever function made it.
    assert hopping("20m", slide="20m") == tumbling("20m")
    assert hopping("20m", slide="20m").id == "tumbling_20m"


def test_a_day_and_twenty_four_hours_are_one_window() -> None:
    assert fields(tumbling("24h")) == fields(tumbling("1d")) == fields(tumbling(timedelta(days=1)))


def test_tumbling_is_told_from_hopping() -> None:
    assert Window(4, 4, 1).tumbling
    assert not Window(4, 3).tumbling


@settings(max_examples=60, deadline=None)
@given(plain())
def test_offsets_a_slide_apart_are_the_same_window(window: Window) -> None:
    for slides in (-3, 1, 5):
        twin = Window(window.range, window.slide, window.offset + slides * window.slide)
        assert twin == window
        assert hash(twin) == hash(window)
        assert twin.id == window.id
    assert 0 <= window.offset < window.slide


@settings(max_examples=60, deadline=None)
@given(plain(), plain())
def test_equality_is_the_same_intervals(one: Window, other: Window) -> None:
    assert (one == other) == (set(one.intervals(-60, 60)) == set(other.intervals(-60, 60)))


def test_equality_leaves_out_the_name() -> None:
    assert Window(20, 20, id="a") == Window(20, 20, id="b")
    assert len({Window(20, 20, id="a"), Window(20, 20, id="b"), Window(20, 20, 1)}) == 2


@settings(max_examples=60, deadline=None)
@given(st.lists(plain(), max_size=8), st.randoms(use_true_random=False))
def test_sorting_is_by_range_then_slide_then_offset(found: list[Window], shuffler: Random) -> None:
    shuffled = list(found)
    shuffler.shuffle(shuffled)
    keys = [(w.range, w.slide, w.offset) for w in sorted(shuffled)]
    assert keys == sorted((w.range, w.slide, w.offset) for w in found)


def test_a_window_is_a_value() -> None:
    window = hopping("1h", slide="10m", id="roll")
    with pytest.raises(FrozenInstanceError):
        window.range = 5  # type: ignore[misc]
    assert fields(pickle.loads(pickle.dumps(window))) == fields(window)


# --- repr and text ----------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.one_of(plain(), timed()), names)
def test_repr_is_the_call_that_makes_the_window(window: Window, name: str) -> None:
    named = Window(window.range, window.slide, window.offset, name, timed=window.timed)
    for each in (window, named):
        again = eval(repr(each), {"Window": Window, "tumbling": tumbling, "hopping": hopping})
        assert again == each
        assert fields(again) == fields(each)


def test_repr_and_text_read_well() -> None:
    for window, shown, text in [
        (Window(10, 2), "Window(10, 2)", "10/2"),
        (Window(10, 10, 3, "x"), "Window(10, 10, offset=3, id='x')", "10+3"),
        (tumbling("90m"), "tumbling('90m')", "90m"),
        (tumbling("20m", offset="5m"), "tumbling('20m', offset='5m')", "20m+5m"),
        (hopping("1 hour", "600s"), "hopping('1h', slide='10m')", "1h/10m"),
        (hopping("1h", "10m", offset="65m"), "hopping('1h', slide='10m', offset='5m')", "1h/10m+5m"),
    ]:
        assert repr(window) == shown
        assert str(window) == text


@settings(max_examples=60, deadline=None)
@given(st.one_of(plain(), timed()))
def test_parse_window_reads_what_str_writes(window: Window) -> None:
    assert fields(parse_window(str(window))) == fields(window)
    named = parse_window(f"roll = {window}")
    assert named == window
    assert named.id == "roll"


def test_parse_window_takes_spaces_names_and_long_forms() -> None:
    assert fields(parse_window(" 1 hour / 10 minutes + 5m ")) == fields(hopping("1h", "10m", offset="5m"))
    assert parse_window("a=b=10/2").id == "a=b"
    assert parse_window("20m/20m") == tumbling("20m")
    assert parse_window("10/4+-3") == Window(10, 4, 1)


# --- intervals --------------------------------------------------------------------------------------


def by_definition(window: Window) -> list[tuple[int, int]]:
    """[m * slide + offset, m * slide + offset + range) for every m that matters near zero."""
    starts = (m * window.slide + window.offset for m in range(-200, 201))
    return [(start, start + window.range) for start in starts]


@settings(max_examples=60, deadline=None)
@given(plain(), st.integers(-80, 80), st.integers(-10, 80))
def test_intervals_are_those_whole_within(window: Window, start: int, length: int) -> None:
    end = start + length
    expected = [(a, b) for a, b in by_definition(window) if start <= a and b <= end]
    assert list(window.intervals(start, end)) == expected


@settings(max_examples=60, deadline=None)
@given(plain(), st.integers(-80, 80))
def test_containing_are_those_around_a_time(window: Window, time: int) -> None:
    assert list(window.containing(time)) == [(a, b) for a, b in by_definition(window) if a <= time < b]


@settings(max_examples=60, deadline=None)
@given(plain(), st.integers(-80, 80))
def test_every_time_lies_in_some_interval(window: Window, time: int) -> None:
    found = len(list(window.containing(time)))
    assert window.range // window.slide <= found <= -(-window.range // window.slide)


# --- bad input --------------------------------------------------------------------------------------

BAD_WINDOWS: list[tuple[tuple[Any, ...], str]] = [
    ((10, 0), "slide must be positive, got 0: a window needs 0 < slide <= range"),
    ((10, -2), "slide must be positive, got -2: a window needs 0 < slide <= range"),
    ((0, 1), "range must be positive, got 0: a window needs 0 < slide <= range"),
    ((-10, 2), "range must be positive, got -10: a window needs 0 < slide <= range"),
    (
        (10, 20),
        "slide 20 is longer than range 10: events between two intervals would belong to none. "
        "Make the slide at most the range",
    ),
    ((True, True), "range must be a whole number, got True"),
    ((10, True), "slide must be a whole number, got True"),
    ((10.0, 2), "range must be a whole number, got 10.0"),
    ((10, 2.5), "slide must be a whole number, got 2.5"),
    ((10, 2, 0.5), "offset must be a whole number, got 0.5"),
    ((10, 2, None), "offset must be a whole number, got None"),
    (
        ("20m", "20m"),
        "range must be a whole number, got '20m'; for durations write tumbling('20m') or hopping(...)",
    ),
    ((10, 2, 0, 7), "a window's id must be text, got 7"),
]


@pytest.mark.parametrize(("arguments", "text"), BAD_WINDOWS)
def test_bad_windows_of_integers(arguments: tuple[Any, ...], text: str) -> None:
    with pytest.raises(WindowError) as caught:
        Window(*arguments)
    assert str(caught.value) == text
    assert isinstance(caught.value, MuntinError)
    assert isinstance(caught.value, ValueError)


def test_bad_windows_of_durations() -> None:
    for size, slide, text in [
        ("1h", "0s", "slide must be positive, got 0s: a window needs 0 < slide <= range"),
        ("0m", "0m", "range must be positive, got 0s: a window needs 0 < slide <= range"),
        (
            "10m",
            "1h",
            "slide 1h is longer than range 10m: events between two intervals would belong to none. "
            "Make the slide at most the range",
        ),
    ]:
        with pytest.raises(WindowError) as caught:
            hopping(size, slide=slide)
        assert str(caught.value) == text


def test_bad_durations_pass_through() -> None:
    with pytest.raises(DurationError) as caught:
        tumbling("-20m")
    assert str(caught.value) == (f"duration '-20m' is negative: ranges, slides and offsets count forward. {EXPECTED}")
    with pytest.raises(DurationError, match="cannot read 'soon' as a duration"):
        hopping("1h", slide="soon")
    with pytest.raises(DurationError, match="a duration must be text or a timedelta, got 20"):
        tumbling(20)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "cannot read '' as a window. Write RANGE or RANGE/SLIDE, for example 20m, 1h/10m or 10/2"),
        ("a=", "cannot read 'a=' as a window. Write RANGE or RANGE/SLIDE, for example 20m, 1h/10m or 10/2"),
        ("/2", "cannot read '/2' as a window. Write RANGE or RANGE/SLIDE, for example 20m, 1h/10m or 10/2"),
        ("10/0", "slide must be positive, got 0: a window needs 0 < slide <= range"),
        ("10/-5", "slide must be positive, got -5: a window needs 0 < slide <= range"),
        ("20m/1.5h", "slide 90m is longer than range 20m: events between two intervals would belong to none. "
         "Make the slide at most the range"),
        ("20m/-5m", f"duration '-5m' is negative: ranges, slides and offsets count forward. {EXPECTED}"),
        ("20m/10", f"cannot read '10' as a duration. {EXPECTED}"),
        ("20 parsecs", f"unknown unit 'parsecs' in duration '20 parsecs'. {EXPECTED}"),
    ],
)  # fmt: skip
def test_bad_text_for_a_window(text: str, error: str) -> None:
    with pytest.raises(MuntinError) as caught:
        parse_window(text)
    assert str(caught.value) == error


# --- sets -------------------------------------------------------------------------------------------


def test_a_window_set_keeps_its_order() -> None:
    found = [Window(30, 30), Window(20, 20), Window(20, 20, id="again")]
    assert window_set(iter(found)) == tuple(found)
    assert [w.id for w in window_set(found)] == ["tumbling_30", "tumbling_20", "again"]


def test_an_empty_set_is_refused() -> None:
    with pytest.raises(WindowError) as caught:
        window_set([])
    assert str(caught.value) == ("the window set is empty: declare at least one window, for example tumbling('20m')")


def test_an_id_that_stands_twice_is_refused() -> None:
    with pytest.raises(WindowError) as caught:
        window_set([tumbling("20m", id="x"), tumbling("30m"), tumbling("40m", id="x")])
    assert str(caught.value) == (
        "window id 'x' stands twice: tumbling('20m', id='x') and tumbling('40m', id='x'). "
        "Give each window an id of its own with id='...'"
    )


def test_the_very_same_window_twice_is_refused_too() -> None:
    window = Window(20, 20)
    with pytest.raises(WindowError, match="window id 'tumbling_20' stands twice"):
        window_set([window, window])


def test_two_kinds_of_unit_are_refused() -> None:
    with pytest.raises(WindowError) as caught:
        window_set([tumbling("20m"), Window(20, 20)])
    assert str(caught.value) == (
        "tumbling('20m') and Window(20, 20) cannot stand in one set: one counts microseconds, "
        "the other a plain unit. Declare all of them with durations, or none"
    )


@pytest.mark.parametrize("one", [Window(20, 20), "20m"])
def test_one_window_in_place_of_several_is_refused(one: Any) -> None:
    with pytest.raises(WindowError) as caught:
        window_set(one)
    assert str(caught.value) == (
        f"expected several windows, got {one!r}. Put it in a list, for example [tumbling('20m')]"
    )


def test_what_is_no_window_is_refused() -> None:
    with pytest.raises(WindowError) as caught:
        window_set([Window(20, 20), "20m"])  # type: ignore[list-item]
    assert str(caught.value) == "expected a window such as tumbling('20m') or Window(20, 20), got '20m'"
