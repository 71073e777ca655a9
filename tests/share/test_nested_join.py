from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import Window, hopping, tumbling
from muntin.errors import IncrementalError, WindowError
from muntin.share.nested_join import Match, NestedJoin, Side

shapes = st.builds(
    lambda slide, more, offset: (slide + more, slide, offset),
    st.sampled_from([1, 2, 3, 4, 6]),
    st.integers(0, 12),
    st.integers(0, 5),
)
sides: st.SearchStrategy[Side] = st.sampled_from(["left", "right"])
events = st.tuples(sides, st.sampled_from([0, 0, 1, 1, 2, 5, 9]), st.sampled_from([1, 2, None]))


class Checked:
    """A join whose matches are compared with the pairs that share an interval, by definition."""

    def __init__(self, windows: list[Window], start: int) -> None:
        self.join = NestedJoin(windows)
        self.now: int | None = None
        self.start = start
        self.resumed = False
        self.events: list[tuple[Side, int, Any]] = []
        self.matches: list[Match] = []
        self.lives: list[list[Any]] = [[window, -math.inf, None] for window in windows]

    def add(self, side: Side, wait: int, key: Any) -> None:
        self.now = self.start if self.now is None else self.now + wait
        self.matches += self.join.add(side, self.now, key, len(self.events))
        self.events.append((side, self.now, key))

    def register(self, window: Window) -> None:
        self.matches += self.join.register(window)
        self.lives.append([window, self.join._reading[window.id].since, None])

    def resume(self, name: str) -> None:
        self.resumed = True
        self.matches += self.join.resume(name)
        reader = self.join._reading[name]
        self.lives.append([reader.window, reader.since, None])

    def stop(self, name: str) -> None:
        life = next(life for life in reversed(self.lives) if life[0].id == name)
        life[2] = len(self.events)

    def check(self) -> None:
        found: Counter[tuple[str, int, int, int]] = Counter()
        for match in self.matches:
            for window, since, expires in match.tags:
                assert since < expires
                found.update((window.id, end, match.left, match.right) for end in range(since, expires, window.slide))
        expected = Counter(self.naive())
        if self.resumed:  # such a window may tell again what it told of intervals that are still open
            assert found.keys() == expected.keys()
        else:
            assert found == expected

    def naive(self) -> list[tuple[str, int, int, int]]:
        pairs = [
            (left, right)
            for left, (side, _, key) in enumerate(self.events)
            for right, (other_side, _, other_key) in enumerate(self.events)
            if (side, other_side) == ("left", "right") and key is not None and key == other_key
        ]
        found = []
        for window, since, upto in self.lives:
            for left, right in pairs:
                if upto is not None and max(left, right) >= upto:
                    continue
                times = sorted((self.events[left][1], self.events[right][1]))
                for interval in window.containing(times[0]):
                    if interval.start >= since and times[1] < interval.end:
                        found.append((window.id, interval.end, left, right))
        return found


@settings(deadline=None)
@given(st.lists(shapes, min_size=1, max_size=5), st.lists(events, max_size=40), st.sampled_from([0, -30]))
def test_is_the_naive_definition(pool: list[tuple[int, int, int]], stream: list[Any], start: int) -> None:
    checked = Checked([Window(*shape, id=f"w{i}") for i, shape in enumerate(pool)], start)
    for event in stream:
        checked.add(*event)
    checked.check()


@settings(deadline=None)
@given(st.data(), st.lists(shapes, max_size=3), st.sampled_from([0, -30]))
def test_windows_come_and_go(data: st.DataObject, pool: list[tuple[int, int, int]], start: int) -> None:
    windows = [Window(*shape, id=f"w{i}") for i, shape in enumerate(pool)]
    checked = Checked(windows, start)
    running, paused, number = {window.id for window in windows}, set[str](), len(windows)
    for _ in range(data.draw(st.integers(0, 30))):
        act = data.draw(st.sampled_from(["add", "add", "add", "register", "suspend", "resume", "drop"]))
        if act == "add":
            checked.add(*data.draw(events))
        elif act == "register":
            checked.register(Window(*data.draw(shapes), id=f"w{number}"))
            running.add(f"w{number}")
            number += 1
        elif act == "resume" and paused:
            name = data.draw(st.sampled_from(sorted(paused)))
            paused.remove(name)
            running.add(name)
            checked.resume(name)
        elif act in ("suspend", "drop") and running:
            name = data.draw(st.sampled_from(sorted(running)))
            running.remove(name)
            checked.stop(name)
            if act == "suspend":
                checked.join.suspend(name)
                paused.add(name)
            else:
                checked.join.drop(name)
    checked.check()


