"""Where the time goes of ten windows through panes: processor seconds of plans that differ in one stage."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.chart import Chart, Panel, Series
from bench.events import constant_pace
from bench.measure import interleave, spread
from bench.processes import between, used
from bench.report import Report, Table
from bench.spark_session import session, settings, sink
from muntin import agg, tumbling
from muntin.declare.query import WindowQuery, named_aggregates
from muntin.errors import MuntinError
from muntin.physical.constants import Constants
from muntin.physical.statistics import Statistics
from muntin.physical.ways import coarse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bench.measure import Track
    from bench.report import Cell
    from muntin import Window

# Panes of so many seconds, with windows of 2 to 11 of them: the S-10-tumbling sets of Table I.
PANES: Final = (2, 10)
PACKS: Final = (8, 16, 32)
# What stands below a chart must be short: rows of windows, or lists of them.
SHORT: Final = {
    "windows": "rows\n1",
    **{f"windows by packs of {pack}": f"rows\n{pack}" for pack in PACKS},
    **{f"windows in lists, by packs of {pack}": f"lists\n{pack}" for pack in PACKS},
}
COLUMNS: Final = ("pane_s", "plan", "run", "seconds", "processor_s")


@dataclass(frozen=True, slots=True)
class Reading:
    """One plan over panes of some seconds: what each run took, by the clock and of the processors."""

    pane: int
    plan: str
    seconds: tuple[float, ...]
    processor: tuple[float, ...]


def run(*, quick: bool, track: Track, events: int | None = None) -> Report:
    """Measure over ten million events, or one million."""
    if not Path("/proc/self/stat").exists():
        msg = "stages reads the processes' own counters from /proc, which only Linux has"
        raise MuntinError(msg)
    rows = events or (1_000_000 if quick else 10_000_000)
    repeats = 2 if quick else 4
    with session() as spark, tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
        source = constant_pace(spark, Path(folder), rows)
        found = [each for pane in track(PANES, "panes") for each in _measured(spark, source.path, pane, rows, repeats)]
        told = {"events": rows, "data": source.what, "runs": repeats, **settings(spark)}
    return report(found, told)


def plans(events: DataFrame, pane: int, rows: int) -> dict[str, Callable[[], DataFrame]]:
    """Give the plans, each of which adds to or changes one stage of another."""
    from pyspark.sql import functions as F

    from muntin.spark.bound import bind
    from muntin.spark.native import native
    from muntin.spark.packs import packs
    from muntin.spark.panes import Grid, panes, parts_of
    from muntin.spark.sweep import sweep

    windows = ten_windows(pane)
    bound = bind(WindowQuery(events, "ts", ("device",), windows, named_aggregates({"low": agg.min("v")})))
    grid, parts = Grid(pane * 1_000_000, 0), parts_of(bound, ["low"])
    bucket = coarse(windows, grid.width, Statistics(rows, span=rows * 1_000_000), Constants())
    assert bucket is not None

    def swept(pack: int, *, runs: bool = False) -> DataFrame:
        return sweep(bound, ["low"], windows, grid, -(-bucket // pack) * pack, pack=pack, runs=runs)

    return {
        "scan": lambda: events.agg(F.max("ts"), F.max("v"), F.max("device")),
        "panes": lambda: panes(bound, grid, parts),
        **{f"packs of {pack}": partial(packs, bound, grid, parts, pack) for pack in PACKS},
        "windows": lambda: swept(1),
        **{f"windows by packs of {pack}": partial(swept, pack) for pack in PACKS},
        **{f"windows in lists, by packs of {pack}": partial(swept, pack, runs=True) for pack in PACKS},
        "native": lambda: native(bound),
    }


def ten_windows(pane: int) -> tuple[Window, ...]:
    """Give ten windows of 2 to 11 panes.

    >>> ten_windows(2)[0], ten_windows(2)[-1]
    (tumbling('4s'), tumbling('22s'))
    """
    return tuple(tumbling(f"{pane * times}s") for times in range(2, 12))


def report(found: Sequence[Reading], told: Mapping[str, Cell]) -> Report:
    """Lay the plans side by side."""
    names = list(dict.fromkeys(each.plan for each in found))
    by = {(each.plan, each.pane): each for each in found}
    tables = tuple(
        Table(
            f"Panes of {pane} s, medians of runs in turn",
            ("plan", "processor s", "seconds", "most"),
            tuple((name, *_cells(by[name, pane])) for name in names),
        )
        for pane in PANES
    )
    every: list[tuple[Cell, ...]] = []
    for each in found:
        runs = enumerate(zip(each.seconds, each.processor, strict=True))
        every.extend((each.pane, each.plan, number, seconds, used) for number, (seconds, used) in runs)
    panels = tuple(
        Panel(
            f"panes of {pane} s",
            tuple(SHORT.get(name, name.replace(" of ", "\n")) for name in names),
            (Series("median", tuple(_cells(by[name, pane])[0] for name in names)),),
        )
        for pane in PANES
    )
    note = (
        "Processor seconds are those of the JVM and of Python's workers together; two cores have two for each second "
        "of the clock. The first run of each plan, in which the JVM compiles, is not counted."
    )
    return Report(
        "stages",
        "Where the time goes: ten windows of 2 to 11 panes, one event each second",
        told,
        tables,
        Table("measurements", COLUMNS, tuple(every)),
        Chart("Processor seconds of all processes", "seconds", panels),
        (note,),
    )


def _cells(reading: Reading) -> tuple[float, float, float]:
    return spread(reading.processor).median, spread(reading.seconds).median, max(reading.seconds)


def _measured(spark: SparkSession, path: str, pane: int, rows: int, repeats: int) -> list[Reading]:
    processor: dict[str, list[float]] = {}

    def timed(name: str, build: Callable[[], DataFrame]) -> None:
        before = used(os.getpid())
        sink(build())
        processor.setdefault(name, []).append(between(before, used(os.getpid())))

    made = plans(spark.read.parquet(path), pane, rows)
    taken = interleave({name: partial(timed, name, build) for name, build in made.items()}, repeats=repeats)
    # The warm-up came first.
    return [Reading(pane, name, taken[name].seconds, tuple(processor[name][1:])) for name in made]
