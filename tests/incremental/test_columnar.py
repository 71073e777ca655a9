"""Windows over many keys: every data-oblivious algorithm, with keys that come later, against each key from scratch."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.errors import AggregateError, IncrementalError
from muntin.incremental.columnar import KeyedWindow
from muntin.incremental.columnar_catalog import columnar
from muntin.incremental.columnar_operator import Column, ColumnarOperator
from muntin.incremental.daba import DABA
from muntin.incremental.flatfat_window import FlatFATWindow
from muntin.incremental.flatfit import FlatFIT
from muntin.incremental.panes import Panes
from muntin.incremental.panes_inv import PanesInv
from muntin.incremental.slickdeque import SlickDequeNonInv
from muntin.incremental.twostacks import TwoStacks
from muntin.testing.closeness import close

ALGORITHMS: list[Any] = [Panes, FlatFATWindow, TwoStacks, DABA, FlatFIT]
MULTI_RANGE: list[Any] = [Panes, FlatFATWindow, FlatFIT]
KINDS = [
    ("count", "int64"),
    ("sum", "int64"),
    ("sum", "float64"),
    ("max", "float64"),
    ("min", "int64"),
    ("stddev", "float64"),
    ("arg_max", "int64", "int64"),
    ("all", "bool"),
]
INVERTIBLE = [("count", "int64"), ("sum", "int64"), ("sum", "float64"), ("stddev", "float64")]
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "float64": st.sampled_from([0.0, -0.0, 1.5, -2.25, math.inf, -math.inf, math.nan]) | st.integers(-9, 9).map(float),
    "int64": st.integers(-3, 3),
    "bool": st.booleans(),
}
FINITE: dict[str, st.SearchStrategy[Any]] = {**VALUES, "float64": st.integers(-9, 9).map(float)}
Slice = list[tuple[int, Any]]


def operator_of(kind: tuple[str, ...]) -> ColumnarOperator:
    return columnar(kind[0]) if kind[0] == "count" else columnar(*kind)


def columns_of(kind: tuple[str, ...], values: list[Any]) -> list[Column]:
    found = []
    for place, dtype in enumerate(kind[1:]):
        column = [value if len(kind) == 2 else value[place] for value in values]
        valid = np.array([value is not None for value in column], np.bool_)
        found.append(Column(np.array([0 if value is None else value for value in column], dtype), valid))
    return found


def insert(window: KeyedWindow, kind: tuple[str, ...], events: Slice) -> None:
    codes = np.array([code for code, _ in events], np.int64)
    window.insert(codes, *columns_of(kind, [value for _, value in events]))


def expected(operator: ColumnarOperator, slices: deque[Slice] | list[Slice], keys: int) -> list[Any]:
    """Evaluate each key's events in the window, by the scalar aggregate."""
    return [
        operator.function.evaluate([value for events in slices for code, value in events if code == key])
        for key in range(keys)
    ]


