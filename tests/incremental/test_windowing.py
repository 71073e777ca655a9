"""The windowing library against the definition of each window: what it holds whenever a result is due."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.errors import IncrementalError, WindowError
from muntin.incremental.windowing.events import Evict, Insert, Trigger
from muntin.incremental.windowing.policies import (
    CountPolicy,
    DeltaPolicy,
    Moment,
    PunctuationPolicy,
    Sliding,
    TimePolicy,
    Tumbling,
)
from muntin.incremental.windowing.windower import WHOLE, Windower
from tests.incremental.windows_by_definition import Definition, Item, feed, streams, windows

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping


@dataclass
class Replay:
    """Carry the events out on plain lists, and note what a trigger finds."""

    held: dict[Hashable, list[tuple[int, Any]]] = field(default_factory=lambda: defaultdict(list))
    found: dict[Hashable, list[tuple[int, list[Any]]]] = field(default_factory=lambda: defaultdict(list))
    oldest_first: bool = True

    def insert(self, key: Hashable, id: int, attributes: Mapping[str, Any], before: int | None = None) -> None:
        window = self.held[key]
        at = len(window) if before is None else [each for each, _ in window].index(before)
        window.insert(at, (id, attributes["label"]))
        self.oldest_first &= before is None

    def evict(self, key: Hashable, id: int) -> None:
        at = [each for each, _ in self.held[key]].index(id)
        del self.held[key][at]
        self.oldest_first &= at == 0

    def trigger(self, key: Hashable, time: int) -> None:
        if self.held[key]:
            self.found[key].append((time, [label for _, label in self.held[key]]))


def replayed(windower: Windower, stream: list[Item]) -> Replay:
    replay = Replay()
    for item in stream:
        for event in feed(windower, item):
            event.send(replay)
    return replay


@settings(max_examples=250, deadline=None)
@given(windows, streams(), st.booleans())
def test_every_window_holds_what_its_definition_says(
    window: Sliding | Tumbling, stream: list[Item], partitioned: bool
) -> None:
    windower, definition = Windower(window, partitioned=partitioned), Definition(window, partitioned)
    replay = replayed(windower, stream)
    for item in stream:
        definition.step(item)
    assert dict(replay.found) == dict(definition.found)
    assert windower.late == definition.late


@settings(max_examples=80, deadline=None)
@given(windows, streams(ordered=True))
def test_tuples_in_order_leave_in_order(window: Sliding | Tumbling, stream: list[Item]) -> None:
    assert replayed(Windower(window), stream).oldest_first


@settings(max_examples=80, deadline=None)
@given(windows, streams(), st.data())
def test_a_restored_windower_goes_on_identically(
    window: Sliding | Tumbling, stream: list[Item], data: st.DataObject
) -> None:
    idle = data.draw(st.sampled_from([None, 1, 9, 40]))
    windower = Windower(window, idle=idle)
    cut = data.draw(st.integers(0, len(stream)))
    for item in stream[:cut]:
        feed(windower, item)
    twin = Windower.restore(window, windower.snapshot(), idle=idle)
    for item in stream[cut:]:
        assert feed(windower, item) == feed(twin, item)
    assert windower.snapshot() == twin.snapshot()
    assert (windower.late, windower.keys) == (twin.late, twin.keys)


# --- one by one ---------------------------------------------------------------------------------------


def found(window: Sliding | Tumbling, stream: list[Item], key: Hashable = "a") -> list[tuple[int, list[Any]]]:
    return replayed(Windower(window), stream).found[key]


def arrivals(*times: int, km: tuple[int, ...] = ()) -> list[Item]:
    values = km or (0,) * len(times)
    return [Item("tuple", time, "a", far, label) for label, (time, far) in enumerate(zip(times, values, strict=True))]


def test_a_time_window_ends_before_its_end() -> None:
    stream = [*arrivals(0, 9, 10, 19), Item("time", 30)]
    assert found(Tumbling(TimePolicy(10)), stream) == [(10, [0, 1]), (20, [2, 3])]
    assert found(Sliding(TimePolicy(10), TimePolicy(5)), stream) == [
        (5, [0]),
        (10, [0, 1]),
        (15, [1, 2]),
        (20, [2, 3]),
        (25, [3]),
    ]


def test_offsets_and_times_before_the_epoch() -> None:
    stream = [*arrivals(-13, -8, -7), Item("time", 0)]
    assert found(Tumbling(TimePolicy(5, offset=2)), stream) == [(-8, [0]), (-3, [1, 2])]


def test_a_count_window_slides_over_the_last_tuples() -> None:
    # SPL's example, with a window of 4.
    contents = [content for _, content in found(Sliding(CountPolicy(4)), arrivals(*range(6)))]
    assert contents == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]
    contents = [content for _, content in found(Tumbling(CountPolicy(4)), arrivals(*range(9)))]
    assert contents == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_a_delta_window_tumbles_before_the_tuple_that_exceeds_it() -> None:
    stream = arrivals(*range(6), km=(0, 10, 11, 15, 21, 22))
    contents = [content for _, content in found(Tumbling(DeltaPolicy("km", 10)), stream)]
    assert contents == [[0, 1], [2, 3, 4]]
    contents = [content for _, content in found(Sliding(DeltaPolicy("km", 10)), stream)]
    assert contents == [[0], [0, 1], [1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]


def test_a_delta_may_be_any_difference() -> None:
    policy = DeltaPolicy("at", timedelta(minutes=5))
    now = Moment(0, 0, 0, furthest=timedelta(hours=1))
    assert policy.keeps(timedelta(minutes=55), now) and not policy.keeps(timedelta(minutes=54), now)


def test_punctuation_ends_a_window() -> None:
    stream = [*arrivals(0, 1), Item("punctuation", 1), *arrivals(2), Item("punctuation", 3), Item("punctuation", 4)]
    assert found(Tumbling(PunctuationPolicy()), stream) == [(1, [0, 1]), (3, [0])]
    assert found(Sliding(PunctuationPolicy(2), PunctuationPolicy()), stream) == [(1, [0, 1]), (3, [0, 1, 0]), (4, [0])]


def test_extent_and_slide_of_different_kinds() -> None:
    # SPL: sliding, time(10), count(5): the last ten seconds, after every five tuples.
    stream = arrivals(0, 3, 6, 9, 12, 15, 16, 17, 18, 19)
    assert found(Sliding(TimePolicy(10), CountPolicy(5)), stream) == [(12, [1, 2, 3, 4]), (19, [4, 5, 6, 7, 8, 9])]


def test_a_tuple_out_of_order_takes_its_place_in_time() -> None:
    windower = Windower(Sliding(TimePolicy(10), CountPolicy(1)))
    for time in (5, 9, 7):
        events = windower.arrive("a", time, {})
    assert events == [Insert("a", 2, {}, before=1), Trigger("a", 9)]
    assert windower.arrive("a", -1, {}) == [] and windower.late == 1
    # It left between: the one that comes now is the newest again.
    windower.arrive("a", 100, {})
    assert windower.arrive("a", 95, {})[0] == Insert("a", 4, {}, before=3)


def test_keys_share_the_clock_and_nothing_else() -> None:
    stream = [Item("tuple", 1, "a", label=1), Item("tuple", 12, "b", label=2), Item("tuple", 31, "b", label=3)]
    replay = replayed(Windower(Tumbling(TimePolicy(10))), stream)
    assert dict(replay.found) == {"a": [(10, [1])], "b": [(20, [2])]}
    replay = replayed(Windower(Sliding(CountPolicy(2), CountPolicy(2)), partitioned=False), stream)
    assert dict(replay.found) == {WHOLE: [(12, [1, 2])]}


# --- state that goes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [Tumbling(TimePolicy(10)), Sliding(TimePolicy(20), TimePolicy(10))])
def test_a_key_without_tuples_is_dropped_after_a_last_trigger(window: Sliding | Tumbling) -> None:
    windower = Windower(window)
    windower.arrive("a", 1, {})
    windower.arrive("b", 35, {})
    assert list(windower.keys) == ["b"]
    events = windower.advance(10**15)  # a silence of 10^14 slides
    assert events[-1].key == "b" and isinstance(events[-1], Trigger) and len(events) < 9
    assert list(windower.keys) == []


def test_counts_run_on_through_an_empty_window() -> None:
    windower = Windower(Sliding(TimePolicy(10), CountPolicy(3)))
    windower.arrive("a", 0, {})
    windower.arrive("a", 1, {})
    assert windower.advance(500) == [Evict("a", 0), Evict("a", 1)]
    assert windower.arrive("a", 501, {}) == [Insert("a", 2, {}), Trigger("a", 501)]


def test_an_idle_key_is_dropped_where_asked() -> None:
    windower = Windower(Sliding(CountPolicy(3), CountPolicy(3)), idle=100)
    for time in (0, 1):
        windower.arrive("a", time, {})
    windower.arrive("b", 50, {})
    assert windower.arrive("b", 101, {})[:3] == [Evict("a", 0), Evict("a", 1), Trigger("a", 101)]
    assert windower.keys == ("b",)
    # Its own tuple may be what shows that it was idle: then it starts anew.
    events = windower.arrive("b", 300, {})
    assert events == [Evict("b", 2), Evict("b", 3), Trigger("b", 300), Insert("b", 4, {})]
    events = [event for time in (301, 302) for event in windower.arrive("b", time, {})]
    assert events[-1] == Trigger("b", 302)


def test_the_key_that_is_idle_is_dropped_and_no_other() -> None:
    windower = Windower(Sliding(CountPolicy(3)), idle=100)
    for key, time in [("a", 0), ("b", 30), ("a", 60), ("c", 90), ("c", 129)]:
        windower.arrive(key, time, {})
    assert set(windower.keys) == {"a", "b", "c"}
    windower.advance(130)
    assert set(windower.keys) == {"a", "c"}


def test_tuples_that_left_are_forgotten() -> None:
    windower = Windower(Sliding(DeltaPolicy("km", 10), PunctuationPolicy()))
    windower.arrive("a", 0, {"km": 10**6})
    for time in range(1, 3000):
        windower.arrive("a", time, {"km": 10**6 - 10})
    windower.arrive("a", 3000, {"km": 10**6 + 1})  # all go but the first and the last
    held = windower._partitions["a"].held
    assert len(held) == 2 and len(held._order) < 20


# --- bad input ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: TimePolicy(0), "TimePolicy: length must be a whole number of at least 1, got 0"),
        (lambda: TimePolicy(5, offset=0.5), "TimePolicy: offset must be a whole number, got 0.5"),  # type: ignore[arg-type]
        (lambda: CountPolicy(True), "CountPolicy: count must be a whole number of at least 1, got True"),
        (lambda: CountPolicy(2.0), "CountPolicy: count must be a whole number"),  # type: ignore[arg-type]
        (lambda: PunctuationPolicy(-1), "PunctuationPolicy: count must be .* got -1"),
        (lambda: DeltaPolicy("km", -1), "DeltaPolicy: delta must not be negative, got -1"),
        (lambda: DeltaPolicy("km", "5"), "DeltaPolicy: delta must be a difference, .* got '5'"),
        (lambda: DeltaPolicy("km", float("nan")), "DeltaPolicy: delta must not be negative, got nan"),
    ],
)
def test_policies_that_cannot_be(build: Any, text: str) -> None:
    with pytest.raises(WindowError, match=text):
        build()


@pytest.mark.parametrize("value", [None, float("nan"), ..., "7", float("inf"), Decimal(7), Decimal("inf")])
@pytest.mark.parametrize("kind", ["extent", "slide"])
def test_a_tuple_that_cannot_be_measured_changes_nothing(value: object, kind: str) -> None:
    delta, time = DeltaPolicy("km", 5), TimePolicy(1)
    windower = Windower(Sliding(delta, time) if kind == "extent" else Sliding(time, delta))
    windower.arrive("a", 0, {"km": 1.5})
    before = windower.snapshot()
    row = {} if value is ... else {"km": value}
    with pytest.raises(
        WindowError, match=r"DeltaPolicy measures by 'km', and a tuple at time 9 has .*, which has no distance from 1.5"
    ):
        windower.arrive("a", 9, row)
    assert windower.snapshot() == before


@pytest.mark.parametrize("time", [1.5, None, True, "1"])
def test_a_time_must_be_a_whole_number(time: Any) -> None:
    with pytest.raises(IncrementalError, match="a time must be a whole number"):
        Windower(Tumbling(CountPolicy(1))).arrive("a", time, {})


@pytest.mark.parametrize("idle", [0, -5, 2.5, True])
def test_idle_must_be_a_length_of_time(idle: Any) -> None:
    with pytest.raises(IncrementalError, match="idle must be a length of time"):
        Windower(Tumbling(CountPolicy(1)), idle=idle)


def test_a_snapshot_of_another_window_is_refused() -> None:
    data = Windower(Tumbling(CountPolicy(3))).snapshot()
    with pytest.raises(IncrementalError, match=r"CountPolicy\(count=4\).* was expected, .*CountPolicy\(count=3\)"):
        Windower.restore(Tumbling(CountPolicy(4)), data)
