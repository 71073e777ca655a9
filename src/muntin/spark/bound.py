"""A query bound to its DataFrame: columns found, types checked, each aggregate with its recipe."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.aggregate.algebra import written
from muntin.declare.query import RESERVED, WINDOW
from muntin.duration import format_duration
from muntin.errors import QueryError
from muntin.spark.custom import check_custom
from muntin.spark.reason import REFUSALS, reason
from muntin.spark.recipes.catalog import known, recipe
from muntin.spark.recipes.coding import crosses, ntz_from_micros, ntz_micros, ntz_of, sorts
from muntin.spark.recipes.part import Input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from muntin.aggregate.algebra import Aggregate
    from muntin.declare.query import WindowQuery
    from muntin.spark.recipes.part import Recipe


# By this entry of a column's metadata, the watermark's delay in ms, Spark knows the time of a stream's events.
WATERMARK: Final = "spark.watermarkDelayMs"
# What Spark calls the column with a file's path, name, size and time.
_FILE: Final = "_metadata"
# And so it tells a column of windows from other structs: `window_time` and windows over windows take no other.
_WINDOW: Final = "spark.timeWindow"


@dataclass(frozen=True, slots=True)
class Clock:
    """How events tell their time: the column, and whether it is without a zone."""

    time: Column
    ntz: bool

    @property
    def micros(self) -> Column:
        """The time of an event in microseconds since 1970, in UTC or, without zone, by its own clock."""
        return ntz_micros(self.time) if self.ntz else F.unix_micros(self.time)

    def window(self, start: str, end: str) -> Column:
        """Make the window from microseconds in SQL: a column that Spark takes for one, as that of its `window()`."""
        times = [ntz_of(micros) if self.ntz else f"timestamp_micros({micros})" for micros in (start, end)]
        made = F.expr(f"named_struct('start', {times[0]}, 'end', {times[1]})")
        return made.alias(WINDOW, metadata={_WINDOW: True})

    def instant(self, micros: Column) -> Column:
        """Make a time of the events' own type from microseconds."""
        return ntz_from_micros(micros) if self.ntz else F.timestamp_micros(micros)


@dataclass(frozen=True, slots=True)
class Bound(Clock):
    """A query whose columns are known.

    `events` are the rows of the source that have a time. `recipes` hold the aggregates that Spark computes,
    `custom` those that users wrote, with the columns that they read.
    """

    query: WindowQuery
    events: DataFrame
    schema: T.StructType
    recipes: dict[str, Recipe]
    custom: dict[str, tuple[Input, ...]]
    types: dict[str, tuple[str, ...]]
    """The types of the columns that each aggregate reads."""
    filters: dict[str, str]
    """Of aggregates that have one, a text that tells their filter apart."""
    partials: bool = False
    """Whether the rows are partials, and what aggregates read of events is not there any more."""

    @property
    def keys(self) -> list[Column]:
        """The keys, as columns of the events."""
        return [field(self.events, name).alias(name) for name in self.query.keys]

    @property
    def time_type(self) -> T.DataType:
        """The type of the windows' starts and ends."""
        return T.TimestampNTZType() if self.ntz else T.TimestampType()

    @property
    def crosses(self) -> bool:
        """Whether the keys can go to Arrow and back."""
        return crosses(self.schema)

    @property
    def sorts(self) -> bool:
        """Whether Spark can sort by the keys."""
        return sorts(self.schema)

    def key_type(self, name: str) -> T.DataType:
        """Give a key's type."""
        return self.schema[name].dataType


def bind(query: WindowQuery) -> Bound:
    """Find a query's columns in its DataFrame; a clear error before any job starts."""
    _check_columns(query)
    source = watermarked(_with_file(query), query.time, query.watermark)
    clock = clock_of(source, query.time)
    micros = clock.micros
    recipes: dict[str, Recipe] = {}
    custom: dict[str, tuple[Input, ...]] = {}
    kept_keys = [T.StructField(name, group_type(source, name, f"the key {name!r}")) for name in query.keys]
    types: dict[str, tuple[str, ...]] = {}
    filters: dict[str, str] = {}
    tokens = _Tokens(source)
    for name, aggregate in query.aggregates:
        inputs, kept = _inputs(source, name, aggregate, tokens)
        if kept is not None:
            filters[name] = aggregate.filter if isinstance(aggregate.filter, str) else tokens.of(kept)
        types[name] = tuple(value.type.simpleString() for value in inputs) if aggregate.columns else ()
        if known(aggregate.function.name):
            recipes[name] = recipe(name, aggregate, inputs, micros, kept)
        else:
            check_custom(name, aggregate.function, inputs)
            custom[name] = tuple(inputs)
    results = {name: found.native for name, found in recipes.items()}
    # What a user's function reads must be of one event, as what Spark's own aggregates read.
    results |= {name: F.collect_list(F.struct(*(v.column for v in inputs))) for name, inputs in custom.items()}
    _check_results(source, results)
    events = source.where(clock.time.isNotNull())
    return Bound(clock.time, clock.ntz, query, events, T.StructType(kept_keys), recipes, custom, types, filters)


