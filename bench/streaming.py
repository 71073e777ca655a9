"""Windows over a stream: muntin against N native aggregates, in one query and in N queries, over the same batches."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.chart import Chart, Panel, Series
from bench.measure import machine
from bench.report import Report, Table, shown
from bench.spark_session import configured, fingerprint, session, settings
from bench.streaming_source import (
    MUNTIN,
    OVERLAP,
    SEPARATE,
    SHAPES,
    UNION,
    WATERMARK,
    WAYS,
    Case,
    Day,
    Patience,
    Ran,
    Reading,
    Stream,
    flat_out,
    frames,
    windows,
    write,
)
from muntin import hopping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from bench.measure import Track
    from bench.report import Cell
    from bench.streaming_source import State
    from muntin import Window

DAY: Final = (hopping("24h", slide="1m"),)
DAY_GOAL: Final = 100.0
_MB: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class DayScale:
    """The case of 24 h each minute: native gets 1/`part` of the events, and then hardly any."""

    events: int = 50_000
    batches: int = 30
    filled: int = 25
    part: int = 100
    few: int = 10
    keys: int = 1_000
    native: Patience = field(default_factory=lambda: Patience(warm=1, least=1, limit=60.0, end=180.0))


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure: which cases, how large a micro-batch is, and how long a run may take."""

    windows: tuple[int, ...] = (1, 5, 10, 20)
    keys: tuple[int, ...] = (1, 1_000, 100_000)
    shapes: tuple[str, ...] = SHAPES
    events: int = 50_000
    batches: int = 10
    stretch: float = 90.0
    rounds: int = 1
    patience: Patience = field(default_factory=lambda: Patience(2, 2, 8.0))
    # With so many keys a micro-batch of native aggregates may take half a minute: two have to be enough.
    many: tuple[int, Patience] = (100_000, Patience(1, 1, 8.0))
    day: DayScale | None = field(default_factory=DayScale)
    separated: int = 10
    """With so many windows a query for each is measured too."""

    def patience_for(self, keys: int) -> Patience:
        """Say how long a run over so many keys may take."""
        return self.many[1] if keys >= self.many[0] else self.patience


QUICK: Final = Scale((1, 10), (1_000,), batches=8, day=None)


