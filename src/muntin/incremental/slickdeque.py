"""SlickDeque-NonInv: a deque of the partials that can still be an answer."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, ClassVar, Generic

from muntin.errors import AggregateError
from muntin.incremental.snapshot import pack, unpack
from muntin.incremental.structure import Card, Operator, P, check, check_count, empty_window

if TYPE_CHECKING:
    from typing import Self

# Why dropping is safe, for order and ties too. A combine that is associative and always selects one of its operands is
# a maximum over a ranking: of two partials of different rank it selects the higher, and within one rank it is either
# always the earlier or always the later (Couceiro, Devillet and Marichal, Quasitrivial semigroups, Semigroup
# Forum, 2018, Theorem 2.1). Hence
#   - max and min: the ranking is the order of values;
#   - arg_max: the same, and of a rank the earlier is selected;
#   - first and last: all partials of one rank, of which the earlier or the later is selected.
# All are legal. Where combine(tail, new) selects the new one, the tail is of a lower rank, or of the same rank where
# the later wins: every suffix window that holds the tail also holds the new one, so the tail is in no answer to come.
# What stays falls in rank from head to tail, with ties only where the earlier wins: of any suffix the first is the
# answer. For `last` the deque is one partial long, for `first` as long as the window.


class SlickDequeNonInv(Generic[P]):
    """Drop from the tail each partial that loses against the new one; the head answers for the whole window.

    Ordering: first in, first out. Operator: selects one of its operands; it may depend on order. Time: below 2
    combines amortised, as each partial is dropped once and spares its dropper's successors; n - 1 at worst, for a
    partial that beats n - 1 falling ones (1 in n! on random data). All ranges 1 to n cost no combine more: each is
    found by binary search over the places. Space: 1 to n partials, and their places.

    >>> from muntin.aggregate import catalog as agg
    >>> window = SlickDequeNonInv(agg.max)
    >>> for price in (3, 9, 4, 5):
    ...     window.insert(price)
    >>> window.query(), window.query_last(2), window.candidates
    (9, 5, [(1, 9), (3, 5)])
    """

    card: ClassVar[Card] = Card(
        name="SlickDeque-NonInv",
        ordering="fifo",
        needs="selects",
        amortised="2",
        worst="n - 1",
        multi_query="2",
        space="1 to n and as many places",
        paper="Shein, Chrysanthis and Labrinidis, EDBT 2018",
    )
    __slots__ = ("_end", "_first", "_head", "_operator", "_partials", "_places")

    def __init__(self, operator: Operator[P]) -> None:
        check(operator, self.card)
        self._operator = operator
        # The deque is two lists from `head` on: a binary search needs to reach any place at once.
        self._places: list[int] = []
        self._partials: list[P] = []
        self._head = 0
        self._first = self._end = 0

    def __len__(self) -> int:
        return self._end - self._first

    @property
    def candidates(self) -> list[tuple[int, P]]:
        """List the deque from head to tail: the place in the stream, counted from 0, and the partial."""
        return list(zip(self._places[self._head :], self._partials[self._head :], strict=True))

    def insert(self, partial: P) -> None:
        """Add a partial at the new end of the window: a combine for each that it drops, and one."""
        tail = len(self._partials)
        while tail > self._head and self._beaten(self._partials[tail - 1], partial):
            tail -= 1
        self._places[tail:] = [self._end]
        self._partials[tail:] = [partial]
        self._end += 1

    def evict(self) -> None:
        """Drop the oldest partial: no combine."""
        if self._first == self._end:
            raise empty_window(self.card, "evict from")
        if self._places[self._head] == self._first:
            self._head += 1
            if 2 * self._head > len(self._places):  # each place moves once at most for each that went
                del self._places[: self._head], self._partials[: self._head]
                self._head = 0
        self._first += 1

    def query(self) -> P:
        """Aggregate the whole window: no combine."""
        if self._first == self._end:
            raise empty_window(self.card, "query")
        return self._partials[self._head]

    def query_last(self, count: int) -> P:
        """Aggregate the newest `count` partials: no combine."""
        check_count(self.card, len(self), count)
        return self._partials[bisect_left(self._places, self._end - count, lo=self._head)]

    def _beaten(self, early: P, late: P) -> bool:
        """Tell whether combine selects the later, or there is no telling them apart."""
        chosen = self._operator.combine(early, late)
        if chosen is late:
            return True
        if chosen is early:
            # Of two partials that are alike in every way the later will do, as it outlives the earlier: a constant
            # stream then needs one place. It must not depend on whether both are one object, which a snapshot loses.
            return _equal(early, late) and type(early) is type(late) and repr(early) == repr(late)
        if _equal(chosen, late):  # a combine may build a new object
            return True
        if _equal(chosen, early):
            return False
        msg = (
            f"`{self._operator.name}` claims to select one of its operands, but combine({early!r}, {late!r}) gave "
            f"{chosen!r}. Correct the claim, and use TwoStacks or DABA"
        )
        raise AggregateError(msg)

    def snapshot(self) -> bytes:
        """Write the deque, and how many partials the window holds."""
        places = [place - self._first for place in self._places[self._head :]]
        return pack(self.card.name, self._operator, (len(self), places, self._partials[self._head :]))

    @classmethod
    def restore(cls, operator: Operator[P], data: bytes) -> Self:
        """Go on from a snapshot."""
        window = cls(operator)
        window._end, window._places, window._partials = unpack(cls.card.name, operator, data)
        return window


def _equal(x: object, y: object) -> bool:
    return bool(x == y) or bool(x != x and y != y)  # NaN does not even equal itself
