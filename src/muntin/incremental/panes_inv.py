"""Panes-Inv: a running aggregate from which the oldest partial is taken away (subtract on evict)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, ClassVar, Generic

from muntin.incremental.snapshot import pack, unpack
from muntin.incremental.structure import EMPTY, Card, Empty, Operator, P, check, empty_window

if TYPE_CHECKING:
    from typing import Self


class PanesInv(Generic[P]):
    """Keep the partials and their aggregate; combine in what comes, invert out what goes.

    Ordering: first in, first out. Operator: commutative with an inverse. Time: one combine and one inverse, amortised
    and worst. Space: n + 1. Only the whole window can be asked for.

    Rounding of floats stays in the running aggregate, and a NaN or an infinity cannot be taken away again: both last
    until the window is empty. Exact on integers and decimals.

    >>> from muntin.aggregate import catalog as agg
    >>> window = PanesInv(agg.count)
    >>> for partial in (3, 9, 4):
    ...     window.insert(partial)
    >>> window.evict()
    >>> window.query()
    13
    """

    card: ClassVar[Card] = Card(
        name="Panes-Inv",
        ordering="fifo",
        needs="inverse and commutative",
        amortised="2",
        worst="2",
        multi_query=None,
        space="n + 1",
        paper="Li, Maier, Tufte, Papadimos and Tucker, SIGMOD Record 34(1), 2005",
    )
    __slots__ = ("_operator", "_partials", "_running")

    def __init__(self, operator: Operator[P]) -> None:
        check(operator, self.card)
        self._operator = operator
        self._partials: deque[P] = deque()
        self._running: P | Empty = EMPTY

    def __len__(self) -> int:
        return len(self._partials)

    def insert(self, partial: P) -> None:
        """Add a partial at the new end of the window: 1 combine."""
        running = self._running
        self._running = partial if running is EMPTY else self._operator.combine(running, partial)
        self._partials.append(partial)

    def evict(self) -> None:
        """Drop the oldest partial: 1 inverse."""
        running, inverse = self._running, self._operator.inverse
        if running is EMPTY:
            raise empty_window(self.card, "evict from")
        assert inverse is not None
        # The last one leaves no aggregate: the window starts anew, without what rounding left.
        self._running = EMPTY if len(self._partials) == 1 else inverse(running, self._partials[0])
        self._partials.popleft()

    def query(self) -> P:
        """Aggregate the whole window: no combine."""
        if self._running is EMPTY:
            raise empty_window(self.card, "query")
        return self._running

    def snapshot(self) -> bytes:
        """Write the partials and their running aggregate, whose rounding decides the results to come."""
        return pack(self.card.name, self._operator, (list(self._partials), self._running))

    @classmethod
    def restore(cls, operator: Operator[P], data: bytes) -> Self:
        """Go on from a snapshot."""
        window = cls(operator)
        partials, window._running = unpack(cls.card.name, operator, data)
        window._partials.extend(partials)
        return window
