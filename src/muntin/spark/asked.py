"""A parsed SQL query over a DataFrame: its texts as columns, checked before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.declare.query import RESERVED
from muntin.errors import SqlError
from muntin.spark.reason import reason

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from muntin.declare.sql import SelectQuery


def prepared(
    frame: DataFrame, query: SelectQuery, time: str
) -> tuple[DataFrame, list[tuple[list[Column], Column | None]]]:
    """Give the events their time and key columns, and each aggregate its arguments and filter."""
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
        kind = _type(frame, query.where, "WHERE")
        if not isinstance(kind, T.BooleanType):
            msg = f"WHERE {query.where} is of type {kind.simpleString()}, not a condition"
            raise SqlError(msg)
        frame = frame.where(query.where)
    kind = _type(frame, time, "TIMESTAMP BY")
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
        raise SqlError(msg)
    if query.closed == "right":
        # (start, end] is [start, end) of times a microsecond earlier: a boundary event lands where Azure puts it.
        when = when - F.expr("INTERVAL '0.000001' SECOND")
    keys = {}
    for key in query.keys:
        _type(frame, key.text, f"the key {key.name}")
        keys[key.name] = F.expr(key.text)
    made = {**keys, f"{RESERVED}time": when}
    taken = {name.lower() for name in frame.columns}
    if any(key.name.lower() in taken and key.text != key.name for key in query.keys):
        # UPPER(k) AS k: aggregates read the input's k, so what they read is kept beside the key.
        for place, (arguments, kept) in enumerate(calls):
            made |= {f"{RESERVED}a{place}_{i}": argument for i, argument in enumerate(arguments)}
            made |= {} if kept is None else {f"{RESERVED}f{place}": kept}
        calls = [
            (
                [F.col(f"{RESERVED}a{place}_{i}") for i in range(len(arguments))],
                None if kept is None else F.col(f"{RESERVED}f{place}"),
            )
            for place, (arguments, kept) in enumerate(calls)
        ]
    # All at once: a key may take the name of a column that another key reads.
    return frame.withColumns(made), calls


def _type(frame: DataFrame, text: str, what: str) -> T.DataType:
    try:
        return frame.select(F.expr(text).alias("c")).schema[0].dataType
    except (AnalysisException, ParseException) as error:
        msg = f"{what}: {text} cannot be computed from the input: {reason(error)}"
        raise SqlError(msg) from error
