"""The Reactive Aggregator: insert, evict and trigger events in, results of a window per key out."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from muntin.errors import IncrementalError
from muntin.incremental.product import Partials, Product
from muntin.incremental.reactive_buffer import ReactiveBuffer
from muntin.incremental.reactive_fifo import FifoBuffer
from muntin.incremental.snapshot import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping
    from typing import Self

    from muntin.aggregate.algebra import Aggregate
    from muntin.incremental.windowing.events import Event

Output: TypeAlias = Literal["istream", "rstream"]


class Result(NamedTuple):
    """What the window of a key came to at a time."""

    key: Hashable
    time: int
    values: dict[str, Any]


class ReactiveAggregator:
    """Aggregate the window of each key, whatever events move it (Tangwongsan et al., section 5).

    Behind it stands one buffer per key. Inserts and evictions are only noted; a trigger lifts nothing and writes all of
    them in one pass, m + m log2(n/m) combines for m of them in a window of n. With `fifo` the buffer does without
    empty places, and refuses events in any other order.

    `output` is CQL's: "istream" gives a result when it is new, that is, when it differs from the key's last one;
    "rstream" gives the result at every trigger. An empty window has no result, and a trigger that finds one drops the
    key's state.

    The query of Figure 1, with a minute for the unit and in place of 24 hours a window of 3 minutes:

    >>> from muntin.aggregate import catalog as agg
    >>> from muntin.incremental.windowing.policies import Sliding, TimePolicy
    >>> from muntin.incremental.windowing.windower import Windower
    >>> calls = Windower(Sliding(TimePolicy(3), TimePolicy(1)), partitioned=False)
    >>> statistics = ReactiveAggregator(
    ...     {"mxl": agg.max("len"), "num": agg.max_count("len"), "who": agg.arg_max("len", "caller")}
    ... )
    >>> for minute, length, caller in [(0, 7.5, "ada"), (1, 7.5, "bob"), (2, 4.0, "cy"), (7, 1.0, "di")]:
    ...     for result in statistics.consume(calls.arrive(None, minute, {"len": length, "caller": caller})):
    ...         print(result.time, result.values)
    1 {'mxl': 7.5, 'num': 1, 'who': 'ada'}
    2 {'mxl': 7.5, 'num': 2, 'who': 'ada'}
    4 {'mxl': 7.5, 'num': 1, 'who': 'bob'}
    5 {'mxl': 4.0, 'num': 1, 'who': 'cy'}
    """

    def __init__(
        self,
        aggregates: Mapping[str, Aggregate],
        *,
        fifo: bool = False,
        output: Output = "istream",
        capacity: int = 8,
    ) -> None:
        if output not in ("istream", "rstream"):
            msg = (
                f"ReactiveAggregator: output must be 'istream', a result when it is new, or 'rstream', a result at "
                f"every trigger, got {output!r}"
            )
            raise IncrementalError(msg)
        self.operator = Product(aggregates)
        self.fifo = fifo
        self.output = output
        self.capacity = capacity
        self._buffer(capacity)  # so that a capacity that cannot be is refused now
        self._parts: dict[Hashable, _Part] = {}

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """The keys that hold any state."""
        return tuple(self._parts)

    @property
    def tuples(self) -> int:
        """The number of tuples in the windows of all keys."""
        return sum(len(part.buffer) for part in self._parts.values())

    def consume(self, events: Iterable[Event]) -> Iterator[Result]:
        """Take events in order, and yield the results that they bring about."""
        for event in events:
            result = event.send(self)
            if result is not None:
                yield result

    def insert(self, key: Hashable, id: int, attributes: Mapping[str, Any], before: int | None = None) -> None:
        """Add a tuple to the window of a key: at its new end, or just before another tuple."""
        partials = self.operator.lift(attributes)
        part = self._parts.get(key)
        if part is None:
            part = _Part(self._buffer(self.capacity))
        part.buffer.insert(partials, id, before)
        self._parts[key] = part

    def evict(self, key: Hashable, id: int) -> None:
        """Drop a tuple from the window of a key."""
        if key not in self._parts:
            msg = f"ReactiveAggregator: no window for the key {key!r}, hence no tuple {id} to evict"
            raise IncrementalError(msg)
        self._parts[key].buffer.evict(id)

    def trigger(self, key: Hashable, time: int) -> Result | None:
        """Give the result of a key's window as it stands, if there is one to give."""
        part = self._parts.get(key)
        if part is None:
            return None
        if not len(part.buffer):
            del self._parts[key]
            return None
        whole = part.buffer.query()
        values = self.operator.lower(whole)
        if self.output == "istream":
            # IStream: insertions into the relation of results. One that stood there before is none.
            if part.last is not None and _same(list(values.values()), list(self.operator.lower(part.last).values())):
                return None
            part.last = whole
        return Result(key, time, values)

    def snapshot(self) -> bytes:
        """Write the state of all keys as bytes."""
        state = [(key, part.buffer.state(), part.last) for key, part in self._parts.items()]
        return pack(self._described, self.operator, state)

    @classmethod
    def restore(
        cls,
        aggregates: Mapping[str, Aggregate],
        data: bytes,
        *,
        fifo: bool = False,
        output: Output = "istream",
        capacity: int = 8,
    ) -> Self:
        """Make an aggregator that goes on where the one that wrote `data` stopped; declare the same query."""
        aggregator = cls(aggregates, fifo=fifo, output=output, capacity=capacity)
        for key, state, last in unpack(aggregator._described, aggregator.operator, data):
            part = _Part(aggregator._buffer(1), last)
            part.buffer = part.buffer.of_state(aggregator.operator, state)
            aggregator._parts[key] = part
        return aggregator

    @property
    def _described(self) -> str:
        return f"ReactiveAggregator(fifo={self.fifo}, output={self.output!r}, capacity={self.capacity})"

    def _buffer(self, capacity: int) -> _Buffer:
        return _InOrder(self.operator, capacity) if self.fifo else ReactiveBuffer(self.operator, capacity)


