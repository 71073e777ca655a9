"""What lies on a stair: entries in order of time, added at the new end, expired from the old."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from muntin.window.edges import Comb

if TYPE_CHECKING:
    from collections.abc import Iterator

Cuts: TypeAlias = tuple[Comb, ...]


class Entry(NamedTuple):
    """A stretch of the stream: the times of its first and its last event, and what is kept of them."""

    first: int
    last: int
    value: Any


class Store(Protocol):
    """Entries in order of time; `cuts` are the edges across which no two may be merged into one."""

    def add(self, entry: Entry, cuts: Cuts) -> None:
        """Add an entry at the new end."""

    def expire(self, before: int) -> list[Entry]:
        """Take out the entries that end before a time, oldest first."""

    def drain(self) -> list[Entry]:
        """Take out all entries, oldest first."""

    @property
    def held(self) -> int:
        """Count what is kept in memory: items, or partials."""

    def __iter__(self) -> Iterator[Entry]: ...

    def __len__(self) -> int: ...


class Queue:
    """A plain queue: nothing is merged.

    >>> queue = Queue()
    >>> for time in (1, 2, 5):
    ...     queue.add(Entry(time, time, f"at {time}"), ())
    >>> [entry.value for entry in queue.expire(5)], len(queue)
    (['at 1', 'at 2'], 1)
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()

    def add(self, entry: Entry, cuts: Cuts) -> None:
        """Add an entry at the new end."""
        self._entries.append(entry)

    def expire(self, before: int) -> list[Entry]:
        """Take out the entries that end before a time, oldest first."""
        entries, expired = self._entries, []
        while entries and entries[0].last < before:
            expired.append(entries.popleft())
        return expired

    def drain(self) -> list[Entry]:
        """Take out all entries, oldest first."""
        entries = list(self._entries)
        self._entries.clear()
        return entries

    @property
    def held(self) -> int:
        """Count the entries."""
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def divided(last: int, first: int, cuts: Cuts) -> bool:
    """Tell whether a cut lies after the event at `last` and not after the one at `first`.

    >>> divided(3, 4, (Comb(4, 0),)), divided(4, 7, (Comb(4, 0),))
    (True, False)
    """
    # Comb.count, written out: this is asked for every entry on every stair.
    return any((first - cut.phase) // cut.step > (last - cut.phase) // cut.step for cut in cuts)
