"""A soak: windows over a steady stream for half an hour, and whether memory and state stay what they are."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from dataclasses import astuple, dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import muntin as mt
from bench.chart import Chart, Panel, Series
from bench.measure import machine
from bench.processes import resident
from bench.report import Report, Table
from bench.spark_session import configured, session, settings
from bench.streaming_source import WATERMARK, State
from muntin import agg, hopping, tumbling
from muntin.stream_plan import StreamPlan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bench.measure import Track
    from bench.report import Cell
    from muntin import Window

# Over the second half of the run nothing may grow by more than this part of its mean.
FLAT: Final = 0.05
# The ranges of the ten windows, in units.
TUMBLING: Final = (1, 3, 6, 15, 30)
HOPPING: Final = (2, 4, 8, 16, 24)
BLOCKS: Final = "spark.sql.streaming.stateStore.rocksdb.blockCacheSizeMB"
_POINTS: Final = 30
# At every so many looks the JVM is asked what is alive in its heap.
_HEAP: Final = 12
_MB: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Scale:
    """How long, how often to look, how many events a second of how many keys, and the unit of the windows in ms."""

    seconds: float = 1_800.0
    every: float = 5.0
    rate: int = 10_000
    keys: int = 1_000
    unit: int = 20_000
    trigger: str = "2 seconds"
    memory: str = "1g"


QUICK: Final = Scale(60.0, 1.0, 5_000, unit=500, trigger="1 second")


@dataclass(frozen=True, slots=True)
class Sample:
    """What there was after some seconds: memory of the processes, state, and the last micro-batch."""

    second: float
    jvm: int
    heap: int
    """What is alive in the JVM's heap, looked at now and then."""
    python: int
    state_rows: int
    state_files: int
    state_memory: int
    batch: int
    batch_seconds: float
    events: int


@dataclass(frozen=True, slots=True)
class Trend:
    """How a figure went over the second half: its mean, the slope of a straight line, and by what part it grew."""

    mean: float
    slope: float
    growth: float

    @property
    def flat(self) -> bool:
        """Whether it did not grow."""
        return self.growth <= FLAT


# Slices come and go with the windows, up and down over minutes: of these the largest of each half are compared.
PEAKS: Final = frozenset({"state_rows", "state_files"})
# What is followed: the name, the unit, what it is divided by, and the sample's field.
FOLLOWED: Final = (
    ("memory of the JVM", "MB", _MB, "jvm"),
    ("heap in use", "MB", _MB, "heap"),
    ("memory of Python", "MB", _MB, "python"),
    ("state rows", "rows", 1, "state_rows"),
    ("state files", "MB", _MB, "state_files"),
    ("state memory", "MB", _MB, "state_memory"),
)


def run(*, quick: bool, track: Track, events: int | None = None) -> Report:
    """Run for 30 minutes, or for one; `events` are those of the whole run."""
    scale = QUICK if quick else Scale()
    if events is not None:
        scale = replace(scale, rate=max(1, round(events / scale.seconds)))
    return measure(scale, track)


def windows(unit: int) -> tuple[Window, ...]:
    """Give the ten windows.

    >>> [window.id for window in windows(20_000)][:6]
    ['tumbling_20s', 'tumbling_1m', 'tumbling_2m', 'tumbling_5m', 'tumbling_10m', 'hopping_40s_20s']
    """
    return (
        *(tumbling(f"{unit * length}ms") for length in TUMBLING),
        *(hopping(f"{unit * length}ms", slide=f"{unit * length // 2}ms") for length in HOPPING),
    )