def run(*, quick: bool, track: Track, events: int | None = None) -> Report:
    """Measure all cases, or ten windows over 1,000 keys; `events` are those of the stream in all."""
    scale = QUICK if quick else Scale()
    if events is not None:
        scale = replace(scale, events=max(1, events // scale.batches))
    return measure(scale, track)


def measure(scale: Scale, track: Track) -> Report:
    """Run every case every way, in turn."""
    from muntin.spark.streaming import PROVIDER, ROCKSDB

    cores = machine().cores
    options = {
        PROVIDER: ROCKSDB,
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
    }
    with (
        session() as spark,
        configured(spark, options),
        tempfile.TemporaryDirectory(prefix="muntin-bench-", ignore_cleanup_errors=True) as folder,
    ):
        bench = _Bench(spark, Path(folder), cores)
        agree(bench)
        ran: dict[Case, dict[str, list[Ran]]] = {}
        jobs: list[Callable[[], None]] = []
        for keys in scale.keys:
            stream = bench.stream(f"{keys}", scale.batches, scale.events, keys, scale.stretch)
            for shape in scale.shapes:
                turn = [
                    (Case(shape, keys, count), way)
                    for count in scale.windows
                    for way in (WAYS if count == scale.separated else (MUNTIN, UNION))
                ]
                for number in range(scale.rounds):
                    for case, way in turn[:: -1 if number % 2 else 1]:
                        several = ran.setdefault(case, {}).setdefault(way, [])
                        jobs.append(partial(_go, bench, stream, case, way, scale.patience_for(keys), several))
        day: list[Day] = []
        if scale.day is not None:
            jobs.append(partial(_day, bench, scale.day, day))
        for job in track(jobs, "streaming"):
            job()
        told = settings(spark)
    readings = [Reading(case, scale.events, scale.patience_for(case.keys).warm, ways) for case, ways in ran.items()]
    return _report(scale, readings, day[0] if day else None, told)


@dataclass(frozen=True, slots=True)
class _Bench:
    """Where to measure."""

    spark: SparkSession
    folder: Path
    cores: int

    def stream(self, name: str, batches: int, events: int, keys: int, stretch: float) -> Stream:
        place = self.folder / f"stream-{name}"
        return write(place, batches=batches, events=events, keys=keys, stretch=stretch, cores=self.cores)

    def run(self, stream: Stream, several: Sequence[Window], way: str, patience: Patience) -> Ran:
        return flat_out(frames(self.spark, stream, several, way), stream, self.folder / "checkpoint", patience)


def agree(bench: _Bench) -> None:
    """See that muntin gives the rows of native aggregates, over a small stream; that warms Spark up as well."""
    stream = bench.stream("small", 8, 2_000, 50, 60.0)
    several = [*windows("tumbling", 1), *windows("hopping", 5)[:3]]
    seen = {}
    for way in (MUNTIN, UNION):
        name = f"muntin_bench_{way}"
        for frame in frames(bench.spark, stream, several, way):
            writer = frame.writeStream.format("memory").queryName(name).trigger(availableNow=True)
            writer.option("checkpointLocation", str(bench.folder / name)).start().awaitTermination()
        seen[way] = fingerprint(bench.spark.table(name))
        bench.spark.catalog.dropTempView(name)
    if seen[MUNTIN] != seen[UNION] or not seen[MUNTIN][0]:
        msg = f"the rows of muntin and of native aggregates differ: (rows, hash) are {seen}"
        raise AssertionError(msg)


def _go(bench: _Bench, stream: Stream, case: Case, way: str, patience: Patience, several: list[Ran]) -> None:
    several.append(bench.run(stream, windows(case.shape, case.windows), way, patience))


def _day(bench: _Bench, scale: DayScale, found: list[Day]) -> None:
    part = max(scale.few + 1, scale.events // scale.part)
    ran: dict[tuple[str, int], tuple[int, Ran]] = {}
    whole = Patience(scale.filled, 1, math.inf, math.inf)
    for way, events, patience in (
        (MUNTIN, scale.events, whole),
        (UNION, scale.few, scale.native),
        (MUNTIN, part, scale.native),
        (UNION, part, scale.native),
    ):
        stream = bench.stream(f"day-{way}-{events}", scale.batches, events, scale.keys, 3600.0)
        ran[way, events] = (patience.warm, bench.run(stream, DAY, way, patience))
    found.append(Day(scale.events, scale.keys, ran))


def _report(scale: Scale, found: Sequence[Reading], day: Day | None, told: Mapping[str, Cell]) -> Report:
    goals, said = _goals(found)
    tables = (goals, _rates(found), _latency(found), _states(found), _bytes(found))
    title = "Windows over a stream"
    return Report(
        "streaming",
        title,
        {
            "events of a micro-batch": scale.events,
            "seconds of event time of a micro-batch": scale.stretch,
            "micro-batches at most": scale.batches,
            "not counted": f"the first {scale.patience.warm} micro-batches (from {scale.many[0]:,} keys on "
            f"{scale.many[1].warm}), and the last one, which has no events",
            "rounds": scale.rounds,
            "limit of what is counted of a run (s)": scale.patience.limit,
            "watermark": WATERMARK,
            "aggregates": "count, sum, max",
            "hopping windows slide by": f"1/{OVERLAP} of their range",
            "state": "RocksDB",
            "trigger": "availableNow",
            "sink": "noop",
            **told,
        },
        (*tables, *([_day_table(day)] if day else [])),
        _measured([*found, *(day.readings if day else ())]),
        Chart(title, "events a second", _panels(found), log=True),
        (
            *said,
            *([_day_said(day)] if day else []),
            "union: one query, the union of one native aggregate for each window. separate: a query for each window, "
            "started together; its events a second are those of a query while all run. All ways of a case are compared "
            "over the micro-batches that all of them ended: `batches`. An event counts once, also where it is read "
            "for each window. State is that after the last of these micro-batches: rows and files are RocksDB's, a "
            "row of muntin's state being a slice of a bucket of keys; `checkpoint` is what a micro-batch adds there.",
        ),
    )


def _growth(of: Mapping[int, Reading]) -> float | None:
    """Compare muntin's time for the most windows with that for one, over the micro-batches that both ended."""
    if 1 not in of or 20 not in of:
        return None
    last = min(of[count].ended(MUNTIN) for count in (1, 20))
    many, one = (sum(of[count].seconds(MUNTIN, last)) for count in (20, 1))
    return many / one if one else None


def _smaller(of: Mapping[int, Reading]) -> float | None:
    """Compare the bytes of muntin's state for ten windows with those of native's."""
    ours, theirs = (of[10].state(way) if 10 in of else None for way in (MUNTIN, UNION))
    return ours.files / theirs.files if ours and theirs and theirs.files else None


def _faster(count: int, of: Mapping[int, Reading]) -> float | None:
    return of[count].times(MUNTIN, UNION) if count in of else None


# What is compared, the goal, whether more is better, and how it is found for a shape and a number of keys.
GOALS: Final[tuple[tuple[str, float, bool, Callable[[Mapping[int, Reading]], float | None]], ...]] = (
    ("20 : 1 window", 1.5, False, _growth),
    ("10: faster", 5.0, True, partial(_faster, 10)),
    ("20: faster", 10.0, True, partial(_faster, 20)),
    ("10: state", 0.1, False, _smaller),
)


def _goals(found: Sequence[Reading]) -> tuple[Table, list[str]]:
    """Lay what was seen beside the goals, for each shape and number of keys."""
    rows: list[tuple[Cell, ...]] = [("goal", *(f"{'>=' if more else '<='} {goal:g}" for _, goal, more, _ in GOALS), "")]
    met: dict[str, list[bool]] = {name: [] for name, *_ in GOALS}
    for shape, keys in dict.fromkeys(r.case[:2] for r in found):
        of = {r.case.windows: r for r in found if r.case[:2] == (shape, keys)}
        seen = [figure(of) for *_, figure in GOALS]
        kept = {
            name: figure >= goal if more else figure <= goal
            for (name, goal, more, _), figure in zip(GOALS, seen, strict=True)
            if figure is not None
        }
        for name, well in kept.items():
            met[name].append(well)
        rows.append((f"{shape}, {keys:,} keys", *seen, f"{sum(kept.values())}/{len(kept)}"))
    said = ", ".join(f"{name} {sum(each)} of {len(each)}" for name, each in met.items() if each)
    table = Table("Goals", ("case", *(name for name, *_ in GOALS), "met"), tuple(rows))
    return table, [
        "Goals: the time for 20 windows over that for one; muntin's events a second over those of native aggregates "
        f"in one query; the bytes of RocksDB's files over native's. Met in: {said}."
    ]


def _named(r: Reading) -> tuple[Cell, Cell]:
    return f"{r.case.windows} {r.case.shape}", f"{r.case.keys:,}"


def _rates(found: Sequence[Reading]) -> Table:
    rows = [
        (
            *_named(r),
            max(0, r.last - r.first + 1),
            *(r.rate(way) for way in WAYS),
            *(r.times(MUNTIN, way) for way in (UNION, SEPARATE)),
        )
        for r in found
    ]
    columns = ("windows", "keys", "batches", *WAYS, "x union", "x separate")
    return Table("Events a second", columns, tuple(rows))


def _latency(found: Sequence[Reading]) -> Table:
    rows = [(*_named(r), *(_percentiles(r.seconds(way)) for way in WAYS)) for r in found]
    return Table("Seconds of a micro-batch: p50, p95, p99", ("windows", "keys", *WAYS), tuple(rows))


def _percentiles(taken: Sequence[float]) -> str | None:
    """Give percentiles by nearest rank, so that they are times that were seen.

    >>> _percentiles([0.4, 0.1, 0.2, 0.3])
    '0.200 0.400 0.400'
    """
    ordered = sorted(taken)
    return " ".join(shown(ordered[math.ceil(p * len(ordered)) - 1]) for p in (0.5, 0.95, 0.99)) if ordered else None


def _states(found: Sequence[Reading]) -> Table:
    rows = [(*_named(r), *_state(r, lambda s: s.rows), *_state(r, lambda s: s.files / _MB)) for r in found]
    columns = ("windows", "keys", "rows", *WAYS[1:], "MB", *WAYS[1:])
    return Table("State: rows and MB of files, muntin's and the others'", columns, tuple(rows))


def _bytes(found: Sequence[Reading]) -> Table:
    rows = [
        (*_named(r), *_state(r, lambda s: s.memory / _MB), *(b and b / _MB for b in map(r.written, WAYS)))
        for r in found
    ]
    columns = ("windows", "keys", "memory", *WAYS[1:], "checkpoint", *WAYS[1:])
    return Table("MB of memory for state, and MB that a micro-batch adds to the checkpoint", columns, tuple(rows))


def _state(r: Reading, figure: Callable[[State], float]) -> Iterator[float | None]:
    return (None if state is None else figure(state) for state in map(r.state, WAYS))


def _measured(found: Sequence[Reading]) -> Table:
    """List every micro-batch of every query, those that were not counted too."""
    rows = tuple(
        (*r.case, way, turn, query, b.number, r.events, b.seconds, b.state.rows, b.state.files, b.state.memory)
        for r in found
        for way, several in r.ran.items()
        for turn, ran in enumerate(several)
        for query, batches in enumerate(ran.queries)
        for b in batches
    )
    columns = ("shape", "keys", "windows", "way", "round", "query", "batch", "events", "seconds")
    return Table("measurements", (*columns, "state_rows", "state_file_bytes", "state_memory_bytes"), rows)


def _panels(found: Sequence[Reading]) -> tuple[Panel, ...]:
    panels = []
    for shape, keys in dict.fromkeys(r.case[:2] for r in found):
        some = [r for r in found if r.case[:2] == (shape, keys)]
        series = tuple(Series(way, tuple(r.rate(way) for r in some)) for way in WAYS)
        places = tuple(f"{r.case.windows} windows" for r in some)
        panels.append(Panel(f"{shape}, {keys:,} keys", places, series, lines=True))
    return tuple(panels)


def _day_table(day: Day) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for way, events in day.ran:
        taken = day.seconds(way, events)
        rows.append((f"{way if way == MUNTIN else 'native'}", events, taken, taken and taken / events * 1e6))
    rows.append(("native, extrapolated", day.events, day.by_hand, day.by_hand and day.by_hand / day.events * 1e6))
    return Table("24 h by 1 minute", ("way", "events of a batch", "s a batch", "us an event"), tuple(rows))


def _day_said(day: Day) -> str:
    if day.times is None:
        return "24 h by 1 minute: native did not end enough micro-batches to be compared."
    return (
        f"24 h by 1 minute: muntin is {day.times:,.0f} times as fast (goal {DAY_GOAL:.0f}, "
        f"{'met' if day.times >= DAY_GOAL else 'not met'}). Native's time for a whole micro-batch is extrapolated: "
        "what it takes for hardly any events once, and the rest for each event. Its state is that of the first hours, "
        "muntin's that of a whole day."
    )