def watermarked(source: DataFrame, time: str, delay: int | None) -> DataFrame:
    """Give a stream its watermark, unless it has that already; refuse another, which Spark does not let be set anew."""
    if delay is None or not source.isStreaming:
        return source
    there = watermark_of(source, time)
    if there is None:
        return source.withWatermark("`" + time.replace("`", "``") + "`", f"{delay} microseconds")
    if there != delay:
        msg = (
            f"the stream has a watermark of {format_duration(there)} on {time!r} already, and "
            f"{format_duration(delay)} is asked for: Spark takes one. Give the stream without withWatermark, or ask "
            "for the one that it has"
        )
        raise QueryError(msg)
    return source


def watermark_of(source: DataFrame, time: str) -> int | None:
    """Find how late events may be by a stream's own watermark, in microseconds; None where it has none."""
    tagged = next((each for each in source.schema.fields if each.name.lower() == time.lower()), None)
    delay = None if tagged is None else (tagged.metadata or {}).get(WATERMARK)
    return None if delay is None else int(delay) * 1000


def clock_of(source: DataFrame, time: str) -> Clock:
    """Find the time of events; refuse a column that is no timestamp."""
    what = "the time" if time.startswith(RESERVED) else f"the time column {time!r}"
    kind = _type_of(source, time, what)
    if not isinstance(kind, (T.TimestampType, T.TimestampNTZType)):
        msg = (
            f"{what} is of type {kind.simpleString()}: windows need a timestamp. "
            f"{_HOW_TO_TIME.get(type(kind), 'Cast it first')}"
        )
        raise QueryError(msg)
    return Clock(field(source, time), isinstance(kind, T.TimestampNTZType))


def group_type(source: DataFrame, name: str, what: str) -> T.DataType:
    """Find the type of a column to group by; refuse one that Spark cannot."""
    kind = _type_of(source, name, what)
    # Deep within a key Spark groups by a map, but not by a variant.
    if isinstance(kind, T.MapType) or "variant" in kind.simpleString():
        msg = f"{what} is of type {kind.simpleString()}, which Spark cannot group by. Take a field of it"
        raise QueryError(msg)
    return kind


def field(frame: DataFrame, name: str) -> Column:
    """Take a column by its name, dots and all, or a field of one by its path."""
    if name in frame.columns:
        return F.col("`" + name.replace("`", "``") + "`")
    return F.col(name)


_HOW_TO_TIME = {
    T.StringType: "Use to_timestamp(...) first",
    T.DateType: "Cast it to timestamp first",
    T.LongType: "Use timestamp_seconds, timestamp_millis or timestamp_micros first, as its unit is",
    T.IntegerType: "Use timestamp_seconds first",
    T.DoubleType: "Use timestamp_seconds first",
}


def _check_columns(query: WindowQuery) -> None:
    names = [("the time column", query.time), *(("the key", key) for key in query.keys)]
    for name, aggregate in query.aggregates:
        names += [(f"`{name}` reads", column) for column in aggregate.columns if isinstance(column, str)]
    for column in query.source.columns:
        # A query in SQL has such columns of muntin's own, among them the time, and its input was looked at before.
        if column.lower().startswith(RESERVED) and not query.time.startswith(RESERVED):
            msg = f"the DataFrame has a column {column!r}: names that begin with {RESERVED!r} are reserved, rename it"
            raise QueryError(msg)
    find_columns(names, query.source)


def _with_file(query: WindowQuery) -> DataFrame:
    """Give events the column that tells of their file, where the query reads it.

    Spark keeps it hidden, finds it all the same, and loses it below `window()`.
    """
    frame: DataFrame = query.source
    aggregates = [aggregate for _, aggregate in query.aggregates]
    read = [*query.keys, *(part for a in aggregates for part in (*a.columns, a.filter) if part is not None)]
    if _FILE in map(str.lower, frame.columns) or not any(_FILE in str(part) for part in read):
        return frame
    try:
        shown = frame.withColumn(_FILE, F.col(_FILE))
        _ = shown.schema
    except AnalysisException:
        # Of no file, or of two that were joined: the column that the query reads is another, or is not there.
        return frame
    return shown


