"""A stream to measure with: its events in files, the windows over it, queries run flat out, and what they took."""

from __future__ import annotations

import os
import shutil
import statistics
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import muntin as mt
from bench.events import BEGIN
from muntin import agg, hopping, tumbling
from muntin.stream_plan import StreamPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from muntin import Window
    from muntin.query import Query

MUNTIN, UNION, SEPARATE = WAYS = ("muntin", "union", "separate")
SHAPES: Final = ("tumbling", "hopping")
# Seconds: 20 s to 10 min, so that a run sees them all close.
RANGES: Final[Mapping[int, tuple[int, ...]]] = {
    1: (60,),
    5: (20, 60, 120, 300, 600),
    10: (20, 40, 60, 120, 180, 240, 300, 360, 480, 600),
    20: (20, 40, 60, 80, 100, 120, 160, 180, 200, 240, 280, 300, 320, 360, 400, 420, 480, 500, 540, 600),
}
# As the paper's sets have them: a range of two slides.
OVERLAP: Final = 2
SCHEMA: Final = "ts timestamp, device bigint, n bigint, v double"
# Nearly all events come within the watermark's 10 s; one in a thousand comes later than that, up to a minute.
WATERMARK: Final = "10 seconds"
_JITTER: Final = 5.0
_LATE: Final = (0.001, 60.0)
_MICROS: Final = 1_000_000
_POLL: Final = 0.2


@dataclass(frozen=True, slots=True)
class Stream:
    """Files of events: so many micro-batches of so many events, each a stretch of so many seconds of event time."""

    path: Path
    batches: int
    events: int
    keys: int
    stretch: float
    cores: int


def write(folder: Path, *, batches: int, events: int, keys: int, stretch: float, cores: int) -> Stream:
    """Write a stream, the same each time: keys at random, times in order but for a few seconds."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng([batches, events, keys])
    for number in range(batches):
        times = (number + np.sort(draw.random(events))) * stretch
        behind = np.where(draw.random(events) < _LATE[0], draw.random(events) * _LATE[1], draw.random(events) * _JITTER)
        micros = ((times - behind + BEGIN) * _MICROS).astype(np.int64)
        table = pa.table(
            {
                "ts": pa.array(micros, pa.timestamp("us", "UTC")),
                "device": draw.integers(0, keys, events),
                "n": draw.integers(0, 1_000, events),
                "v": draw.random(events) * 100,
            }
        )
        for core in range(cores):
            path = folder / f"{number:05}-{core}.parquet"
            # Each core reads from the whole stretch, as from the partitions of a topic.
            pq.write_table(table.take(pa.array(np.arange(core, events, cores))), path)
            # Spark takes files in order of their times.
            at = number * cores + core + 1
            os.utime(path, (at, at))
    return Stream(folder, batches, events, keys, stretch, cores)


def read(spark: SparkSession, stream: Stream) -> DataFrame:
    """Read a stream, a micro-batch at a time."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", stream.cores)
    return reader.parquet(str(stream.path))


def windows(shape: str, count: int) -> tuple[Window, ...]:
    """Give the windows of a case: ranges of 20 s to 10 min, those that hop by a part of their range.

    >>> [window.id for window in windows("hopping", 1)]
    ['hopping_1m_30s']
    """
    if shape == "tumbling":
        return tuple(tumbling(f"{length}s") for length in RANGES[count])
    return tuple(hopping(f"{length}s", slide=f"{length // OVERLAP}s") for length in RANGES[count])


def frames(spark: SparkSession, stream: Stream, several: Sequence[Window], way: str) -> list[DataFrame]:
    """Build the queries of a way: one, or one for each window."""
    if way == SEPARATE:
        return [_query(spark, stream, [window]).native() for window in several]
    query = _query(spark, stream, several)
    if way == UNION:
        return [query.native()]
    # Also for one window, which by itself would run natively: what is compared is the shared operator.
    plan = query.plan(strategy="arrow")
    assert isinstance(plan, StreamPlan)
    return [plan.stream()]


