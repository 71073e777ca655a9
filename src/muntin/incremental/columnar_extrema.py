"""Columnar min, max, range, any, all, arg_min, arg_max, min_count and max_count, in Spark's order of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from muntin.aggregate import extrema
from muntin.errors import AggregateError
from muntin.incremental.columnar_operator import Column, ColumnarOperator, Component, by_ufuncs, known, there

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.incremental.columnar_operator import Array, Vector

_BOOL, _INT = np.dtype(np.bool_), np.dtype(np.int64)

# NaN is greater than all else. So `maximum`, which spreads NaN, is MAX, and `fmin`, which gives way to any number,
# is MIN: beside it NaN is neutral. What tells a key without values from one with NaN only is `valid`.
# Of -0.0 and 0.0, which are equal, either may come out.


def below(x: Array, y: Array) -> Array:
    """Tell where x comes before y, NaN being greater than all else and equal to itself.

    >>> nan = np.nan
    >>> below(np.array([1.0, np.inf, nan, nan]), np.array([2.0, nan, nan, 1.0]))
    array([ True,  True, False, False])
    """
    before: Array = (x == x) & ~(y <= x)
    return before


def greatest(dtype: np.dtype[Any]) -> Any:
    """Give the value beside which any other is the smaller: NaN, for floats."""
    return np.nan if dtype.kind == "f" else np.iinfo(dtype).max


def least(dtype: np.dtype[Any]) -> Any:
    """Give the value beside which any other is the larger."""
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def minimum(dtype: np.dtype[Any]) -> ColumnarOperator:
    """Find the smallest value."""
    return _by_one(extrema.MIN, Component("low", dtype, greatest(dtype)), _smaller(dtype))


def maximum(dtype: np.dtype[Any]) -> ColumnarOperator:
    """Find the largest value."""
    return _by_one(extrema.MAX, Component("high", dtype, least(dtype)), np.maximum)


def extent(dtype: np.dtype[Any]) -> ColumnarOperator:
    """Find the distance from the smallest to the largest value."""
    ufuncs = (_smaller(dtype), np.maximum, np.logical_or)
    return ColumnarOperator(
        function=extrema.RANGE,
        inputs=(dtype,),
        components=(
            Component("low", dtype, greatest(dtype)),
            Component("high", dtype, least(dtype)),
            Component("valid", _BOOL, False),
        ),
        make=lambda columns, _: (
            known(columns[0], greatest(dtype)),
            known(columns[0], least(dtype)),
            there(columns[0]),
        ),
        merge=by_ufuncs(*ufuncs),
        finish=_distance,
        ufuncs=ufuncs,
    )


def any_true() -> ColumnarOperator:
    """Tell whether one value is true."""
    return _by_one(extrema.ANY, Component("truth", _BOOL, False), np.logical_or)


def all_true() -> ColumnarOperator:
    """Tell whether every value is true."""
    return _by_one(extrema.ALL, Component("truth", _BOOL, True), np.logical_and)


def argument(dtype: np.dtype[Any], arg: np.dtype[Any], *, largest: bool) -> ColumnarOperator:
    """Find what came with the extreme value, the first one on ties."""
    none = least(dtype) if largest else greatest(dtype)

    def merge(x: Vector, y: Vector) -> Vector:
        later = below(x[0], y[0]) if largest else below(y[0], x[0])
        later = y[3] & (later | ~x[3])
        extreme, found, known_arg = (np.where(later, new, old) for old, new in zip(x[:3], y[:3], strict=True))
        return extreme, found, known_arg, x[3] | y[3]

    def make(columns: Sequence[Column], _: int) -> Vector:
        by, found = columns
        valid = there(by)
        return known(by, none), np.where(valid, known(found, 0), arg.type(0)), valid & there(found), valid

    return ColumnarOperator(
        function=extrema.ARG_MAX if largest else extrema.ARG_MIN,
        inputs=(dtype, arg),
        components=(
            Component("extreme", dtype, none),
            Component("arg", arg, 0),
            Component("arg_valid", _BOOL, False),
            Component("valid", _BOOL, False),
        ),
        make=make,
        merge=merge,
        finish=lambda partial: Column(partial[1], partial[2]),
    )


def occurrences(dtype: np.dtype[Any], *, largest: bool) -> ColumnarOperator:
    """Count how often the extreme value occurred."""
    none = least(dtype) if largest else greatest(dtype)

    def merge(x: Vector, y: Vector) -> Vector:
        (n, extreme), (m, other) = x, y
        earlier, later = below(other, extreme), below(extreme, other)
        if not largest:
            earlier, later = later, earlier
        # The neutral element may stand in data too: then it ties with no values, and its n is added to 0.
        return np.where(later, m, np.where(earlier, n, n + m)), np.where(later, other, extreme)

    return ColumnarOperator(
        function=extrema.MAX_COUNT if largest else extrema.MIN_COUNT,
        inputs=(dtype,),
        components=(Component("n", _INT, 0), Component("extreme", dtype, none)),
        make=lambda columns, _: (there(columns[0]).astype(np.int64), known(columns[0], none)),
        merge=merge,
        finish=lambda partial: Column(partial[0]),
    )


def _by_one(function: AggregateFunction, chosen: Component, ufunc: np.ufunc) -> ColumnarOperator:
    """Make an operator whose result is one component, chosen by a ufunc, and null where there are no values."""
    ufuncs = (ufunc, np.logical_or)
    return ColumnarOperator(
        function=function,
        inputs=(chosen.dtype,),
        components=(chosen, Component("valid", _BOOL, False)),
        make=lambda columns, _: (known(columns[0], chosen.neutral), there(columns[0])),
        merge=by_ufuncs(*ufuncs),
        finish=lambda partial: Column(*partial),
        ufuncs=ufuncs,
    )


def _smaller(dtype: np.dtype[Any]) -> np.ufunc:
    return np.fmin if dtype.kind == "f" else np.minimum


def _distance(partial: Vector) -> Column:
    low, high, valid = partial
    distance = np.subtract(high, low, out=np.zeros_like(high), where=valid)
    if distance.dtype.kind == "i" and (distance < 0).any():
        at = int(np.flatnonzero(distance < 0)[0])
        msg = (
            f"range(int64) overflows 64-bit integers at place {at}: {high[at]} - {low[at]} does not fit. "
            "Use min and max, or a float64 column"
        )
        raise AggregateError(msg)
    return Column(distance, valid)


EXTREMA: dict[str, Callable[[np.dtype[Any]], ColumnarOperator]] = {
    "min": minimum,
    "max": maximum,
    "range": extent,
    "min_count": lambda dtype: occurrences(dtype, largest=False),
    "max_count": lambda dtype: occurrences(dtype, largest=True),
}
"""The operators over one column of numbers."""
