"""Aggregates that users wrote in Python: lift, combine and lower, run by Spark's Python workers."""

from __future__ import annotations

import datetime
import decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.errors import AggregateError, QueryError
from muntin.kernels.objects import ObjectAggregate, Objects, guarded
from muntin.spark.crossing import HEAD, Named, identified, in_panes, key_fields, key_names, keys_back, last_buckets
from muntin.spark.panes import BUCKET

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.spark.bound import Bound
    from muntin.spark.panes import Grid
    from muntin.spark.recipes.part import Input
    from muntin.window.spec import Window

_UTC: Final = datetime.UTC
_MICROS: Final = "_mt_t"


def native_custom(bound: Bound, name: str) -> Column:
    """Evaluate a user's aggregate over the events of a group, in order of time; those of one time by value."""
    aggregate = dict(bound.query.aggregates)[name]
    function = aggregate.function
    inputs = _inputs(bound, name)
    event = F.struct(bound.micros.alias("t"), *(value.column.alias(f"c{i}") for i, value in enumerate(inputs)))
    kept = _kept(aggregate.filter)
    # A list takes no nulls: rows that do not pass the filter are left out, whatever `ignores_nulls` says.
    events = F.collect_list(event if kept is None else F.when(kept, event))
    _, fit = _result(T.DataType.fromDDL(function.returns))
    return F.udf(_evaluate(guarded(name, function, fit)), function.returns, useArrow=True)(F.array_sort(events))


def custom(bound: Bound, names: Sequence[str], windows: Sequence[Window], grid: Grid, coarse: int | None) -> DataFrame:
    """Compute users' aggregates over some windows from panes; `coarse` panes make a bucket, where keys are few."""
    counted = in_panes(windows, grid)
    inputs = ObjectColumns()
    work = [_aggregate(bound, name, inputs) for name in names]
    order = inputs.order(work)
    made = [
        ObjectAggregate(**fields, resort=not function.commutative and tuple(order[: len(places)]) != places)
        for function, places, fields in work
    ]
    # -0.0 and 0.0 are one group; which of the two a key shows is settled here, as groupBy does.
    keys = [
        (key + F.lit(0.0).cast(kind) if isinstance(kind, (T.FloatType, T.DoubleType)) else key).alias(crossing)
        for key, name, crossing in zip(bound.keys, bound.query.keys, key_names(bound), strict=True)
        for kind in [bound.key_type(name)]
    ]
    rows = bound.events.select(*keys, bound.micros.alias(_MICROS), *inputs.columns)
    units = [F.col(name) for name in key_names(bound)]
    if coarse is not None:
        reach = max(window.range for window in counted)
        rows = rows.withColumn(BUCKET, F.explode(last_buckets(grid.pane(_MICROS), coarse, reach)))
        units.append(F.col(BUCKET))
    rows = rows.select(*units, _MICROS, *inputs.names)
    rows = rows.repartition(*units) if units else rows.repartition(1)
    rows = rows.sortWithinPartitions(*units, _MICROS, *(inputs.names[place] for place in order))
    results = [
        T.StructField(f"_mt_r{place}", T.DataType.fromDDL(function.returns))
        for place, (function, _, _) in enumerate(work)
    ]
    schema = T.StructType([*HEAD, *key_fields(bound), *results])
    worker = Objects(len(keys), counted, tuple(made), grid.width, grid.offset, coarse)
    return rows.mapInArrow(Named(worker, schema), schema).select(
        *identified(bound, windows, grid),
        *keys_back(bound),
        *(F.col(f"_mt_r{place}").alias(name) for place, name in enumerate(names)),
    )


class ObjectColumns:
    """The columns that aggregates read, each once."""

    def __init__(self) -> None:
        self.columns: list[Column] = []
        self.names: list[str] = []
        self._places: dict[str, int] = {}
        self._filters: set[int] = set()

    def place(self, column: Column, token: str, *, filter: bool = False) -> int:
        """Find a column's place, and give it one if it has none."""
        if token not in self._places:
            self._places[token] = len(self.columns)
            self.names.append(f"_mt_i{len(self.columns)}")
            self.columns.append(column.alias(self.names[-1]))
        if filter:
            self._filters.add(self._places[token])
        return self._places[token]

    def order(self, work: Sequence[tuple[AggregateFunction, tuple[int, ...], Any]]) -> list[int]:
        """Order events of one time: by what the first aggregate reads that asks for order, then by the others."""
        asking = sorted(work, key=lambda one: one[0].commutative)
        places = dict.fromkeys(place for _, wanted, _ in asking for place in wanted)
        return [place for place in places if place not in self._filters]


