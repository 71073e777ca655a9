"""Panes: aggregate the partials anew for every result. The slowest, and the oracle of all others."""

from __future__ import annotations

from collections import deque
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Generic

from muntin.incremental.snapshot import pack, unpack
from muntin.incremental.structure import Card, Operator, P, check, check_count, empty_window

if TYPE_CHECKING:
    from typing import Self


class Panes(Generic[P]):
    """Keep the partials and fold them from oldest to newest.

    Ordering: first in, first out. Operator: associative. Time: n - 1 combines, amortised and worst; the table's n²
    for all ranges is n (n - 1) / 2, as a range of r takes r - 1. Space: n.

    >>> from muntin.aggregate import catalog as agg
    >>> panes = Panes(agg.max)
    >>> for price in (3, 9, 4):
    ...     panes.insert(price)
    >>> panes.query(), panes.query_last(1)
    (9, 4)
    """

    card: ClassVar[Card] = Card(
        name="Panes",
        ordering="fifo",
        needs="associative",
        amortised="n - 1",
        worst="n - 1",
        multi_query="n (n - 1) / 2",
        space="n",
        paper="Li, Maier, Tufte, Papadimos and Tucker, SIGMOD Record 34(1), 2005",
    )
    __slots__ = ("_operator", "_partials")

    def __init__(self, operator: Operator[P]) -> None:
        check(operator, self.card)
        self._operator = operator
        self._partials: deque[P] = deque()

    def __len__(self) -> int:
        return len(self._partials)

    def insert(self, partial: P) -> None:
        """Add a partial at the new end of the window."""
        self._partials.append(partial)

    def evict(self) -> None:
        """Drop the oldest partial."""
        if not self._partials:
            raise empty_window(self.card, "evict from")
        self._partials.popleft()

    def query(self) -> P:
        """Aggregate the whole window: n - 1 combines."""
        if not self._partials:
            raise empty_window(self.card, "query")
        return reduce(self._operator.combine, self._partials)

    def query_last(self, count: int) -> P:
        """Aggregate the newest `count` partials: `count` - 1 combines."""
        check_count(self.card, len(self), count)
        return reduce(self._operator.combine, islice(self._partials, len(self) - count, None))

    def snapshot(self) -> bytes:
        """Write the partials."""
        return pack(self.card.name, self._operator, list(self._partials))

    @classmethod
    def restore(cls, operator: Operator[P], data: bytes) -> Self:
        """Go on from a snapshot."""
        panes = cls(operator)
        panes._partials.extend(unpack(cls.card.name, operator, data))
        return panes
