"""Every recipe by the name of its aggregate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.errors import QueryError
from muntin.spark.recipes import composite, ordered, simple, sketches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import Column

    from muntin.aggregate.algebra import Aggregate
    from muntin.spark.recipes.part import Input, Recipe

_SIMPLE: Mapping[str, Callable[[list[Input]], Recipe]] = {
    "count": simple.count,
    "sum": simple.total,
    "avg": simple.mean,
    "min": simple.least,
    "max": simple.greatest,
    "range": simple.extent,
    "any": simple.any_true,
    "all": simple.all_true,
    "variance": composite.spread(F.var_samp, sample=True, root=False),
    "var_pop": composite.spread(F.var_pop, sample=False, root=False),
    "stddev": composite.spread(F.stddev_samp, sample=True, root=True),
    "stddev_pop": composite.spread(F.stddev_pop, sample=False, root=True),
    "geometric_mean": composite.geometric_mean,
    "min_count": composite.occurrences(largest=False),
    "max_count": composite.occurrences(largest=True),
    "collect_distinct": ordered.collect_distinct,
    "median": sketches.median,
    "count_distinct": sketches.count_distinct,
}
_ORDERED: Mapping[str, ordered.Ordered] = {
    "first": ordered.end(last=False),
    "last": ordered.end(last=True),
    "arg_min": ordered.argument(largest=False),
    "arg_max": ordered.argument(largest=True),
    "collect": ordered.collect,
    "concat": ordered.concat,
}
_SKETCHES: Mapping[str, Callable[..., Recipe]] = {
    "approx_distinct": sketches.approx_distinct,
    "theta": sketches.theta,
    "approx_quantile": sketches.approx_quantile,
}
_NUMBERS = frozenset(
    [
        "sum",
        "avg",
        "variance",
        "var_pop",
        "stddev",
        "stddev_pop",
        "geometric_mean",
        "median",
        "approx_quantile",
        "range",
    ]
)
_INTERVALS = (T.DayTimeIntervalType, T.YearMonthIntervalType)


def recipe(name: str, aggregate: Aggregate, inputs: list[Input], micros: Column, kept: Column | None) -> Recipe:
    """Find how Spark computes an aggregate over columns of their types; `micros` is the time of the events."""
    function = aggregate.function.name
    for value in inputs:
        _check_type(name, function, value)
    if function in _SIMPLE:
        return _SIMPLE[function](inputs)
    if function in _ORDERED:
        return _ORDERED[function](inputs, micros, kept)
    settings: dict[str, Any] = aggregate.settings
    return _SKETCHES[function](inputs, **settings)


def known(function: str) -> bool:
    """Tell whether an aggregate has a recipe; one that users wrote has none."""
    return function in _SIMPLE or function in _ORDERED or function in _SKETCHES


def _check_type(name: str, function: str, value: Input) -> None:
    of = value.type
    if isinstance(of, (T.MapType, T.VariantType)) and function not in ("count", "collect", "approx_distinct"):
        msg = f"`{name}`: {function} cannot order {value.token}, of type {of.simpleString()}. Take a field of it"
        raise QueryError(msg)
    timed = function in ("sum", "avg", "range", "median") and isinstance(of, _INTERVALS)
    spans = function == "range" and isinstance(of, (T.DateType, T.TimestampType, T.TimestampNTZType))
    if function in _NUMBERS and not isinstance(of, (T.NumericType, T.NullType)) and not timed and not spans:
        msg = (
            f"`{name}`: {function} takes numbers, and {value.token} is of type {of.simpleString()}. "
            f'Cast it first: agg.{function}(F.expr("try_cast({value.token} AS double)")), or '
            f"TRY_CAST({value.token} AS float) in SQL, which makes null of a text that is no number"
        )
        raise QueryError(msg)
    if function in ("any", "all") and not isinstance(of, (T.BooleanType, T.NullType)):
        msg = (
            f"`{name}`: {function} takes booleans, and {value.token} is of type {of.simpleString()}. "
            f"Compare it first, for example agg.{function}(F.col('{value.token}') > 0)"
        )
        raise QueryError(msg)
    if function == "concat" and not isinstance(of, (T.StringType, T.NullType)):
        msg = f"`{name}`: concat joins strings, and {value.token} is of type {of.simpleString()}. Cast it to string"
        raise QueryError(msg)