def _aggregate(
    bound: Bound, name: str, columns: ObjectColumns
) -> tuple[AggregateFunction, tuple[int, ...], dict[str, Any]]:
    aggregate = dict(bound.query.aggregates)[name]
    function = aggregate.function
    if not function.shareable:
        msg = f"`{name}`: {function.name} has no partials to combine, so windows cannot share it. Run it natively"
        raise AggregateError(msg)
    inputs = _inputs(bound, name)
    places = tuple(columns.place(value.column, f"value {value.token}") for value in inputs)
    kept = _kept(aggregate.filter)
    result, fit = _result(T.DataType.fromDDL(function.returns))
    fields = {
        "label": name,
        "function": function,
        "columns": places,
        "readers": tuple(_reader(value.type) for value in inputs),
        "fit": fit,
        "result": result,
        "kept": None if kept is None else columns.place(kept, f"filter {bound.filters[name]}", filter=True),
    }
    return function, places, fields


def object_aggregate(bound: Bound, name: str, columns: ObjectColumns) -> ObjectAggregate:
    """Say how a worker runs a user's aggregate over events in no order: those of one time go by their values."""
    function, _, fields = _aggregate(bound, name, columns)
    return ObjectAggregate(**fields, resort=not function.commutative)


def check_custom(name: str, function: AggregateFunction, inputs: Sequence[Input]) -> None:
    """Refuse a user's aggregate whose result has no type for Spark, or that reads what Python cannot be given."""
    if not function.returns:
        msg = (
            f"`{name}`: Spark must know the type that `{function.name}` returns. "
            f"Define it with returns=, for example agg.define('{function.name}', ..., returns='double')"
        )
        raise QueryError(msg)
    try:
        returns = T.DataType.fromDDL(function.returns)
    except (AnalysisException, ParseException) as error:
        msg = f"`{name}`: {function.returns!r} is no type of Spark's. Write for example 'double' or 'array<string>'"
        raise QueryError(msg) from error
    _result(returns)
    for value in inputs[: function.arity]:
        if _holds(value.type, T.YearMonthIntervalType):
            msg = (
                f"`{name}` reads {value.token} of type {value.type.simpleString()}, which Arrow cannot give to Python. "
                "Take its months as a number"
            )
            raise QueryError(msg)
        if not _ordered(value.type):
            msg = (
                f"`{name}` reads {value.token} of type {value.type.simpleString()}, and events of one time go in "
                "order of their values, which this type has none of. Take a field of it, or map_entries(...)"
            )
            raise QueryError(msg)


def _inputs(bound: Bound, name: str) -> tuple[Input, ...]:
    """Take the columns that a user's aggregate reads: none, where it takes none."""
    return bound.custom[name][: dict(bound.query.aggregates)[name].function.arity]


def _kept(given: object) -> Column | None:
    """Take a filter: SQL text or an expression, as the query was checked to have."""
    if given is None:
        return None
    condition = F.expr(given) if isinstance(given, str) else given
    assert isinstance(condition, Column)
    return F.coalesce(condition, F.lit(False))


def _ordered(kind: T.DataType) -> bool:
    if isinstance(kind, T.ArrayType):
        return _ordered(kind.elementType)
    if isinstance(kind, T.StructType):
        return all(_ordered(field.dataType) for field in kind.fields)
    return not isinstance(kind, (T.MapType, T.VariantType, T.CalendarIntervalType))


def _holds(kind: T.DataType, wanted: type[T.DataType]) -> bool:
    if isinstance(kind, T.ArrayType):
        return _holds(kind.elementType, wanted)
    if isinstance(kind, T.StructType):
        return any(_holds(field.dataType, wanted) for field in kind.fields)
    return isinstance(kind, wanted)


def _evaluate(function: AggregateFunction) -> Callable[[list[Row]], Any]:
    single = function.arity == 1

    def evaluate(events: list[Row]) -> Any:
        return function.evaluate([event[1] if single else tuple(event[1:]) for event in events])

    return evaluate


def _reader(kind: T.DataType) -> Callable[[Any], Any] | None:
    """Say how a value that Arrow gives becomes the one that Spark's Python functions see; None where it is that."""
    if isinstance(kind, T.TimestampType):
        return lambda value: None if value is None else value.astimezone().replace(tzinfo=None)
    if isinstance(kind, T.ArrayType):
        part = _reader(kind.elementType)
        return None if part is None else lambda value: None if value is None else [part(one) for one in value]
    if isinstance(kind, T.StructType):
        names, parts = kind.names, [_reader(field.dataType) for field in kind.fields]

        def row(value: dict[str, Any] | None) -> Row | None:
            if value is None:
                return None
            read = [one if part is None else part(one) for one, part in zip(value.values(), parts, strict=True)]
            made: Row = Row(*names)(*read)
            return made

        return row
    return None


