"""Each columnar operator against the scalar aggregate of the same name, key by key."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregate.names import BUILT_IN
from muntin.errors import AggregateError
from muntin.incremental.columnar_catalog import columnar
from muntin.incremental.columnar_operator import Array, Column, ColumnarOperator, Vector
from muntin.incremental.columnar_runs import reduce_runs, starts_of_runs
from muntin.testing.closeness import close

INT_MAX = 2**63 - 1
NUMBERS = [
    "sum", "avg", "geometric_mean", "variance", "var_pop", "stddev", "stddev_pop",
    "min", "max", "range", "min_count", "max_count",
]  # fmt: skip
KINDS = (
    [("count", "float64")]
    + [(name, dtype) for name in NUMBERS for dtype in ("int64", "float64")]
    + [("any", "bool"), ("all", "bool")]
    + [(name, by, arg) for name in ("arg_min", "arg_max") for by in ("int64", "float64") for arg in ("int64", "bool")]
)
FLOATS = st.sampled_from([0.0, -0.0, 1.0, -2.5, 3.25, 1e-3, 1e300, math.inf, -math.inf, math.nan]) | st.floats()
INTS = st.integers(-5, 5) | st.integers(-(2**40), 2**40)
VALUES: dict[str, st.SearchStrategy[Any]] = {"float64": FLOATS, "int64": INTS, "bool": st.booleans()}


def operator_of(kind: tuple[str, ...]) -> ColumnarOperator:
    return columnar(kind[0]) if kind[0] == "count" else columnar(*kind)


def column(values: list[Any], dtype: str) -> Column:
    valid = np.array([value is not None for value in values], np.bool_)
    return Column(np.array([0 if value is None else value for value in values], dtype), valid)


def columns(events: list[Any], kind: tuple[str, ...]) -> list[Column]:
    if len(kind) == 2:
        return [column(events, kind[1])]
    return [column([event[place] for event in events], dtype) for place, dtype in enumerate(kind[1:])]


def event(kind: tuple[str, ...]) -> st.SearchStrategy[Any]:
    values = [st.none() | VALUES[dtype] for dtype in kind[1:]]
    return values[0] if len(values) == 1 else st.tuples(*values)


def vector(operator: ColumnarOperator, kind: tuple[str, ...], slots: list[list[Any]]) -> Vector:
    """Make the vector of a slice with the events of each key, by the operator's own runs."""
    events = [event for slot in slots for event in slot]
    codes = np.repeat(np.arange(len(slots)), [len(slot) for slot in slots])
    starts = starts_of_runs(codes)
    found = reduce_runs(operator, operator.lift(*columns(events, kind)), starts)
    dense = operator.neutral(len(slots))
    for part, new in zip(dense, found, strict=True):
        part[codes[starts]] = new
    return dense


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, float) and not math.isnan(expected) and found is not None:
        return math.isclose(found, expected, rel_tol=1e-12)
    return close(found, expected)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_it_is_the_scalar_aggregate_of_each_key(kind: tuple[str, ...]) -> None:
    operator = operator_of(kind)

    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.lists(st.lists(event(kind), max_size=3), max_size=4), max_size=5))
    def check(slices: list[list[list[Any]]]) -> None:
        total = operator.identity
        for slots in slices:
            total = operator.combine(total, vector(operator, kind, slots))
        keys = max(map(len, slices), default=0)
        assert all(len(part) == keys for part in total)
        found = operator.lower(total).to_list()
        for key in range(keys):
            events = [slots[key] for slots in slices if key < len(slots)]
            scalar = operator.function
            assert same(found[key], scalar.lower(scalar.merge(map(scalar.fold, events)))), (key, events)

    check()


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_the_flags_are_the_scalar_ones(kind: tuple[str, ...]) -> None:
    operator, function = operator_of(kind), BUILT_IN[kind[0]]
    for flag in ("associative", "commutative", "overlap_tolerant", "invertible", "evictable"):
        assert getattr(operator, flag) == getattr(function, flag), flag
    assert not operator.selects  # each key may select another operand


