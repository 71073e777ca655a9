"""Queries written in SQL, over DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin.aggregate.names import resolve
from muntin.declare.query import RESERVED
from muntin.declare.sql import parse_sql
from muntin.duration import parse_duration
from muntin.errors import SqlError
from muntin.query import Query

if TYPE_CHECKING:
    from datetime import timedelta

    from pyspark.sql import DataFrame


def sql(text: str, *, time: str | None = None, watermark: str | timedelta | None = None, **inputs: DataFrame) -> Query:
    """Read a query in the Azure Stream Analytics dialect or Spark SQL, over DataFrames given by name.

    `time` names the events' time column where the query has no TIMESTAMP BY. Windows are `(start, end]` in Azure's
    dialect and `[start, end)` in Spark's, as in each of them.
    """
    parsed = parse_sql(text)
    named = {name.lower(): frame for name, frame in inputs.items()}
    if parsed.source.lower() not in named:
        given = ", ".join(inputs) if inputs else "none"
        msg = f"the query reads {parsed.source!r}, and the inputs given are: {given}. Pass {parsed.source}=df"
        raise SqlError(msg)
    when = parsed.time or time
    if when is None:
        msg = "the query does not say which column is the time: add TIMESTAMP BY column, or pass time='column'"
        raise SqlError(msg)
    frame = named[parsed.source.lower()]
    from muntin.spark.asked import prepared

    source, aggregates = prepared(frame, parsed, when)
    return Query(
        source=source,
        time=f"{RESERVED}time",
        keys=tuple(key.name for key in parsed.keys),
        windows=parsed.windows,
        aggregates=tuple(
            (call.name, resolve(call.function)(*columns, filter=kept, **dict(call.params)))
            for call, (columns, kept) in zip(parsed.aggregates, aggregates, strict=True)
        ),
        watermark=None if watermark is None else parse_duration(watermark),
        having=parsed.having,
        outputs=tuple((output.name, output.text) for output in parsed.outputs),
    )
