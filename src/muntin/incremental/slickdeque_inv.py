"""SlickDeque-Inv: a running aggregate for each range, for operators that can take a partial away again."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from muntin.errors import IncrementalError
from muntin.incremental.ring import LEAST, fitting, grown, shrunk
from muntin.incremental.snapshot import pack, unpack
from muntin.incremental.structure import EMPTY, Card, Empty, Operator, P, check, check_count, empty_window

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self


class SlickDequeInv(Generic[P]):
    """Keep the partials, the aggregate of all, and that of the newest r for each registered range r.

    A range as long as the window, or longer, has no aggregate of its own: that of the window is its answer. It gets
    one when the window grows beyond it, and gives it back to the window that shrinks to it.

    Ordering: first in, first out. Operator: commutative with an inverse. Time: one combine and one inverse, amortised
    and worst, for each range; 2n - 4 for all ranges 1 to n (the table: 2n), as the range 1 is the newest partial and
    the window gets its aggregate from the range n - 1 when it evicts. A range that is not registered is folded: r - 1
    combines. Space: n, and one aggregate for each range.

    Rounding of floats stays in the running aggregates, and a NaN or an infinity cannot be taken away again: both last
    until the window is empty. Exact on integers and decimals.

    >>> from muntin.aggregate import catalog as agg
    >>> window = SlickDequeInv(agg.count, ranges=[2])
    >>> for partial in (3, 9, 4):
    ...     window.insert(partial)
    >>> window.query(), window.query_last(2)
    (16, 13)
    """

    card: ClassVar[Card] = Card(
        name="SlickDeque-Inv",
        ordering="fifo",
        needs="inverse and commutative",
        amortised="2",
        worst="2",
        multi_query="2n - 4",
        space="n + 1, 2n for all ranges",
        paper="Shein, Chrysanthis and Labrinidis, EDBT 2018",
    )
    __slots__ = ("_end", "_first", "_operator", "_partials", "_ranges", "_running", "_whole")

    def __init__(self, operator: Operator[P], ranges: Iterable[int] = ()) -> None:
        check(operator, self.card)
        self._operator = operator
        self._partials: list[Any] = [EMPTY]  # circular: place i is in slot i modulo the length
        self._first = self._end = 0
        self._whole: P | Empty = EMPTY
        self._running: dict[int, P] = {}  # of the registered ranges that are shorter than the window
        self._ranges: list[int] = []
        for count in ranges:
            self.register(count)

    def __len__(self) -> int:
        return self._end - self._first

    @property
    def ranges(self) -> tuple[int, ...]:
        """List the registered ranges, in partials."""
        return tuple(self._ranges)

    def register(self, count: int) -> None:
        """Keep the aggregate of the newest `count` partials from now on: `count` - 1 combines, once."""
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            msg = f"{self.card.name}: a range is a number of partials, 1 or more, got {count!r}"
            raise IncrementalError(msg)
        if count in self._ranges:
            return
        if count < len(self):
            self._running[count] = self._fold(count)
        self._ranges = sorted([*self._ranges, count])

    def unregister(self, count: int) -> None:
        """Keep the aggregate of the newest `count` partials no longer."""
        if count not in self._ranges:
            msg = f"{self.card.name}: the range {count!r} is not registered. Registered: {self._ranges}"
            raise IncrementalError(msg)
        self._ranges.remove(count)
        self._running.pop(count, None)

    def insert(self, partial: P) -> None:
        """Add a partial at the new end of the window: 1 combine, and 2 operations for each shorter range."""
        combine, inverse, held = self._operator.combine, self._operator.inverse, self._end - self._first
        assert inverse is not None
        whole = partial if self._whole is EMPTY else combine(self._whole, partial)
        running: dict[int, P] = {}
        for count in self._ranges:
            if count > held:
                break
            if count == 1:
                running[1] = partial
                continue
            joined = whole if count == held else combine(self._running[count], partial)
            running[count] = inverse(joined, self._partials[(self._end - count) & (len(self._partials) - 1)])
        if held == len(self._partials):
            self._partials = grown(self._partials, self._first, self._end, EMPTY)
        self._partials[self._end & (len(self._partials) - 1)] = partial
        self._end += 1
        self._whole, self._running = whole, running

    def evict(self) -> None:
        """Drop the oldest partial: 1 inverse, none where the rest is a registered range."""
        whole, inverse, rest = self._whole, self._operator.inverse, self._end - self._first - 1
        if whole is EMPTY:
            raise empty_window(self.card, "evict from")
        assert inverse is not None
        oldest = self._first & (len(self._partials) - 1)
        if rest == 0:
            self._whole = EMPTY  # starts anew, without what rounding left
        elif rest in self._running:
            self._whole = self._running.pop(rest)
        else:
            self._whole = inverse(whole, self._partials[oldest])
        self._partials[oldest] = EMPTY
        self._first += 1
        if 4 * rest < len(self._partials) > LEAST:
            self._partials = shrunk(self._partials, self._first, self._end, EMPTY)

    def query(self) -> P:
        """Aggregate the whole window: no combine."""
        if self._whole is EMPTY:
            raise empty_window(self.card, "query")
        return self._whole

    def query_last(self, count: int) -> P:
        """Aggregate the newest `count` partials: no combine for a registered range, else `count` - 1."""
        check_count(self.card, len(self), count)
        if count == len(self):
            return self.query()
        return self._running[count] if count in self._running else self._fold(count)

    def _fold(self, count: int) -> P:
        mask = len(self._partials) - 1
        newest: list[P] = [self._partials[place & mask] for place in range(self._end - count, self._end)]
        return reduce(self._operator.combine, newest)

    def snapshot(self) -> bytes:
        """Write the partials and the running aggregates, whose rounding decides the results to come."""
        mask = len(self._partials) - 1
        partials = [self._partials[place & mask] for place in range(self._first, self._end)]
        return pack(self.card.name, self._operator, (partials, self._whole, self._ranges, self._running))

    @classmethod
    def restore(cls, operator: Operator[P], data: bytes) -> Self:
        """Go on from a snapshot."""
        window = cls(operator)
        partials, window._whole, window._ranges, window._running = unpack(cls.card.name, operator, data)
        window._partials = [*partials, *[EMPTY] * (fitting(len(partials)) - len(partials))]
        window._end = len(partials)
        return window
