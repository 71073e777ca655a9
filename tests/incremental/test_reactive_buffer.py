"""The buffers of the Reactive Aggregator against a list: Figure 5, holes, shifts, resizing."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from muntin.aggregate import catalog as agg
from muntin.aggregate.define import define
from muntin.errors import AggregateError, IncrementalError
from muntin.incremental.reactive_buffer import ReactiveBuffer
from muntin.incremental.reactive_fifo import FifoBuffer
from muntin.incremental.structure import EMPTY, Structure
from muntin.testing.closeness import close
from tests.incremental.counting import Calls, Stop, counted
from tests.incremental.operators import CASES, Case

if TYPE_CHECKING:
    from collections.abc import Callable

Buffer: TypeAlias = ReactiveBuffer[Any] | FifoBuffer[Any]
KINDS: list[type[ReactiveBuffer[Any]] | type[FifoBuffer[Any]]] = [ReactiveBuffer, FifoBuffer]
# Places hold letters: what stands where, and in which order, can be read off the result.
TEXT = define("text", lift=str, combine=lambda x, y: x + y, identity="")


# --- Figure 5 -------------------------------------------------------------------------------------

FIGURE_5: list[tuple[int | None, list[int], list[int | None], int, int]] = [
    # arrives (None: the oldest leaves), window's contents, slots, F, B
    (4, [4], [4, None, None, None], 1, 1),
    (7, [4, 7], [4, 7, None, None], 1, 2),
    (3, [4, 7, 3], [4, 7, 3, None], 1, 3),
    (2, [4, 7, 3, 2], [4, 7, 3, 2], 1, 4),
    (None, [7, 3, 2], [None, 7, 3, 2], 2, 4),
    (9, [7, 3, 2, 9], [9, 7, 3, 2], 2, 1),
]


@pytest.mark.parametrize("ask", [False, True], ids=["batched", "asked each time"])
def test_figure_5(ask: bool) -> None:
    window: ReactiveBuffer[Any] = ReactiveBuffer(agg.collect, capacity=4)
    for arrives, contents, slots, front, back in FIGURE_5:
        if arrives is None:
            window.evict()
        else:
            window.insert((arrives,))
        assert window.slots == [EMPTY if slot is None else (slot,) for slot in slots]
        assert (window.front, window.back, window.inverted) == (front, back, back < front)
        if ask:
            assert agg.collect.lower(window.query()) == contents
    # In the order of places it would be 9, 7, 3, 2: the buffer is inverted.
    assert agg.collect.lower(window.query()) == [7, 3, 2, 9]


def test_figure_5_first_in_first_out() -> None:
    window: FifoBuffer[Any] = FifoBuffer(agg.collect, capacity=4)
    for arrives, contents, _, front, back in FIGURE_5:
        if arrives is None:
            window.evict()
        else:
            window.insert((arrives,))
        assert (window.front, window.back, window.inverted) == (front, back, back < front)
        assert agg.collect.lower(window.query()) == contents


# --- every aggregate, against folding the window ------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_every_operator_slides(kind: type[Buffer], case: Case) -> None:
    rng = random.Random(case.label)
    function = case.function
    window: Structure[Any] = kind(function)
    held: list[Any] = []
    for partial in case.partials(7, 150):
        window.insert(partial)
        held.append(partial)
        while len(held) > 11 or (rng.random() < 0.2 and len(held) > 1):
            window.evict()
            del held[0]
        assert close(function.lower(window.query()), function.lower(function.merge(held)), beside=held)


@pytest.mark.parametrize("kind", KINDS)
def test_a_holistic_function_is_refused(kind: type[Buffer]) -> None:
    with pytest.raises(AggregateError, match=r"Reactive Aggregator.* needs an associative operator; `median`"):
        kind(agg.median)


# --- capacity -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_capacity_doubles_when_full_and_halves_below_a_quarter(kind: type[Buffer]) -> None:
    window = kind(agg.collect, 4)

    def capacity_after(act: Callable[[], None]) -> int:
        act()
        return window.capacity

    seen = [capacity_after(lambda: window.insert((0,))) for _ in range(33)]
    assert seen == [4] * 4 + [8] * 4 + [16] * 8 + [32] * 16 + [64]
    seen = [capacity_after(window.evict) for _ in range(33)]
    left = list(range(32, -1, -1))
    assert seen == [64 if n >= 16 else 32 if n >= 8 else 16 if n >= 4 else 8 if n >= 2 else 4 for n in left]


@pytest.mark.parametrize("kind", KINDS)
def test_a_large_capacity_is_never_resized(kind: type[Buffer]) -> None:
    window = kind(agg.sum, 1000)
    for value in range(1024):
        window.insert(agg.sum.lift(value))
    for _ in range(1024):
        window.evict()
    assert window.capacity == 1024


def holed(evicted: list[int], capacity: int = 8) -> ReactiveBuffer[str]:
    window: ReactiveBuffer[str] = ReactiveBuffer(TEXT, capacity)
    for handle in range(capacity):
        window.insert("abcdefgh"[handle], handle)
    for handle in evicted:
        window.evict(handle)
    return window


def test_a_full_buffer_with_a_quarter_of_holes_is_compacted() -> None:
    window = holed([2, 5])
    assert window.slots == ["a", "b", EMPTY, "d", "e", EMPTY, "g", "h"]
    window.insert("i", 8)
    assert window.capacity == 8
    assert window.slots == ["a", "b", "d", "e", "g", "h", "i", EMPTY]
    assert window.query() == "abdeghi"


def test_a_full_buffer_with_fewer_holes_is_doubled() -> None:
    window = holed([2])
    window.insert("i", 8)
    assert window.capacity == 16
    assert window.slots == [*"abdefghi", *[EMPTY] * 8]


def test_an_inverted_buffer_is_compacted_round_its_end() -> None:
    window = holed([0, 1])
    window.insert("i", 8)
    window.insert("j", 9)
    assert window.slots == [*"ijcdefgh"] and window.inverted
    for handle in (3, 8):
        window.evict(handle)
    window.insert("k", 10)
    assert window.slots == ["k", EMPTY, *"cefghj"] and window.inverted
    assert window.query() == "cefghjk"


def test_a_tuple_that_comes_and_goes_between_two_queries_costs_nothing() -> None:
    function, calls = counted(TEXT)
    window: ReactiveBuffer[str] = ReactiveBuffer(function, 8)
    for handle in range(5):
        window.insert("x", handle)
    window.query()
    calls.taken()
    window.insert("y", 5)
    window.evict(5)
    assert window.query() == "xxxxx"
    assert calls.taken() == 0


# --- out of order: what an insert moves ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "moved"),
    [(15, 1), (12, 4), (9, 7), (8, 8), (7, 7), (4, 4), (1, 1), (0, 0)],
)
def test_an_insert_out_of_order_moves_what_lies_to_the_nearer_end(before: int, moved: int) -> None:
    window: ReactiveBuffer[str] = ReactiveBuffer(TEXT, 32)
    for handle in range(16):
        window.insert(chr(97 + handle), handle)
    window.query()
    old = window.slots
    window.insert("X", 99, before=before)
    new = window.slots
    assert sum(a is not b for a, b in zip(old, new, strict=True)) == moved + 1
    assert window.query() == "abcdefghijklmnop"[:before] + "X" + "abcdefghijklmnop"[before:]


def test_a_hole_near_by_shortens_the_shift() -> None:
    window = holed([3], 8)
    old = window.slots
    window.insert("X", 99, before=6)  # full from F to B, but for the hole at d
    assert window.capacity == 8
    assert window.slots == ["a", "b", "c", "e", "f", "X", "g", "h"]
    assert old[3] is EMPTY


def test_a_shift_never_goes_round_the_ends_of_a_full_window() -> None:
    window = holed([6])  # free: a place next to the back, which is next to the front
    window.insert("X", 99, before=1)
    assert window.query() == "aXbcdefh"
    window = holed([1])
    window.insert("X", 99, before=7)
    assert window.query() == "acdefgXh"


def test_handles_must_be_known_and_new() -> None:
    window = holed([3])
    with pytest.raises(IncrementalError, match=r"no partial with handle 3 in the window; it holds 7"):
        window.evict(3)
    with pytest.raises(IncrementalError, match=r"no partial with handle 77"):
        window.insert("x", 9, before=77)
    with pytest.raises(IncrementalError, match=r"handle 4 stands in the window already"):
        window.insert("x", 4)
    assert window.query() == "abcefgh"


# --- bad input ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_window_has_nothing_to_evict_and_no_result(kind: type[Buffer]) -> None:
    window: Structure[Any] = kind(agg.sum)
    with pytest.raises(IncrementalError, match=r"cannot evict from an empty window"):
        window.evict()
    with pytest.raises(IncrementalError, match=r"cannot query an empty window"):
        window.query()
    window.insert(agg.sum.lift(1))
    window.evict()
    with pytest.raises(IncrementalError, match=r"cannot query an empty window"):
        window.query()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("capacity", [0, -1, 2.0, True, "4"])
def test_a_capacity_must_be_a_whole_number(kind: Any, capacity: object) -> None:
    with pytest.raises(IncrementalError, match="capacity must be a whole number of at least 1"):
        kind(agg.sum, capacity)


@pytest.mark.parametrize("kind", KINDS)
def test_a_combine_that_raises_at_any_call_leaves_the_window_as_it_was(kind: type[Buffer]) -> None:
    def filled() -> tuple[Structure[Any], Calls]:
        function, calls = counted(agg.collect)
        window: Structure[Any] = kind(function, 4)
        for value in range(19):
            window.insert((value,))
            if value == 9:
                window.query()
            if value >= 14:
                window.evict()
        calls.reset()
        return window, calls

    window, calls = filled()
    window.query()
    total = calls.taken()
    window.query()
    written = total - calls.taken()
    assert 4 < written < total
    for nth in range(1, total + 1):
        window, calls = filled()
        calls.reset(fail_at=nth)
        with pytest.raises(Stop):
            window.query()
        # Once the tree is written, only the reading of an inverted buffer is left to do again.
        calls.reset()
        assert agg.collect.lower(window.query()) == list(range(5, 19))
        assert calls.taken() == (total if nth <= written else total - written)
