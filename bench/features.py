"""Rolling features as several engines ask for them: three types of events over 1 h, 12 h and 24 h each minute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import muntin as mt
from bench.events import TYPES
from muntin import agg, hopping

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from pyspark.sql import DataFrame

    from muntin.query import Query

WINDOWS: Final = tuple(hopping(f"{hours}h", slide="1m") for hours in (1, 12, 24))
MINUTES: Final = {window.id: window.range // 60_000_000 for window in WINDOWS}
LONGEST: Final = max(MINUTES.values())


def features(events: DataFrame) -> Query:
    """Ask for the counts; the wide form has a row for each visitor and minute in which a window holds an event."""
    from pyspark.sql import functions as F

    counts = {kind: agg.count(filter=F.col("type") == kind) for kind in TYPES}
    return mt.windows(events, time="ts", keys="visitor").over(*WINDOWS).agg(**counts)


def over_events(table: str, second: str) -> str:
    """Write the query with a row for each event: how many there were in the hours up to it.

    `second` is how the engine writes the seconds of `ts`. The types stand in CASE, because Spark's segment tree does
    not take aggregates with FILTER.
    """
    counts = ", ".join(f"count({_case(kind)}) OVER {window} AS {kind}_{window}" for kind in TYPES for window in MINUTES)
    return f"SELECT visitor, ts, {counts} FROM {table} {_frames(second, 60)}"


def over_panes(table: str, minute: str) -> str:
    """Write the query with a row for each visitor and minute with an event; `minute` is the minute of `ts`."""
    return f"WITH {_panes(table, minute)} SELECT visitor, minute, {_sums()} FROM panes {_frames('minute', 1)}"


def over_minutes(table: str, minute: str, spread: str, at: str) -> str:
    """Write the query with a row for each visitor and minute in which a window holds an event: the wide form's rows.

    `spread` makes rows of the minutes from `low` to `high`, and `at` a timestamp of `minute`.
    """
    ends = f"min(minute) AS low, max(minute) + {LONGEST - 1} AS high"
    bounds = f"bounds AS (SELECT visitor, {ends} FROM panes GROUP BY visitor)"
    minutes = f"minutes AS (SELECT visitor, {spread} AS minute FROM bounds)"
    joined = "minutes LEFT JOIN panes USING (visitor, minute)"
    dense = f"SELECT visitor, {at} AS at, {_sums()} FROM {joined} {_frames('minute', 1)}"
    # Between two events more than a day apart there is nothing to tell.
    kept = f"{TYPES[0]}_{max(MINUTES, key=lambda window: MINUTES[window])} IS NOT NULL"
    return f"WITH {_panes(table, minute)}, {bounds}, {minutes} SELECT * FROM ({dense}) WHERE {kept}"


def native_seconds(few: str, events: str, told: Connection) -> None:
    """Time the plan written by hand in a process of its own, which can be stopped: over few events, then over all.

    Spark takes long to plan 1,440 copies of an event, and nothing interrupts that. The first run is not counted.
    """
    import time

    from bench.spark_session import Native, session

    with session() as spark:
        Native(features(spark.read.parquet(few)), wide=True)()
        for path in (few, events):
            run = Native(features(spark.read.parquet(path)), wide=True)
            start = time.perf_counter()
            run()
            told.send(time.perf_counter() - start)


def _case(kind: str) -> str:
    return f"CASE WHEN type = '{kind}' THEN 1 END"


def _panes(table: str, minute: str) -> str:
    counts = ", ".join(f"count({_case(kind)}) AS {kind}" for kind in TYPES)
    return f"panes AS (SELECT visitor, {minute} AS minute, {counts} FROM {table} GROUP BY 1, 2)"


def _sums() -> str:
    return ", ".join(
        f"CAST(sum({kind}) OVER {window} AS BIGINT) AS {kind}_{window}" for kind in TYPES for window in MINUTES
    )


def _frames(order: str, unit: int) -> str:
    frames = []
    for window, minutes in MINUTES.items():
        rows = f"RANGE BETWEEN {unit * minutes - 1} PRECEDING AND CURRENT ROW"
        frames.append(f"{window} AS (PARTITION BY visitor ORDER BY {order} {rows})")
    return f"WINDOW {', '.join(frames)}"
