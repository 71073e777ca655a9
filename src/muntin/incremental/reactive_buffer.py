"""The Reactive Aggregator's buffer for any order of eviction and insertion (Tangwongsan et al., section 5.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from muntin.errors import IncrementalError
from muntin.incremental.flatfat import FlatFAT
from muntin.incremental.restorable import Restorable
from muntin.incremental.structure import EMPTY, Card, Empty, P, check, check_held

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from muntin.incremental.structure import Operator


class ReactiveBuffer(Restorable[P]):
    """Keep a window in the places of a FlatFAT used as a circular buffer, and batch changes until they are asked for.

    Insert and evict only note what changes: `query` writes all of it into the tree in one pass. The front F and the
    back B are the places of the oldest and the newest partial; where B has wrapped around to before F the buffer is
    *inverted*, and an operator that is not commutative reads suffix(F) ⊕ prefix(B). Eviction between them leaves a
    hole (⊥).

    An insert before another partial shifts the partials between there and the nearest free place, on either side: d
    moves, which count among the m changes. So a partial that comes a little out of order costs little, and one in the
    middle of n partials without a hole costs n/2.

    Ordering: any. Operator: associative. Time, for m changes since the last query and a capacity of c, at most 4n or
    the least capacity: at most m (1 + ⌈log2(c/m)⌉) combines, and 2 log2(c) - 1 to read an inverted buffer where order
    matters; c - 1 after a change of capacity, paid for by the c/8 events or more since the last. Space: 2c.

    >>> from muntin.aggregate import catalog as agg
    >>> window = ReactiveBuffer(agg.concat, capacity=4)
    >>> for handle, letter in enumerate("abde"):
    ...     window.insert(agg.concat.lift(letter), handle)
    >>> window.insert(agg.concat.lift("c"), 4, before=2)
    >>> agg.concat.lower(window.query())
    'abcde'
    >>> window.evict(1)
    >>> agg.concat.lower(window.query()), window.capacity
    ('acde', 8)
    """

    __slots__ = ("_at", "_front", "_next", "_pending", "_place", "_span", "_tree", "minimum", "operator")

    card: ClassVar[Card] = Card(
        name="Reactive Aggregator",
        ordering="any",
        needs="associative",
        amortised="4 log2(c)",
        worst="c + 2 log2(c)",
        multi_query=None,
        space="2c, below 8n",
        paper="Tangwongsan, Hirzel, Schneider and Wu, VLDB 2015",
    )

    def __init__(self, operator: Operator[P], capacity: int = 8) -> None:
        check(operator, self.card)
        self.operator = operator
        self.minimum = least_capacity(self.card, capacity)
        """The capacity never falls below this: give a large one to be spared all resizing."""
        self._place: dict[int, int] = {}  # handle -> place, from 1
        self._at: dict[int, int] = {}  # place -> handle; a place not in it is free
        self._next = 0
        self._tree: FlatFAT[P] = self._blank(self.minimum)
        self._pending: dict[int, P | Empty] = {}  # place -> what the tree does not show yet
        self._front, self._span = 1, 0  # from F on, so many places up to B

    def __len__(self) -> int:
        return len(self._place)

    @property
    def capacity(self) -> int:
        """The number of places."""
        return self._tree.capacity

    @property
    def front(self) -> int | None:
        """The place of the oldest partial, F; None if the window is empty."""
        return self._front if self._span else None

    @property
    def back(self) -> int | None:
        """The place of the newest partial, B; None if the window is empty."""
        return self._wrap(self._front + self._span - 1) if self._span else None

    @property
    def inverted(self) -> bool:
        """Whether the back has wrapped around to before the front."""
        return self._front + self._span - 1 > self.capacity

    @property
    def slots(self) -> list[P | Empty]:
        """Copy what the places hold, changes not yet written included."""
        return [self._read(place) for place in range(1, self.capacity + 1)]

    def insert(self, partial: P, handle: int | None = None, before: int | None = None) -> None:
        """Add a partial at the new end of the window, or just before another one.

        A handle names the partial; where none is given, the numbers after the greatest so far do.
        """
        handle = self._next if handle is None else handle
        if handle in self._place:
            msg = f"{self.card.name}: handle {handle} stands in the window already. Give each partial its own"
            raise IncrementalError(msg)
        following = max(self._next, handle + 1)
        if before is not None:
            place = self._opened(self._find(before))
        else:
            if self._span == self.capacity:
                # A full buffer: 3/4 or less in use means that a quarter was evicted since there were no holes.
                if 4 * len(self) <= 3 * self.capacity:
                    self._compact()
                else:
                    self._resize(2 * self.capacity)
            self._span += 1
            place = self._wrap(self._front + self._span - 1)
        self._put(place, handle, partial)
        self._next = following

    def evict(self, handle: int | None = None) -> None:
        """Drop the oldest partial, or the one that a handle names."""
        check_held(self.card, len(self), "evict from")
        place = self._front if handle is None else self._find(handle)
        del self._place[self._at.pop(place)]
        self._clear(place)
        # F and B stay on partials, so that holes lie only between them.
        while self._span and self._front not in self._at:
            self._front = self._wrap(self._front + 1)
            self._span -= 1
        while self._span and self._wrap(self._front + self._span - 1) not in self._at:
            self._span -= 1
        if 4 * len(self) < self.capacity > self.minimum:
            self._resize(self.capacity // 2)

    def query(self) -> P:
        """Write the changes since the last query in one pass, and aggregate the whole window."""
        check_held(self.card, len(self), "query")
        tree, operator = self._tree, self.operator
        if self._pending:
            tree.update(self._pending.items())
            self._pending = {}
        if operator.commutative or not self.inverted:
            whole = tree.aggregate()
        else:
            newer = tree.prefix(self._wrap(self._front + self._span - 1))
            whole = tree.suffix(self._front)
            assert whole is not EMPTY and newer is not EMPTY  # F and B stand on partials
            whole = operator.combine(whole, newer)
        assert whole is not EMPTY
        return whole

    def state(self) -> tuple[Any, ...]:
        """Give the state as plain values: the tree, the changes not yet written, and where the partials are."""
        places, handles = list(self._at), list(self._at.values())
        changed, written = list(self._pending), list(self._pending.values())
        return self._tree.nodes, changed, written, places, handles, self._front, self._span, self._next, self.minimum

    @classmethod
    def of_state(cls, operator: Operator[P], state: tuple[Any, ...]) -> Self:
        """Rebuild a buffer from its `state`."""
        nodes, changed, written, places, handles, front, span, following, minimum = state
        buffer = cls(operator, minimum)
        buffer._tree = FlatFAT.of_nodes(operator.combine, nodes)
        buffer._pending = dict(zip(changed, written, strict=True))
        buffer._at = dict(zip(places, handles, strict=True))
        buffer._place = dict(zip(handles, places, strict=True))
        buffer._front, buffer._span, buffer._next = front, span, following
        return buffer

    def _blank(self, capacity: int) -> FlatFAT[P]:
        return FlatFAT.new(self.operator.combine, (), capacity)

    def _resize(self, capacity: int) -> None:
        """Copy the partials into a tree of another capacity; the next query builds its nodes, as Algorithm 1 does."""
        held = list(self._in_order())
        self._tree = self._blank(capacity)
        self._pending, self._at, self._place = {}, {}, {}
        self._front, self._span = 1, len(held)
        for place, (handle, partial) in enumerate(held, 1):
            self._put(place, handle, partial)

    def _compact(self) -> None:
        """Close the holes by shifting partials towards the front."""
        target = self._front
        for offset in range(self._span):
            place = self._wrap(self._front + offset)
            if place in self._at:
                self._move(place, target)
                target = self._wrap(target + 1)
        self._span = len(self)

    def _opened(self, place: int) -> int:
        """Free a place just before the partial at `place`, by shifts up to the nearest free place."""
        if len(self) == self.capacity:
            handle = self._at[place]
            self._resize(2 * self.capacity)
            place = self._place[handle]
        older = (place - self._front) % self.capacity  # how many places the window has before this one
        newer = self._span - older
        # Each step looks one place further to either side, and no further than the first one outside the window.
        for shift in range(self.capacity):
            if shift <= older and (free := self._wrap(place - 1 - shift)) not in self._at:
                for offset in range(shift):
                    self._move(self._wrap(free + offset + 1), self._wrap(free + offset))
                if shift == older:
                    self._front, self._span = free, self._span + 1
                return self._wrap(place - 1)
            if shift < newer and (free := self._wrap(place + 1 + shift)) not in self._at:
                for offset in range(shift + 1):
                    self._move(self._wrap(free - offset - 1), self._wrap(free - offset))
                if shift + 1 == newer:
                    self._span += 1
                return place
        raise AssertionError  # fewer partials than places: one of them is free

    def _in_order(self) -> Iterator[tuple[int, P]]:
        for offset in range(self._span):
            place = self._wrap(self._front + offset)
            if place in self._at:
                partial = self._read(place)
                assert partial is not EMPTY
                yield self._at[place], partial

    def _read(self, place: int) -> P | Empty:
        return self._pending[place] if place in self._pending else self._tree[place]

    def _put(self, place: int, handle: int, partial: P) -> None:
        self._pending[place] = partial
        self._at[place] = handle
        self._place[handle] = place

    def _move(self, source: int, target: int) -> None:
        if source != target:
            partial = self._read(source)
            assert partial is not EMPTY
            self._put(target, self._at.pop(source), partial)
            self._clear(source)

    def _clear(self, place: int) -> None:
        if self._tree[place] is EMPTY:
            self._pending.pop(place, None)  # it came and went between two queries: the tree never hears of it
        else:
            self._pending[place] = EMPTY

    def _find(self, handle: int) -> int:
        if handle not in self._place:
            msg = f"{self.card.name}: no partial with handle {handle} in the window; it holds {len(self)}"
            raise IncrementalError(msg)
        return self._place[handle]

    def _wrap(self, place: int) -> int:
        return (place - 1) % self._tree.capacity + 1


def least_capacity(card: Card, capacity: int) -> int:
    """Round a capacity up to a power of two, and refuse what is none."""
    if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 1:
        msg = f"{card.name}: capacity must be a whole number of at least 1, got {capacity!r}"
        raise IncrementalError(msg)
    return 1 << (capacity - 1).bit_length()