def find_columns(names: Sequence[tuple[str, str]], frame: DataFrame) -> None:
    """Refuse names, each with what it stands for, that no column has."""
    columns = frame.columns
    there = {column.lower() for column in columns}
    for role, name in names:
        # A path into a struct is left to Spark: only its root is looked for.
        if name.lower() in there or name.split(".")[0].strip("`").lower() in there or _qualified(frame, name):
            continue
        near = get_close_matches(name, columns, 1, 0.6)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        msg = f"{role} {name!r}: there is no such column{hint} The DataFrame has {', '.join(columns)}"
        raise QueryError(msg)


def _qualified(frame: DataFrame, name: str) -> bool:
    """Tell whether a name is that of a joined frame's alias and of a column there."""
    if "." not in name:
        return False
    try:
        return len(frame.select(name).columns) == 1
    except (AnalysisException, ParseException):
        return False


class _Tokens:
    """Texts that tell expressions apart: over Spark Connect `lit(1)` and `lit("1")`, or two lambdas, print alike."""

    def __init__(self, source: DataFrame) -> None:
        self._source = source
        self._known: dict[str, list[Column]] = {}

    def of(self, column: Column) -> str:
        """Give an expression its text, with a number where another expression has that text."""
        text = written(column)
        known = self._known.setdefault(text, [])
        number = next((n for n, other in enumerate(known) if self._same(other, column)), len(known))
        if number == len(known):
            known.append(column)
        return f"{text} #{number}" if number else text

    def _same(self, x: Column, y: Column) -> bool:
        if x is y:
            return True
        one, two = (self._source.select(column.alias("c")) for column in (x, y))
        return one.sameSemantics(two)


def _inputs(source: DataFrame, name: str, aggregate: Aggregate, tokens: _Tokens) -> tuple[list[Input], Column | None]:
    """Find what an aggregate reads; where it has a filter, rows that do not pass read as null."""
    given, kept = aggregate.filter, None
    if given is not None:
        what = f"`{name}`: the filter {given!r}" if isinstance(given, str) else f"`{name}`: the filter"
        kept = condition(given, name)
        kind = _type_of(source, kept, what)
        if not isinstance(kind, T.BooleanType):
            msg = f"`{name}`: the filter is of type {kind.simpleString()}, not a condition. Compare it with something"
            raise QueryError(msg)
    columns = list(aggregate.columns) or [F.lit(1)]
    found = []
    for column in columns:
        taken = field(source, column) if isinstance(column, str) else column
        kind = _type_of(source, column, f"`{name}`: {written(column)}")
        token = column if isinstance(column, str) else f"({tokens.of(column)})"
        if kept is not None:
            taken, token = F.when(kept, taken), f"{token} where {given if isinstance(given, str) else tokens.of(kept)}"
        found.append(Input(taken, kind, token))
    return found, kept


def condition(given: object, name: str) -> Column:
    """Take an aggregate's filter as an expression."""
    if isinstance(given, Column):
        return given
    if not isinstance(given, str):
        msg = f"`{name}`: a filter is SQL text or a Spark expression, got {given!r}"
        raise QueryError(msg)
    return F.expr(given)


def _type_of(source: DataFrame, column: Column | str, what: str) -> T.DataType:
    """Find the type of an expression, or of a column: for that the schema is enough, and Spark need not be asked."""
    if isinstance(column, str):
        same = [found.dataType for found in source.schema.fields if found.name == column]
        if len(same) == 1:
            return same[0]
        column = field(source, column)
    try:
        return source.select(column.alias("c")).schema[0].dataType
    except REFUSALS as error:
        msg = f"{what} cannot be taken from the DataFrame: {reason(error)}"
        raise QueryError(msg) from error


def _check_results(source: DataFrame, results: dict[str, Column]) -> None:
    """Refuse an aggregate over values of a type that it does not take: all in one look, one by one if that fails."""
    if results and _refusal(source, results) is None:
        return
    for name, column in results.items():
        error = _refusal(source, {name: column})
        if error is not None:
            msg = f"`{name}` cannot be computed: {reason(error)}"
            raise QueryError(msg) from error


def _refusal(source: DataFrame, results: dict[str, Column]) -> Exception | None:
    try:
        # Spark looks at types when the schema is asked for, over Connect no sooner.
        _ = source.agg(*(column.alias(name) for name, column in results.items())).schema
    except REFUSALS as error:
        return error
    return None
