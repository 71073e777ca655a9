from __future__ import annotations

from math import nan
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import Window
from muntin.errors import IncrementalError
from muntin.share.distinct import DistinctItems
from muntin.share.stairs import Stairs
from muntin.share.stairs_queue import Entry
from muntin.share.subsume import ending_at_slides
from muntin.share.subsume_manager import WindowManager

windows = st.lists(
    st.builds(
        lambda slide, times, more: (slide * times + more, slide),
        st.sampled_from([1, 2, 3, 4, 6]),
        st.integers(1, 4),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=8,
)
streams = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), min_size=1, max_size=60)


def naive(window: Window, events: list[tuple[int, Any]], end: int) -> tuple[Any, ...]:
    """List the distinct values of an interval, the one that appeared last first."""
    inside = [value for time, value in events if end - window.range <= time < end]
    return tuple(dict.fromkeys(reversed(inside)))


@settings(deadline=None)
@given(windows, streams)
def test_is_the_naive_definition(scopes: list[tuple[int, int]], stream: list[tuple[int, int]]) -> None:
    pool = [ending_at_slides(*scope, f"w{i}") for i, scope in enumerate(scopes)]
    manager = WindowManager(DistinctItems(), pool)
    events, now, found = [], 0, []
    for wait, value in stream:
        now += wait
        found += manager.add(now, value)
        events.append((now, value))
    found += manager.advance(now + 30)
    assert {(r.window.id, r.interval): r.value for r in found} == {
        (window.id, interval): values
        for window in pool
        for interval in window.intervals(-40, now + 31)
        if (values := naive(window, events, interval.end))
    }


def held(stairs: Stairs) -> list[list[tuple[int, int]]]:
    return [[(e.last, e.value) for e in (*stair.core, *stair.buffer)] for stair in stairs._stairs]


def feed(stairs: Stairs, time: int, *values: int) -> list[tuple[str, Any]]:
    found = []
    while stairs.due <= time:
        found += [(window.id, value) for window, value in stairs.slide(int(stairs.due))]
    for value in values:
        stairs.arrive(Entry(time, time, stairs.operation.lift(value)))
    return found


def test_the_last_appearance_stays_below_and_moves_up_when_it_expires() -> None:
    # Figure 9: 3 expires from the first level without a substitute, and takes the place of its elder on the second.
    stairs = Stairs(DistinctItems(), [Window(2, 1, id="W0"), Window(6, 1, id="W1")])
    feed(stairs, 0, 3)
    feed(stairs, 1, 5)
    feed(stairs, 2, 3, 3)
    assert held(stairs) == [[(1, 5), (2, 3)], [(0, 3)]] or held(stairs) == [[(0, 3), (1, 5), (2, 3)], []]
    feed(stairs, 3)
    assert held(stairs) == [[(1, 5), (2, 3)], []]
    feed(stairs, 5)
    assert held(stairs) == [[], [(1, 5), (2, 3)]]


def test_phantoms_are_tolerated_until_their_level_reports() -> None:
    stairs = Stairs(DistinctItems(), [Window(2, 1, id="W0"), Window(8, 4, id="W1")])
    feed(stairs, 0, 3)
    feed(stairs, 4)  # W1 slides, and takes 3 in
    assert held(stairs) == [[], [(0, 3)]]
    feed(stairs, 5, 3)
    feed(stairs, 6)
    assert held(stairs) == [[(5, 3)], [(0, 3)]]  # the 3 above is a phantom now
    assert feed(stairs, 7) == [("W0", (3,))]
    feed(stairs, 8)
    assert held(stairs) == [[], [(5, 3)]]  # the elder has been replaced when the newer moved up
    feed(stairs, 11, 3, 4)
    assert feed(stairs, 12) == [("W0", (4, 3)), ("W1", (4, 3))]
    assert held(stairs) == [[(11, 3), (11, 4)], []]  # W1 has reported, and dropped its phantom


def test_memory_is_bounded_by_the_distinct_items_of_each_level() -> None:
    stairs = Stairs(DistinctItems(), [Window(4, 2, id="a"), Window(12, 4, id="b"), Window(36, 12, id="c")])
    for time in range(200):
        feed(stairs, time, *(value % 5 for value in range(40)))
        assert stairs.held.total <= 5 * 2 * 3


def test_items_are_the_same_where_their_keys_are() -> None:
    manager = WindowManager(DistinctItems(key=lambda item: item["user"]), [Window(4, 4, id="w")])
    for time, item in enumerate([{"user": 1, "n": 1}, {"user": 2, "n": 2}, {"user": 1, "n": 3}]):
        manager.add(time, item)
    assert [r.value for r in manager.advance(4)] == [({"user": 1, "n": 3}, {"user": 2, "n": 2})]


def test_one_nan_and_one_null_are_distinct_items() -> None:
    manager = WindowManager(DistinctItems(), [Window(8, 8, id="w")])
    for time, value in enumerate([float("nan"), None, nan, None, 0.0, -0.0]):
        manager.add(time, value)
    (result,) = manager.advance(8)
    assert [str(value) for value in result.value] == ["-0.0", "None", "nan"]


def test_items_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(IncrementalError, match=r"items such as \[1\] cannot be told apart.*Pass key="):
        WindowManager(DistinctItems(), [Window(8, 8)]).add(0, [1])
