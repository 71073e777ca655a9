"""Never slower than the plan written by hand: random workloads, small and large, where sharing helps and where not."""

from __future__ import annotations

import math
import random
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import muntin as mt
from bench import events
from bench.chart import Chart, Panel, Series
from bench.measure import interleave, spread
from bench.report import Report, Table
from bench.spark_session import Native, Planned, session, settings
from muntin import Window, agg, hopping, tumbling

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from bench.measure import Track
    from bench.report import Cell
    from muntin.aggregate.algebra import Aggregate

GOAL: Final = 1.10
WORST: Final = 10
PRIMES: Final = (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
KINDS: Final = (
    "one window",
    "two windows",
    "few events",
    "no sharing",
    "many keys",
    "one key",
    "hopping",
    "aggregates",
)
# Strings and decimals have no exact form in NumPy: with them all stays in the JVM.
AGGREGATES: Final[Mapping[str, Callable[[], Aggregate]]] = {
    "low": lambda: agg.min("v"),
    "high": lambda: agg.max("v"),
    "total": lambda: agg.sum("n"),
    "mean": lambda: agg.avg("v"),
    "count": lambda: agg.count(),
    "spread": lambda: agg.stddev("v"),
    "first_name": lambda: agg.min("s"),
    "amount": lambda: agg.sum("d"),
}


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure: workloads of each kind, the most events, and runs within so many seconds of each plan."""

    each: int = 5
    most: int = 3_000_000
    repeats: int = 31
    seconds: float = 8.0


@dataclass(frozen=True, slots=True)
class Workload:
    """Events of some keys over some seconds, the windows and the aggregates over them."""

    kind: str
    seed: int
    events: int
    keys: int
    span: float
    windows: tuple[Window, ...]
    aggregates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a workload took: medians, by hand, by hand once more, by auto with its planning and without."""

    workload: Workload
    runs: int
    native: float
    again: float
    auto: float
    executing: float
    ways: str

    @property
    def ratio(self) -> float:
        """How many times native's time auto takes, planning counted."""
        return self.auto / self.native

    @property
    def noise(self) -> float:
        """How many times its own time the plan written by hand takes: how exact the other two are."""
        return self.again / self.native

    @property
    def bare(self) -> float:
        """The same without planning."""
        return self.executing / self.native


def run(*, quick: bool, track: Track, events: int | None = None) -> Report:
    """Measure 40 workloads, or one small one of each kind; `events` is the most that a workload has."""
    most = events or (100_000 if quick else Scale().most)
    return measure(Scale(1, most, 3, 2.0) if quick else Scale(most=most), track)


def workloads(scale: Scale) -> list[Workload]:
    """Draw the workloads, the same each time.

    >>> drawn = workloads(Scale(each=2, most=1000))
    >>> len(drawn), max(each.events for each in drawn)
    (16, 1000)
    """
    return [_drawn(kind, number, scale.most) for kind in KINDS for number in range(scale.each)]


def _drawn(kind: str, number: int, most: int) -> Workload:
    draw = random.Random(f"never-slower-{kind}-{number}")
    counts = {"one window": (1, 1), "two windows": (2, 2), "few events": (2, 12), "no sharing": (2, 5)}
    several = draw.randint(*counts.get(kind, (3, 12)))
    count = _even(draw, 100, 3_000_000)
    keys, pace = _even(draw, 1, 1_000), draw.choice((0.01, 0.1, 1.0, 10.0))
    windows = _windows(draw, several)
    names = draw.sample(list(AGGREGATES), draw.choice((1, 1, 1, 2, 3)))
    match kind:
        case "few events":
            count = _even(draw, 100, 10_000)
        case "no sharing":
            # Ranges without a common divisor, and hardly an event in each: panes are no fewer than events.
            windows = tuple(tumbling(f"{prime}s") for prime in draw.sample(PRIMES, several))
            pace = 0.02
        case "many keys":
            count, keys, pace = _even(draw, 500_000, 2_000_000), _even(draw, 100_000, 500_000), 0.001
        case "one key":
            count, keys, pace = _even(draw, 10_000, 3_000_000), 1, draw.choice((1.0, 10.0, 100.0))
        case "hopping":
            # Each event is copied for every window it is in: fewer events, or native does not end.
            count, keys = _even(draw, 1_000, 300_000), _even(draw, 1, 100)
            windows = _windows(draw, draw.randint(1, 4), most=60)
        case "aggregates":
            names = draw.sample(list(AGGREGATES), draw.randint(3, 6))
    count = min(count, most)
    # The pace is in events per second and key.
    return Workload(kind, number, count, keys, max(count / keys / pace, 60.0), windows, tuple(names))


def _even(draw: random.Random, low: int, high: int) -> int:
    """Draw a number with every power of ten as likely as the next."""
    return round(math.exp(draw.uniform(math.log(low), math.log(high))))


def _windows(draw: random.Random, count: int, *, most: int = 4) -> tuple[Window, ...]:
    """Draw different windows; those that hop overlap up to `most` times."""
    found: dict[Window, None] = {}
    base = draw.choice((5, 10, 60))
    while len(found) < count:
        slide = base * draw.randint(1, 20)
        overlap = draw.randint(2, most) if most > 4 or draw.random() < 0.3 else 1
        found[hopping(f"{slide * overlap}s", slide=f"{slide}s")] = None
    return tuple(found)


def measure(scale: Scale, track: Track) -> Report:
    """Run every workload both ways."""
    with session() as spark, tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
        jobs = [
            partial(_measured, spark, Path(folder), workload, scale, number)
            for number, workload in enumerate(workloads(scale))
        ]
        # Python's workers and the JVM's first queries belong to no workload.
        _measured(spark, Path(folder), _drawn("two windows", 0, 10_000), Scale(repeats=1), len(jobs))
        found = [job() for job in track(jobs, "never slower")]
        told = settings(spark)
    return _report(scale, found, told)


def _measured(spark: SparkSession, folder: Path, workload: Workload, scale: Scale, number: int) -> Reading:
    w = workload
    path = events.mixed(spark, folder, w.events, w.keys, w.span, seed=number)
    query = (
        mt.windows(spark.read.parquet(path), time="ts", keys="device")
        .over(*w.windows)
        .agg(**{name: AGGREGATES[name]() for name in w.aggregates})
    )
    auto = Planned(query)
    tasks: dict[str, Callable[[], None]] = {"native": Native(query), "auto": auto, "again": Native(query)}
    timed = interleave(tasks, repeats=scale.repeats, seconds=scale.seconds)
    by_hand, planned = timed["native"].seconds, timed["auto"].seconds
    return Reading(
        w,
        min(len(by_hand), len(planned)),
        spread(by_hand).median,
        spread(timed["again"].seconds).median,
        spread(planned).median,
        auto.without_planning(planned),
        auto.ways(),
    )


def _report(scale: Scale, found: Sequence[Reading], told: Mapping[str, Cell]) -> Report:
    slower = [r for r in found if r.ratio > GOAL]
    bare = [r for r in found if r.bare > GOAL]
    unlike = [r for r in found if r.noise > GOAL]
    title = "Never slower than the plan written by hand"
    return Report(
        "never_slower",
        title,
        {
            "workloads": len(found),
            "most events": scale.most,
            "runs at most": scale.repeats,
            "goal": f"at most {GOAL} times native",
            "sink": "noop",
            **told,
        },
        (_kinds(found), _worst(found)),
        Table(
            "measurements",
            (
                *("kind", "number", "events", "keys", "span_s", "windows", "aggregates", "runs"),
                *("native_s", "native_again_s", "auto_s", "auto_without_planning_s"),
                *("ratio", "ratio_without_planning", "ratio_of_native_to_itself", "ways"),
            ),
            tuple(_row(r) for r in found),
        ),
        Chart(title, "time of auto / time of native", _panels(found), log=True),
        (
            f"With planning counted, {len(found) - len(slower)} of {len(found)} workloads take at most {GOAL} times "
            f"native's time; without it, {len(found) - len(bare)}. Medians of runs in turn, after a warm-up of each.",
            f"So exact is that: the plan written by hand takes at most {GOAL} times its own time in "
            f"{len(found) - len(unlike)} of {len(found)}, and {max(r.noise for r in found):.2f} times at the most.",
        ),
    )


def _row(r: Reading) -> tuple[Cell, ...]:
    w = r.workload
    windows, names = " ".join(window.id for window in w.windows), " ".join(w.aggregates)
    return (
        *(w.kind, w.seed, w.events, w.keys, w.span, windows, names, r.runs),
        *(r.native, r.again, r.auto, r.executing, r.ratio, r.bare, r.noise, r.ways),
    )


def _kinds(found: Sequence[Reading]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for kind, readings in _by_kind(found).items():
        with_planning, without = spread(r.ratio for r in readings), spread(r.bare for r in readings)
        met = sum(r.ratio <= GOAL for r in readings)
        rows.append((kind, with_planning.median, with_planning.largest, without.largest, f"{met}/{len(readings)}"))
    columns = ("kind", "median", "worst", "worst unplanned", "goal met")
    return Table("auto / native by kind of workload", columns, tuple(rows))


def _worst(found: Sequence[Reading]) -> Table:
    ordered = sorted(found, key=lambda r: -r.ratio)[:WORST]
    rows = tuple(
        (f"{r.workload.kind} {r.workload.seed}", r.workload.events, r.native, r.ratio, r.bare, r.noise, r.ways)
        for r in ordered
    )
    return Table("The worst", ("workload", "events", "native s", "ratio", "unplanned", "noise", "ways"), rows)


def _panels(found: Sequence[Reading]) -> tuple[Panel, ...]:
    panels = []
    for kind, readings in _by_kind(found).items():
        places = tuple(f"{r.workload.events:,}\n{len(r.workload.windows)} windows" for r in readings)
        series = (
            Series("with planning", tuple(r.ratio for r in readings)),
            Series("without", tuple(r.bare for r in readings)),
        )
        panels.append(Panel(f"{kind}: events and windows", places, series, goals=(("goal", GOAL),)))
    return tuple(panels)


def _by_kind(found: Sequence[Reading]) -> dict[str, list[Reading]]:
    kinds: dict[str, list[Reading]] = {}
    for reading in found:
        kinds.setdefault(reading.workload.kind, []).append(reading)
    return kinds
