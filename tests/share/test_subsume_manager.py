from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from muntin import Window, agg, hopping, tumbling
from muntin.errors import AggregateError, IncrementalError, WindowError
from muntin.share.distinct import DistinctItems
from muntin.share.stairs_items import Items
from muntin.share.subsume import ending_at_slides, separate, subsume_windows
from muntin.share.subsume_manager import Result, WindowManager
from muntin.testing.evaluate import from_scratch
from muntin.window.interval import Interval
from tests.share.test_subsume import check_valid

# Invertible or not, commutative or not, holistic, and whole events or distinct items.
OPERATIONS: dict[str, tuple[Any, Any]] = {
    "sum": (agg.sum, agg.sum.evaluate),
    "max": (agg.max, agg.max.evaluate),
    "collect": (agg.collect, agg.collect.evaluate),
    "first": (agg.first, agg.first.evaluate),
    "median": (agg.median, agg.median.evaluate),
    "items": (Items(tuple), tuple),
    "distinct": (DistinctItems(), lambda values: tuple(dict.fromkeys(reversed(list(values))))),
}
# Slides that divide one another often; ranges that are whole slides, end at slides, or do neither.
window_shapes = st.one_of(
    st.builds(
        lambda slide, times: (slide * times, slide, 0), st.sampled_from([1, 2, 3, 4, 6, 8, 12]), st.integers(1, 5)
    ),
    st.builds(
        lambda slide, times, more: (slide * times + more, slide, -slide * times - more),
        st.sampled_from([2, 3, 4, 6]),
        st.integers(1, 5),
        st.integers(0, 3),
    ),
    st.builds(
        lambda slide, more, offset: (slide + more, slide, offset),
        st.sampled_from([2, 3, 4]),
        st.integers(0, 9),
        st.integers(0, 3),
    ),
)


class Life:
    """A stretch of time in which a window ran: the start of its first interval, the clock when it came and went."""

    def __init__(self, window: Window, since: int | None, came: int | None) -> None:
        self.window = window
        self.since = -math.inf if since is None else since
        self.came = -math.inf if came is None else came
        self.went: float = math.inf

    def expects(self, interval: Interval) -> bool:
        return interval.start >= self.since and self.came < interval.end <= self.went


