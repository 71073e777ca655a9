"""Columnar count, sum, avg and geometric_mean: vectors that add up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from muntin.aggregate import totals
from muntin.errors import AggregateError
from muntin.incremental.columnar_operator import Column, ColumnarOperator, Component, by_ufuncs, known, there

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.incremental.columnar_operator import Array, Vector

_BOOL, _INT, _FLOAT = np.dtype(np.bool_), np.dtype(np.int64), np.dtype(np.float64)

# A sum of 64-bit integers is kept in two limbs, `high * 2**32 + low`, which cannot overflow before 2**31 values.
# So no order of combining overflows on the way, as long as the window's own sum fits: a structure adds up ranges
# that are no window, and one of them may be too large where the window is not. Only `lower` can refuse.
_LIMB = 32
_LOW = (1 << _LIMB) - 1
_HALF = 1 << (_LIMB - 1)


def split(totals: Array) -> tuple[Array, Array]:
    """Cut 64-bit integers into a high and a low limb of 32 bits.

    >>> split(np.array([-1, 2**32 + 5]))
    (array([-1,  1]), array([4294967295,          5]))
    """
    return totals >> _LIMB, totals & _LOW


def join(high: Array, low: Array, where: Array, what: str) -> Array:
    """Make 64-bit integers of sums of limbs; raise where one does not fit, as Spark does in ANSI mode.

    >>> join(np.array([-1, 1]), np.array([4294967295, 5]), np.array([True, True]), "sum(int64)")
    array([        -1, 4294967301])
    """
    carried = low >> _LIMB
    carried += high
    if carried.size and not -_HALF <= carried.min() <= carried.max() < _HALF:
        bad = np.flatnonzero(where & ((carried < -_HALF) | (carried >= _HALF)))
        if len(bad):
            at = int(bad[0])
            exact = (int(high[at]) << _LIMB) + int(low[at])
            msg = (
                f"{what} overflows 64-bit integers at place {at}: the sum is {exact}. "
                "Sum a float64 column, or run the aggregate on decimals"
            )
            raise AggregateError(msg)
    total: Array = high << _LIMB
    total += low
    return total


def count() -> ColumnarOperator:
    """Count events, or the values of a column of any type that are not null."""
    return ColumnarOperator(
        function=totals.COUNT,
        inputs=(),
        components=(Component("n", _INT, 0),),
        make=_ones,
        merge=by_ufuncs(np.add),
        finish=lambda partial: Column(partial[0]),
        take_away=by_ufuncs(np.subtract),
        ufuncs=(np.add,),
        exact=True,
    )


def sum_floats(function: AggregateFunction = totals.SUM) -> ColumnarOperator:
    """Add up floats."""
    return ColumnarOperator(
        function=function,
        inputs=(_FLOAT,),
        components=(Component("n", _INT, 0), Component("total", _FLOAT, 0.0)),
        make=lambda columns, _: (there(columns[0]).astype(np.int64), known(columns[0], 0.0)),
        merge=by_ufuncs(np.add, np.add),
        finish=_float_total if function is totals.SUM else _float_mean,
        take_away=_subtract_floats,
        warns=True,
        ufuncs=(np.add, np.add),
    )


def sum_integers(function: AggregateFunction = totals.SUM) -> ColumnarOperator:
    """Add up 64-bit integers, exactly."""
    return ColumnarOperator(
        function=function,
        inputs=(_INT,),
        components=(Component("n", _INT, 0), Component("high", _INT, 0), Component("low", _INT, 0)),
        make=lambda columns, _: (there(columns[0]).astype(np.int64), *split(known(columns[0], 0))),
        merge=by_ufuncs(np.add, np.add, np.add),
        finish=_integer_total if function is totals.SUM else _integer_mean,
        take_away=by_ufuncs(np.subtract, np.subtract, np.subtract),
        ufuncs=(np.add, np.add, np.add),
        exact=True,
    )


def geometric_mean(dtype: np.dtype[np.int64] | np.dtype[np.float64]) -> ColumnarOperator:
    """Average in logarithms."""
    return ColumnarOperator(
        function=totals.GEOMETRIC_MEAN,
        inputs=(dtype,),
        components=(
            Component("n", _INT, 0),
            Component("zeros", _INT, 0),
            Component("undefined", _INT, 0),
            Component("log_sum", _FLOAT, 0.0),
        ),
        make=_logs,
        merge=by_ufuncs(np.add, np.add, np.add, np.add),
        finish=_root,
        take_away=_subtract_logs,
        warns=True,
        ufuncs=(np.add, np.add, np.add, np.add),
    )


def _ones(columns: Sequence[Column], events: int) -> Vector:
    return (there(columns[0]).astype(np.int64) if columns else np.ones(events, np.int64),)


def _float_total(partial: Vector) -> Column:
    n, total = partial
    return Column(total, n > 0)


def _float_mean(partial: Vector) -> Column:
    n, total = partial
    return Column(total / np.maximum(n, 1), n > 0)


def _integer_total(partial: Vector) -> Column:
    n, high, low = partial
    return Column(join(high, low, n > 0, "sum(int64)"), n > 0)


def _integer_mean(partial: Vector) -> Column:
    n, high, low = partial
    # The carry goes into the high limb first: both are exact as floats then, and only their sum is rounded. Long sums
    # of small numbers of both signs have limbs that are far larger than what is left of them.
    carried = high + (low >> _LIMB)
    return Column((carried * float(1 << _LIMB) + (low & _LOW)) / np.maximum(n, 1), n > 0)


def _subtract_floats(x: Vector, y: Vector) -> Vector:
    n = x[0] - y[0]
    return n, np.where(n == 0, 0.0, x[1] - y[1])  # exactly nothing is left, not what rounding left of it


def _logs(columns: Sequence[Column], _: int) -> Vector:
    (column,) = columns
    value, valid = column.values, there(column)
    positive, zero = valid & (value > 0), valid & (value == 0)
    undefined = valid & ~positive & ~zero  # negative, or NaN
    log_sum = np.log(value, out=np.zeros(len(value)), where=positive)
    return valid.astype(np.int64), zero.astype(np.int64), undefined.astype(np.int64), log_sum


def _subtract_logs(x: Vector, y: Vector) -> Vector:
    n, zeros, undefined = x[0] - y[0], x[1] - y[1], x[2] - y[2]
    return n, zeros, undefined, np.where(n == 0, 0.0, x[3] - y[3])


def _root(partial: Vector) -> Column:
    n, zeros, undefined, log_sum = partial
    root = np.where(zeros > 0, 0.0, np.exp(log_sum / np.maximum(n, 1)))
    # As the scalar form: a negative value or NaN leaves no real root, and neither does a zero beside an infinity.
    none = (undefined > 0) | ((zeros > 0) & np.isinf(log_sum))
    return Column(np.where(none, np.nan, root), n > 0)
