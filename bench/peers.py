"""Spark, DuckDB and Polars on the same files: ten tumbling windows, and rolling counts each minute."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import muntin as mt
from bench import events
from bench.chart import Chart, Panel, Series
from bench.features import MINUTES, features, over_events, over_minutes
from bench.forum import OVER, SAME, run_over
from bench.measure import interleave, spread
from bench.report import Report, Table
from bench.spark_session import Native, Planned, session, settings
from muntin import agg, tumbling

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bench.measure import Track
    from bench.report import Cell
    from muntin.query import Query

WINDOWS: Final = {10 * i: tumbling(f"{10 * i}s") for i in range(2, 12)}
DASHBOARD: Final = "ten tumbling windows"
ROLLING: Final = "rolling counts"


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure: events of each case, and runs."""

    events: int = 10_000_000
    rolling: int = 200_000
    repeats: int = 3


@dataclass(frozen=True, slots=True)
class Reading:
    """What an engine took for a case: the seconds of each run, and how many rows came out."""

    case: str
    engine: str
    seconds: tuple[float, ...]
    rows: int | None


def run(*, quick: bool, track: Track, events: int | None = None) -> Report:
    """Measure 10 million events and 200,000 for the rolling counts, or a tenth; `events` scales both."""
    count = events or (1_000_000 if quick else Scale().events)
    rolling = max(1_000, count // 50)
    return measure(Scale(count, rolling, 1 if quick else 3), track)


def measure(scale: Scale, track: Track) -> Report:
    """Run both cases with every engine in turn."""
    with session() as spark, tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
        jobs = [partial(_dashboard, spark, Path(folder), scale), partial(_rolling, spark, Path(folder), scale)]
        found = [reading for job in track(jobs, "peers") for reading in job()]
        told = settings(spark)
    return _report(scale, found, told)


def dashboard(frame: DataFrame) -> Query:
    """Ask for the minimum over ten tumbling windows."""
    return mt.windows(frame, time="ts", keys="device").over(*WINDOWS.values()).agg(low=agg.min("v"))


def _dashboard(spark: SparkSession, folder: Path, scale: Scale) -> list[Reading]:
    path = events.constant_pace(spark, folder, scale.events).path
    query = dashboard(spark.read.parquet(path))
    ours = Planned(query)
    tasks: dict[str, Callable[[], int | None]] = {
        "Spark, by hand": lambda: Native(query)(),
        "muntin on Spark": lambda: ours(),
        "DuckDB": lambda: duckdb_table(duckdb_windows(path)).num_rows,
        "Polars": lambda: polars_windows(path).height,
    }
    return _timed(DASHBOARD, tasks, scale, {"Spark, by hand", "muntin on Spark"}, lambda: query.plan().run().count())


def _rolling(spark: SparkSession, folder: Path, scale: Scale) -> list[Reading]:
    path = events.shop(spark, folder, "shop", scale.rolling, max(1, scale.rolling // 1_000), days=2)
    frame = spark.read.parquet(path)
    query = features(frame)
    ours = Planned(query, wide=True)
    per_event = over_events(_files(path), "epoch_us(ts) // 1000000")
    tasks: dict[str, Callable[[], int | None]] = {
        "Spark, OVER minutes": lambda: run_over(spark, OVER[SAME][0], frame, tree=True),
        "muntin on Spark": lambda: ours(),
        "DuckDB, OVER minutes": lambda: duckdb_table(duckdb_minutes(path)).num_rows,
        "DuckDB, OVER events": lambda: duckdb_table(per_event).num_rows,
        "Polars": lambda: polars_rolling(path).height,
    }
    same = {"Spark, OVER minutes", "muntin on Spark"}
    return _timed(ROLLING, tasks, scale, same, lambda: query.plan().run(wide=True).count())


def _timed(
    case: str, tasks: dict[str, Callable[[], int | None]], scale: Scale, same: set[str], count: Callable[[], int]
) -> list[Reading]:
    timed = interleave(tasks, repeats=scale.repeats)
    rows = count()
    return [
        Reading(case, engine, each.seconds, rows if engine in same else each.result) for engine, each in timed.items()
    ]


def duckdb_windows(path: str) -> str:
    """Write the union of a GROUP BY for each window; the origin is Spark's, as DuckDB's own is the year 2000."""
    return " UNION ALL ".join(
        f"SELECT '{window.id}' AS window_id, time_bucket(INTERVAL {seconds} SECONDS, ts::TIMESTAMP, "
        f"TIMESTAMP '1970-01-01') AS start, device, min(v) AS low FROM {_files(path)} GROUP BY ALL"
        for seconds, window in WINDOWS.items()
    )


def duckdb_minutes(path: str) -> str:
    """Write the rolling counts with a row for each minute in which a window holds an event."""
    return over_minutes(
        _files(path), "epoch_us(ts) // 60000000", "unnest(range(low, high + 1))", "to_timestamp((minute + 1) * 60)"
    )


def polars_windows(path: str) -> Any:
    """Compute a group_by_dynamic for each window, all in one query."""
    import polars as pl

    frame = pl.scan_parquet(f"{path}/*.parquet").sort("ts")
    windows = [
        frame.group_by_dynamic("ts", every=f"{seconds}s", group_by="device")
        .agg(low=pl.col("v").min())
        .with_columns(window_id=pl.lit(window.id))
        for seconds, window in WINDOWS.items()
    ]
    return pl.concat(windows).collect()


def polars_rolling(path: str) -> Any:
    """Compute a group_by_dynamic for each window and put them side by side, by visitor and end."""
    import polars as pl

    frame = pl.scan_parquet(f"{path}/*.parquet").sort("ts")
    found: pl.LazyFrame | None = None
    for window, minutes in MINUTES.items():
        counts = {f"{kind}_{window}": (pl.col("type") == kind).sum() for kind in events.TYPES}
        # The first window is the one that ends a minute after the first event begins to count.
        each = frame.group_by_dynamic(
            "ts", every="1m", period=f"{minutes}m", offset=f"-{minutes - 1}m", label="left", group_by="visitor"
        ).agg(**counts)
        each = each.with_columns(at=pl.col("ts").dt.offset_by(f"{minutes}m")).drop("ts")
        found = each if found is None else found.join(each, on=["visitor", "at"], how="full", coalesce=True)
    assert found is not None
    return found.collect()


def _files(path: str) -> str:
    return f"read_parquet('{path}/*.parquet')"


def duckdb_table(text: str) -> Any:
    """Run a query in a database of its own, and give its rows as an Arrow table."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {os.cpu_count() or 1}")
        connection.execute("SET TimeZone = 'UTC'")
        return connection.sql(text).to_arrow_table()


def _report(scale: Scale, found: Sequence[Reading], told: Mapping[str, Cell]) -> Report:
    title = "Peers on the same machine and files"
    return Report(
        "peers",
        title,
        {
            "events": scale.events,
            "events, rolling": scale.rolling,
            "runs": scale.repeats,
            "DuckDB": version("duckdb"),
            "Polars": version("polars"),
            "result": "Spark: noop sink; DuckDB and Polars: in memory",
            **told,
        },
        tuple(_table(case, found) for case in (DASHBOARD, ROLLING)),
        Table(
            "measurements",
            ("case", "engine", "run", "seconds", "rows"),
            tuple((r.case, r.engine, i, taken, r.rows) for r in found for i, taken in enumerate(r.seconds)),
        ),
        Chart(title, "seconds, median", tuple(_panel(case, found) for case in (DASHBOARD, ROLLING)), log=True),
        (
            "Each engine got the query that one would write first, all cores, and the same parquet files; muntin's "
            "planning is counted. DuckDB and Polars run in one process, on vectors, without tasks to schedule, rows to "
            "serialise or a shuffle through files: on one machine and data that fits it they are the ones to beat. "
            "Spark pays for what lets it go on where one machine ends, and muntin saves work within Spark.",
            "`OVER events` gives a row for each event and so fewer rows; all others of a case ask for the rows that "
            "muntin gives. The numbers of rows are as counted in these runs, that of Spark's own plan taken from "
            "muntin's; the rows themselves are compared in the tests, over fewer events.",
        ),
    )


def _table(case: str, found: Sequence[Reading]) -> Table:
    chosen = {r.engine: r for r in found if r.case == case}
    ours = spread(chosen["muntin on Spark"].seconds).median
    rows = tuple(
        (engine, r.rows, spread(r.seconds).median, spread(r.seconds).median / ours) for engine, r in chosen.items()
    )
    return Table(case, ("engine", "rows", "seconds", "x of muntin's time"), rows)


def _panel(case: str, found: Sequence[Reading]) -> Panel:
    chosen = [r for r in found if r.case == case]
    places = tuple(r.engine.replace(", ", "\n") for r in chosen)
    return Panel(case, places, (Series("time", tuple(spread(r.seconds).median for r in chosen)),))
