"""Sketches: Spark's own, merged by Spark's own functions, and holistic aggregates, which have nothing to merge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.errors import AggregateError
from muntin.spark.recipes.coding import sorts
from muntin.spark.recipes.part import Input, Part, Recipe

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column


# Of these types Spark's sketches of different values take all.
_SKETCHED = (T.IntegerType, T.LongType, T.StringType, T.BinaryType, T.NullType)


def approx_distinct(inputs: list[Input], lg_k: int) -> Recipe:
    """Estimate how many different values there are, by HyperLogLog."""
    _check("approx_distinct", "lg_k", lg_k, 4, 21)
    part = Part(
        f"hll({inputs[0].token}, {lg_k})",
        lambda: F.hll_sketch_agg(_hashed(inputs[0]), lg_k),
        lambda partial: F.hll_union_agg(partial, False),
        heavy=True,
        holds=1,
    )
    return _estimated(part, F.hll_sketch_estimate)


def theta(inputs: list[Input], lg_k: int) -> Recipe:
    """Estimate how many different values there are, by a theta sketch."""
    _check("theta", "lg_k", lg_k, 4, 26)
    part = Part(
        f"theta({inputs[0].token}, {lg_k})",
        lambda: F.theta_sketch_agg(_hashed(inputs[0], T.FloatType, T.DoubleType), lg_k),
        lambda partial: F.theta_union_agg(partial, lg_k),
        heavy=True,
        holds=1,
    )
    return _estimated(part, F.theta_sketch_estimate)


def approx_quantile(inputs: list[Input], q: float, k: int) -> Recipe:
    """Estimate a quantile by a KLL sketch."""
    _check("approx_quantile", "q", q, 0.0, 1.0)
    _check("approx_quantile", "k", k, 8, 65_535)
    part = Part(
        f"kll({inputs[0].token}, {k})",
        lambda: F.kll_sketch_agg_double(inputs[0].column.cast("double"), k),
        lambda partial: F.kll_merge_agg_double(partial, k),
        heavy=True,
        holds=1,
    )
    # A sketch of no values has no quantile to give.
    return _estimated(
        part,
        lambda sketch: F.when(
            F.kll_sketch_get_n_double(sketch) > 0, F.kll_sketch_get_quantile_double(sketch, F.lit(float(q)))
        ),
    )


def median(inputs: list[Input]) -> Recipe:
    """Find the middle value: from all values or not at all."""
    return Recipe(F.median(inputs[0].column))


def count_distinct(inputs: list[Input]) -> Recipe:
    """Count different values: of one window from all its values, of many from where each value is the first."""
    value = inputs[0]
    return Recipe(F.count_distinct(value.column), item=value.column if sorts(value.type) else None)


def _hashed(value: Input, *taken: type[T.DataType]) -> Column:
    """Give a sketch of different values what it takes: of types that it does not, a hash of 64 bits."""
    if isinstance(value.type, (*_SKETCHED, *taken)) or not sorts(value.type):
        return value.column
    return F.when(value.column.isNotNull(), F.xxhash64(value.column))


def _check(function: str, setting: str, value: object, least: float, most: float) -> None:
    """Refuse what Spark's sketches would refuse when they run."""
    kinds = int if isinstance(least, int) else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
        whole = "a whole number" if isinstance(least, int) else "a number"
        msg = f"`{function}`: {setting} must be {whole} from {least} to {most}, got {value!r}"
        raise AggregateError(msg)


def _estimated(part: Part, estimate: Callable[[Column], Column]) -> Recipe:
    return Recipe(estimate(part.make()), (part,), lambda parts: estimate(parts[part.name]))
