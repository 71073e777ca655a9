"""Variance and standard deviation, by merging means and squared deviations."""

from __future__ import annotations

import math
from typing import NamedTuple, SupportsFloat

from muntin.aggregate.algebra import AggregateFunction


class Moments(NamedTuple):
    """Hold the count, the mean, and the sum of squared deviations from the mean."""

    n: int
    mean: float
    m2: float


_NOTHING = Moments(0, 0.0, 0.0)


def _lift(value: SupportsFloat | None) -> Moments:
    if value is None:
        return _NOTHING
    number = float(value)
    # The deviation is 0, but NaN for NaN and infinities: Spark gives NaN for the variance of a lone NaN.
    return Moments(1, number, number - number)


# Table 1 keeps Σ and Σx², whose difference loses every digit when the mean is large beside the spread:
# 10⁹ + {4, 7, 13, 16}. Deviations from the mean do not (Chan, Golub and LeVeque 1983; Welford 1962).
def _merge(x: Moments, y: Moments) -> Moments:
    if not x.n or not y.n:
        return x if x.n else y
    n = x.n + y.n
    delta = y.mean - x.mean
    return Moments(n, x.mean + delta * (y.n / n), x.m2 + y.m2 + delta * delta * (x.n * y.n / n))


def _take_away(whole: Moments, y: Moments) -> Moments:
    n = whole.n - y.n
    if not y.n or not n:
        return whole if not y.n else _NOTHING
    mean = whole.mean + (whole.mean - y.mean) * (y.n / n)
    if n == 1:
        return Moments(1, mean, mean - mean)
    delta = y.mean - mean
    m2 = whole.m2 - y.m2 - delta * delta * (n * y.n / whole.n)
    return Moments(n, mean, 0.0 if m2 < 0 else m2)  # a sum of squares: below zero is rounding; NaN stays NaN


def _var_pop(partial: Moments) -> float | None:
    return partial.m2 / partial.n if partial.n else None


def _variance(partial: Moments) -> float | None:
    return partial.m2 / (partial.n - 1) if partial.n > 1 else None


def _stddev_pop(partial: Moments) -> float | None:
    return math.sqrt(partial.m2 / partial.n) if partial.n else None


def _stddev(partial: Moments) -> float | None:
    return math.sqrt(partial.m2 / (partial.n - 1)) if partial.n > 1 else None


VARIANCE: AggregateFunction[SupportsFloat | None, Moments, float | None] = AggregateFunction(
    name="variance",
    kind="algebraic",
    lift=_lift,
    combine=_merge,
    lower=_variance,
    identity=_NOTHING,
    inverse=_take_away,
    commutative=True,
)

VAR_POP: AggregateFunction[SupportsFloat | None, Moments, float | None] = AggregateFunction(
    name="var_pop",
    kind="algebraic",
    lift=_lift,
    combine=_merge,
    lower=_var_pop,
    identity=_NOTHING,
    inverse=_take_away,
    commutative=True,
)

STDDEV: AggregateFunction[SupportsFloat | None, Moments, float | None] = AggregateFunction(
    name="stddev",
    kind="algebraic",
    lift=_lift,
    combine=_merge,
    lower=_stddev,
    identity=_NOTHING,
    inverse=_take_away,
    commutative=True,
)

STDDEV_POP: AggregateFunction[SupportsFloat | None, Moments, float | None] = AggregateFunction(
    name="stddev_pop",
    kind="algebraic",
    lift=_lift,
    combine=_merge,
    lower=_stddev_pop,
    identity=_NOTHING,
    inverse=_take_away,
    commutative=True,
)
