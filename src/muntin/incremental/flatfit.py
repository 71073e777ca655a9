"""FlatFIT, the flat and fast index traverser: every place knows how far ahead its aggregate reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic

from muntin.incremental.ring import LEAST, fitting, grown, shrunk
from muntin.incremental.snapshot import pack, unpack
from muntin.incremental.structure import EMPTY, Card, Operator, P, check, check_count, empty_window

if TYPE_CHECKING:
    from typing import Self


class FlatFIT(Generic[P]):
    """Skip ahead by the pointers that earlier results left, and leave longer ones.

    Two circular arrays: `partials[i]` aggregates the places from i up to, without it, `pointers[i]`. A result follows
    the pointers from its first place to the end, keeps the places it visits on the stack `positions`, and unwinds it
    from the newest to the oldest: each visited place then reaches to the end. Once the first place of that shortcut
    leaves the window, a result walks the places behind it one by one: the window reset, every n + 1 slides.

    Ordering: first in, first out. Operator: associative. Time: 3 - 6/(n + 1) combines amortised, n - 1 at worst (the
    table: 3 and n). All ranges 1 to n: n - 1 (the table: 3n), as every place but the newest reaches up to the newest.
    Space: n partials and n pointers.

    >>> from muntin.aggregate import catalog as agg
    >>> window = FlatFIT(agg.max)
    >>> for price in (3, 9, 4):
    ...     window.insert(price)
    >>> window.query(), window.query_last(1), window.hops(3)
    (9, 4, 1)
    """

    card: ClassVar[Card] = Card(
        name="FlatFIT",
        ordering="fifo",
        needs="associative",
        amortised="3 - 6/(n + 1)",
        worst="n - 1",
        multi_query="n - 1",
        space="n and n pointers",
        paper="Shein, Chrysanthis and Labrinidis, SSDBM 2017",
    )
    __slots__ = ("_end", "_first", "_operator", "_partials", "_pointers")

    def __init__(self, operator: Operator[P]) -> None:
        check(operator, self.card)
        self._operator = operator
        self._partials: list[Any] = [EMPTY]
        self._pointers = [0]
        # The window is the places from `first` up to, without it, `end`; place i is in slot i modulo the length.
        self._first = self._end = 0

    def __len__(self) -> int:
        return self._end - self._first

    def hops(self, count: int) -> int:
        """Count the places that a result over the newest `count` partials visits now: its combines, and one."""
        check_count(self.card, len(self), count)
        return len(self._positions(self._end - count))

    def insert(self, partial: P) -> None:
        """Add a partial at the new end of the window: no combine."""
        if self._end - self._first == len(self._partials):
            self._partials = grown(self._partials, self._first, self._end, EMPTY)
            self._pointers = grown(self._pointers, self._first, self._end, 0)
        slot = self._end & (len(self._partials) - 1)
        self._end += 1
        self._partials[slot] = partial
        self._pointers[slot] = self._end

    def evict(self) -> None:
        """Drop the oldest partial: no combine."""
        if self._first == self._end:
            raise empty_window(self.card, "evict from")
        self._partials[self._first & (len(self._partials) - 1)] = EMPTY
        self._first += 1
        if 4 * (self._end - self._first) < len(self._partials) > LEAST:
            self._partials = shrunk(self._partials, self._first, self._end, EMPTY)
            self._pointers = shrunk(self._pointers, self._first, self._end, 0)

    def query(self) -> P:
        """Aggregate the whole window."""
        if self._first == self._end:
            raise empty_window(self.card, "query")
        return self._traverse(self._first)

    def query_last(self, count: int) -> P:
        """Aggregate the newest `count` partials."""
        check_count(self.card, len(self), count)
        return self._traverse(self._end - count)

    def _positions(self, place: int) -> list[int]:
        mask, pointers = len(self._pointers) - 1, self._pointers
        visited = []
        while place != self._end:
            visited.append(place & mask)
            place = pointers[place & mask]
        return visited

    def _traverse(self, start: int) -> P:
        combine, partials, pointers = self._operator.combine, self._partials, self._pointers
        positions = self._positions(start)
        result: P = partials[positions.pop()]
        reaching = []
        for slot in reversed(positions):
            result = combine(partials[slot], result)
            reaching.append((slot, result))
        for slot, aggregate in reaching:  # only now: a combine that raises leaves all as it was
            partials[slot] = aggregate
            pointers[slot] = self._end
        return result

    def snapshot(self) -> bytes:
        """Write the partials and how far ahead each reaches, which decides the combines to come."""
        mask = len(self._partials) - 1
        places = range(self._first, self._end)
        partials = [self._partials[place & mask] for place in places]
        reaches = [self._pointers[place & mask] - place for place in places]
        return pack(self.card.name, self._operator, (partials, reaches))

    @classmethod
    def restore(cls, operator: Operator[P], data: bytes) -> Self:
        """Go on from a snapshot."""
        window = cls(operator)
        partials, reaches = unpack(cls.card.name, operator, data)
        unused = fitting(len(partials)) - len(partials)
        window._partials = [*partials, *[EMPTY] * unused]
        window._pointers = [*(place + reach for place, reach in enumerate(reaches)), *[0] * unused]
        window._end = len(partials)
        return window
