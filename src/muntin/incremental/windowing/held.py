"""What one key's window holds: its tuples in order of time, and in the order in which they will leave."""

from __future__ import annotations

from bisect import bisect_right
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Held:
    """Hold tuples by id, ordered by time and, at one time, by id; each has a position that decides when it leaves.

    >>> held = Held()
    >>> for id, (time, position) in enumerate([(1, 10), (5, 50), (3, 5)]):
    ...     print(id, "before", held.add(id, time, position))
    0 before None
    1 before None
    2 before 1
    >>> list(held.leaving(lambda position: position < 20))
    [2, 0]
    >>> list(held), held.add(3, 2, 60)
    ([1], 1)
    """

    __slots__ = ("_leaving", "_live", "_order")

    def __init__(self, tuples: Iterator[tuple[int, int, Any]] | tuple[()] = ()) -> None:
        self._live: dict[int, tuple[int, Any]] = {}
        # Both may still name tuples that have left: `_live` decides.
        self._order: list[tuple[int, int]] = []
        self._leaving: list[tuple[Any, int]] = []
        for id, time, position in tuples:
            self._live[id] = (time, position)
            self._order.append((time, id))
            self._leaving.append((position, id))
        heapify(self._leaving)

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[int]:
        return (id for _, id in self._order if id in self._live)

    def tuples(self) -> Iterator[tuple[int, int, Any]]:
        """Yield id, time and position, in order of time."""
        return ((id, *self._live[id]) for id in self)

    def add(self, id: int, time: int, position: Any) -> int | None:
        """Add a tuple; give the id of the one that it precedes, None where it is the newest."""
        heappush(self._leaving, (position, id))
        self._live[id] = (time, position)
        order = self._order
        if not order or order[-1] < (time, id):
            order.append((time, id))
            return None
        at = bisect_right(order, (time, id))
        order.insert(at, (time, id))
        later = (order[i][1] for i in range(at + 1, len(order)))
        return next((id for id in later if id in self._live), None)

    def leaving(self, gone: Callable[[Any], bool]) -> Iterator[int]:
        """Drop the tuples whose position is gone, the least position first, and yield their ids.

        Those gone must be the ones with the least positions, as they are for every policy.
        """
        while self._leaving and gone(self._leaving[0][0]):
            _, id = heappop(self._leaving)
            del self._live[id]
            yield id
        self._trim()

    def clear(self) -> list[int]:
        """Drop all tuples, and give back their ids in order of time."""
        ids = list(self)
        self._live.clear()
        self._order.clear()
        self._leaving.clear()
        return ids

    def _trim(self) -> None:
        # Amortised: at least as many tuples left since the last time as are kept now.
        if len(self._order) > 2 * len(self._live) + 8:
            self._order = [entry for entry in self._order if entry[1] in self._live]
            self._live = dict(self._live)  # a dict keeps the memory of all it ever held; its copy does not