class Changes(RuleBasedStateMachine):
    """Windows come, pause and go while events arrive; each must see what it would see alone."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.events: list[tuple[int, int]] = []
        self.now: int | None = None
        self.seen: int | None = None
        self.running: dict[str, Life] = {}
        self.paused: dict[str, Window] = {}
        self.lives: list[Life] = []
        self.results: list[Result] = []

    def made(self, shape: tuple[int, int, int]) -> Window:
        self.number += 1
        return Window(*shape, id=f"w{self.number}")

    @initialize(
        operation=st.sampled_from(list(OPERATIONS)),
        shapes=st.lists(window_shapes, max_size=6),
        start=st.sampled_from([0, -50, 1000]),
    )
    def begin(self, operation: str, shapes: list[tuple[int, int, int]], start: int) -> None:
        given, self.alone = OPERATIONS[operation]
        windows = [self.made(shape) for shape in shapes]
        self.manager = WindowManager(given, windows)
        self.start = start
        for window in windows:
            self.live(window, None)

    def live(self, window: Window, since: int | None) -> None:
        life = Life(window, since, self.now)
        self.lives.append(life)
        self.running[window.id] = life

    def die(self, name: str) -> None:
        self.running.pop(name).went = -math.inf if self.now is None else self.now

    @rule(wait=st.sampled_from([0, 0, 1, 1, 1, 2, 3, 5, 30]), value=st.integers(0, 4))
    def event(self, wait: int, value: int) -> None:
        self.now = self.start if self.now is None else self.now + wait
        self.results += self.manager.add(self.now, value)
        self.events.append((self.now, value))
        self.seen = self.now + 1

    @rule(wait=st.integers(0, 6))
    def silence(self, wait: int) -> None:
        self.now = self.start if self.now is None else self.now + wait
        self.results += self.manager.advance(self.now)
        self.seen = self.now if self.seen is None else max(self.seen, self.now)

    @rule(shape=window_shapes)
    def register(self, shape: tuple[int, int, int]) -> None:
        window = self.made(shape)
        status = self.manager.register(window)
        self.check_start(window, status.since)
        self.live(window, status.since)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def suspend(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.running)))
        self.paused[name] = self.running[name].window
        assert self.manager.suspend(name).activity == "suspended"
        self.die(name)

    @precondition(lambda self: self.paused)
    @rule(data=st.data())
    def resume(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.paused)))
        window = self.paused.pop(name)
        status = self.manager.resume(name)
        self.check_start(window, status.since)
        self.live(window, status.since)

    @precondition(lambda self: self.running or self.paused)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted([*self.running, *self.paused])))
        self.manager.drop(name)
        if self.paused.pop(name, None) is None:
            self.die(name)

    def check_start(self, window: Window, since: int | None) -> None:
        if self.now is None or self.seen is None:
            assert since is None
            return
        # No later than the first interval that starts after all events so far, where nothing retained is needed.
        assert since is not None
        assert since + window.range > self.now
        assert (since - window.offset) % window.slide == 0
        assert since < max(self.seen, self.now - window.range + 1) + window.slide

    @invariant()
    def groups_are_valid(self) -> None:
        if not hasattr(self, "manager"):
            return
        grouping = self.manager.grouping
        assert sorted(window.id for window in grouping.windows) == sorted(self.running)
        check_valid(grouping)

    @invariant()
    def status_lists_every_window(self) -> None:
        if hasattr(self, "manager"):
            told = {name: status.activity for name, status in self.manager.status().items()}
            assert told == dict.fromkeys(self.running, "running") | dict.fromkeys(self.paused, "suspended")

    def teardown(self) -> None:
        if not self.events:
            return
        self.silence(100)
        found = {(result.window.id, result.interval): result.value for result in self.results}
        assert len(found) == len(self.results)
        expected = {
            (life.window.id, interval): self.alone(values)
            for life in self.lives
            for interval, values in values_of(life.window, self.events).items()
            if life.expects(interval)
        }
        assert found == expected
        assert [result.interval.end for result in self.results] == sorted(r.interval.end for r in self.results)


def values_of(window: Window, events: list[tuple[int, int]]) -> dict[Interval, tuple[int, ...]]:
    return from_scratch(window, events, replace(agg.collect, ignores_nulls=False))


TestChanges = Changes.TestCase
TestChanges.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


def run(manager: WindowManager, events: list[tuple[int, int]]) -> list[Result]:
    found = [result for time, value in events for result in manager.add(time, value)]
    return found + manager.advance(events[-1][0] + 100)


@pytest.mark.parametrize("name", OPERATIONS)
def test_groups_find_what_separate_windows_find(name: str) -> None:
    windows = [ending_at_slides(size, slide, f"{size}/{slide}") for size in range(2, 20) for slide in range(1, size)]
    events = [(time * 7 // 4, time * time % 11) for time in range(40)]
    operation, _ = OPERATIONS[name]
    shared, alone = WindowManager(operation, windows), WindowManager(operation, windows, grouping=separate)
    assert len(shared.grouping) < len(alone.grouping) == len(windows)
    assert sorted(run(shared, events), key=str) == sorted(run(alone, events), key=str)


def test_durations_run_in_microseconds() -> None:
    manager = WindowManager(agg.count, [tumbling("1m", id="minute"), hopping("1h", "1m", id="hour")])
    assert len(manager.grouping) == 1
    found = [r for second in range(0, 180, 20) for r in manager.add(second * 1_000_000, 1)]
    assert [(r.window.id, r.value) for r in found] == [("minute", 3), ("hour", 3), ("minute", 3), ("hour", 6)]


def test_a_long_silence_takes_no_time() -> None:
    manager = WindowManager(agg.count, [Window(10, 1, id="w"), Window(1000, 100, id="x")])
    manager.add(5, 1)
    assert len(manager.add(10**15, 1)) == 10 + 10
    assert [r.value for r in manager.advance(10**15 + 3)] == [1, 1, 1]


def test_a_window_reads_what_its_group_still_holds() -> None:
    manager = WindowManager(agg.count, [Window(100, 10, id="long")])
    for time in range(205):
        manager.add(time, 1)
    # Slices of 10 are held from 100 on: a window that starts at multiples of 10 has them all, though most have passed.
    assert manager.register(Window(50, 10, id="fits")).since == 160
    # One that starts inside slices, at 195 the last time, waits for the first start after it.
    assert manager.register(Window(40, 5, id="finer")).since == 200
    found = {(r.window.id, r.interval): r.value for time in range(205, 246) for r in manager.add(time, 1)}
    assert found["fits", Interval(160, 210)] == 50
    assert min(interval for name, interval in found if name == "finer") == (200, 240)


def test_windows_that_are_dropped_leave_nothing_behind() -> None:
    manager = WindowManager(agg.sum, [Window(6, 2, id="a"), Window(12, 4, id="b"), Window(9, 3, id="c")])
    for time in range(50):
        manager.add(time, time)
    for name in ("b", "a", "c"):
        manager.drop(name)
    assert manager.held.total == 0
    assert manager.status() == {}
    assert manager.add(60, 1) == []
    assert manager.advance(200) == []


def test_a_rider_that_founds_a_group_keeps_its_events() -> None:
    pool = [Window(24, 2, id="host"), Window(24, 4, id="rider"), Window(26, 2, id="above")]
    manager = WindowManager(agg.collect, pool)
    assert len(manager.grouping) == 1
    for time in range(30):
        manager.add(time, time)
    manager.drop("host")
    assert len(manager.grouping) == 2
    found = {(r.window.id, r.interval): r.value for r in manager.advance(33)}
    assert found["rider", Interval(8, 32)] == list(range(8, 30))


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda m: m.register(Window(8, 2, id="a")), "'a' stands twice"),
        (lambda m: m.register(Window(8, 2, id="p")), "'p' stands twice"),
        (lambda m: m.register(tumbling("1m")), "one counts microseconds"),
        (lambda m: m.register("1h"), "expected a window"),
        (lambda m: m.suspend("x"), "no window 'x'"),
        (lambda m: m.suspend("p"), "suspended already"),
        (lambda m: m.resume("a"), "not suspended.*Suspended are 'p'"),
        (lambda m: m.drop("x"), "no window 'x'"),
    ],
)
def test_a_bad_change_is_refused_and_changes_nothing(act: Any, said: str) -> None:
    manager = WindowManager(agg.sum, [Window(6, 2, id="a"), Window(6, 2, id="p")])
    manager.suspend("p")
    manager.add(1, 5)
    before = manager.status()
    with pytest.raises(WindowError, match=said):
        act(manager)
    assert manager.status() == before
    assert [r.value for r in manager.advance(2)] == [5]


@pytest.mark.parametrize(
    ("time", "said"),
    [(3, "time 3 lies before 4"), (4.5, "whole number"), ("5", "whole number"), (True, "whole number")],
)
def test_a_bad_time_is_refused_and_changes_nothing(time: Any, said: str) -> None:
    manager = WindowManager(agg.sum, [Window(6, 2, id="a")])
    manager.add(4, 5)
    with pytest.raises(IncrementalError, match=said):
        manager.add(time, 1)
    with pytest.raises(IncrementalError, match=said):
        manager.advance(time)
    assert [r.value for r in manager.advance(6)] == [5]


def test_a_value_that_cannot_be_taken_in_changes_nothing() -> None:
    manager = WindowManager(DistinctItems(), [Window(6, 2, id="a")])
    manager.add(4, 5)
    with pytest.raises(IncrementalError, match="cannot be told apart"):
        manager.add(9, [1])
    assert [r.value for r in manager.advance(6)] == [(5,)]


def test_a_value_that_cannot_be_combined_changes_nothing() -> None:
    manager = WindowManager(agg.sum, [Window(6, 2, id="a")])
    manager.add(4, 5)
    with pytest.raises(TypeError):
        manager.add(4, "text")
    assert [r.value for r in manager.advance(6)] == [5]


def test_a_state_that_an_error_has_torn_is_not_used_again() -> None:
    manager = WindowManager(agg.sum, [Window(6, 2, id="a")])
    manager.add(4, 5)
    manager.add(6, "text")  # another slice: nothing is combined yet
    with pytest.raises(TypeError):
        manager.advance(8)
    for act in (lambda: manager.add(8, 1), lambda: manager.advance(9), lambda: manager.drop("a")):
        with pytest.raises(IncrementalError, match="TypeError was raised while it changed"):
            act()


def test_times_of_other_integer_types_count_as_well() -> None:
    class Second(int):
        pass

    manager = WindowManager(agg.sum, [Window(6, 6, id="a")])
    for time in range(6):
        manager.add(Second(time) if time % 2 else time, 1)
    assert [r.value for r in manager.advance(6)] == [6]


def test_sketches_are_refused() -> None:
    with pytest.raises(AggregateError, match="approx_distinct"):
        WindowManager(agg.approx_distinct, [Window(6, 2)])


def test_the_first_grouping_is_that_of_all_windows_at_once() -> None:
    windows = [Window(24, 8, id="v"), Window(8, 2, id="d"), Window(32, 4, id="z")]
    assert WindowManager(agg.sum, windows).grouping == subsume_windows(windows)
