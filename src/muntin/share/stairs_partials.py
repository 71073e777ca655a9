"""Aggregates on the stairs: sub-aggregates that shift from level to level, coarser the higher they get."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muntin.incremental.twostacks import TwoStacks
from muntin.share.stairs_queue import Entry, Queue, divided

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.share.stairs_queue import Cuts, Store


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Compute an aggregate by shifting sub-aggregates (section 4, Figure 8).

    It needs an associative combine, and nothing else: no inverse, as a level drops sub-aggregates from a queue that
    keeps its own aggregate, and no commutativity, as older ones always stand on the left.
    """

    function: AggregateFunction

    @property
    def combine(self) -> Callable[[Any, Any], Any]:
        """Join two neighbours."""
        return self.function.combine

    def lift(self, value: Any) -> Any:
        """Make the partial of an event."""
        return self.function.lift(value)

    def core(self) -> Store:
        """Make the queue of a level, which knows its aggregate."""
        return SubAggregates(self.function)

    def buffer(self) -> Store:
        """Make the queue of what waits for a level to slide."""
        return Waiting(self.function.combine)

    def report(self, core: Any, below: Any) -> Any:
        """Combine what a level holds with the result of the level below, which is newer."""
        if not core:
            return below
        return core.total() if below is None else (self.function.combine(core.total()[0], below[0]),)

    def lower(self, report: Any) -> Any:
        """Turn a partial into the result."""
        return self.function.lower(report[0])


class Waiting(Queue):
    """Sub-aggregates that wait, merged where no window will ever part them.

    >>> from muntin.window.edges import Comb
    >>> waiting = Waiting(lambda x, y: x + y)
    >>> for time in range(5):
    ...     waiting.add(Entry(time, time, time), (Comb(2, 0),))
    >>> [tuple(entry) for entry in waiting]
    [(0, 1, 1), (2, 3, 5), (4, 4, 4)]
    """

    __slots__ = ("_combine",)

    def __init__(self, combine: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self._combine = combine

    def add(self, entry: Entry, cuts: Cuts) -> None:
        """Add a sub-aggregate: to the newest, if no cut lies between them."""
        entries = self._entries
        if entries and not divided(entries[-1].last, entry.first, cuts):
            newest = entries[-1]
            entry = Entry(newest.first, entry.last, self._combine(newest.value, entry.value))
            entries.pop()
        entries.append(entry)


class SubAggregates:
    """The sub-aggregates of a level, and the aggregate of them all for four combines a slide, amortised.

    The newest may still grow, so it stands beside the structure that aggregates the others: three are TwoStacks', one
    joins the newest.

    >>> from muntin import agg
    >>> from muntin.window.edges import Comb
    >>> level = SubAggregates(agg.max)
    >>> for time, value in enumerate([7, 1, 2, 5]):
    ...     level.add(Entry(time, time, value), (Comb(2, 0),))
    >>> len(level), level.total(), [tuple(old) for old in level.expire(2)], level.total()
    (2, (7,), [(0, 1, 7)], (5,))
    """

    __slots__ = ("_combine", "_entries", "_function", "_older")

    def __init__(self, function: AggregateFunction) -> None:
        self._function = function
        self._combine = function.combine
        self._entries: deque[Entry] = deque()
        self._older: TwoStacks[Any] = TwoStacks(function)  # all but the newest

    def add(self, entry: Entry, cuts: Cuts) -> None:
        """Add a sub-aggregate: to the newest, if no cut lies between them."""
        entries = self._entries
        if entries:
            newest = entries[-1]
            if divided(newest.last, entry.first, cuts):
                self._older.insert(newest.value)
            else:
                entry = Entry(newest.first, entry.last, self._combine(newest.value, entry.value))
                entries.pop()
        entries.append(entry)

    def expire(self, before: int) -> list[Entry]:
        """Take out the sub-aggregates that end before a time, oldest first."""
        entries, older, expired = self._entries, self._older, []
        while entries and entries[0].last < before:
            expired.append(entries.popleft())
            if entries:
                older.evict()
        return expired

    def drain(self) -> list[Entry]:
        """Take out all sub-aggregates, oldest first."""
        entries = list(self._entries)
        self._entries.clear()
        self._older = TwoStacks(self._function)
        return entries

    def total(self) -> tuple[Any]:
        """Aggregate them all; in a tuple, since None may be a partial."""
        newest = self._entries[-1].value
        return (self._combine(self._older.query(), newest),) if len(self._older) else (newest,)

    @property
    def held(self) -> int:
        """Count the sub-aggregates, and those that the structure keeps of them."""
        return len(self._entries) + len(self._older) + bool(self._older.back)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
