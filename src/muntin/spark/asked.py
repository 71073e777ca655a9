"""A parsed SQL query over a DataFrame: its texts as columns, checked before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.declare.query import RESERVED
from muntin.declare.sql.source import Source
from muntin.errors import SqlError, SqlQueryError
from muntin.spark.beside import beside
from muntin.spark.reason import REFUSALS, reason

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from muntin.declare.sql import SelectQuery
    from muntin.declare.sql.source import Place


def prepared(
    frame: DataFrame, query: SelectQuery, time: str, text: str
) -> tuple[DataFrame, list[tuple[list[Column], Column | None]]]:
    """Give the events their time and key columns, and each aggregate its arguments and filter.

    `text` is the query as it was written, to show where what does not go with the events stands.
    """
    source = Source(text, ())
    for name in frame.columns:
        if name.lower().startswith(RESERVED):
            msg = f"the input has a column {name!r}: names that begin with {RESERVED!r} are reserved, rename it"
            raise SqlError(msg)
    record = [F.col("`" + name.replace("`", "``") + "`") for name in frame.columns]
    calls = [
        (
            [F.struct(*record) if text == "struct(*)" else F.expr(text) for text in call.arguments],
            None if call.filter is None else F.expr(call.filter),
        )
        for call in query.aggregates
    ]
    if query.where is not None:
        kind = _type(frame, query.where, "WHERE", source, query.where_place)
        if not isinstance(kind, T.BooleanType):
            msg = f"WHERE {query.where} is of type {kind.simpleString()}, not a condition"
            raise source.error(msg, query.where_place, SqlQueryError)
        frame = frame.where(query.where)
    kind = _type(frame, time, "TIMESTAMP BY", source, query.time_place)
    when = F.expr(time)
    if isinstance(kind, T.StringType):
        # Azure reads ISO 8601 text as a time; so does the cast, and it refuses what is none.
        when = when.cast("timestamp")
    elif not isinstance(kind, (T.TimestampType, T.TimestampNTZType)):
        of_parts, of_seconds = (
            ("DATETIMEFROMPARTS(year, month, day, hour, minute, 0, 0)", "DATEADD(second, column, ...)")
            if query.closed == "right"
            else ("make_timestamp(year, month, day, hour, minute, 0)", "timestamp_seconds(column)")
        )
        msg = (
            f"TIMESTAMP BY {time} is of type {kind.simpleString()}: windows need a timestamp, or ISO 8601 text. "
            f"Make one, as {of_parts} does of parts and {of_seconds} of seconds since 1970"
        )
        raise source.error(msg, query.time_place, SqlQueryError)
    if query.closed == "right":
        # (start, end] is [start, end) of times a microsecond earlier: a boundary event lands where Azure puts it.
        when = when - F.expr("INTERVAL '0.000001' SECOND")
    keys = {}
    for key in query.keys:
        _type(frame, key.text, f"the key {key.name}", source, key.place)
        keys[key.name] = F.expr(key.text)
    made = {**keys, f"{RESERVED}time": when}
    taken = {name.lower() for name in frame.columns}
    if any(key.name.lower() in taken and key.text != key.name for key in query.keys):
        # UPPER(k) AS k: aggregates read the input's k, so what they read is kept beside the key.
        for call in query.aggregates:
            for argument in (*call.arguments, *(() if call.filter is None else (call.filter,))):
                _type(frame, argument, f"an argument of {call.function}", source, call.place)
        inputs, calls = beside(calls)
        made |= inputs
    # All at once: a key may take the name of a column that another key reads.
    return frame.withColumns(made), calls


def is_text(frame: DataFrame, time: str) -> bool:
    """Tell whether what is to be the time is text; what cannot be computed is refused later, with its place."""
    try:
        return isinstance(frame.select(F.expr(time).alias("c")).schema[0].dataType, T.StringType)
    except REFUSALS:
        return False


def _type(frame: DataFrame, text: str, what: str, source: Source, place: Place | None) -> T.DataType:
    try:
        return frame.select(F.expr(text).alias("c")).schema[0].dataType
    except REFUSALS as error:
        msg = f"{what}: {text} cannot be computed from the input: {reason(error)}"
        raise source.error(msg, place, SqlQueryError) from error
