"""Calibration: what each kind of work costs on this Spark, by plans that differ in it alone."""

from __future__ import annotations

import statistics
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from muntin.aggregate import catalog as agg
from muntin.declare.query import WindowQuery, named_aggregates
from muntin.physical.constants import SHIPPED, Constants
from muntin.spark.bound import bind
from muntin.spark.native import native
from muntin.spark.packs import packs
from muntin.spark.panes import Grid, panes, parts_of
from muntin.spark.sweep import sweep
from muntin.window.spec import hopping, tumbling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from muntin.spark.bound import Bound
    from muntin.window.spec import Window

# Events of a calibration come one a second.
_SECOND: Final = 1_000_000
_FEW: Final = 1_000
_PACK: Final = 16


@dataclass(frozen=True, slots=True)
class Probe:
    """A plan to measure: its name, what it shows, and the plan over some events."""

    name: str
    shows: str
    build: Callable[[DataFrame], DataFrame]


def probes(coarse: int) -> tuple[Probe, ...]:
    """List the plans, each of which adds one kind of work to another."""
    second, minutes, hour = tumbling("1s"), tumbling("10m"), tumbling("1h")
    four = hopping("40m", slide="10m")
    return (
        # Into one group: rows that only pass by are not written anywhere, as in the plans that group them.
        Probe("scan", "reading events", lambda df: df.agg(F.min(F.unix_micros("ts")), F.count("k"), F.min("v"))),
        Probe("struct", "grouping by window()", lambda df: native(_bound(df, minutes))),
        Probe("hopping", "copies for four windows", lambda df: native(_bound(df, four))),
        Probe("group", "grouping by integers", lambda df: _panes(df, minutes)),
        Probe("parts", "five aggregates", lambda df: _panes(df, minutes, aggregates=5)),
        Probe("exchange", "as many panes as events", lambda df: _panes(df, second)),
        Probe("places", "panes, several in a row", lambda df: _packs(df, second)),
        Probe("cells", "packs of panes to Python", lambda df: _sweep(df, (second, hour), (hour,), coarse, _PACK)),
        Probe("enter", "panes to Python", lambda df: _sweep(df, (second, hour), (hour,), coarse)),
        Probe("leave", "windows from Python", lambda df: _sweep(df, (second,), (second,), coarse)),
        Probe("runs", "windows from Python in lists", lambda df: _sweep(df, (second,), (second,), coarse, runs=True)),
        Probe("branches", "ten windows", lambda df: native(_bound(df, *(tumbling(f"{10 + i}m") for i in range(10))))),
    )


def calibrate(
    spark: SparkSession,
    *,
    cores: int,
    events: int = 3_000_000,
    repeats: int = 3,
    track: Callable[[list[int]], Iterable[int]] = list,
) -> Constants:
    """Measure the constants of the cost model: medians of plans over a table of events, one a second, of one key."""
    with _events(spark, events) as many, _events(spark, _FEW) as few:
        found = probes(coarse=max(int(events // (8 * cores)), 2 * 3600))
        plans = {probe.name: (probe.build(many), probe.build(few)) for probe in found}
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in plans}
        # In turn, round after round, and the first round does not count: Spark's code is compiled as it runs.
        for turn in track(list(range(repeats + 1))):
            for name, (large, small) in plans.items():
                measured = _time(large), _time(small)
                if turn:
                    taken[name].append(measured)
        seconds = {name: statistics.median(large for large, _ in runs) for name, runs in taken.items()}
        fixed = {name: statistics.median(small for _, small in runs) for name, runs in taken.items()}
    return derive(seconds, fixed, events, float(cores))


def derive(seconds: dict[str, float], fixed: dict[str, float], events: int, cores: float) -> Constants:
    """Turn the times of plans into constants: microseconds of a core for each item, milliseconds for the rest."""

    def each(name: str, *less: str) -> float:
        """Take the time for each event that a plan needs beyond others, and beyond what it needs for next to none."""
        own = seconds[name] - fixed[name]
        others = sum(seconds[other] - fixed[other] for other in less)
        return max((own - others) * 1e6 * cores / events, 0.01)

    def more(name: str, less: str) -> float:
        return max((fixed[name] - fixed[less]) * 1e3, 1.0)

    scan = each("scan")
    # Four windows need four groupings and four copies; nine further branches come with an exchange each.
    struct = each("struct", "scan")
    stage = more("group", "scan")
    exchange, enter = max(each("exchange", "group"), 0.05), each("enter", "exchange")
    return replace(
        SHIPPED,
        scan=scan,
        group_struct=struct,
        group=each("group", "scan"),
        part=each("parts", "group") / 4,
        exchange=exchange,
        copy=max((each("hopping", "scan") - 4 * struct) / 4, 0.01),
        enter=enter,
        # A pack of events, one for each place: an event is compared with all, and the row is shared by as many.
        place=max((each("places", "group") - exchange / _PACK) / _PACK, 0.001),
        cell=max(each("cells", "places") - enter / _PACK, 0.01),
        leave=each("leave", "enter"),
        element=each("runs", "enter"),
        branch=max(more("branches", "struct") / 9 - stage, 5.0),
        stage=stage,
        python=max(more("enter", "exchange") - stage, 20.0),
        cores=cores,
        source=f"measured on {time.strftime('%Y-%m-%d')} with {events:,} events",
    )


@contextmanager
def _events(spark: SparkSession, rows: int) -> Iterator[DataFrame]:
    """Write events as parquet, as tables are, for as long as this lasts."""
    with tempfile.TemporaryDirectory(prefix="muntin-") as folder:
        path = str(Path(folder) / "events")
        made = spark.range(rows).select(
            F.timestamp_seconds(F.col("id")).alias("ts"), F.lit("key").alias("k"), F.rand(1).alias("v")
        )
        made.write.parquet(path)
        yield spark.read.parquet(path)


def _bound(df: DataFrame, *windows: Window, aggregates: int = 1) -> Bound:
    several = {"a": agg.min("v"), "b": agg.max("v"), "c": agg.sum("v"), "d": agg.count("v"), "e": agg.count()}
    chosen = dict(list(several.items())[:aggregates])
    return bind(WindowQuery(df, "ts", ("k",), windows, named_aggregates(chosen)))


def _panes(df: DataFrame, window: Window, aggregates: int = 1) -> DataFrame:
    bound = _bound(df, window, aggregates=aggregates)
    return panes(bound, Grid(window.range, 0), parts_of(bound, [name for name, _ in bound.query.aggregates]))


def _packs(df: DataFrame, window: Window) -> DataFrame:
    bound = _bound(df, window)
    return packs(bound, Grid(window.range, 0), parts_of(bound, ["a"]), _PACK)


def _sweep(
    df: DataFrame,
    all_of: tuple[Window, ...],
    shown: tuple[Window, ...],
    coarse: int,
    pack: int = 1,
    *,
    runs: bool = False,
) -> DataFrame:
    """Sweep panes of a second for windows of any length."""
    whole = -(-coarse // pack) * pack
    return sweep(_bound(df, *all_of), ["a"], shown, Grid(_SECOND, 0), whole, pack=pack, runs=runs)


def _time(frame: DataFrame) -> float:
    began = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began
