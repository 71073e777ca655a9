"""FlatFAT, the flat fixed-sized aggregator (Tangwongsan, Hirzel, Schneider and Wu, VLDB 2015, section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from muntin.errors import IncrementalError
from muntin.incremental.structure import EMPTY, Empty, P

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class FlatFAT(Generic[P]):
    """Keep n places and the aggregate of every subtree over them in one flat array.

    The n places, rounded up to a power of two, are the leaves of a complete binary tree numbered as a heap: root 1,
    children of v at 2v and 2v + 1, place i (from 1) at n + i - 1; slot 0 of the array stays unused. A place may be
    EMPTY (⊥), which joins with anything without a call of combine. A combine that raises leaves the tree as it was.

    >>> fat = FlatFAT.new(lambda x, y: x + y, ["a", "b", "c", "d", "e", "f", "g"])
    >>> fat.capacity, fat.aggregate(), fat.prefix(3), fat.suffix(6)
    (8, 'abcdefg', 'abc', 'fg')
    >>> fat.update([(2, "B"), (8, "h")])
    >>> fat.aggregate()
    'aBcdefgh'
    """

    __slots__ = ("_combine", "_tree", "capacity")

    capacity: int
    """The number of places."""

    def __init__(self, combine: Callable[[P, P], P], tree: list[P | Empty]) -> None:
        self._combine = combine
        self._tree = tree
        self.capacity = len(tree) // 2

    @classmethod
    def new(cls, combine: Callable[[P, P], P], values: Iterable[P | Empty], capacity: int = 1) -> FlatFAT[P]:
        """Build the tree over values, with at least `capacity` places (Algorithm 1): n - 1 combines."""
        leaves = list(values)
        places = 1 << (max(len(leaves), capacity, 1) - 1).bit_length()
        leaves += [EMPTY] * (places - len(leaves))
        tree: list[P | Empty] = [EMPTY, *[EMPTY] * (places - 1), *leaves]
        for v in range(places - 1, 0, -1):
            x, y = tree[2 * v], tree[2 * v + 1]
            tree[v] = y if x is EMPTY else x if y is EMPTY else combine(x, y)
        return cls(combine, tree)

    @classmethod
    def of_nodes(cls, combine: Callable[[P, P], P], nodes: Sequence[P | Empty]) -> FlatFAT[P]:
        """Rebuild a tree from its `nodes`, without a combine: the way back from a snapshot."""
        places = (len(nodes) + 1) // 2
        if len(nodes) % 2 == 0 or places & (places - 1):
            msg = f"FlatFAT: a tree has 2n - 1 nodes for a power of two n, got {len(nodes)}"
            raise IncrementalError(msg)
        return cls(combine, [EMPTY, *nodes])

    @property
    def nodes(self) -> list[P | Empty]:
        """Copy the 2n - 1 nodes in heap order."""
        return self._tree[1:]

    def __getitem__(self, place: int) -> P | Empty:
        """Read one place, numbered from 1."""
        return self._tree[self._leaf(place)]

    def places(self) -> list[P | Empty]:
        """Copy all places, from 1 on."""
        return self._tree[self.capacity :]

    def update(self, changes: Iterable[tuple[int, P | Empty]]) -> None:
        """Write m places in one bottom-up pass (Algorithm 2): at most m (1 + ⌈log2(n/m)⌉) combines.

        Each node above a changed place is computed once, after its children. Of two writes to a place the later counts.
        """
        writes = {self._leaf(place): value for place, value in changes}
        if len(writes) == 1:
            self._update_path(*writes.popitem())
            return
        tree, combine = self._tree, self._combine
        before = [(v, tree[v]) for v in writes]
        try:
            for v, value in writes.items():
                tree[v] = value
            # All leaves are on one level, hence so are the nodes of every W_ℓ; a dict keeps each once, in order.
            level: Iterable[int] = writes
            while level := dict.fromkeys(v >> 1 for v in level if v > 1):
                for v in level:
                    x, y = tree[2 * v], tree[2 * v + 1]
                    before.append((v, tree[v]))
                    tree[v] = y if x is EMPTY else x if y is EMPTY else combine(x, y)
        except BaseException:
            for v, value in before:
                tree[v] = value
            raise

    def aggregate(self) -> P | Empty:
        """Aggregate all places: no combine."""
        return self._tree[1]

    def prefix(self, last: int) -> P | Empty:
        """Aggregate the places 1 to `last` (Algorithm 3): at most log2(n) - 1 combines."""
        v = self._leaf(last)
        # Beyond Algorithm 3: a right child whose whole subtree is wanted gives way to its parent without a combine,
        # so that log2(n) falls to log2(n) - 1, and prefix(n) is the root.
        while v > 1 and v & 1:
            v >>= 1
        tree, combine = self._tree, self._combine
        result = tree[v]
        while v > 1:
            if v & 1:
                x = tree[v - 1]
                result = result if x is EMPTY else x if result is EMPTY else combine(x, result)
            v >>= 1
        return result

    def suffix(self, first: int) -> P | Empty:
        """Aggregate the places `first` to n: at most log2(n) - 1 combines."""
        v = self._leaf(first)
        while v > 1 and not v & 1:
            v >>= 1
        tree, combine = self._tree, self._combine
        result = tree[v]
        while v > 1:
            if not v & 1:
                y = tree[v + 1]
                result = y if result is EMPTY else result if y is EMPTY else combine(result, y)
            v >>= 1
        return result

    def between(self, first: int, last: int) -> P | Empty:
        """Aggregate the places `first` to `last` from the fewest subtrees that make them up; none if they cross.

        >>> FlatFAT.new(lambda x, y: x + y, "abcdefgh").between(2, 7)
        'bcdefg'
        """
        low, high = self._leaf(first), self._leaf(last) + 1
        tree, combine = self._tree, self._combine
        left: P | Empty = EMPTY
        right: P | Empty = EMPTY
        while low < high:
            if low & 1:
                y = tree[low]
                left = y if left is EMPTY else left if y is EMPTY else combine(left, y)
                low += 1
            if high & 1:
                high -= 1
                x = tree[high]
                right = x if right is EMPTY else right if x is EMPTY else combine(x, right)
            low >>= 1
            high >>= 1
        return right if left is EMPTY else left if right is EMPTY else combine(left, right)

    def _update_path(self, v: int, value: P | Empty) -> None:
        """Write one leaf: the case of every slide by one partial, worth a loop without sets and undoing."""
        tree, combine = self._tree, self._combine
        path = [value]
        leaf = v
        while v > 1:
            x, y = (tree[v - 1], value) if v & 1 else (value, tree[v + 1])
            value = y if x is EMPTY else x if y is EMPTY else combine(x, y)
            path.append(value)
            v >>= 1
        for height, node in enumerate(path):
            tree[leaf >> height] = node

    def _leaf(self, place: int) -> int:
        if not 1 <= place <= self.capacity:
            msg = f"FlatFAT: there is no place {place}: they are numbered from 1 to {self.capacity}"
            raise IncrementalError(msg)
        return self.capacity + place - 1