def _result(kind: T.DataType) -> tuple[pa.DataType, Callable[[Any], Any]]:
    """Give the Arrow type of a declared result, and a function that refuses values which are not of it.

    Both plans go through it: Spark's own conversion cuts 1.5 to 1 where an int was declared, and writes any object
    as a string.
    """
    if isinstance(kind, T.ArrayType):
        arrow, part = _result(kind.elementType)
        return pa.list_(arrow), _unless_none(lambda value: [part(one) for one in _of(value, kind, list, tuple)])
    if isinstance(kind, T.StructType):
        return _struct(kind)
    if isinstance(kind, T.DecimalType):
        step = decimal.Decimal(1).scaleb(-kind.scale)
        context = decimal.Context(prec=kind.precision, rounding=decimal.ROUND_HALF_EVEN)
        fit = _unless_none(
            lambda value: decimal.Decimal(_of(value, kind, decimal.Decimal, int)).quantize(step, context=context)
        )
        return pa.decimal128(kind.precision, kind.scale), fit
    for known, arrow, fit in _SIMPLE:
        if isinstance(kind, known):
            return arrow, _unless_none(fit)
    msg = (
        f"an aggregate written in Python cannot return {kind.simpleString()}. "
        "Return a number, text, time, array or struct; a map as array<struct<key,value>>"
    )
    raise QueryError(msg)


def _struct(kind: T.StructType) -> tuple[pa.DataType, Callable[[Any], Any]]:
    names, parts = kind.names, [_result(field.dataType) for field in kind.fields]

    def fit(value: Any) -> dict[str, Any]:
        given = _of(value, kind, tuple, dict)
        if isinstance(given, dict):
            given = tuple(given[name] for name in names)
        return {name: part(one) for name, (_, part), one in zip(names, parts, given, strict=True)}

    arrow = pa.struct([pa.field(name, part) for name, (part, _) in zip(names, parts, strict=True)])
    return arrow, _unless_none(fit)


def _unless_none(fit: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else fit(value)


def _of(value: Any, kind: T.DataType, *types: type) -> Any:
    """Refuse a value that is of none of the types; a NumPy scalar counts as what it holds."""
    if hasattr(value, "dtype") and hasattr(value, "item"):
        value = value.item()
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        wanted = " or ".join(each.__name__ for each in types)
        msg = f"the result {value!r} is no {kind.simpleString()}, as returns= says: expected {wanted}"
        raise TypeError(msg)
    return value


def _whole(kind: T.DataType, bits: int) -> Callable[[Any], int]:
    def fit(value: Any) -> int:
        found = _of(value, kind, int, float)
        if found != found or found in (float("inf"), float("-inf")) or int(found) != found:
            msg = f"the result {value!r} is not whole, and returns= says {kind.simpleString()}"
            raise TypeError(msg)
        if not -(1 << bits - 1) <= found < 1 << bits - 1:
            msg = f"the result {value!r} is too large for {kind.simpleString()}, which returns= says"
            raise OverflowError(msg)
        return int(found)

    return fit


def _instant(value: Any) -> datetime.datetime:
    # A time without zone is the worker's own, as Spark gives and takes them.
    moment: datetime.datetime = _of(value, T.TimestampType(), datetime.datetime)
    return moment.astimezone(_UTC)


_SIMPLE: Final[tuple[tuple[type[T.DataType], pa.DataType, Callable[[Any], Any]], ...]] = (
    (T.ByteType, pa.int8(), _whole(T.ByteType(), 8)),
    (T.ShortType, pa.int16(), _whole(T.ShortType(), 16)),
    (T.IntegerType, pa.int32(), _whole(T.IntegerType(), 32)),
    (T.LongType, pa.int64(), _whole(T.LongType(), 64)),
    (T.FloatType, pa.float32(), lambda value: float(_of(value, T.FloatType(), float, int))),
    (T.DoubleType, pa.float64(), lambda value: float(_of(value, T.DoubleType(), float, int))),
    (T.BooleanType, pa.bool_(), lambda value: _of(value, T.BooleanType(), bool)),
    (T.StringType, pa.string(), lambda value: _of(value, T.StringType(), str)),
    (T.BinaryType, pa.binary(), lambda value: bytes(_of(value, T.BinaryType(), bytes, bytearray))),
    (T.TimestampType, pa.timestamp("us", "UTC"), _instant),
    (T.TimestampNTZType, pa.timestamp("us"), lambda value: _of(value, T.TimestampNTZType(), datetime.datetime)),
    (T.DateType, pa.date32(), lambda value: _of(value, T.DateType(), datetime.date)),
)
