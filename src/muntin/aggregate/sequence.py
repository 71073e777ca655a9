"""Aggregates that keep events in their order: first, last, collect, collect_distinct, concat."""

from __future__ import annotations

import math
from typing import Any

from muntin.aggregate.algebra import Adjoined, AggregateFunction


def distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Drop every value but its first appearance; NaN equals NaN, and -0.0 equals 0.0, as in Spark from 4.2.

    >>> distinct((2, 1, 2, float("nan"), float("nan"), [1], [1]))
    (2, 1, nan, [1])
    """
    seen: dict[object, Any] = {}
    for value in values:
        seen.setdefault(_key(value), value)
    return tuple(seen.values())


def _key(value: Any) -> object:
    if isinstance(value, (list, tuple)):
        return (type(value), *map(_key, value))
    return math.nan if value != value else value  # one and the same NaN object is found again in a dict


def _single(value: Any) -> tuple[Any]:
    return (value,)


def _earlier(x: tuple[Any], _: tuple[Any]) -> tuple[Any]:
    return x


def _later(_: tuple[Any], y: tuple[Any]) -> tuple[Any]:
    return y


def _only(partial: tuple[Any] | None) -> Any:
    return None if partial is None else partial[0]


def _item(value: Any) -> tuple[Any, ...]:
    return () if value is None else (value,)


def _append(x: tuple[Any, ...], y: tuple[Any, ...]) -> tuple[Any, ...]:
    return x + y


def _drop_tail(x: tuple[Any, ...], y: tuple[Any, ...]) -> tuple[Any, ...]:
    return x[: len(x) - len(y)]


def _unite(x: tuple[Any, ...], y: tuple[Any, ...]) -> tuple[Any, ...]:
    return distinct(x + y)


def _join(pieces: tuple[Any, ...]) -> Any:
    return pieces[0][:0].join(pieces) if pieces else None  # str or bytes


# Spark's first and last take a null for a value, so the partial is a tuple of one: (None,) is a null seen,
# None is nothing seen yet.
FIRST: AggregateFunction[Any, tuple[Any] | None, Any] = AggregateFunction(
    name="first",
    kind="distributive",
    lift=_single,
    combine=Adjoined(_earlier),
    lower=_only,
    identity=None,
    overlap_tolerant=True,
    selects=True,
    ignores_nulls=False,
)

LAST: AggregateFunction[Any, tuple[Any] | None, Any] = AggregateFunction(
    name="last",
    kind="distributive",
    lift=_single,
    combine=Adjoined(_later),
    lower=_only,
    identity=None,
    overlap_tolerant=True,
    selects=True,
    ignores_nulls=False,
)

COLLECT: AggregateFunction[Any, tuple[Any, ...], list[Any]] = AggregateFunction(
    name="collect",
    kind="distributive",
    lift=_item,
    combine=_append,
    lower=list,
    identity=(),
    inverse=_drop_tail,
    bounded=False,
)

# In the order of first appearance: those in (X·O)·(O·Y) are those in X·O·Y, hence overlap tolerant, and the
# result is the same on every run. Spark's collect_set leaves the order open: compare with it as sets.
COLLECT_DISTINCT: AggregateFunction[Any, tuple[Any, ...], list[Any]] = AggregateFunction(
    name="collect_distinct",
    kind="distributive",
    lift=_item,
    combine=_unite,
    lower=list,
    identity=(),
    overlap_tolerant=True,
    bounded=False,
)

# The pieces stay apart until the end: else "" and no string at all (a null) would be one partial.
CONCAT: AggregateFunction[Any, tuple[Any, ...], Any] = AggregateFunction(
    name="concat",
    kind="distributive",
    lift=_item,
    combine=_append,
    lower=_join,
    identity=(),
    inverse=_drop_tail,
    bounded=False,
)
