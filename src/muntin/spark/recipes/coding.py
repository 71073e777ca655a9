"""Types that NumPy computes exactly: how each crosses as a 64-bit integer or float, and comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F
from pyspark.sql import types as T

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

EPOCH_NTZ = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
_MICROSECOND = "INTERVAL '0.000001' SECOND"


class Coding(NamedTuple):
    """A type's way to NumPy and back: order and equality are kept."""

    dtype: str
    encode: Callable[[Column], Column]
    decode: Callable[[Column], Column]

    @property
    def crosses(self) -> T.DataType:
        """The Spark type in which values cross."""
        return T.DoubleType() if self.dtype == "float64" else T.LongType()


def coding(of: T.DataType) -> Coding | None:
    """Find how values of a type cross to NumPy; None where no 64-bit number stands for them.

    >>> coding(T.DateType()).dtype, coding(T.FloatType()).dtype, coding(T.StringType())
    ('int64', 'float64', None)
    """
    if isinstance(of, (T.DoubleType, T.LongType)):
        return Coding("float64" if isinstance(of, T.DoubleType) else "int64", as_is, as_is)
    if isinstance(of, T.FloatType):
        # float -> double -> float gives the same float.
        return Coding("float64", lambda c: c.cast("double"), lambda c: c.cast(of))
    if isinstance(of, (T.ByteType, T.ShortType, T.IntegerType, T.BooleanType)):
        return Coding("int64", lambda c: c.cast("bigint"), lambda c: c.cast(of))
    if isinstance(of, T.DateType):
        return Coding("int64", lambda c: F.unix_date(c).cast("bigint"), lambda c: F.date_from_unix_date(c.cast("int")))
    if isinstance(of, T.TimestampType):
        return Coding("int64", F.unix_micros, F.timestamp_micros)
    if isinstance(of, T.TimestampNTZType):
        return Coding("int64", ntz_micros, ntz_from_micros)
    return None


def as_is(column: Column) -> Column:
    """Give a column that needs no change."""
    return column


def crosses(of: T.DataType) -> bool:
    """Tell whether values of a type go to Arrow and back as they are, and equal there means equal in Spark.

    >>> crosses(T.StringType()), crosses(T.StringType("UTF8_LCASE")), crosses(T.YearMonthIntervalType())
    (True, False, False)
    >>> crosses(T.StructType().add("x", T.LongType()).add("x", T.LongType()))
    False
    """
    if isinstance(of, T.StructType):
        # Arrow takes no two fields of one name.
        return len(set(of.names)) == len(of) and all(crosses(field.dataType) for field in of.fields)
    if isinstance(of, T.ArrayType):
        return crosses(of.elementType)
    if isinstance(of, T.StringType):
        return of.isUTF8BinaryCollation()
    return not isinstance(of, (T.YearMonthIntervalType, T.CalendarIntervalType, T.MapType, T.UserDefinedType))


def sorts(of: T.DataType) -> bool:
    """Tell whether Spark can sort by values of a type.

    >>> sorts(T.ArrayType(T.DateType())), sorts(T.ArrayType(T.CalendarIntervalType()))
    (True, False)
    """
    if isinstance(of, T.StructType):
        return all(sorts(field.dataType) for field in of.fields)
    if isinstance(of, T.ArrayType):
        return sorts(of.elementType)
    if isinstance(of, T.UserDefinedType):
        return sorts(of.sqlType())
    return not isinstance(of, (T.CalendarIntervalType, T.MapType, T.VariantType))


def room(of: T.DataType) -> int:
    """Say of how many numbers the room is that a value takes; of a text nobody knows.

    >>> room(T.DoubleType()), room(T.StringType())
    (1, 64)
    """
    return 1 if isinstance(of, (T.NumericType, T.BooleanType, T.DatetimeType)) else 64


def joins(of: T.DataType) -> bool:
    """Tell whether Spark joins rows by equal values of a type, null with null.

    It compares only what it can sort by, and between columns that hold nothing but nulls finds no two alike.

    >>> joins(T.StringType()), joins(T.NullType())
    (True, False)
    """
    return sorts(of) and not isinstance(of, T.NullType)


def ntz_micros(time: Column) -> Column:
    """Count microseconds since 1970 of a timestamp without time zone, whatever the session's zone.

    `unix_micros` takes a timestamp with zone only, and the cast to it would move with daylight saving time.
    """
    day = F.unix_date(time.cast("date")).cast("bigint") * 86_400
    seconds = F.hour(time) * 3600 + F.minute(time) * 60
    fraction = (F.extract(F.lit("second"), time) * 1_000_000).cast("bigint")
    return (day + seconds) * 1_000_000 + fraction


def ntz_from_micros(micros: Column) -> Column:
    """Make a timestamp without time zone from microseconds since 1970."""
    return F.expr(EPOCH_NTZ) + micros * F.expr(_MICROSECOND)


def ntz_of(micros: str) -> str:
    """Make a timestamp without time zone from microseconds since 1970, as SQL."""
    return f"{EPOCH_NTZ} + ({micros}) * {_MICROSECOND}"