def values_of(kind: tuple[str, ...], pool: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    values = [st.none() | pool[dtype] for dtype in kind[1:]]
    return values[0] if len(values) == 1 else st.tuples(*values)


def steps(kind: tuple[str, ...], pool: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[list[Any]]:
    """Draw what happens: None evicts, a number makes so many more keys known, a list is a slice of events."""
    events = st.lists(st.tuples(st.integers(0, 99), values_of(kind, pool)), max_size=6)
    return st.lists(events | st.none() | st.integers(0, 3), max_size=25)


def play(algorithm: Any, kind: tuple[str, ...], script: list[Any]) -> None:
    operator = operator_of(kind)
    window = KeyedWindow(algorithm, operator, keys=1)
    held: deque[Slice] = deque()
    for step in script:
        if isinstance(step, int):
            window.grow(window.keys + step)
        elif step is not None:
            events = [(code % window.keys, value) for code, value in step]
            insert(window, kind, events)
            held.append(events)
        elif held:
            window.evict()
            held.popleft()
        assert len(window) == len(held)
        if held:
            found, wanted = window.results().to_list(), expected(operator, held, window.keys)
            assert close(found, wanted), (found, wanted)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.card.name)
def test_every_key_is_as_evaluated_from_scratch(algorithm: Any, kind: tuple[str, ...]) -> None:
    @settings(max_examples=15, deadline=None)
    @given(steps(kind, VALUES))
    def check(script: list[Any]) -> None:
        play(algorithm, kind, script)

    check()


@pytest.mark.parametrize("kind", INVERTIBLE, ids="-".join)
def test_subtract_on_evict_takes_vectors_too(kind: tuple[str, ...]) -> None:
    @settings(max_examples=25, deadline=None)
    @given(steps(kind, FINITE))
    def check(script: list[Any]) -> None:
        play(PanesInv, kind, script)

    check()


@pytest.mark.parametrize("algorithm", MULTI_RANGE, ids=lambda algorithm: algorithm.card.name)
def test_the_newest_slices_alone(algorithm: Any) -> None:
    rng = np.random.default_rng(1)
    operator = columnar("sum", "int64")
    window = KeyedWindow(algorithm, operator, keys=4)
    held: list[Slice] = []
    for turn in range(12):
        if turn == 6:
            window.grow(7)
        events = [(int(code), int(value)) for code, value in rng.integers(0, window.keys, (5, 2))]
        insert(window, ("sum", "int64"), events)
        held.append(events)
        for count in range(1, turn + 2):
            found = operator.lower(window.query_last(count)).to_list()
            assert found == expected(operator, held[-count:], window.keys)


def test_an_algorithm_for_the_whole_window_says_so() -> None:
    window = KeyedWindow(TwoStacks, columnar("count"), keys=1)
    with pytest.raises(IncrementalError, match=r"TwoStacks answers for the whole window only. Use FlatFIT or FlatFAT"):
        window.query_last(1)


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, PanesInv], ids=lambda algorithm: algorithm.card.name)
def test_a_restored_window_goes_on_identically(algorithm: Any) -> None:
    rng = np.random.default_rng(2)
    operator = columnar("sum", "float64")
    window = KeyedWindow(algorithm, operator, keys=3)
    for turn in range(40):
        if turn % 10 == 5:
            window.grow(window.keys + 2)
        twin = KeyedWindow.restore(algorithm, operator, window.snapshot())
        assert (twin.keys, len(twin)) == (window.keys, len(window))
        codes = rng.integers(0, window.keys, 4)
        values = rng.random(4)
        for each in (window, twin):
            each.insert(codes, values)
            if turn % 3 == 2:
                each.evict()
        assert twin.snapshot() == window.snapshot()
        for part, other in zip(window.query(), twin.query(), strict=True):
            np.testing.assert_array_equal(part, other)
        window = twin


def test_a_snapshot_of_other_kind_or_cut_short_is_refused() -> None:
    window = KeyedWindow(TwoStacks, columnar("sum", "float64"), keys=2)
    window.insert(np.array([0]), np.array([1.0]))
    data = window.snapshot()
    with pytest.raises(IncrementalError, match=r"over `sum\(int64\)` was expected, this is .* over `sum\(float64\)`"):
        KeyedWindow.restore(TwoStacks, columnar("sum", "int64"), data)
    with pytest.raises(IncrementalError, match=r"a snapshot of DABA .* was expected, this is one of TwoStacks"):
        KeyedWindow.restore(DABA, columnar("sum", "float64"), data)
    with pytest.raises(IncrementalError, match="cut short"):
        KeyedWindow.restore(TwoStacks, columnar("sum", "float64"), data[:-9])


def test_an_algorithm_that_looks_at_the_data_is_refused() -> None:
    with pytest.raises(AggregateError, match=r"SlickDeque-NonInv needs an operator that selects"):
        KeyedWindow(SlickDequeNonInv, columnar("max", "float64"))
    with pytest.raises(AggregateError, match=r"Panes-Inv needs an operator that is commutative and has an inverse"):
        KeyedWindow(PanesInv, columnar("max", "float64"))


def test_new_keys_cost_nothing() -> None:
    operator = columnar("sum", "int64")
    window = KeyedWindow(FlatFATWindow, operator, keys=10)
    for _ in range(8):
        window.insert(np.arange(10), np.ones(10, np.int64))
    before = window.snapshot()
    window.grow(10_000)
    # The vectors made before stay as short as they were; only the number of keys takes a byte more.
    assert len(window.snapshot()) <= len(before) + 8
    assert window.results().to_list() == [8] * 10 + [None] * 9990


SUM = columnar("sum", "float64")