@pytest.mark.parametrize("kind", [kind for kind in KINDS if BUILT_IN[kind[0]].invertible], ids="-".join)
def test_the_inverse_is_the_scalar_one(kind: tuple[str, ...]) -> None:
    operator, function = operator_of(kind), BUILT_IN[kind[0]]

    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.tuples(*2 * [st.lists(event(kind), max_size=3)]), min_size=1, max_size=3), st.integers(0, 3))
    def check(pairs: list[tuple[list[Any], list[Any]]], width: int) -> None:
        late = [right if key < width else [] for key, (_, right) in enumerate(pairs)]
        x, y = (vector(operator, kind, slots) for slots in ([left for left, _ in pairs], late[:width]))
        whole = operator.combine(x, y)
        assert operator.inverse is not None and function.inverse is not None
        left = operator.inverse(whole, y)
        for key, (early, _) in enumerate(pairs):
            taken = function.fold(late[key])
            scalar_whole = function.combine(function.fold(early), taken)
            expected = function.inverse(scalar_whole, taken)
            place = tuple(part[key].item() for part in left)
            if len(place) == 3 and operator.components[1].name == "high":
                place = (place[0], (place[1] << 32) + place[2])
            wanted = expected if isinstance(expected, tuple) else (expected,)
            assert close(place, wanted, beside=(scalar_whole, taken)), (early, late[key])

    check()


def test_order_decides_ties_of_arg_max() -> None:
    first = columnar("arg_max", "float64", "int64")
    x = first.lift(np.array([1.0, np.nan, 0.0]), np.array([10, 20, 30]))
    y = first.lift(np.array([1.0, np.nan, -0.0]), np.array([11, 21, 31]))
    assert first.lower(first.combine(x, y)).to_list() == [10, 20, 30]
    assert first.lower(first.combine(y, x)).to_list() == [11, 21, 31]


def test_an_arg_may_be_null_itself() -> None:
    best = columnar("arg_max", "float64", "int64")
    x = best.lift(np.array([5.0]), Column(np.array([1]), np.array([False])))
    y = best.lift(np.array([4.0]), np.array([2]))
    assert best.lower(best.combine(x, y)).to_list() == [None]


@pytest.mark.parametrize(
    ("name", "extreme"),
    [
        (name, extreme)
        for name in ("min", "max", "range", "min_count", "max_count", "arg_min", "arg_max")
        for extreme in (-math.inf, math.inf, math.nan, -INT_MAX - 1, INT_MAX)
    ],
)
def test_the_neutral_elements_are_values_too(name: str, extreme: float) -> None:
    # Data may hold what stands for no values: what is there is told by `valid` or n alone.
    dtype = "float64" if isinstance(extreme, float) else "int64"
    arg = ["int64"] if name.startswith("arg") else []
    operator = columnar(name, dtype, *arg)
    x = operator.lift(np.array([extreme], dtype), *(np.array([7]) for _ in arg))
    wanted = operator.function.evaluate([(extreme, 7) if arg else extreme])
    for total in (operator.combine(x, operator.neutral(1)), operator.combine(operator.neutral(1), x)):
        assert close(operator.lower(total).to_list(), [wanted])
    twice = operator.function.evaluate(2 * [(extreme, 7) if arg else extreme])
    assert close(operator.lower(operator.combine(x, operator.combine(operator.neutral(1), x))).to_list(), [twice])


def test_squared_deviations_never_fall_below_zero() -> None:
    # Taking away leaves rounding: without a bound, the square root of a variance below zero would be NaN.
    spread = columnar("stddev", "float64")
    assert spread.inverse is not None
    rng = np.random.default_rng(8)
    same = np.repeat(spread.lift(rng.random(500))[1], 2)  # pairs of equal values, of no spread at all
    x = (np.full(1000, 2), same, np.zeros(1000))
    y = spread.lift(rng.random(1000) * 1e3)
    m2 = spread.inverse(spread.combine(x, y), y)[2]
    assert (m2 >= 0).all() and (m2 == 0).any() and (m2 > 0).any()


