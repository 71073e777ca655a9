"""B-Int: the aggregates of base intervals, dyadic and circular."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from muntin.incremental.ring import LEAST, grown, shrunk
from muntin.incremental.snapshot import pack, unpack
from muntin.incremental.structure import EMPTY, Card, Operator, P, check, check_count, empty_window

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self


class BInt(Generic[P]):
    """Keep the aggregate of every interval [j 2^k, (j + 1) 2^k) of places that lies in the window.

    On level k the intervals are 2^k places long; each level is circular, half as long as the one below, and the top is
    one interval. An insert computes the intervals that it completes, from the two halves of each; a range is made of
    the fewest intervals that cover it, at most two of a level. Nothing is computed on evict, and no interval that has
    lost a place is computed at all.

    Ordering: first in, first out. Operator: associative. Time: log2(n) combines on every slide where n is a power of
    two, as in the table: each interval completed spares one of the cover. Otherwise a cover may take two intervals of
    each level: 2 ⌊log2(n)⌋ at worst. Space: 2n where n is a power of two, else below 4n.

    >>> from muntin.aggregate import catalog as agg
    >>> window = BInt(agg.concat)
    >>> for letter in "abcdefg":
    ...     window.insert((letter,))
    >>> window.evict()
    >>> agg.concat.lower(window.query()), window.cover(6)
    ('bcdefg', [1, 2, 2, 1])
    """

    card: ClassVar[Card] = Card(
        name="B-Int",
        ordering="fifo",
        needs="associative",
        amortised="log2(n)",
        worst="log2(n), or 2 ⌊log2(n)⌋ unless n is a power of two",
        multi_query="n log2(n)",
        space="2n, below 4n unless n is a power of two",
        paper="Arasu and Widom, VLDB 2004",
    )
    __slots__ = ("_end", "_first", "_levels", "_operator")

    def __init__(self, operator: Operator[P]) -> None:
        check(operator, self.card)
        self._operator = operator
        self._levels: list[list[Any]] = [[EMPTY]]
        # The window is the places from `first` up to, without it, `end`.
        self._first = self._end = 0

    def __len__(self) -> int:
        return self._end - self._first

    def cover(self, count: int) -> list[int]:
        """List the lengths of the intervals that make up the newest `count` places, oldest first."""
        check_count(self.card, len(self), count)
        return [1 << level for level, _ in self._cover(self._end - count)]

    def insert(self, partial: P) -> None:
        """Add a partial at the new end of the window: below 1 combine amortised, log2(n) at worst."""
        place, combine = self._end, self._operator.combine
        completed = [partial]
        length = 2
        while not (place + 1) % length and place + 1 - length >= self._first:
            level = len(completed) - 1
            slots = self._levels[level]
            completed.append(combine(slots[((place >> level) - 1) & (len(slots) - 1)], completed[-1]))
            length *= 2
        if self._end - self._first == len(self._levels[0]):
            self._grow()
        for level, aggregate in enumerate(completed):
            slots = self._levels[level]
            slots[(place >> level) & (len(slots) - 1)] = aggregate
        self._end += 1

    def evict(self) -> None:
        """Drop the oldest partial: no combine."""
        if self._first == self._end:
            raise empty_window(self.card, "evict from")
        for level, slots in enumerate(self._levels):
            if self._first % (1 << level):
                break
            slots[(self._first >> level) & (len(slots) - 1)] = EMPTY  # an interval ends with its oldest place
        self._first += 1
        if 4 * (self._end - self._first) < len(self._levels[0]) > LEAST:
            # No interval of the top lies in the window, which is a quarter as long.
            self._levels = self._each_level(shrunk, self._levels[:-1])

    def query(self) -> P:
        """Aggregate the whole window."""
        if self._first == self._end:
            raise empty_window(self.card, "query")
        return self._aggregate(self._first)

    def query_last(self, count: int) -> P:
        """Aggregate the newest `count` partials."""
        check_count(self.card, len(self), count)
        return self._aggregate(self._end - count)

    def _aggregate(self, start: int) -> P:
        levels = self._levels
        pieces = [levels[level][index & (len(levels[level]) - 1)] for level, index in self._cover(start)]
        result: P = reduce(self._operator.combine, pieces)
        return result

    def _cover(self, place: int) -> list[tuple[int, int]]:
        """List level and index of the longest intervals that start where the one before ends."""
        intervals = []
        while place != self._end:
            level = (self._end - place).bit_length() - 1
            if place:
                level = min(level, (place & -place).bit_length() - 1)
            intervals.append((level, place >> level))
            place += 1 << level
        return intervals

    def _alive(self, level: int) -> range:
        """Give the indices of the level's intervals that lie in the window."""
        return range(-(-self._first >> level), self._end >> level)

    def _grow(self) -> None:
        # No interval of the new top lies in the window, which is half as long: there is nothing to combine.
        self._levels = [*self._each_level(grown, self._levels), [EMPTY]]

    def _each_level(self, change: Callable[..., list[Any]], levels: list[list[Any]]) -> list[list[Any]]:
        alive = map(self._alive, range(len(levels)))
        return [change(slots, held.start, held.stop, EMPTY) for slots, held in zip(levels, alive, strict=True)]

    def snapshot(self) -> bytes:
        """Write the intervals in the window, level by level, and its first place, which decides how they align."""
        alive = [
            [slots[index & (len(slots) - 1)] for index in self._alive(level)]
            for level, slots in enumerate(self._levels)
        ]
        return pack(self.card.name, self._operator, (self._first, alive))

    @classmethod
    def restore(cls, operator: Operator[P], data: bytes) -> Self:
        """Go on from a snapshot."""
        window = cls(operator)
        window._first, alive = unpack(cls.card.name, operator, data)
        window._end = window._first + len(alive[0])
        capacity = 1 << (len(alive) - 1)
        window._levels = [[EMPTY] * (capacity >> level) for level in range(len(alive))]
        for level, aggregates in enumerate(alive):
            slots = window._levels[level]
            for index, aggregate in zip(window._alive(level), aggregates, strict=True):
                slots[index & (len(slots) - 1)] = aggregate
        return window
