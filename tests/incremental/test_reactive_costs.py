"""What the buffers of the Reactive Aggregator cost, in counted combines, before and after a snapshot."""

from __future__ import annotations

import gc
import math
import random
import weakref
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from muntin.aggregate import catalog as agg
from muntin.aggregate.define import define
from muntin.aggregate.names import BUILT_IN
from muntin.errors import IncrementalError
from muntin.incremental.reactive_buffer import ReactiveBuffer
from muntin.incremental.reactive_fifo import FifoBuffer
from tests.incremental.counting import counted

if TYPE_CHECKING:
    from muntin.incremental.structure import Structure

Buffer: TypeAlias = ReactiveBuffer[Any] | FifoBuffer[Any]
KINDS: list[type[ReactiveBuffer[Any]] | type[FifoBuffer[Any]]] = [ReactiveBuffer, FifoBuffer]
# Places hold letters: what stands where, and in which order, can be read off the result.
TEXT = define("text", lift=str, combine=lambda x, y: x + y, identity="")


# --- counted combines -----------------------------------------------------------------------------------


def firing(changes: int, capacity: int, *, ordered: bool) -> int:
    """The bound per firing: Theorem 4.2 (ii), and (iii) twice where an inverted buffer must be read in order."""
    write = changes * (1 + math.ceil(math.log2(capacity / changes)))
    return write + (2 * int(math.log2(capacity)) - 1 if ordered else 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["sum", "collect"])
@pytest.mark.parametrize(("size", "batch"), [(64, 1), (64, 4), (64, 16), (64, 64), (100, 1), (100, 7), (256, 32)])
def test_a_firing_costs_m_plus_m_log_n_over_m(kind: type[Buffer], name: str, size: int, batch: int) -> None:
    function, calls = counted(BUILT_IN[name])
    window: Structure[Any] = kind(function, size)
    capacity = 1 << (size - 1).bit_length()
    for value in range(size):
        window.insert(function.lift(value))
    window.query()
    calls.taken()
    worst = 0
    for step in range(0, 3 * size, batch):
        for value in range(batch):
            window.evict()
            window.insert(function.lift(step + value))
        window.query()
        worst = max(worst, calls.taken())
    # A slide that reuses the place of the oldest changes one place, any other two.
    changes = batch if size == capacity else min(2 * batch, capacity)
    assert 0 < worst <= firing(changes, capacity, ordered=name == "collect")


@pytest.mark.parametrize("kind", KINDS)
def test_one_place_changes_where_the_window_fills_its_places(kind: type[Buffer]) -> None:
    function, calls = counted(agg.sum)
    window: Structure[Any] = kind(function, 64)
    for value in range(64):
        window.insert(function.lift(value))
    window.query()
    assert calls.taken() == 63  # as Algorithm 1 builds it
    for value in range(200):
        window.evict()
        window.insert(function.lift(value))
        window.query()
        assert calls.taken() == 6  # log2(64)


@pytest.mark.parametrize("name", ["collect", "sum"])
def test_without_marks_the_same_nodes_are_combined(name: str) -> None:
    rng = random.Random(5)
    (function, with_marks), (twin, without) = counted(BUILT_IN[name]), counted(BUILT_IN[name])
    any_order: ReactiveBuffer[Any] = ReactiveBuffer(function, 4)
    in_order: FifoBuffer[Any] = FifoBuffer(twin, 4)
    inverted = 0
    for value in range(3000):
        act = "insert" if len(in_order) < 2 or rng.random() < (0.52 if value < 1500 else 0.48) else "evict"
        for window in (any_order, in_order):
            window.insert(function.lift(value)) if act == "insert" else window.evict()
        assert any_order.query() == in_order.query()
        assert with_marks.taken() == without.taken()
        inverted += in_order.inverted
    assert 500 < inverted < 2500


@pytest.mark.parametrize("kind", KINDS)
def test_resizing_is_paid_for_by_the_events_between(kind: type[Buffer]) -> None:
    function, calls = counted(agg.sum)
    window: Any = kind(function, 1)
    events, since, capacity, allowed = 0, 0, 1, 0.0
    for swing in range(6):  # as in Figure 9: to and fro between two capacities
        for step in [1] * (600 + swing) + [-1] * (520 + swing):
            window.insert(function.lift(1)) if step > 0 else window.evict()
            events += 1
            since += 1
            if window.capacity != capacity:
                assert since >= capacity / 8
                capacity, since = window.capacity, 0
            allowed += 1 + math.log2(capacity)
            if len(window):
                window.query()
    # The tree is rebuilt with less than c combines at most once in c/8 events.
    assert calls.count <= allowed + 8 * events
    assert calls.count < 1.5 * allowed


def test_compaction_is_paid_for_by_the_evictions_that_made_the_holes() -> None:
    rng = random.Random(3)
    function, calls = counted(TEXT)
    window: ReactiveBuffer[str] = ReactiveBuffer(function, 64)
    held = list(range(48))
    for handle in held:
        window.insert("x", handle)
    window.query()
    calls.taken()
    allowed = 0.0
    for handle in range(48, 4000):
        # Never the oldest: holes are all that is left behind.
        window.evict(held.pop(rng.randrange(1, len(held))))
        window.insert("x", handle)
        held.append(handle)
        window.query()
        allowed += 2 * (1 + 6) + 2 * 6 - 1
    assert window.capacity == 64
    # c combines for c/4 evictions.
    assert calls.count <= allowed + 4 * 4000


# --- snapshots ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asked", [False, True])
def test_a_restored_buffer_goes_on_with_the_same_combines(kind: type[Buffer], asked: bool) -> None:
    (function, calls), (twin, other_calls) = counted(agg.collect), counted(agg.collect)
    window: Structure[Any] = kind(function, 4)
    for value in range(21):
        window.insert((value,))
    for _ in range(8):
        window.evict()
    if asked:
        window.query()
    other: Structure[Any] = kind.restore(twin, window.snapshot())
    calls.taken()
    for value in range(21, 90):
        for each in (window, other):
            each.insert((value,))
            if value % 3:
                each.evict()
        assert window.query() == other.query()
        assert calls.taken() == other_calls.taken()


def test_a_snapshot_of_the_other_buffer_is_refused() -> None:
    window: FifoBuffer[Any] = FifoBuffer(agg.sum)
    with pytest.raises(IncrementalError, match=r"Reactive Aggregator over `sum` was expected, .* \(FIFO\)"):
        ReactiveBuffer.restore(agg.sum, window.snapshot())


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_evicted_is_let_go(kind: type[Buffer]) -> None:
    function = define("union", lift=frozenset, combine=lambda x, y: x | y, identity=frozenset())
    window: Structure[Any] = kind(function, 4)
    alive = []
    for number in range(40):
        partial = frozenset([number])
        alive.append(weakref.ref(partial))
        window.insert(partial)
        if number >= 6:
            window.evict()
        window.query()
    del partial
    gc.collect()
    assert [number for number, found in enumerate(alive) if found() is not None] == list(range(34, 40))
