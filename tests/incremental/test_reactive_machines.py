"""The buffers of the Reactive Aggregator as state machines, beside a plain list."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from muntin.aggregate import catalog as agg
from muntin.aggregate.define import define
from muntin.incremental.reactive_buffer import ReactiveBuffer
from muntin.incremental.reactive_fifo import FifoBuffer
from muntin.incremental.structure import EMPTY
from tests.incremental.counting import Stop, counted

if TYPE_CHECKING:
    from collections.abc import Iterator

Buffer: TypeAlias = ReactiveBuffer[Any] | FifoBuffer[Any]
KINDS: list[type[ReactiveBuffer[Any]] | type[FifoBuffer[Any]]] = [ReactiveBuffer, FifoBuffer]
# Places hold letters: what stands where, and in which order, can be read off the result.
TEXT = define("text", lift=str, combine=lambda x, y: x + y, identity="")


class AnyOrder(RuleBasedStateMachine):
    """Insert anywhere, evict anything, ask now and then; a list says what must come out."""

    @initialize(capacity=st.sampled_from([1, 2, 4, 8]))
    def build(self, capacity: int) -> None:
        self.function, self.calls = counted(TEXT)
        self.window: ReactiveBuffer[str] = ReactiveBuffer(self.function, capacity)
        self.model: list[tuple[int, str]] = []
        self.letters: Iterator[str] = (chr(0x4E00 + i) for i in range(20_000))
        self.handles = 0

    def new(self) -> tuple[int, str]:
        self.handles += 1
        return self.handles - 1, next(self.letters)

    @rule(count=st.integers(1, 6))
    def insert(self, count: int) -> None:
        for _ in range(count):
            handle, letter = self.new()
            self.window.insert(letter, handle)
            self.model.append((handle, letter))

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def insert_before(self, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(self.model) - 1))
        handle, letter = self.new()
        self.window.insert(letter, handle, before=self.model[at][0])
        self.model.insert(at, (handle, letter))

    @precondition(lambda self: self.model)
    @rule(count=st.integers(1, 8))
    def evict_oldest(self, count: int) -> None:
        for _ in range(min(count, len(self.model))):
            self.window.evict()
            del self.model[0]

    @precondition(lambda self: self.model)
    @rule(data=st.data(), count=st.integers(1, 5))
    def evict_any(self, data: st.DataObject, count: int) -> None:
        for _ in range(min(count, len(self.model))):
            handle, _ = self.model.pop(data.draw(st.integers(0, len(self.model) - 1)))
            self.window.evict(handle)

    @precondition(lambda self: self.model)
    @rule()
    def ask(self) -> None:
        assert self.window.query() == self.text

    @precondition(lambda self: self.model)
    @rule(after=st.integers(1, 12))
    def ask_with_a_combine_that_raises(self, after: int) -> None:
        self.calls.reset(fail_at=after)
        with suppress(Stop):
            assert self.window.query() == self.text
        self.calls.reset()

    @rule()
    def snapshot(self) -> None:
        restored = ReactiveBuffer.restore(self.function, self.window.snapshot())
        assert restored.state() == self.window.state()
        self.window = restored

    @property
    def text(self) -> str:
        return "".join(letter for _, letter in self.model)

    @invariant()
    def holds_the_model(self) -> None:
        window, capacity = self.window, self.window.capacity
        assert len(window) == len(self.model)
        if not self.model:
            assert (window.front, window.back) == (None, None)
            return
        front, back = window.front, window.back
        assert front is not None and back is not None
        slots = window.slots
        assert slots[front - 1] is not EMPTY and slots[back - 1] is not EMPTY  # holes lie only between
        around = [slots[(front - 1 + i) % capacity] for i in range((back - front) % capacity + 1)]
        assert "".join(slot for slot in around if slot is not EMPTY) == self.text
        assert sum(slot is not EMPTY for slot in slots) == len(self.model)
        # 5.1.1: halved when less than a quarter is in use, though never below the least capacity.
        assert capacity == window.minimum or 4 * (len(window) + 1) > capacity


AnyOrder.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestAnyOrder = AnyOrder.TestCase


class InOrder(RuleBasedStateMachine):
    """The same for the buffer without empty places."""

    @initialize(capacity=st.sampled_from([1, 2, 4, 8]), commutative=st.booleans())
    def build(self, capacity: int, commutative: bool) -> None:
        self.function, self.calls = counted(agg.sum if commutative else agg.collect)
        self.window: FifoBuffer[Any] = FifoBuffer(self.function, capacity)
        self.model: list[Any] = []
        self.next = 0

    @rule(count=st.integers(1, 9))
    def insert(self, count: int) -> None:
        for _ in range(count):
            self.window.insert(self.function.lift(self.next))
            self.model.append(self.next)
            self.next += 1

    @precondition(lambda self: self.model)
    @rule(count=st.integers(1, 9))
    def evict(self, count: int) -> None:
        for _ in range(min(count, len(self.model))):
            self.window.evict()
            del self.model[0]

    @precondition(lambda self: self.model)
    @rule(count=st.integers(1, 30))
    def slide(self, count: int) -> None:
        for _ in range(count):
            self.evict(1)
            self.insert(1)
            self.ask()

    @precondition(lambda self: self.model)
    @rule()
    def ask(self) -> None:
        assert self.function.lower(self.window.query()) == self.function.evaluate(self.model)

    @precondition(lambda self: self.model)
    @rule(after=st.integers(1, 12))
    def ask_with_a_combine_that_raises(self, after: int) -> None:
        self.calls.reset(fail_at=after)
        with suppress(Stop):
            self.window.query()
        self.calls.reset()

    @rule()
    def snapshot(self) -> None:
        restored = FifoBuffer.restore(self.function, self.window.snapshot())
        assert restored.state() == self.window.state()
        self.window = restored

    @invariant()
    def keeps_its_size(self) -> None:
        window = self.window
        assert len(window) == len(self.model) <= window.capacity
        assert window.capacity == window.minimum or 4 * (len(window) + 1) > window.capacity


InOrder.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestInOrder = InOrder.TestCase
