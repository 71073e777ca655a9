"""TwoStacks: a queue of two stacks, each with the aggregates of what lies below."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic

from muntin.incremental.snapshot import pack, unpack
from muntin.incremental.structure import EMPTY, Card, Empty, Operator, P, check, empty_window

if TYPE_CHECKING:
    from typing import Self


class TwoStacks(Generic[P]):
    """Push partials onto a back stack, pop them from a front stack, flip the back onto the front when that is empty.

    The front keeps for each partial the aggregate from it to the newest of the front; the back keeps its partials and
    the one aggregate of them all, as nothing is popped from it before the flip. The two tops make the result.

    Ordering: first in, first out. Operator: associative. Time: 3 - 4/n combines amortised (the table: 3), n - 1 at
    worst (the table: n): the flip spares the aggregate of the partial that is popped next. Space: n + 1. Only the
    whole window can be asked for.

    >>> from muntin.aggregate import catalog as agg
    >>> window = TwoStacks(agg.max)
    >>> for price in (3, 9, 4):
    ...     window.insert(price)
    >>> window.evict()
    >>> window.query(), window.front, window.back
    (9, [4, 9], [])
    """

    card: ClassVar[Card] = Card(
        name="TwoStacks",
        ordering="fifo",
        needs="associative",
        amortised="3 - 4/n",
        worst="n - 1",
        multi_query=None,
        space="n + 1",
        paper="Tangwongsan, Hirzel and Schneider, DEBS 2017",
    )
    __slots__ = ("_back", "_back_aggregate", "_front", "_operator")

    def __init__(self, operator: Operator[P]) -> None:
        check(operator, self.card)
        self._operator = operator
        self._front: list[P] = []  # aggregates, the oldest partial's on top, at the end of the list
        self._back: list[P] = []  # partials, the newest on top
        self._back_aggregate: P | Empty = EMPTY

    def __len__(self) -> int:
        return len(self._front) + len(self._back)

    @property
    def front(self) -> list[P]:
        """Copy the front's aggregates, from bottom to top."""
        return self._front.copy()

    @property
    def back(self) -> list[P]:
        """Copy the back's partials, from bottom to top."""
        return self._back.copy()

    def insert(self, partial: P) -> None:
        """Add a partial at the new end of the window: 1 combine, none on an empty back."""
        below = self._back_aggregate
        self._back_aggregate = partial if below is EMPTY else self._operator.combine(below, partial)
        self._back.append(partial)

    def evict(self) -> None:
        """Drop the oldest partial: no combine, or n - 2 where the back is flipped."""
        if self._front:
            self._front.pop()
            return
        if not self._back:
            raise empty_window(self.card, "evict from")
        # The oldest partial, the back's bottom, would be pushed last and popped at once: it is left out.
        combine, newest_first = self._operator.combine, self._back[:0:-1]
        flipped = newest_first[:1]
        for partial in newest_first[1:]:
            flipped.append(combine(partial, flipped[-1]))
        self._front, self._back, self._back_aggregate = flipped, [], EMPTY

    def query(self) -> P:
        """Aggregate the whole window: 1 combine, none where one stack is empty."""
        late = self._back_aggregate
        if self._front:
            early = self._front[-1]
            return early if late is EMPTY else self._operator.combine(early, late)
        if late is EMPTY:
            raise empty_window(self.card, "query")
        return late

    def snapshot(self) -> bytes:
        """Write both stacks."""
        return pack(self.card.name, self._operator, (self._front, self._back, self._back_aggregate))

    @classmethod
    def restore(cls, operator: Operator[P], data: bytes) -> Self:
        """Go on from a snapshot."""
        window = cls(operator)
        window._front, window._back, window._back_aggregate = unpack(cls.card.name, operator, data)
        return window