def measure(scale: Scale, track: Track) -> Report:
    """Start the query, look at it now and then, and stop it."""
    # With a heap of its largest size from the start, what the JVM takes later is not the heap's own growth.
    heap = f"-Xms{scale.memory} -XX:+AlwaysPreTouch"
    with (
        session(conf={"spark.driver.memory": scale.memory, "spark.driver.extraJavaOptions": heap}) as spark,
        # RocksDB's cache of blocks, too, is to be full soon: by itself it takes an hour to reach its 8 MB a task.
        configured(spark, {"spark.sql.shuffle.partitions": str(machine().cores), BLOCKS: "1"}),
        tempfile.TemporaryDirectory(prefix="muntin-bench-", ignore_cleanup_errors=True) as folder,
    ):
        writer = _frame(spark, scale).writeStream.format("noop").outputMode("append")
        query = writer.trigger(processingTime=scale.trigger).option("checkpointLocation", folder).start()
        try:
            found = list(_samples(spark, query, scale, track))
        finally:
            query.stop()
        told = settings(spark)
    return report(scale, found, told)


def _frame(spark: SparkSession, scale: Scale) -> DataFrame:
    from pyspark.sql import functions as F

    source = spark.readStream.format("rate").option("rowsPerSecond", scale.rate).load()
    events = source.select(
        F.col("timestamp").alias("ts"),
        # A number that has no divisor in common with the keys, so that they come in another order than events.
        F.pmod(F.col("value") * 7_919, F.lit(scale.keys)).alias("device"),
        F.pmod("value", F.lit(1_000)).alias("n"),
        (F.pmod(F.col("value") * 104_729, F.lit(1_000)) / 10).alias("v"),
    )
    query = mt.windows(events, time="ts", keys="device", watermark=WATERMARK).over(*windows(scale.unit))
    plan = query.agg(n=agg.count(), total=agg.sum("n"), high=agg.max("v")).plan()
    assert isinstance(plan, StreamPlan)
    return plan.stream()


def _samples(spark: Any, query: Any, scale: Scale, track: Track) -> Iterator[Sample]:
    while query.lastProgress is None:
        # The first micro-batch starts Python's workers, which is no part of a steady run.
        _check(query)
        time.sleep(0.1)
    began, alive = time.monotonic(), 0
    for number in track(range(1, round(scale.seconds / scale.every) + 1), "soak"):
        time.sleep(max(0.0, began + number * scale.every - time.monotonic()))
        _check(query)
        if number % _HEAP == 1:
            alive = _alive(spark)
        yield _sample(query.lastProgress, alive, time.monotonic() - began)


def _check(query: Any) -> None:
    if not query.isActive:
        query.awaitTermination()
        msg = "the query ended before its time"
        raise AssertionError(msg)


def _alive(spark: Any) -> int:
    """Let the JVM tidy up, and say what is left."""
    runtime = spark._jvm.java.lang.Runtime.getRuntime()
    runtime.gc()
    return int(runtime.totalMemory() - runtime.freeMemory())


def _sample(progress: Any, heap: int, second: float) -> Sample:
    state, memory = State.of(progress), resident(os.getpid())
    return Sample(
        second,
        memory.get("java", 0),
        heap,
        sum(size for name, size in memory.items() if name != "java"),
        state.rows,
        state.files,
        state.memory,
        progress["batchId"],
        progress["durationMs"].get("triggerExecution", 0) / 1000,
        progress["numInputRows"],
    )


def trend(found: Sequence[Sample], name: str) -> Trend:
    """Lay a straight line through a figure over the second half; the slope is for a minute.

    The slope is the median of those between any two samples (Theil and Sen): a process that was just being forked when
    one sample was taken moves nothing.

    >>> rising = [Sample(60.0 * i, 100 + i, 0, 0, 0, 0, 0, 0, 0.0, 0) for i in range(5)]
    >>> trend(rising, "jvm")
    Trend(mean=103.0, slope=1.0, growth=0.0194...)
    """
    half = [each for each in found if each.second >= found[-1].second / 2]
    values = [getattr(each, name) for each in half]
    mean = statistics.fmean(values)
    minutes = [each.second / 60 for each in half]
    pairs = combinations(zip(minutes, values, strict=True), 2)
    slope = statistics.median((w - v) / (n - m) for (m, v), (n, w) in pairs) if len(half) > 1 else 0.0
    if name in PEAKS:
        before = max((getattr(each, name) for each in found if each.second < half[0].second), default=0)
        return Trend(mean, slope, max(values) / before - 1 if before else 0.0)
    return Trend(mean, slope, slope * (minutes[-1] - minutes[0]) / mean if mean else 0.0)