class _Buffer(Protocol):
    """Hold the window of one key."""

    def __len__(self) -> int: ...
    def insert(self, partial: Partials, handle: int, before: int | None) -> None: ...
    def evict(self, handle: int) -> None: ...
    def query(self) -> Partials: ...
    def state(self) -> tuple[Any, ...]: ...
    @classmethod
    def of_state(cls, operator: Product, state: tuple[Any, ...]) -> Self: ...


@dataclass(slots=True)
class _Part:
    """The window of one key, and the partials of its last result."""

    buffer: _Buffer
    last: Partials | None = None


class _InOrder:
    """Hold a window that must be first in, first out, and see to it that it is."""

    __slots__ = ("_buffer", "_handles")

    def __init__(self, operator: Product, capacity: int) -> None:
        self._buffer = FifoBuffer(operator, capacity)
        self._handles: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._buffer)

    def insert(self, partial: Partials, handle: int, before: int | None) -> None:
        if before is not None:
            msg = f"tuple {handle} comes before tuple {before}, out of order. Build the aggregator with fifo=False"
            raise IncrementalError(msg)
        self._buffer.insert(partial)
        self._handles.append(handle)

    def evict(self, handle: int) -> None:
        oldest = self._handles[0] if self._handles else None
        if handle != oldest:
            what = "the window is empty" if oldest is None else f"the oldest is tuple {oldest}"
            msg = f"tuple {handle} cannot be evicted first in, first out: {what}. Build the aggregator with fifo=False"
            raise IncrementalError(msg)
        self._buffer.evict()
        self._handles.popleft()

    def query(self) -> Partials:
        return self._buffer.query()

    def state(self) -> tuple[Any, ...]:
        return list(self._handles), self._buffer.state()

    @classmethod
    def of_state(cls, operator: Product, state: tuple[Any, ...]) -> Self:
        handles, inner = state
        window = cls(operator, 1)
        window._buffer, window._handles = FifoBuffer.of_state(operator, inner), deque(handles)
        return window


def _same(x: Any, y: Any) -> bool:
    """Tell whether two results are one value; NaN is NaN, as where SQL groups."""
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        return len(x) == len(y) and all(map(_same, x, y))
    return bool(x == y or (x != x and y != y))