def slice_of(codes: list[Any], values: list[Any]) -> Any:
    return lambda window: window.insert(np.array(codes), np.array(values))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (slice_of([3], [1.0]), IncrementalError, r"key code 3 is unknown: 3 keys .* grow\(4\)"),
        (slice_of([-1], [1.0]), IncrementalError, r"key code -1 is unknown"),
        (slice_of([0.5], [1.0]), IncrementalError, r"1-d array of integers, got 1-d float64"),
        (slice_of([0, 1], [1.0]), IncrementalError, r"2 key codes for 1 values"),
        (slice_of([0], [1]), AggregateError, r"sum\(float64\) got values of int64"),
        (lambda w: w.insert(np.array([0])), AggregateError, r"reads 1 columns, got 0"),
        (lambda w: w.insert_vector(SUM.neutral(4)), IncrementalError, r"a vector over 4 keys, where 3 are known"),
        (
            lambda w: w.insert_vector(columnar("sum", "int64").neutral(2)),
            AggregateError,
            r"has 2 components \(n, total\)",
        ),
        (lambda w: w.insert_vector((np.zeros(2), np.zeros(2))), AggregateError, r"component `n` .* got 1-d float64"),
        (lambda w: w.grow(2), IncrementalError, r"a window over 3 keys cannot shrink to 2"),
        (lambda w: w.grow(-1), IncrementalError, r"a whole number from 0, got -1"),
    ],
)
@pytest.mark.parametrize("algorithm", [*ALGORITHMS, PanesInv], ids=lambda algorithm: algorithm.card.name)
def test_bad_input_leaves_the_window_as_it_was(algorithm: Any, call: Any, kind: type[Exception], message: str) -> None:
    window = KeyedWindow(algorithm, SUM, keys=3)
    window.insert(np.array([0, 2]), np.array([1.0, 2.0]))
    before = window.snapshot()
    with pytest.raises(kind, match=message):
        call(window)
    assert window.snapshot() == before


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, PanesInv], ids=lambda algorithm: algorithm.card.name)
def test_an_empty_window_has_no_result(algorithm: Any) -> None:
    window = KeyedWindow(algorithm, SUM, keys=3)
    with pytest.raises(IncrementalError, match="cannot query an empty window"):
        window.results()
    with pytest.raises(IncrementalError, match="cannot evict from an empty window"):
        window.evict()


def test_a_slice_without_events_still_slides() -> None:
    window = KeyedWindow(TwoStacks, SUM, keys=2)
    window.insert(np.array([1]), np.array([4.0]))
    window.insert(np.array([], np.int64), np.array([], np.float64))
    assert window.results().to_list() == [None, 4.0]
    window.evict()
    assert window.results().to_list() == [None, None]


def test_values_may_be_overwritten_after_the_insert() -> None:
    window = KeyedWindow(TwoStacks, SUM, keys=2)
    values = np.array([1.0, 2.0])
    window.insert(np.array([0, 1]), values)
    values[:] = 99.0
    assert window.results().to_list() == [1.0, 2.0]


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, PanesInv], ids=lambda algorithm: algorithm.card.name)
def test_nobody_writes_into_the_window_through_a_result(algorithm: Any) -> None:
    window = KeyedWindow(algorithm, columnar("count"), keys=2)
    window.insert(np.array([0, 1, 1]))
    for array in (window.query()[0], window.results().values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 99
    assert window.results().to_list() == [1, 2]


def test_a_masked_value_is_null() -> None:
    window = KeyedWindow(TwoStacks, SUM, keys=2)
    window.insert(np.array([0, 0, 1]), np.ma.array([1.0, 50.0, 9.0], mask=[False, True, True]))
    assert window.results().to_list() == [1.0, None]


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, PanesInv], ids=lambda algorithm: algorithm.card.name)
def test_integer_sums_that_overflow_do_so_only_while_they_are_in_the_window(algorithm: Any) -> None:
    window = KeyedWindow(algorithm, columnar("sum", "int64"), keys=1)
    for value in (2**63 - 1, 1, 5):
        window.insert(np.array([0]), np.array([value]))
    with pytest.raises(AggregateError, match=r"overflows 64-bit integers at place 0: the sum is 9223372036854775813"):
        window.results()
    window.evict()
    assert window.results().to_list() == [6]
