"""Counts, sums, means and extrema: partials that Spark's own sum, min and max merge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.spark.recipes.coding import as_is, coding
from muntin.spark.recipes.part import Input, Lane, Part, Recipe

if TYPE_CHECKING:
    from pyspark.sql import Column

# Beyond them, two roundings of a decimal mean might not be one: see `_decimal_mean`.
_SAFE_SCALE = 6
_SAFE_PRECISION = 23
# A sum has ten digits more than its values, up to 38: of wider values it can overflow.
_ROOMY = 28


def count(inputs: list[Input]) -> Recipe:
    """Count events, or values that are not null."""
    part = count_part(inputs[0])
    return Recipe(part.make(), (part,), lambda parts: parts[part.name])


def count_part(value: Input) -> Part:
    """Count the values that are not null, as a part."""
    lane = Lane("count", (), "raw", {"n": as_is}, {"n": T.LongType()})
    make, single = lambda: F.count(value.column), lambda: value.column.isNotNull().cast("bigint")
    return Part(f"count({value.token})", make, F.sum, lane, single, in_place="sum")


def total(inputs: list[Input]) -> Recipe:
    """Add up numbers: integers and decimals exactly."""
    part, exact = sum_part(inputs[0]), inputs[0].type
    if isinstance(exact, T.DecimalType):
        # Each merge adds ten digits to the type; the result's type is that of one sum.
        wanted = _sum_type(exact)
        if exact.precision <= _ROOMY:
            return Recipe(part.make(), (part,), lambda parts: parts[part.name].cast(wanted))
        whole, n = _whole_sum(inputs[0]), count_part(inputs[0])
        return Recipe(part.make(), (whole, n), lambda parts: F.when(parts[n.name] > 0, parts[whole.name].cast(wanted)))
    return Recipe(part.make(), (part,), lambda parts: parts[part.name])


def sum_part(value: Input) -> Part:
    """Add up values, as a part."""
    name, make = f"sum({value.token})", lambda: F.sum(value.column)
    if isinstance(value.type, (T.FloatType, T.DoubleType)):
        lane = Lane("sum", ("float64",), "lift", {"t": as_is}, {"t": T.DoubleType()})
        return Part(name, make, F.sum, lane, lambda: value.column.cast("double"), in_place="sum")
    if isinstance(value.type, T.IntegralType):
        lane = Lane("sum", ("int64",), "lift", {"t": as_is}, {"t": T.LongType()})
        return Part(name, make, F.sum, lane, lambda: value.column.cast("bigint"), in_place="sum")
    if isinstance(value.type, T.DecimalType):
        wanted = _sum_type(value.type)
        return Part(name, make, lambda partial: F.sum(partial).cast(wanted))
    return Part(name, make, F.sum)


def _whole_sum(value: Input) -> Part:
    """Add up decimals that may overflow, as a part: null stands for an overflow, and no value at all gives zero.

    With `spark.sql.ansi.enabled=false` a sum that overflows is null, and a sum of sums would pass over it.
    """
    assert isinstance(value.type, T.DecimalType)
    wanted = _sum_type(value.type)

    def make() -> Column:
        return F.when(F.count(value.column) == 0, F.lit(0).cast(wanted)).otherwise(F.sum(value.column))

    def merge(partial: Column) -> Column:
        return F.when(F.count(partial) == F.count(F.lit(1)), F.sum(partial).cast(wanted))

    return Part(f"whole sum({value.token})", make, merge)


def mean(inputs: list[Input]) -> Recipe:
    """Average numbers, as Spark does: decimals as decimals, all others as doubles."""
    value = inputs[0]
    native, n = F.avg(value.column), count_part(value)
    if isinstance(value.type, T.DecimalType):
        if value.type.scale > _SAFE_SCALE or value.type.precision > _SAFE_PRECISION:
            return Recipe(native)
        of = value.type
        t = sum_part(value)
        return Recipe(native, (t, n), lambda parts: _decimal_mean(parts[t.name], parts[n.name], of))
    if not isinstance(value.type, T.NumericType):
        return Recipe(native)
    doubled = Input(value.column.cast("double"), T.DoubleType(), f"double({value.token})")
    t = sum_part(value if isinstance(value.type, (T.FloatType, T.DoubleType)) else doubled)
    # nullif: a window of nulls only has the mean null, and a division by zero would be an error.
    return Recipe(native, (t, n), lambda parts: parts[t.name] / F.nullif(parts[n.name], F.lit(0)))


def least(inputs: list[Input]) -> Recipe:
    """Find the smallest value."""
    part = extreme_part(inputs[0], largest=False)
    return Recipe(part.make(), (part,), lambda parts: parts[part.name])


def greatest(inputs: list[Input]) -> Recipe:
    """Find the largest value, NaN above all."""
    part = extreme_part(inputs[0], largest=True)
    return Recipe(part.make(), (part,), lambda parts: parts[part.name])


def extent(inputs: list[Input]) -> Recipe:
    """Measure the distance from the smallest value to the largest."""
    low, high = extreme_part(inputs[0], largest=False), extreme_part(inputs[0], largest=True)
    return Recipe(high.make() - low.make(), (low, high), lambda parts: parts[high.name] - parts[low.name])


def any_true(inputs: list[Input]) -> Recipe:
    """Tell whether a value is true."""
    part = extreme_part(inputs[0], largest=True)
    # Of a column that has no type, because it holds nothing but nulls, the greatest has none either.
    return Recipe(F.bool_or(inputs[0].column), (part,), lambda parts: parts[part.name].cast("boolean"))


def all_true(inputs: list[Input]) -> Recipe:
    """Tell whether every value is true."""
    part = extreme_part(inputs[0], largest=False)
    return Recipe(F.bool_and(inputs[0].column), (part,), lambda parts: parts[part.name].cast("boolean"))


def extreme_part(value: Input, *, largest: bool) -> Part:
    """Find the smallest or largest value, as a part."""
    name, aggregate = ("max", F.max) if largest else ("min", F.min)
    code = coding(value.type)
    lane = None
    if code is not None:
        back: dict[str, T.DataType] = {"v": code.crosses}
        lane = Lane(name, (code.dtype,), "lift", {"v": code.encode}, back, lambda columns: code.decode(columns["v"]))
    make, single = lambda: aggregate(value.column), lambda: value.column
    sorts = isinstance(value.type, (T.StringType, T.BinaryType, T.ArrayType, T.StructType))
    return Part(f"{name}({value.token})", make, aggregate, lane, single, sorts=sorts, in_place=name)


def _sum_type(of: T.DecimalType) -> T.DecimalType:
    """Give the type of Spark's sum of decimals: ten digits more, 38 at most."""
    return T.DecimalType(min(of.precision + 10, 38), of.scale)


def _decimal_mean(total: Column, n: Column, of: T.DecimalType) -> Column:
    """Divide as Spark's avg does, and round to its type: 4 digits more, 38 at most.

    Spark rounds the exact quotient once, while the operator `/` keeps the fewer digits the more the total may have, and
    the cast rounds again. So what n divides evenly is taken off first: it has a quotient without rounding, and the
    rest, which is less than n, has one with 13 digits more than the values. Rounded to 4 more, that differs only
    where the quotient is nearer to a tie than 1e-9 of its last digit, for which n would have to exceed 1e9.
    """
    wanted = T.DecimalType(of.precision + 4, of.scale + 4)
    divisor = F.nullif(n, F.lit(0)).cast("decimal(12,0)")
    rest = total % divisor
    even = ((total - rest) / divisor).cast(of)
    return (even + rest / divisor).cast(wanted)
