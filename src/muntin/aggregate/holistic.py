"""Aggregates without a bounded partial: computed from all values of a window, never shared."""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from muntin.aggregate.algebra import AggregateFunction, Unavailable
from muntin.aggregate.extrema import below
from muntin.aggregate.sequence import distinct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _middle(values: Sequence[Any]) -> float | None:
    present = [value for value in values if value is not None]
    if not present:
        return None
    ordered = sorted(present, key=cmp_to_key(lambda x, y: below(y, x) - below(x, y)))
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return float(low) if low == high else 0.5 * float(low) + 0.5 * float(high)  # halves first: no overflow


def _cardinality(values: Sequence[Any]) -> int:
    return len(distinct(tuple(value for value in values if value is not None)))


def _holistic(name: str, whole: Callable[[Sequence[Any]], Any], instead: str) -> AggregateFunction:
    absent = Unavailable(
        f"`{name}` cannot be shared between windows: it has no bounded partial. "
        f"Use `{instead}`, or compute each window from all its values with evaluate(values)"
    )
    return AggregateFunction(
        name=name,
        kind="holistic",
        lift=absent,
        combine=absent,
        lower=absent,
        identity=None,  # no partial, so no neutral one: a fold meets `absent` at once
        associative=False,
        commutative=True,
        bounded=False,
        whole=whole,
        instead=instead,
    )


MEDIAN = _holistic("median", _middle, "approx_quantile")
COUNT_DISTINCT = _holistic("count_distinct", _cardinality, "approx_distinct")
