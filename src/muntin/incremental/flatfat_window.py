"""FlatFAT as a first-in-first-out window: a circular buffer over the places of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic

from muntin.incremental.flatfat import FlatFAT
from muntin.incremental.ring import LEAST
from muntin.incremental.snapshot import pack, unpack
from muntin.incremental.structure import EMPTY, Card, Empty, Operator, P, check, check_count, empty_window

if TYPE_CHECKING:
    from typing import Self


class FlatFATWindow(Generic[P]):
    """Write what came and went since the last result into the tree in one pass, then read the tree.

    Insert and evict only note the places they change, and call no combine. Where the new partial takes the place of
    the oldest, a slide changes one place. A window that goes round the end of the buffer is read as suffix and prefix,
    so that order is kept (the inverted buffer of section 5.1.2); a commutative operator needs the root alone. A full
    buffer is doubled, and one less than a quarter full is halved, at the cost of building the tree anew on the next
    result. A combine that raises after the pass leaves the tree up to date, and the window as it was.

    Ordering: first in, first out (any order: the Reactive Aggregator, on the same tree). Operator: associative. Time:
    log2(n) combines on every slide where n is a power of two and the operator commutative, as in the table; 2 log2(n)
    at worst where it is not. Otherwise a slide changes two places: 2 ⌊log2(n)⌋ at worst, and below 4 ⌊log2(n)⌋ where
    order matters. On average log2(n), below 2 log2(n) where order matters. Space: 2n where n is a power of two, else
    below 4n.

    >>> from muntin.aggregate import catalog as agg
    >>> window = FlatFATWindow(agg.max)
    >>> for price in (3, 9, 4):
    ...     window.insert(price)
    >>> window.query(), window.query_last(1), window.capacity
    (9, 4, 4)
    """

    card: ClassVar[Card] = Card(
        name="FlatFAT",
        ordering="fifo",
        needs="associative",
        amortised="log2(n), below 2 log2(n) where order matters",
        worst="log2(n), or 2 ⌊log2(n)⌋ unless n is a power of two; twice that where order matters",
        multi_query="n log2(n)",
        space="2n, below 4n unless n is a power of two",
        paper="Tangwongsan, Hirzel, Schneider and Wu, VLDB 2015",
    )
    __slots__ = ("_count", "_front", "_minimum", "_operator", "_pending", "_tree")

    def __init__(self, operator: Operator[P], capacity: int = 1) -> None:
        check(operator, self.card)
        self._operator = operator
        self._tree: FlatFAT[P] = FlatFAT.new(operator.combine, (), capacity)
        self._minimum = max(self._tree.capacity, LEAST)  # the capacity falls no further
        self._front = 1  # the place of the oldest partial
        self._count = 0
        self._pending: dict[int, P | Empty] = {}

    def __len__(self) -> int:
        return self._count

    @property
    def capacity(self) -> int:
        """Give the number of partials that fit before the buffer doubles."""
        return self._tree.capacity

    def insert(self, partial: P) -> None:
        """Add a partial at the new end of the window: no combine."""
        if self._count == self._tree.capacity:
            self._resize(2 * self._count)
        self._pending[self._place(self._count)] = partial
        self._count += 1

    def evict(self) -> None:
        """Drop the oldest partial: no combine."""
        if not self._count:
            raise empty_window(self.card, "evict from")
        self._pending[self._front] = EMPTY
        self._front = self._place(1)
        self._count -= 1
        if 4 * self._count < self._tree.capacity > self._minimum:
            self._resize(self._tree.capacity // 2)

    def query(self) -> P:
        """Aggregate the whole window."""
        if not self._count:
            raise empty_window(self.card, "query")
        self._flush()
        if self._operator.commutative:
            return self._present(self._tree.aggregate())
        return self._newest(self._count)

    def query_last(self, count: int) -> P:
        """Aggregate the newest `count` partials."""
        check_count(self.card, self._count, count)
        if count == self._count:
            return self.query()
        self._flush()
        return self._newest(count)

    def _newest(self, count: int) -> P:
        start, back = self._place(self._count - count), self._place(self._count - 1)
        if back < start:
            early = self._present(self._tree.suffix(start))
            return self._operator.combine(early, self._present(self._tree.prefix(back)))
        if back < self._front:  # the buffer is inverted, so that older partials stand behind the newest
            return self._present(self._tree.between(start, back))
        if start == self._front:
            return self._present(self._tree.aggregate())
        return self._present(self._tree.suffix(start))

    def _place(self, age: int) -> int:
        """Give the place of the partial that has `age` older ones before it."""
        return (self._front - 1 + age) % self._tree.capacity + 1

    def _flush(self) -> None:
        if self._pending:
            self._tree.update(self._pending.items())
            self._pending.clear()

    def _resize(self, capacity: int) -> None:
        pending = self._pending
        places = [self._place(age) for age in range(self._count)]
        partials = [pending[place] if place in pending else self._tree[place] for place in places]
        self._tree = FlatFAT.new(self._operator.combine, (), capacity)
        self._front = 1
        self._pending = dict(enumerate(partials, start=1))

    @staticmethod
    def _present(aggregate: P | Empty) -> P:
        assert aggregate is not EMPTY  # the ranges that are read hold a partial
        return aggregate

    def snapshot(self) -> bytes:
        """Write the nodes of the tree, the changes that it does not show yet, and where the window starts."""
        state = (self._tree.nodes, self._pending, self._front, self._count, self._minimum)
        return pack(self.card.name, self._operator, state)

    @classmethod
    def restore(cls, operator: Operator[P], data: bytes) -> Self:
        """Go on from a snapshot."""
        window = cls(operator)
        state = unpack(cls.card.name, operator, data)
        nodes, window._pending, window._front, window._count, window._minimum = state
        window._tree = FlatFAT.of_nodes(operator.combine, nodes)
        return window
