"""The Reactive Aggregator's buffer for first-in first-out windows, without ⊥ (Tangwongsan et al., section 5.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from muntin.incremental.reactive_buffer import ReactiveBuffer, least_capacity
from muntin.incremental.restorable import Restorable
from muntin.incremental.structure import Card, P, check, check_held

if TYPE_CHECKING:
    from typing import Self

    from muntin.incremental.structure import Operator


class FifoBuffer(Restorable[P]):
    """Keep a first-in first-out window in a flat tree used as a circular buffer, and batch changes until asked.

    Everything from the front F to the back B is in use and nothing else is, so no place needs a mark: on each level of
    the tree the nodes in use are those between the paths of F and of B to the root, or, in an inverted buffer, those
    not strictly between the paths of B and of F. What lies in other nodes is never read.

    Ordering: first in, first out. Operator: associative. Time, for m changes since the last query and a capacity of c,
    at most 4n or the least capacity: at most m (1 + ⌈log2(c/m)⌉) combines, and 2 log2(c) - 1 to read an inverted
    buffer where order matters; c - 1 after a change of capacity, paid for by the c/8 events or more since the last.
    Space: 2c.

    >>> from muntin.aggregate import catalog as agg
    >>> window = FifoBuffer(agg.concat, capacity=4)
    >>> for letter in "abcd":
    ...     window.insert(agg.concat.lift(letter))
    >>> window.evict()
    >>> window.insert(agg.concat.lift("e"))
    >>> window.front, window.back, window.inverted, agg.concat.lower(window.query())
    (2, 1, True, 'bcde')
    """

    __slots__ = ("_changed", "_count", "_first", "_tree", "minimum", "operator")

    card: ClassVar[Card] = replace(ReactiveBuffer.card, name="Reactive Aggregator (FIFO)", ordering="fifo")

    def __init__(self, operator: Operator[P], capacity: int = 8) -> None:
        check(operator, self.card)
        self.operator = operator
        self.minimum = least_capacity(self.card, capacity)
        """The capacity never falls below this: give a large one to be spared all resizing."""
        # Numbered as a heap: root 1, the places from `capacity` on. Slot 0 stays unused.
        self._tree: list[P] = [operator.identity] * (2 * self.minimum)
        self._first = self.minimum  # the front's node
        self._count = 0
        self._changed: set[int] = set()

    def __len__(self) -> int:
        return self._count

    @property
    def capacity(self) -> int:
        """The number of places."""
        return len(self._tree) // 2

    @property
    def front(self) -> int | None:
        """The place of the oldest partial, F, numbered from 1; None if the window is empty."""
        return self._first - self.capacity + 1 if self._count else None

    @property
    def back(self) -> int | None:
        """The place of the newest partial, B; None if the window is empty."""
        return self._node(self._count - 1) - self.capacity + 1 if self._count else None

    @property
    def inverted(self) -> bool:
        """Whether the back has wrapped around to before the front."""
        return self._first + self._count > len(self._tree)

    def insert(self, partial: P) -> None:
        """Add a partial at the new end of the window."""
        if self._count == self.capacity:
            self._resize(2 * self.capacity)
        node = self._node(self._count)
        self._tree[node] = partial
        self._changed.add(node)
        self._count += 1

    def evict(self) -> None:
        """Drop the oldest partial."""
        check_held(self.card, self._count, "evict from")
        self._changed.add(self._first)
        self._tree[self._first] = self.operator.identity  # nobody reads it: only to let the partial go
        self._first = self._node(1)
        self._count -= 1
        if 4 * self._count < self.capacity > self.minimum:
            self._resize(self.capacity // 2)

    def query(self) -> P:
        """Write the changes since the last query in one pass, and aggregate the whole window."""
        check_held(self.card, self._count, "query")
        if self._changed:
            self._refresh()
            self._changed.clear()
        if self.operator.commutative or not self.inverted:
            return self._tree[1]
        newer = self._prefix(self._node(self._count - 1))
        return self.operator.combine(self._suffix(self._first), newer)

    def state(self) -> tuple[Any, ...]:
        """Give the state as plain values: the tree, the changes not yet written, and where the window lies."""
        return self._tree[1:], sorted(self._changed), self._first, self._count, self.minimum

    @classmethod
    def of_state(cls, operator: Operator[P], state: tuple[Any, ...]) -> Self:
        """Rebuild a buffer from its `state`."""
        nodes, changed, first, count, minimum = state
        buffer = cls(operator, minimum)
        buffer._tree = [operator.identity, *nodes]
        buffer._changed, buffer._first, buffer._count = set(changed), first, count
        return buffer

    def _node(self, offset: int) -> int:
        """Find the node of the partial `offset` after the oldest."""
        node = self._first + offset
        return node if node < len(self._tree) else node - self.capacity

    def _resize(self, capacity: int) -> None:
        """Copy the partials to the front of a tree of another capacity; the next query builds its nodes."""
        held = [self._tree[self._node(offset)] for offset in range(self._count)]
        blank = self.operator.identity
        self._tree = [blank] * capacity + held + [blank] * (capacity - len(held))
        self._first = capacity
        self._changed = set(range(capacity, capacity + len(held)))

    def _refresh(self) -> None:
        """Compute each node above a change once, after its children (Algorithm 2), skipping what is not in use.

        Should a combine raise, the changes stay noted, and all nodes above them are computed anew the next time.
        """
        tree, combine, blank = self._tree, self.operator.combine, self.operator.identity
        inverted = self.inverted
        front, back = self._first, self._node(self._count - 1)  # on each level, the nodes on the paths of F and B
        level = sorted(self._changed)
        while front > 1:
            above: list[int] = []
            last = 0
            for node in level:
                v = node >> 1
                if v == last:  # siblings, side by side in the order of places
                    continue
                above.append(v)
                last, left, right = v, v + v, v + v + 1
                if inverted:
                    older, newer = left >= front or left <= back, right >= front or right <= back
                else:
                    older, newer = front <= left <= back, front <= right <= back
                if older and newer:
                    tree[v] = combine(tree[left], tree[right])
                else:
                    tree[v] = tree[left] if older else tree[right] if newer else blank
            level = above
            front >>= 1
            back >>= 1

    def _prefix(self, v: int) -> P:
        """Aggregate the places up to a node's, all in use (Algorithm 3)."""
        while v & 1:  # its parent's whole subtree is wanted; an inverted buffer's prefix never reaches the root
            v >>= 1
        tree, combine = self._tree, self.operator.combine
        result = tree[v]
        while v > 1:
            if v & 1:
                result = combine(tree[v - 1], result)
            v >>= 1
        return result

    def _suffix(self, v: int) -> P:
        """Aggregate the places from a node's on, all in use."""
        while not v & 1:
            v >>= 1
        tree, combine = self._tree, self.operator.combine
        result = tree[v]
        while v > 1:
            if not v & 1:
                result = combine(result, tree[v + 1])
            v >>= 1
        return result