def test_an_integer_sum_overflows_only_if_the_window_does() -> None:
    total = columnar("sum", "int64")
    big = total.lift(np.array([INT_MAX, 5]))
    minus = total.lift(np.array([-INT_MAX, 5]))
    on_the_way = total.combine(total.combine(big, big), minus)
    assert total.lower(on_the_way).to_list() == [INT_MAX, 15]
    with pytest.raises(AggregateError, match=r"sum\(int64\) overflows .* at place 0: the sum is 18446744073709551614"):
        total.lower(total.combine(big, big))
    low = total.lift(np.array([-INT_MAX - 1]))
    assert total.lower(low).to_list() == [-INT_MAX - 1]
    mean = columnar("avg", "int64")
    assert mean.lower(mean.combine(big, big)).to_list() == [float(INT_MAX), 5.0]


def test_a_range_of_integers_that_does_not_fit_is_refused() -> None:
    extent = columnar("range", "int64")
    wide = extent.combine(extent.lift(np.array([-INT_MAX])), extent.lift(np.array([INT_MAX])))
    with pytest.raises(AggregateError, match=r"range\(int64\) overflows .* at place 0"):
        extent.lower(wide)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: columnar("median", "float64"),
            r"`median` has no columnar form: vectors over keys exist for all,",
        ),
        (lambda: columnar("sum"), r"columnar `sum` takes int64 or float64, got none"),
        (lambda: columnar("any", "int64"), r"columnar `any` takes bool, got int64"),
        (lambda: columnar("sum", "float64").lift(np.array([1])), r"sum\(float64\) got values of int64. Cast them"),
        (lambda: columnar("sum", "int64").lift(), r"sum\(int64\) reads 1 columns, got 0"),
        (
            lambda: columnar("sum", "int64").lift(Column(np.array([1]), np.array([1]))),
            r"told by an array of bool, got int64",
        ),
        (
            lambda: columnar("arg_max", "int64", "int64").lift(np.array([1]), np.array([1, 2])),
            r"columns of shapes \[\(1,\), \(2,\)\]: one length is needed",
        ),
        (lambda: columnar("sum", "int64").check((np.array([1]),)), r"3 components \(n, high, low\), got 1"),
        (
            lambda: columnar("max", "int64").check((np.array([1.0]), np.array([True]))),
            r"component `high` of max\(int64\) is a 1-d array of int64, got 1-d float64",
        ),
        (
            lambda: columnar("max", "int64").check((np.array([1]), np.array([True, True]))),
            r"must have one length, got \[1, 2\]",
        ),
        (
            lambda: _inverse(columnar("count"), columnar("count").neutral(1), columnar("count").neutral(2)),
            r"cannot take a vector over 2 keys away from one over 1",
        ),
    ],
)
def test_bad_input_is_refused(call: Any, message: str) -> None:
    with pytest.raises(AggregateError, match=message):
        call()


def test_the_mean_of_very_many_small_integers_is_exact() -> None:
    # 2**23 times -1, as often 1, and 1 once more: limbs far beyond 2**53, of which 1 is left.
    n, high, low = 2**24 + 1, -(2**23), 2**55 + 1
    assert (high << 32) + low == 1
    partial = tuple(np.array([part]) for part in (n, high, low))
    assert columnar("avg", "int64").lower(partial).to_list() == [1 / n]


def test_operands_stay_as_they_are() -> None:
    for kind in KINDS:
        operator = operator_of(kind)
        x, y = operator.neutral(3), operator.neutral(5)
        before = [array.copy() for array in (*x, *y)]
        operator.combine(x, y)
        if operator.inverse is not None:
            operator.inverse(y, x)
        for array, old in zip((*x, *y), before, strict=True):
            np.testing.assert_array_equal(array, old)


def _inverse(operator: ColumnarOperator, x: Vector, y: Vector) -> Array:
    assert operator.inverse is not None
    return operator.inverse(x, y)[0]
