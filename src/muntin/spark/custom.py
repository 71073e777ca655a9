"""Aggregates that users wrote in Python: lift, combine and lower, run by Spark's Python workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, Row

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.spark.bound import Bound


def native_custom(bound: Bound, name: str) -> Column:
    """Evaluate a user's aggregate over the events of a group, in order of time; those of one time by value."""
    function = dict(bound.query.aggregates)[name].function
    inputs = bound.custom[name]
    event = F.struct(bound.micros.alias("t"), *(value.column.alias(f"c{i}") for i, value in enumerate(inputs)))
    evaluate = F.udf(_evaluate(function), function.returns, useArrow=True)
    return evaluate(F.array_sort(F.collect_list(event)))


def _evaluate(function: AggregateFunction) -> Callable[[list[Row]], Any]:
    single = function.arity == 1

    def evaluate(events: list[Row]) -> Any:
        return function.evaluate([event[1] if single else tuple(event[1:]) for event in events])

    return evaluate
