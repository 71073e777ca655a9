"""The window manager: windows that come and go while a stream runs, all computed from the states of a few groups."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from muntin.aggregate.algebra import AggregateFunction
from muntin.errors import AggregateError, IncrementalError, WindowError
from muntin.share.stairs import Held, Stairs
from muntin.share.stairs_items import Items
from muntin.share.stairs_partials import Aggregation
from muntin.share.stairs_queue import Entry
from muntin.share.subsume import subsume_windows
from muntin.share.subsume_embed import embed_window
from muntin.share.subsume_group import Grouping
from muntin.share.subsume_revoke import revoke_window
from muntin.window.edges import Comb, thin
from muntin.window.interval import Interval
from muntin.window.spec import Window, window_set

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from muntin.share.stairs import Operation
    from muntin.share.stairs_queue import Cuts
    from muntin.share.subsume_group import Group, Level, Role

Activity: TypeAlias = Literal["running", "suspended"]


class Result(NamedTuple):
    """What was found for one interval of a window."""

    window: Window
    interval: Interval
    value: Any


class WindowStatus(NamedTuple):
    """What a window does; `since` is the start of its first interval, None where it had every event there was."""

    window: Window
    activity: Activity
    group: int | None = None
    role: Role | None = None
    since: int | None = None


def operation_of(aggregate: AggregateFunction | Operation) -> Operation:
    """Choose how an aggregate is computed on the stairs: from sub-aggregates, or from all events if it has none.

    >>> from muntin import agg
    >>> type(operation_of(agg.sum)).__name__, type(operation_of(agg.median)).__name__
    ('Aggregation', 'Items')
    """
    if not isinstance(aggregate, AggregateFunction):
        return aggregate
    if aggregate.sketch:
        msg = (
            f"`{aggregate.name}` is one of Spark's sketches: it cannot be computed without Spark. Use another aggregate"
        )
        raise AggregateError(msg)
    whole = aggregate.whole
    return Aggregation(aggregate) if whole is None else Items(lambda state: whole(list(state)))


class WindowManager:
    """Compute one aggregate, or another operation, over many windows of a stream in order of time.

    The windows given at first are grouped all at once (SubsumeWindows), or as `grouping` says. Later ones are embedded
    one by one, and the groups stay as they are otherwise. An interval without events has no result. A window that comes
    late has results from the first interval on whose events are all there: what its group still holds counts.

    >>> from muntin import agg
    >>> manager = WindowManager(agg.sum, [Window(2, 1, id="fast"), Window(4, 2, id="slow")])
    >>> for time in range(5):
    ...     for window, interval, value in manager.add(time, 10**time):
    ...         print(time, window.id, value)
    1 fast 1
    2 fast 11
    2 slow 11
    3 fast 110
    4 fast 1100
    4 slow 1111
    >>> manager.register(Window(3, 1, id="new")).since
    2
    >>> [(found.window.id, found.value) for found in manager.add(5, 10**5)]
    [('fast', 11000), ('new', 11100)]
    """

    def __init__(
        self,
        aggregate: AggregateFunction | Operation,
        windows: Iterable[Window] = (),
        *,
        grouping: Callable[[Iterable[Window]], Grouping] = subsume_windows,
    ) -> None:
        self.operation = operation_of(aggregate)
        pool = tuple(windows)
        self.grouping = grouping(pool) if pool else Grouping()
        self._since: dict[str, float] = {window.id: -math.inf for window in pool}
        self._suspended: dict[str, Window] = {}
        self._stairs: dict[int, Stairs] = {}
        self._served: dict[int, dict[int, list[_Served]]] = {}
        self._pending: _Pending | None = None
        self._started = False
        self._now = 0  # all windows that end by then have slid
        self._latest: float = -math.inf  # when the last event came that was handed to the groups
        self._until: float = math.inf  # before it, there is nothing to do
        self._expecting = False  # whether `_until` allows for events that came after the last slide
        self._broken: BaseException | None = None
        self._follow(Grouping())

    @property
    def held(self) -> Held:
        """Count what all groups hold: events, or sub-aggregates."""
        with self._changing():
            self._settle()
        parts = [stairs.held for stairs in self._stairs.values()]
        return Held(sum(part.core for part in parts), sum(part.buffer for part in parts))

    def add(self, time: int, value: Any) -> list[Result]:
        """Take in an event, and give the results of the intervals that ended at or before its time."""
        pending = self._pending
        if pending is not None and type(time) is int and self._now <= time < self._until:
            # As for nearly every event. A lift or combine that raises changes nothing.
            pending.add(time, value)
            self._now = time
            return []
        self._check(time)
        lifted = self.operation.lift(value)
        results = self._pass(time)
        with self._changing():
            self._settle()
            if self.operation.combine is not None:
                self._pending = _Pending(self.operation, time, lifted)
            else:
                self._arrive(Entry(time, time, lifted))
        if not self._expecting:
            self._until = min([self._until, *(edge.after(time) for edge in self._edges)])
            self._expecting = True
        return results

    def advance(self, time: int) -> list[Result]:
        """Let time pass, and give the results of the intervals that ended at or before it."""
        self._check(time)
        return self._pass(time)

    def register(self, window: Window) -> WindowStatus:
        """Embed a window while the stream runs, and say from when on it has results."""
        self._check()
        window_set([*self._suspended.values(), window])
        return self._embed(window)

    def suspend(self, name: str) -> WindowStatus:
        """Take a window out of its group, but remember it."""
        self._check()
        if name in self._suspended:
            msg = f"window {name!r} is suspended already. Resume it, or drop it"
            raise WindowError(msg)
        self._suspended[name] = self._revoke(name)
        return WindowStatus(self._suspended[name], "suspended")

    def resume(self, name: str) -> WindowStatus:
        """Embed a suspended window anew, and say from when on it has results again."""
        self._check()
        if name not in self._suspended:
            known = ", ".join(map(repr, self._suspended)) or "none"
            msg = f"window {name!r} is not suspended, so it cannot be resumed. Suspended are {known}"
            raise WindowError(msg)
        return self._embed(self._suspended.pop(name))

    def drop(self, name: str) -> None:
        """Forget a window, running or suspended."""
        self._check()
        if self._suspended.pop(name, None) is None:
            self._revoke(name)

    def status(self) -> dict[str, WindowStatus]:
        """Tell of every window by its id what it does, and from when on it has results."""
        told = {
            window.id: WindowStatus(window, "running", group.number, role, self._told(window))
            for group in self.grouping.groups
            for window, role in group.roles()
        }
        return told | {name: WindowStatus(window, "suspended") for name, window in self._suspended.items()}

    def _embed(self, window: Window) -> WindowStatus:
        old, self.grouping = self.grouping, embed_window(self.grouping, window)
        self._since[window.id] = math.inf
        with self._changing():
            self._follow(old)
        place = self.grouping.find(window.id)
        number = place.group.number
        self._since[window.id] = self._first(window, self._stairs[number].complete(window))
        self._served[number][window.range] = self._reading(place.group.levels[place.level])
        return WindowStatus(window, "running", number, place.role, self._told(window))

    def _revoke(self, name: str) -> Window:
        place = self.grouping.find(name)
        window = next(each for each in place.group.windows if each.id == name)
        old, self.grouping = self.grouping, revoke_window(self.grouping, name)
        with self._changing():
            self._follow(old, place.group.number)
        del self._since[name]
        return window

    def _follow(self, old: Grouping, source: int | None = None) -> None:
        """Bring the states in line with a new grouping; new groups start empty, or with what `source` holds."""
        self._settle()
        before = {group.number: group for group in old.groups}
        after = {group.number: group for group in self.grouping.groups}
        for number, group in after.items():
            if before.get(number) is group:
                continue
            windows = [level.window for level in group.levels]
            if number not in before:
                stairs = None if source is None else self._stairs[source].branch(windows, self._now)
                seen = max(self._latest + 1, self._now) if self._started else -math.inf
                self._stairs[number] = stairs or Stairs(self.operation, windows, seen)
            self._served[number] = self._serving(group, before.get(number))
        # Only now: a group that gives its events to another must still have them.
        for number, group in before.items():
            if number not in after:
                del self._stairs[number], self._served[number]
            elif after[number] is not group:
                self._stairs[number].reshape([level.window for level in after[number].levels], self._now)
        folds = self.operation.combine is not None
        self._edges: Cuts = thin(
            {edge for stairs in self._stairs.values() for edge in (stairs.edges if folds else [stairs.ends])}
        )
        self._until, self._expecting = min([math.inf, *(each.due for each in self._stairs.values())]), False

    def _arrive(self, entry: Entry) -> None:
        for stairs in self._stairs.values():
            stairs.arrive(entry)
        self._latest = entry.last

    def _settle(self) -> None:
        """Hand the events that were folded for all groups to each of them."""
        if self._pending is not None:
            pending, self._pending = self._pending, None
            self._arrive(Entry(pending.first, pending.last, pending.value))

    def _pass(self, time: int) -> list[Result]:
        """Go on to a time, and slide all windows that end by then, end by end."""
        results: list[Result] = []
        if time >= self._until:
            with self._changing():
                self._settle()
                while (end := min([math.inf, *(stairs.due for stairs in self._stairs.values())])) <= time:
                    for number, stairs in self._stairs.items():
                        if stairs.due == end:
                            self._answer(number, stairs, int(end), results)
            self._until, self._expecting = end, False
        self._now, self._started = time, True
        return results

    def _answer(self, number: int, stairs: Stairs, end: int, results: list[Result]) -> None:
        served = self._served[number]
        for window, value in stairs.slide(end):
            interval = Interval(end - window.range, end)
            for each in served[window.range]:
                # One of q results goes to a window that rides on the level.
                if (end - each.phase) % each.slide == 0 and interval.start >= each.since:
                    results += [Result(name, interval, value) for name in each.windows]

    def _serving(self, group: Group, old: Group | None) -> dict[int, list[_Served]]:
        """List who reads the results of each level, by its range; a level that has not changed has the same readers."""
        known = {} if old is None else {id(level): self._served[old.number][level.window.range] for level in old.levels}
        return {level.window.range: known.get(id(level)) or self._reading(level) for level in group.levels}

    def _reading(self, level: Level) -> list[_Served]:
        """List who reads the results of a level: windows that are the same together."""
        alike: dict[tuple[Window, float], list[Window]] = {}
        for window in (level.window, *(each.window for each in level.piggybacked)):
            alike.setdefault((window, self._since[window.id]), []).append(window)
        return [
            _Served(window.slide, window.offset + window.range, since, tuple(windows))
            for (window, since), windows in alike.items()
        ]

    def _first(self, window: Window, complete: float) -> float:
        """Find the start of the first interval that has a result, given from when on events are there."""
        if not self._started:
            return -math.inf
        starts = Comb(window.slide, window.offset)
        still_open = starts.after(self._now - window.range)
        return still_open if complete == -math.inf else max(still_open, starts.after(int(complete) - 1))

    def _told(self, window: Window) -> int | None:
        since = self._since[window.id]
        return None if since == -math.inf else int(since)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Mark the state as lost where an aggregate's function raises half-way through a change."""
        try:
            yield
        except BaseException as error:
            self._broken, self._pending = error, None
            raise

    def _check(self, time: int | None = None) -> None:
        if self._broken is not None:
            msg = f"the state is lost: {type(self._broken).__name__} was raised while it changed. Make a new manager"
            raise IncrementalError(msg) from self._broken
        if time is None:
            return
        if isinstance(time, bool) or not isinstance(time, int):
            msg = f"a time must be a whole number in the windows' unit, got {time!r}"
            raise IncrementalError(msg)
        if self._started and time < self._now:
            msg = (
                f"time {time} lies before {self._now}: events must come in order of time. Sort them, or drop late ones"
            )
            raise IncrementalError(msg)


class _Pending:
    """Events that all groups take in alike, as no window starts or ends between them: folded once for all."""

    __slots__ = ("_combine", "_lift", "first", "last", "value")

    def __init__(self, operation: Operation, time: int, lifted: Any) -> None:
        self._lift, self._combine = operation.lift, operation.combine
        self.first = self.last = time
        self.value = lifted

    def add(self, time: int, value: Any) -> None:
        """Fold one more event."""
        assert self._combine is not None
        self.value = self._combine(self.value, self._lift(value))
        self.last = time


@dataclass(frozen=True, slots=True)
class _Served:
    """Windows that are the same, read one level, and have results from the same time on."""

    slide: int
    phase: int
    since: float
    windows: tuple[Window, ...]
