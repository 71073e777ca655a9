"""Aggregates that look for the smallest or largest value, in Spark's order of values."""

from __future__ import annotations

from typing import Any, NamedTuple

from muntin.aggregate.algebra import Adjoined, AggregateFunction, same

# A column's values are of any type that can be ordered: numbers, strings, dates, decimals. Hence `Any`.


def below(x: Any, y: Any) -> bool:
    """Tell whether x comes before y in Spark's order, where NaN is greater than all else and equals itself.

    >>> nan = float("nan")
    >>> below(1, 2), below(float("inf"), nan), below(nan, nan), below(-0.0, 0.0)
    (True, True, False, False)
    """
    if x != x:
        return False
    return True if y != y else bool(x < y)


class Tally(NamedTuple):
    """Count how often the extreme value so far occurred."""

    n: int
    extreme: Any


class Found(NamedTuple):
    """Hold the extreme value so far and what came with it."""

    extreme: Any
    arg: Any


class Extent(NamedTuple):
    """Hold the smallest and the largest value so far."""

    low: Any
    high: Any


# On ties the left operand stays: the first event in event order.


def _smaller(x: Any, y: Any) -> Any:
    return y if below(y, x) else x


def _larger(x: Any, y: Any) -> Any:
    return y if below(x, y) else x


def _truth(value: Any) -> bool | None:
    return None if value is None else bool(value)


def _tally(value: Any) -> Tally | None:
    return None if value is None else Tally(1, value)


def _add_at_max(x: Tally, y: Tally) -> Tally:
    if below(x.extreme, y.extreme):
        return y
    return x if below(y.extreme, x.extreme) else Tally(x.n + y.n, x.extreme)


def _add_at_min(x: Tally, y: Tally) -> Tally:
    if below(y.extreme, x.extreme):
        return y
    return x if below(x.extreme, y.extreme) else Tally(x.n + y.n, x.extreme)


def _tallied(partial: Tally | None) -> int:
    return 0 if partial is None else partial.n


def _found(value: tuple[Any, Any]) -> Found | None:
    extreme, arg = value
    return None if extreme is None else Found(extreme, arg)


def _first_at_max(x: Found, y: Found) -> Found:
    return y if below(x.extreme, y.extreme) else x


def _first_at_min(x: Found, y: Found) -> Found:
    return y if below(y.extreme, x.extreme) else x


def _arg(partial: Found | None) -> Any:
    return None if partial is None else partial.arg


def _point(value: Any) -> Extent | None:
    return None if value is None else Extent(value, value)


def _widen(x: Extent, y: Extent) -> Extent:
    return Extent(_smaller(x.low, y.low), _larger(x.high, y.high))


def _length(partial: Extent | None) -> Any:
    return None if partial is None else partial.high - partial.low


MIN: AggregateFunction[Any, Any, Any] = AggregateFunction(
    name="min",
    kind="distributive",
    lift=same,
    combine=Adjoined(_smaller),
    lower=same,
    identity=None,
    commutative=True,
    overlap_tolerant=True,
    selects=True,
)

MAX: AggregateFunction[Any, Any, Any] = AggregateFunction(
    name="max",
    kind="distributive",
    lift=same,
    combine=Adjoined(_larger),
    lower=same,
    identity=None,
    commutative=True,
    overlap_tolerant=True,
    selects=True,
)

RANGE: AggregateFunction[Any, Extent | None, Any] = AggregateFunction(
    name="range",
    kind="algebraic",
    lift=_point,
    combine=Adjoined(_widen),
    lower=_length,
    identity=None,
    commutative=True,
    overlap_tolerant=True,
)

# False < True: ANY is the largest truth value, ALL the smallest.
ANY: AggregateFunction[Any, bool | None, bool | None] = AggregateFunction(
    name="any",
    kind="distributive",
    lift=_truth,
    combine=Adjoined(_larger),
    lower=same,
    identity=None,
    commutative=True,
    overlap_tolerant=True,
    selects=True,
)

ALL: AggregateFunction[Any, bool | None, bool | None] = AggregateFunction(
    name="all",
    kind="distributive",
    lift=_truth,
    combine=Adjoined(_smaller),
    lower=same,
    identity=None,
    commutative=True,
    overlap_tolerant=True,
    selects=True,
)

# Counting the occurrences of the extreme adds up, so an event in two overlapping parts would count twice.
MAX_COUNT: AggregateFunction[Any, Tally | None, int] = AggregateFunction(
    name="max_count",
    kind="algebraic",
    lift=_tally,
    combine=Adjoined(_add_at_max),
    lower=_tallied,
    identity=None,
    commutative=True,
)

MIN_COUNT: AggregateFunction[Any, Tally | None, int] = AggregateFunction(
    name="min_count",
    kind="algebraic",
    lift=_tally,
    combine=Adjoined(_add_at_min),
    lower=_tallied,
    identity=None,
    commutative=True,
)

# The first event wins a tie, so order matters: not commutative (Table 2).
ARG_MAX: AggregateFunction[tuple[Any, Any], Found | None, Any] = AggregateFunction(
    name="arg_max",
    kind="algebraic",
    lift=_found,
    combine=Adjoined(_first_at_max),
    lower=_arg,
    identity=None,
    overlap_tolerant=True,
    selects=True,
    arity=2,
)

ARG_MIN: AggregateFunction[tuple[Any, Any], Found | None, Any] = AggregateFunction(
    name="arg_min",
    kind="algebraic",
    lift=_found,
    combine=Adjoined(_first_at_min),
    lower=_arg,
    identity=None,
    overlap_tolerant=True,
    selects=True,
    arity=2,
)