def test_an_event_is_held_once_and_as_long_as_the_widest_window_reaches() -> None:
    join = NestedJoin([Window(10 * n, 10, id=f"w{n}") for n in range(1, 7)])
    for time in range(500):
        join.add("left", time, time % 7, time)
        assert join.held <= 60
    # Whatever comes next can share an interval with what came after 440 only.
    assert join.held == 500 - 440
    join.advance(10_000)
    assert join.held == 0


def test_the_windows_of_a_match_widen_with_its_age() -> None:
    join = NestedJoin([Window(2, 1, id="2"), Window(4, 1, id="4"), Window(8, 1, id="8")])
    for time in (0, 5, 7, 9):
        join.add("left", time, "k", time)
    matches = join.add("right", 9, "k", "r")
    assert [(m.left, [tag.window.id for tag in m.tags]) for m in matches] == [
        (9, ["2", "4", "8"]),
        (7, ["4", "8"]),
        (5, ["8"]),
    ]
    # The elder event leaves [2, 10) when the window slides to [6, 14).
    assert [(tag.since, tag.expires) for tag in matches[2].tags] == [(10, 14)]


def test_a_window_that_comes_late_gets_the_matches_that_it_missed() -> None:
    join = NestedJoin([Window(100, 10, id="long")])
    join.add("left", 95, "k", "l")
    assert len(join.add("right", 96, "k", "r")) == 1
    (match,) = join.register(Window(20, 10, id="late"))
    assert match == ("k", "l", "r", ((Window(20, 10), 100, 120),))
    assert join.register(Window(5, 5, id="too late")) != []
    join.advance(101)
    assert join.register(Window(5, 5, id="ended")) == []


def test_resuming_goes_on_with_what_is_held() -> None:
    join = NestedJoin([Window(20, 10, id="a"), Window(20, 10, id="b")])
    join.suspend("b")
    join.add("left", 1, "k", "l")
    assert [tag.window.id for match in join.add("right", 2, "k", "r") for tag in match.tags] == ["a"]
    assert [tag.window.id for match in join.resume("b") for tag in match.tags] == ["b"]
    join.suspend("a")
    join.drop("a")
    assert [tag.window.id for match in join.add("right", 3, "k", "s") for tag in match.tags] == ["b"]


def test_nulls_match_nothing_and_nan_matches_nan() -> None:
    join = NestedJoin([Window(10, 10)])
    for key in (None, (1, None), float("nan"), (1, float("nan")), 0.0):
        join.add("left", 1, key, key)
    assert join.held == 3
    found = [len(join.add("right", 1, key, key)) for key in (None, (1, None), float("nan"), (1, float("nan")), -0.0)]
    assert found == [0, 0, 1, 1, 1]


def test_without_windows_nothing_is_held() -> None:
    join = NestedJoin()
    join.add("left", 1, "k", "l")
    assert join.held == 0
    assert join.register(Window(10, 10, id="w")) == []
    join.add("left", 1, "k", "seen after, but not all events of this time are")
    assert join.add("right", 5, "k", "r") == []


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda j: j.register(Window(8, 2, id="a")), "'a' stands twice"),
        (lambda j: j.register(Window(8, 2, id="p")), "'p' stands twice"),
        (lambda j: j.register(tumbling("1m")), "cannot stand in one set"),
        (lambda j: j.suspend("x"), "no window 'x' is running.*'a'"),
        (lambda j: j.resume("a"), "not suspended.*'p'"),
        (lambda j: j.drop("x"), "no window 'x'"),
        (lambda j: j.add("middle", 9, "k", 1), "'left' or 'right', got 'middle'"),
        (lambda j: j.add("left", 3, "k", 1), "time 3 lies before 4"),
        (lambda j: j.add("left", 4.5, "k", 1), "whole number"),
        (lambda j: j.add("left", 9, ["k"], 1), "cannot be compared: unhashable"),
        (lambda j: NestedJoin([hopping("1h", "1m"), Window(4, 2)]), "cannot stand in one set"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(act: Any, said: str) -> None:
    join = NestedJoin([Window(6, 2, id="a"), Window(6, 2, id="p")])
    join.suspend("p")
    join.add("left", 4, "k", "l")
    with pytest.raises((WindowError, IncrementalError), match=said):
        act(join)
    (match,) = join.add("right", 4, "k", "r")
    assert [tag.window.id for tag in match.tags] == ["a"]
