"""Aggregates that add up: count, sum, and the arithmetic and geometric means."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from typing import Any, NamedTuple

from muntin.aggregate.algebra import AggregateFunction, same

# Numbers are int, float or Decimal, each column of one kind. Hence `Any`: no type says "adds to its own".

# Python rounds decimals to 28 digits unless told; Spark's have 38, and their sums must be exact.
_EXACT = Context(prec=1000)
_QUOTIENT = Context(prec=38)


class Total(NamedTuple):
    """Add up n values. Without n, a sum of nulls only (null) and a sum of nothing but zeros would be one."""

    n: int
    total: Any


class Logs(NamedTuple):
    """Add up the logarithms of the positive values; count the others, so that they too can be taken away."""

    n: int
    zeros: int
    undefined: int
    log_sum: float


_NOTHING = Total(0, 0)
_NO_LOGS = Logs(0, 0, 0, 0.0)


def _one(value: object) -> int:
    return 0 if value is None else 1


def _add_counts(x: int, y: int) -> int:
    return x + y


def _subtract_counts(x: int, y: int) -> int:
    return x - y


def _total(value: Any) -> Total:
    return _NOTHING if value is None else Total(1, value)


def _add(x: Total, y: Total) -> Total:
    if isinstance(x.total, Decimal) or isinstance(y.total, Decimal):
        return Total(x.n + y.n, _EXACT.add(x.total, y.total))
    return Total(x.n + y.n, x.total + y.total)


def _subtract(x: Total, y: Total) -> Total:
    if x.n == y.n:
        return _NOTHING  # exactly nothing is left, not what rounding left of it
    if isinstance(x.total, Decimal) or isinstance(y.total, Decimal):
        return Total(x.n - y.n, _EXACT.subtract(x.total, y.total))
    return Total(x.n - y.n, x.total - y.total)


def _sum(partial: Total) -> Any:
    return partial.total if partial.n else None


def _mean(partial: Total) -> Any:
    if not partial.n:
        return None
    if isinstance(partial.total, Decimal):
        return _QUOTIENT.divide(partial.total, partial.n)
    return partial.total / partial.n


def _log(value: Any) -> Logs:
    if value is None:
        return _NO_LOGS
    if value > 0:
        return Logs(1, 0, 0, math.log(value))
    return Logs(1, 1, 0, 0.0) if value == 0 else Logs(1, 0, 1, 0.0)


def _add_logs(x: Logs, y: Logs) -> Logs:
    return Logs(x.n + y.n, x.zeros + y.zeros, x.undefined + y.undefined, x.log_sum + y.log_sum)


def _subtract_logs(x: Logs, y: Logs) -> Logs:
    if x.n == y.n:
        return _NO_LOGS
    return Logs(x.n - y.n, x.zeros - y.zeros, x.undefined - y.undefined, x.log_sum - y.log_sum)


def _root(partial: Logs) -> float | None:
    # A negative value or a NaN leaves no real root: NaN. Otherwise a single zero makes the product zero,
    # unless an infinity stands against it: NaN again.
    if not partial.n:
        return None
    if partial.undefined or (partial.zeros and math.isinf(partial.log_sum)):
        return math.nan
    if partial.zeros:
        return 0.0
    try:
        return math.exp(partial.log_sum / partial.n)
    except OverflowError:  # the mean of logs near the largest float, rounded up
        return math.inf


COUNT: AggregateFunction[object, int, int] = AggregateFunction(
    name="count",
    kind="distributive",
    lift=_one,
    combine=_add_counts,
    lower=same,
    identity=0,
    inverse=_subtract_counts,
    commutative=True,
    optional_columns=1,
)

SUM: AggregateFunction[Any, Total, Any] = AggregateFunction(
    name="sum",
    kind="distributive",
    lift=_total,
    combine=_add,
    lower=_sum,
    identity=_NOTHING,
    inverse=_subtract,
    commutative=True,
)

AVG: AggregateFunction[Any, Total, Any] = AggregateFunction(
    name="avg",
    kind="algebraic",
    lift=_total,
    combine=_add,
    lower=_mean,
    identity=_NOTHING,
    inverse=_subtract,
    commutative=True,
)

# In logarithms, because the product of Table 1 overflows a float after a few hundred values.
GEOMETRIC_MEAN: AggregateFunction[Any, Logs, float | None] = AggregateFunction(
    name="geometric_mean",
    kind="algebraic",
    lift=_log,
    combine=_add_logs,
    lower=_root,
    identity=_NO_LOGS,
    inverse=_subtract_logs,
    commutative=True,
)
