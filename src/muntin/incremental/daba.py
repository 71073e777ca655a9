"""DABA, the de-amortised banker's aggregator: TwoStacks whose flip is done a step at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic

from muntin.incremental.ring import LEAST, fitting, grown, shrunk
from muntin.incremental.snapshot import pack, unpack
from muntin.incremental.structure import EMPTY, Card, Empty, Operator, P, check, empty_window

if TYPE_CHECKING:
    from typing import Self


class DABA(Generic[P]):
    """Turn the back into the front by one step after each insert and each evict.

    One queue, and six places in it, F ≤ L ≤ R ≤ A ≤ B ≤ E, part it into sublists:

        F to L   aggregates from here up to B            the front, as far as it is done
        L to R   aggregates from here up to R            the front of before the flip
        R to A   partials                                the back of before the flip
        A to B   aggregates from here up to B            the same, turned round already
        B to E   partials                                the back

    `middle` aggregates R to B and `late` B to E. When L comes to B, front and back are of one length: the flip makes
    F to B the left and B to E the right part of a new front. Each step then moves L and A towards each other (shrink),
    until both are at R, then all three to the right (shift). When the back has grown as long as the front, L is at B
    again. F never passes L, so the oldest place always aggregates the front.

    Ordering: first in, first out. Operator: associative. Time: below 4 combines amortised (4 - 6/n for an even n,
    4 - 4/(n - 1) for an odd one) and 6 at worst. The table's 5 and 8 are those of the first DABA, where each shrink
    computes the aggregate of R to B anew; it does not change between flips (DABA Lite). Space: n + 2. Only the whole
    window can be asked for.

    >>> from muntin.aggregate import catalog as agg
    >>> window = DABA(agg.max)
    >>> for price in (3, 9, 4):
    ...     window.insert(price)
    >>> window.evict()
    >>> window.query()
    9
    """

    card: ClassVar[Card] = Card(
        name="DABA",
        ordering="fifo",
        needs="associative",
        amortised="4",
        worst="6",
        multi_query=None,
        space="n + 2",
        paper="Tangwongsan, Hirzel and Schneider, DEBS 2017; DABA Lite: VLDB Journal 30(6), 2021",
    )
    __slots__ = ("_a", "_b", "_e", "_f", "_l", "_late", "_middle", "_operator", "_queue", "_r")

    def __init__(self, operator: Operator[P]) -> None:
        check(operator, self.card)
        self._operator = operator
        self._queue: list[Any] = [EMPTY]  # circular: place i is in slot i modulo the length
        self._f = self._l = self._r = self._a = self._b = self._e = 0
        self._middle: P | Empty = EMPTY
        self._late: P | Empty = EMPTY

    def __len__(self) -> int:
        return self._e - self._f

    def insert(self, partial: P) -> None:
        """Add a partial at the new end of the window: at most 3 combines."""
        late = self._late
        late = partial if late is EMPTY else self._operator.combine(late, partial)
        if self._e - self._f == len(self._queue):
            self._queue = grown(self._queue, self._f, self._e, EMPTY)
        # Beyond E nothing is read, so the place may be written before the step is known to succeed.
        self._queue[self._e & (len(self._queue) - 1)] = partial
        self._fixup(self._f, self._e + 1, late)

    def evict(self) -> None:
        """Drop the oldest partial: at most 2 combines."""
        if self._f == self._e:
            raise empty_window(self.card, "evict from")
        oldest = self._f & (len(self._queue) - 1)
        self._fixup(self._f + 1, self._e, self._late)
        self._queue[oldest] = EMPTY
        if 4 * (self._e - self._f) < len(self._queue) > LEAST:
            self._queue = shrunk(self._queue, self._f, self._e, EMPTY)

    def query(self) -> P:
        """Aggregate the whole window: at most 1 combine."""
        if self._f == self._e:
            raise empty_window(self.card, "query")
        early: P = self._queue[self._f & (len(self._queue) - 1)]
        late = self._late
        return early if late is EMPTY else self._operator.combine(early, late)

    def _fixup(self, front: int, end: int, late: P | Empty) -> None:
        """Take the step that a window from `front` to `end` owes, and commit both and the back's aggregate with it."""
        queue, mask, combine = self._queue, len(self._queue) - 1, self._operator.combine
        left, right, turned, back, middle = self._l, self._r, self._a, self._b, self._middle
        if front == back:
            # No front is left: the window is empty, or its only partial becomes the front.
            self._f, self._l, self._r, self._a, self._b, self._e = front, end, end, end, end, end
            self._middle = self._late = EMPTY
            return
        if left == back:
            # Flip. R is at B already: L, R and A have shifted together.
            left, turned, back, middle, late = front, end, end, late, EMPTY
        if left == right:
            left, right, turned = left + 1, right + 1, turned + 1
        else:
            assert middle is not EMPTY  # a flip takes a back as long as the front, which is not empty
            reaching = combine(queue[left & mask], middle)
            newest = queue[(turned - 1) & mask]
            joined = newest if turned == back else combine(newest, queue[turned & mask])
            turned -= 1
            queue[left & mask], queue[turned & mask] = reaching, joined
            left += 1
        self._f, self._l, self._r, self._a, self._b, self._e = front, left, right, turned, back, end
        self._middle, self._late = middle, late

    def snapshot(self) -> bytes:
        """Write the queue, the six places in it and the two aggregates."""
        mask = len(self._queue) - 1
        queue = [self._queue[place & mask] for place in range(self._f, self._e)]
        places = [place - self._f for place in (self._l, self._r, self._a, self._b)]
        return pack(self.card.name, self._operator, (queue, places, self._middle, self._late))

    @classmethod
    def restore(cls, operator: Operator[P], data: bytes) -> Self:
        """Go on from a snapshot."""
        window = cls(operator)
        queue, places, window._middle, window._late = unpack(cls.card.name, operator, data)
        window._queue = [*queue, *[EMPTY] * (fitting(len(queue)) - len(queue))]
        window._l, window._r, window._a, window._b = places
        window._e = len(queue)
        return window
