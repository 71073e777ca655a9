"""Spreads, logarithms and tallies: partials of several numbers that merge together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.spark.recipes.coding import coding, room
from muntin.spark.recipes.part import Input, Lane, Part, Recipe, fold
from muntin.spark.recipes.simple import count_part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import Column


def spread(native: Callable[[Column], Column], *, sample: bool, root: bool) -> Callable[[list[Input]], Recipe]:
    """Make the recipe of a variance or standard deviation."""

    def recipe(inputs: list[Input]) -> Recipe:
        part = _moments(inputs[0])

        def finish(parts: Mapping[str, Column]) -> Column:
            n, m2 = parts[part.name]["n"], parts[part.name]["m2"]
            # Of no values n - 1 is -1, and the result null like that of a single one.
            divisor = F.greatest(n - 1, F.lit(0)) if sample else n
            variance = m2 / F.nullif(divisor, F.lit(0))
            return F.sqrt(variance) if root else variance

        return Recipe(native(inputs[0].column), (part,), finish)

    return recipe


def _moments(value: Input) -> Part:
    """Keep the count, the mean and the sum of squared distances from it."""

    def make() -> Column:
        x = value.column.cast("double")
        # var_pop of nothing is null: so is the partial's m2, and its mean, and nobody asks for them.
        return F.struct(
            F.count(x).alias("n"),
            F.coalesce(F.avg(x), F.lit(0.0)).alias("mean"),
            F.coalesce(F.var_pop(x) * F.count(x), F.lit(0.0)).alias("m2"),
        )

    def single() -> Column:
        x = value.column.cast("double")
        # x - x is 0, or NaN of an infinity and of NaN, like their variance.
        return F.struct(
            x.isNotNull().cast("bigint").alias("n"),
            F.coalesce(x, F.lit(0.0)).alias("mean"),
            F.coalesce(x - x, F.lit(0.0)).alias("m2"),
        )

    lane = Lane(
        "var_pop",
        ("float64",),
        "raw",
        {"n": lambda c: c["n"], "mean": lambda c: c["mean"], "m2": lambda c: c["m2"]},
        {"n": T.LongType(), "mean": T.DoubleType(), "m2": T.DoubleType()},
        lambda columns: F.struct(*(columns[name].alias(name) for name in ("n", "mean", "m2"))),
    )
    merge = lambda partial: fold(partial, _merge_moments)  # noqa: E731
    return Part(f"moments({value.token})", make, merge, lane, single, heavy=True)


def _merge_moments(x: Column, y: Column) -> Column:
    # Chan, Golub and LeVeque: no difference of large squares.
    n = x["n"] + y["n"]
    share = F.when(n == 0, 0.0).otherwise(y["n"] / F.nullif(n, F.lit(0)))
    delta = y["mean"] - x["mean"]
    mean = F.when(x["n"] == 0, y["mean"]).when(y["n"] == 0, x["mean"]).otherwise(x["mean"] + delta * share)
    cross = F.when((x["n"] == 0) | (y["n"] == 0), 0.0).otherwise(delta * delta * share * x["n"])
    return F.struct(n.alias("n"), mean.alias("mean"), (x["m2"] + y["m2"] + cross).alias("m2"))


def geometric_mean(inputs: list[Input]) -> Recipe:
    """Take the n-th root of the product: NaN with a negative value or NaN, else 0 with a zero."""
    value = inputs[0]
    x = value.column.cast("double")
    n = count_part(value)
    zeros = count_part(Input(F.when(x == 0, 1), T.IntegerType(), f"zero {value.token}"))
    # In Spark NaN is greater than any number, so it is asked for by name.
    undefined = count_part(Input(F.when((x < 0) | F.isnan(x), 1), T.IntegerType(), f"no log {value.token}"))
    name = f"logs({value.token})"
    single = F.when((x > 0) & ~F.isnan(x), F.log(x))
    lane = Lane("sum", ("float64",), "lift", {"t": lambda c: c}, {"t": T.DoubleType()})
    make, alone = lambda: F.coalesce(F.sum(single), F.lit(0.0)), lambda: F.coalesce(single, F.lit(0.0))
    logs = Part(name, make, F.sum, lane, alone, in_place="sum")

    def finish(parts: Mapping[str, Column]) -> Column:
        total = parts[name]
        infinite = F.abs(total) == float("inf")
        nan = (parts[undefined.name] > 0) | ((parts[zeros.name] > 0) & infinite)
        root = F.exp(total / F.nullif(parts[n.name], F.lit(0)))
        return F.when(parts[n.name] == 0, None).when(nan, float("nan")).when(parts[zeros.name] > 0, 0.0).otherwise(root)

    parts = (n, zeros, undefined, logs)
    return Recipe(finish({part.name: part.make() for part in parts}), parts, finish)


def occurrences(*, largest: bool) -> Callable[[list[Input]], Recipe]:
    """Make the recipe that counts how often the smallest or largest value stands there."""

    def recipe(inputs: list[Input]) -> Recipe:
        value = inputs[0]
        extreme = F.max if largest else F.min
        best = F.array_max if largest else F.array_min

        def at_extreme(values: Column) -> Column:
            return F.size(F.filter(values, lambda v: v == best(values))).cast("bigint")

        native = at_extreme(F.collect_list(value.column))

        def merge(x: Column, y: Column) -> Column:
            # A partial without values has a null extreme, and its n is 0.
            better = y["extreme"] > x["extreme"] if largest else y["extreme"] < x["extreme"]
            worse = y["extreme"] < x["extreme"] if largest else y["extreme"] > x["extreme"]
            both = F.struct((x["n"] + y["n"]).alias("n"), x["extreme"].alias("extreme"))
            return F.when(x["extreme"].isNull() | better, y).when(y["extreme"].isNull() | worse, x).otherwise(both)

        name = f"{'max' if largest else 'min'}_count({value.token})"
        lane = _tally_lane(value, largest=largest)

        def make() -> Column:
            return F.struct(native.alias("n"), extreme(value.column).alias("extreme"))

        def single() -> Column:
            return F.struct(value.column.isNotNull().cast("bigint").alias("n"), value.column.alias("extreme"))

        part = Part(name, make, lambda partial: fold(partial, merge), lane, single, heavy=True, holds=room(value.type))
        return Recipe(native, (part,), lambda parts: parts[name]["n"])

    return recipe


def _tally_lane(value: Input, *, largest: bool) -> Lane | None:
    code = coding(value.type)
    if code is None:
        return None
    return Lane(
        "max_count" if largest else "min_count",
        (code.dtype,),
        "raw",
        {"n": lambda c: c["n"], "extreme": lambda c: code.encode(c["extreme"])},
        {"n": T.LongType(), "extreme": code.crosses},
        lambda columns: F.struct(columns["n"].alias("n"), code.decode(columns["extreme"]).alias("extreme")),
    )