def _query(spark: SparkSession, stream: Stream, several: Sequence[Window]) -> Query:
    events = mt.windows(read(spark, stream), time="ts", keys="device", watermark=WATERMARK)
    return events.over(*several).agg(n=agg.count(), total=agg.sum("n"), high=agg.max("v"))


@dataclass(frozen=True, slots=True)
class State:
    """What is kept between micro-batches: rows of RocksDB, the bytes of its files, and its memory."""

    rows: int = 0
    files: int = 0
    memory: int = 0

    @classmethod
    def of(cls, progress: Any) -> State:
        """Add up the stateful operators of a query, as its progress tells them."""
        operators = progress["stateOperators"]
        return cls(
            sum(each["numRowsTotal"] for each in operators),
            sum(each["customMetrics"].get("rocksdbSstFileSize", 0) for each in operators),
            sum(each["memoryUsedBytes"] for each in operators),
        )

    @classmethod
    def total(cls, states: Iterable[State]) -> State:
        """Add up the states of several queries.

        >>> State.total([State(1, 20, 300), State(4, 50, 600)])
        State(rows=5, files=70, memory=900)
        """
        found = list(states)
        return cls(sum(s.rows for s in found), sum(s.files for s in found), sum(s.memory for s in found))


@dataclass(frozen=True, slots=True)
class Batch:
    """A micro-batch: its number, the seconds of its trigger, and the state after it."""

    number: int
    seconds: float
    state: State


@dataclass(frozen=True)
class Ran:
    """Queries that ran side by side: the micro-batches with events of each, in order, and what a checkpoint took."""

    queries: tuple[tuple[Batch, ...], ...]
    written: float
    """Bytes that the checkpoints hold for state, over the micro-batches."""

    @cached_property
    def last(self) -> int:
        """The last micro-batch that every query ended, -1 where one ended none."""
        return min((batches[-1].number if batches else -1 for batches in self.queries), default=-1)

    def seconds(self, first: int, last: int) -> list[float]:
        """List what each query took for each of some micro-batches."""
        return [b.seconds for batches in self.queries for b in batches if first <= b.number <= last]

    def state(self, number: int) -> State:
        """Add up the state after a micro-batch."""
        return State.total(b.state for batches in self.queries for b in batches if b.number == number)


class Case(NamedTuple):
    """So many windows of a shape over events of so many keys."""

    shape: str
    keys: int
    windows: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What several ways took over the same micro-batches: from `first` on, of `events` events each."""

    case: Case
    events: int
    first: int
    ran: Mapping[str, Sequence[Ran]]

    @property
    def last(self) -> int:
        """The last micro-batch that all of them ended."""
        return min(each.last for several in self.ran.values() for each in several)

    def seconds(self, way: str, last: int | None = None) -> list[float]:
        """List what micro-batches took, those of all queries where a way has several; nothing for a way not gone."""
        until = self.last if last is None else last
        return [taken for ran in self.ran.get(way, ()) for taken in ran.seconds(self.first, until)]

    def rate(self, way: str) -> float | None:
        """Count the events of a second: queries side by side read the same events, each at its share of the machine."""
        taken = self.seconds(way)
        return self.events * len(taken) / sum(taken) if taken else None

    def times(self, one: str, other: str) -> float | None:
        """Say how many times the events a second of another way one has."""
        x, y = self.rate(one), self.rate(other)
        return None if x is None or y is None else x / y

    def ended(self, way: str) -> int:
        """Find the last micro-batch that a way ended, also where another was cut short."""
        return min((ran.last for ran in self.ran.get(way, ())), default=-1)

    def state(self, way: str) -> State | None:
        """Give the state after the last micro-batch that all ended."""
        return self.ran[way][-1].state(self.last) if self.seconds(way) else None

    def written(self, way: str) -> float | None:
        """Give the bytes that a micro-batch adds to the checkpoint's state."""
        return self.ran[way][-1].written if self.seconds(way) else None


