"""The stairwise scheme: one state for all windows of a group, each level holding what the levels below have dropped.

Each level k has a core queue with the events of its window that no narrower one has, and a buffer queue with those that
the level below has dropped since level k last slid (section 2.3, Figures 3 and 4). Every event lies in one queue.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from muntin.window.edges import Comb, thin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from muntin.share.stairs_queue import Cuts, Entry, Store
    from muntin.window.spec import Window


class Operation(Protocol):
    """What all windows of a group compute: what is kept of events, and how levels add up to a result."""

    @property
    def combine(self) -> Callable[[Any, Any], Any] | None:
        """Join what is kept of two neighbouring stretches, the earlier on the left, if the operation can."""

    def lift(self, value: Any) -> Any:
        """Make of an event's value what is kept of it."""

    def core(self) -> Store:
        """Make the core queue of a level."""

    def buffer(self) -> Store:
        """Make the buffer queue of a level."""

    def report(self, core: Any, below: Any) -> Any:
        """Add what a level holds to the report of the level below; None if there is nothing in either."""

    def lower(self, report: Any) -> Any:
        """Turn a report into a result, before the next level adds to it."""


class Held(NamedTuple):
    """What lies in the core and the buffer queues."""

    core: int
    buffer: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.core + self.buffer


class Stairs:
    """Hold the state of a group, and slide its windows.

    Ends come in order, each once it is due: entries before it have arrived, later ones have not. `since` is the time
    from which on all events are still held; `due` is when the next window with anything to tell ends; `edges` is where
    events must be told apart, at starts of any window and slides of the seed.

    >>> from muntin import Window, agg
    >>> from muntin.share.stairs_partials import Aggregation
    >>> from muntin.share.stairs_queue import Entry
    >>> stairs = Stairs(Aggregation(agg.sum), [Window(2, 1), Window(4, 2)])
    >>> for time in range(6):
    ...     if stairs.due <= time:
    ...         print(time, [(str(window), value) for window, value in stairs.slide(stairs.due)])
    ...     stairs.arrive(Entry(time, time, stairs.operation.lift(10**time)))
    1 [('2/1', 1)]
    2 [('2/1', 11), ('4/2', 11)]
    3 [('2/1', 110)]
    4 [('2/1', 1100), ('4/2', 1111)]
    5 [('2/1', 11000)]
    """

    def __init__(self, operation: Operation, windows: Iterable[Window], since: float = -math.inf) -> None:
        self.operation = operation
        self.since = since
        self.due: float = math.inf
        self._stairs = [_Stair(operation, window) for window in windows]
        self._cut()

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows of the levels, the narrowest first."""
        return tuple(stair.window for stair in self._stairs)

    @property
    def held(self) -> Held:
        """Count what is held."""
        return Held(sum(stair.core.held for stair in self._stairs), sum(stair.buffer.held for stair in self._stairs))

    @property
    def ends(self) -> Comb:
        """Where the seed slides, and so all slides of the group."""
        return self._stairs[0].ends

    def arrive(self, entry: Entry) -> None:
        """Take in an entry that is newer than all that were taken in; the seed accepts it when it slides."""
        seed = self._stairs[0]
        if not seed.buffer:
            self.due = min(self.due, seed.ends.after(entry.last))
        seed.buffer.add(entry, seed.cuts)

    def slide(self, end: int) -> list[tuple[Window, Any]]:
        """Slide all windows that end there, the narrowest first, and give the results of those that hold anything."""
        results: list[tuple[Window, Any]] = []
        expired: list[Entry] = []
        report: Any = None
        for stair in self._stairs:
            if (end - stair.ends.phase) % stair.ends.step:
                # Wider windows slide with this one at most: what the level below has dropped waits for its slide.
                for entry in expired:
                    stair.buffer.add(entry, stair.cuts)
                expired = []
                break
            # Levels that slide in tandem need no buffer: what the level below drops goes straight into the core.
            for entry in (*stair.buffer.drain(), *expired):
                stair.core.add(entry, stair.cuts)
            expired = stair.core.expire(end - stair.window.range)
            report = self.operation.report(stair.core, report)
            if report is not None:
                results.append((stair.window, self.operation.lower(report)))
        self._lose(expired)
        self.wake(end)
        return results

    def wake(self, now: int) -> None:
        """Find out when the next window is due: a level without entries slides unseen."""
        holding = (stair for stair in self._stairs if len(stair.buffer) or len(stair.core))
        first = next(holding, None)
        self.due = math.inf if first is None else first.ends.after(now)

    def reshape(self, windows: Sequence[Window], now: int) -> None:
        """Add levels and drop levels, without losing an event; all windows that end by `now` have slid."""
        # First those that come: where one takes the place of another at the top, the state must find it there.
        known = set(self.windows)
        if known == set(windows):
            return
        for window in windows:
            if window not in known:
                self._insert(window, now)
        wanted = set(windows)
        for window in self.windows:
            if window not in wanted:
                self._remove(window)
        self._cut()
        self.wake(now)

    def branch(self, windows: Sequence[Window], now: int) -> Stairs:
        """Make stairs for other windows with a copy of what these hold and they may need."""
        floor = min(_end(window).at_or_before(now) - window.range for window in windows)
        other = Stairs(self.operation, windows, max(self.since, floor))
        for entry in self:
            if entry.last >= floor:
                other.arrive(entry)
        other.wake(now)
        return other

    def complete(self, window: Window) -> float:
        """Find the time from which on intervals of a window can be computed from what is held.

        An interval that starts inside a sub-aggregate cannot: such starts lie behind the time that is found.
        """
        found = self.since
        starts = Comb(window.slide, window.offset)
        for entry in self:
            start = starts.at_or_before(entry.last)
            if start > entry.first:
                found = max(found, start + 1)
        return found

    def __iter__(self) -> Iterator[Entry]:
        """Go through all entries, oldest first."""
        for stair in reversed(self._stairs):
            yield from stair.core
            yield from stair.buffer

    def _insert(self, window: Window, now: int) -> None:
        place = next(
            (i for i, stair in enumerate(self._stairs) if stair.window.range > window.range), len(self._stairs)
        )
        new = _Stair(self.operation, window)
        self._stairs.insert(place, new)
        self._cut()
        if place + 1 < len(self._stairs):
            # The level above held the events that the new window has by now: they come down, and wait for its slide.
            above = self._stairs[place + 1]
            floor = new.ends.at_or_before(now) - window.range
            for entry in (*above.core.drain(), *above.buffer.drain()):
                if entry.last < floor:
                    above.core.add(entry, above.cuts)
                else:
                    new.buffer.add(entry, new.cuts)

    def _remove(self, window: Window) -> None:
        place = self.windows.index(window)
        stair = self._stairs.pop(place)
        entries = (*stair.core.drain(), *stair.buffer.drain())
        if place < len(self._stairs):
            # The substate is delegated to the next level (section 3.3), which takes it in with its next slide.
            above = self._stairs[place]
            for entry in entries:
                above.buffer.add(entry, above.cuts)
        else:
            self._lose(entries)

    def _lose(self, entries: Sequence[Entry]) -> None:
        if entries:
            self.since = max(self.since, entries[-1].last + 1)

    def _cut(self) -> None:
        """Tell each level where entries must be told apart: at the starts of its own window and of all wider ones."""
        combs: Cuts = ()
        for stair in reversed(self._stairs):
            starts = Comb(stair.window.slide, stair.window.offset)
            if starts not in combs:  # as where windows slide in tandem
                combs = thin([*combs, starts])
            stair.cuts = combs
        self.edges = thin([*combs, self.ends]) if self._stairs else ()


class _Stair:
    """A level: its window, its two queues, when it slides, and where its entries must be told apart."""

    __slots__ = ("buffer", "core", "cuts", "ends", "window")

    def __init__(self, operation: Operation, window: Window) -> None:
        self.window = window
        self.core = operation.core()
        self.buffer = operation.buffer()
        self.ends = _end(window)
        self.cuts: Cuts = ()


def _end(window: Window) -> Comb:
    return Comb(window.slide, window.offset + window.range)