def report(scale: Scale, found: Sequence[Sample], told: Mapping[str, Cell]) -> Report:
    """Say what was seen."""
    trends = {name: trend(found, field) for name, _, _, field in FOLLOWED}
    rows: list[tuple[Cell, ...]] = []
    for name, unit, size, field in FOLLOWED:
        each = trends[name]
        most = max(getattr(sample, field) for sample in found)
        figures = (each.mean / size, most / size, each.slope / size, f"{each.growth:+.1%}")
        rows.append((f"{name} ({unit})", *figures, "yes" if each.flat else "no"))
    rising = [name for name, each in trends.items() if not each.flat]
    said = f"Not flat: {', '.join(rising)}." if rising else "All are flat."
    title = f"{len(windows(scale.unit))} windows over a steady stream, {scale.seconds / 60:g} minutes"
    return Report(
        "soak",
        title,
        {
            "events a second": scale.rate,
            "keys": scale.keys,
            "windows": " ".join(window.id for window in windows(scale.unit)),
            "watermark": WATERMARK,
            "trigger": scale.trigger,
            "seconds between looks": scale.every,
            "source": "rate",
            "sink": "noop",
            **told,
        },
        (
            Table(
                "The second half of the run",
                ("figure", "mean", "largest of all", "slope per minute", "growth", "flat"),
                tuple(rows),
            ),
            _batches(scale, found),
        ),
        Table("measurements", Sample.__match_args__, tuple(astuple(sample) for sample in found)),
        Chart(title, "percent of the mean of the second half, by minute", _panels(found, trends)),
        (
            f"{said} A figure is flat where a straight line through the second half rises by at most {FLAT:.0%} of "
            "the mean; rows and files of state, which go up and down with the windows, where the largest of the second "
            f"half is at most {FLAT:.0%} above that of the first. Memory is the resident set: of the JVM, and of this "
            "process and Python's workers together. The JVM's heap has its largest size from the start; what is in use "
            "of it is looked at after it was tidied up.",
        ),
    )


def _batches(scale: Scale, found: Sequence[Sample]) -> Table:
    """See that the query kept up: no micro-batch takes longer than its trigger, and none grows."""
    rows: list[tuple[Cell, ...]] = []
    half = found[-1].second / 2
    for name, part in (
        ("first half", [s for s in found if s.second < half]),
        ("second half", [s for s in found if s.second >= half]),
    ):
        # A micro-batch may have been looked at twice.
        batches = {s.batch: s for s in part}.values()
        seconds = sorted(s.batch_seconds for s in batches)
        if seconds:
            events = statistics.fmean(s.events for s in batches)
            rows.append((name, len(seconds), events, statistics.median(seconds), seconds[-1]))
    columns = ("part", "micro-batches seen", "mean events", "median s", "longest s")
    return Table(f"Micro-batches, one each {scale.trigger} where the query keeps up", columns, tuple(rows))


def _panels(found: Sequence[Sample], trends: Mapping[str, Trend]) -> tuple[Panel, ...]:
    """Draw memory and state, with the samples of a stretch of time as one point."""
    size = -(-len(found) // _POINTS)
    parts = [found[start : start + size] for start in range(0, len(found), size)]
    places = tuple(f"{part[-1].second / 60:.3g}" for part in parts)
    panels = []
    for title, start in (("Memory", "memory"), ("State", "state")):
        series = [
            Series(
                name,
                tuple(100 * statistics.fmean(getattr(s, field) for s in part) / trends[name].mean for part in parts),
            )
            for name, _, _, field in FOLLOWED
            if name.startswith(start) and trends[name].mean
        ]
        panels.append(Panel(title, places, tuple(series), lines=True))
    return tuple(panels)