@dataclass(frozen=True, slots=True)
class Day:
    """24 h each minute: what ran, by (way, events of a micro-batch), and from which micro-batch on it counts."""

    events: int
    keys: int
    ran: Mapping[tuple[str, int], tuple[int, Ran]]

    @property
    def readings(self) -> list[Reading]:
        """Every run by itself."""
        case = Case("24 h by 1 minute", self.keys, 1)
        return [Reading(case, events, first, {way: [ran]}) for (way, events), (first, ran) in self.ran.items()]

    def seconds(self, way: str, events: int) -> float | None:
        """Give the median of a micro-batch, over those that each way ended that had so many events."""
        first, ran = self.ran[way, events]
        taken = ran.seconds(first, min(each.last for (_, n), (_, each) in self.ran.items() if n == events))
        return statistics.median(taken) if taken else None

    @property
    def by_hand(self) -> float | None:
        """What native would take for a whole micro-batch: its fixed part once, and the rest for every event."""
        (few, less), (part, more) = sorted((n, self.seconds(way, n)) for way, n in self.ran if way == UNION)
        if less is None or more is None:
            return None
        return less + max(more - less, 0.0) / (part - few) * (self.events - few)

    @property
    def times(self) -> float | None:
        """How many times muntin's time that is."""
        ours = self.seconds(MUNTIN, self.events)
        return None if ours is None or self.by_hand is None else self.by_hand / ours


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a run may take: it ends when `limit` seconds are over after `warm` micro-batches and `least` more.

    `end` is when it ends in any case, in seconds from its start.
    """

    warm: int = 2
    least: int = 3
    limit: float = 20.0
    end: float = 300.0


def flat_out(frames: Sequence[DataFrame], stream: Stream, checkpoint: Path, patience: Patience) -> Ran:
    """Run queries side by side over a stream, as fast as they go, and keep no rows."""
    places = [checkpoint / str(number) for number in range(len(frames))]
    began = time.monotonic()
    queries: list[Any] = []
    try:
        for frame, place in zip(frames, places, strict=True):
            writer = frame.writeStream.format("noop").outputMode("append").trigger(availableNow=True)
            queries.append(writer.option("checkpointLocation", str(place)).start())
        _wait(queries, places, patience, began)
    finally:
        for query in queries:
            query.stop()
    told = tuple(_batches(query.recentProgress, stream.batches) for query in queries)
    ended = sum(len(batches) for batches in told)
    written = sum(_size(place / "state") for place in places)
    # Spark may still be tidying up there.
    shutil.rmtree(checkpoint, ignore_errors=True)
    return Ran(told, written * len(queries) / max(ended, 1))


def _wait(queries: Sequence[Any], places: Sequence[Path], patience: Patience, began: float) -> None:
    """Wait until all queries ended or time is up; to look at files costs the queries nothing, to ask Spark does."""
    warmed: float | None = None
    while any([_active(query) for query in queries]):
        time.sleep(_POLL)
        now, done = time.monotonic(), min(map(_committed, places))
        if warmed is None and done >= patience.warm:
            warmed = now
        enough = warmed is not None and done >= patience.warm + patience.least and now - warmed >= patience.limit
        if enough or now - began >= patience.end:
            return


def _active(query: Any) -> bool:
    """Tell whether a query still runs; what it failed with is raised."""
    if not query.isActive:
        query.awaitTermination()
        return False
    return True


def _committed(checkpoint: Path) -> int:
    """Count the micro-batches that a checkpoint has as ended."""
    commits = checkpoint / "commits"
    return sum(name.isdigit() for name in os.listdir(commits)) if commits.is_dir() else 0


def _batches(progress: Iterable[Any], batches: int) -> tuple[Batch, ...]:
    """Read micro-batches with events; after them comes one without, which ends what is still open."""
    return tuple(
        Batch(each["batchId"], each["durationMs"]["triggerExecution"] / 1000, State.of(each))
        for each in progress
        if each["batchId"] < batches and "triggerExecution" in each["durationMs"]
    )


def _size(folder: Path) -> int:
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)
