"""Speed-ups over the plan written by hand, for the window sets of Tables I to III (factor-windows V)."""

from __future__ import annotations

import logging
import tempfile
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import muntin as mt
from bench.chart import Chart, Panel, Series
from bench.kept import Kept, part
from bench.measure import interleave, spread
from bench.report import Report, Table
from bench.spark_session import Native, Planned, fingerprint, session, settings
from bench.workloads import Setup, table_setups
from muntin import Window, agg, hopping, optimize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from bench.events import Source
    from bench.measure import Spread, Track
    from bench.report import Cell
    from muntin.logical.optimize import Optimizer
    from muntin.physical.choose import Strategy
    from muntin.query import Query

log = logging.getLogger("muntin.bench")
# What the paper measures, both as a tree of windows inside Spark, and what a user gets who asks for nothing.
PLANS: Final[dict[str, tuple[Optimizer, Strategy]]] = {
    "mincost": ("mincost", "jvm"),
    "factor": ("factor", "jvm"),
    "auto": ("auto", "auto"),
}
COLUMNS: Final = (
    "setup",
    "set",
    "plan",
    "runs",
    "seconds",
    "planning_s",
    "native_s",
    "boost",
    "boost_without_planning",
    "ways",
    "predicted_s",
    "predicted_native_s",
    "paper_cost",
)


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table of the paper: for each setup the mean and largest boost without, then with factor windows."""

    name: str
    title: str
    sizes: tuple[int, ...]
    figures: Mapping[str, tuple[float, float, float, float]]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure: events, sets per setup, runs of each plan; a plan that used up `seconds` runs no more.

    The paper's plans take as long as native does, and run `paper` times only. Every plan runs over a `few` events
    before it is measured.
    """

    events: int = 10_000_000
    sets: int = 10
    repeats: int = 3
    paper: int = 1
    seconds: float = 600.0
    few: int = 10_000


@dataclass(frozen=True, slots=True)
class Reading:
    """One plan of one window set: medians of its runs, native's of the same rounds, and what was predicted.

    `paper_cost` is the cost by the paper's own model; None for auto, whose plan is not one of the paper's.
    """

    setup: str
    set: int
    plan: str
    runs: int
    seconds: float
    planning: float
    executing: float
    native: float
    ways: str
    predicted: float
    predicted_native: float
    paper_cost: float | None

    @property
    def boost(self) -> float:
        """How many times as long native takes, with planning counted."""
        return self.native / self.seconds

    @property
    def bare_boost(self) -> float:
        """The same without planning."""
        return self.native / self.executing


class Make(Protocol):
    """Write the events of a table into a folder."""

    def __call__(self, spark: SparkSession, folder: Path, events: int, *, few: int) -> Source:
        """Write them."""


def scale(quick: bool, events: int | None, sets: int | None = None) -> Scale:
    """Choose how much to measure.

    >>> scale(quick=True, events=None).events, scale(quick=False, events=5, sets=2).sets
    (1000000, 2)
    """
    rows = events or (1_000_000 if quick else Scale().events)
    # Over fewer the JVM would compile most of what runs while it is measured, and over all it would take twice as long.
    few = max(rows // 10, 10_000)
    if quick:
        return Scale(rows, sets=sets or 3, repeats=2, paper=2, seconds=1.0, few=few)
    return Scale(rows, sets=sets or Scale().sets, few=few)


def measure(table: PaperTable, scale: Scale, track: Track, make: Make, keep: Path | None = None) -> Report:
    """Run every plan of every window set, and put the boosts beside the paper's.

    Where there is a folder to `keep` readings in, a run that was broken off is gone on with.
    """
    with session() as spark, tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
        source = make(spark, Path(folder), scale.events, few=scale.few)
        told = settings(spark)
        # Not how many sets: those that were measured are the first of more, too.
        how = {"data": source.what, **asdict(replace(scale, sets=0)), **told}
        kept = Kept(part(keep, table.name) if keep else None, how)
        earlier = len(kept)
        log.info("%s: %s window sets were measured before", table.name, earlier)
        found = readings(spark, table, scale, track, source, kept)
    return _report(table, scale, found, source, told, earlier)


def readings(
    spark: SparkSession, table: PaperTable, scale: Scale, track: Track, source: Source, kept: Kept
) -> list[Reading]:
    """Measure all window sets of a table but those that are kept."""
    setups = table_setups(*table.sizes)
    jobs = [
        partial(_found, spark, setup, seeds, scale, source, kept)
        for setup in setups
        for seeds in drawn(setup, scale.sets).values()
    ]
    # The JVM's first queries, Python's workers and the files' first reading belong to no window set.
    for run in _runs(_query(spark, source.path, setups[0].windows(0))).values():
        run()
    return [reading for job in track(jobs, table.name) for reading in job()]


def drawn(setup: Setup, sets: int) -> dict[tuple[Window, ...], list[int]]:
    """Tell by which seeds each window set is drawn: sequential ones come from three seed lengths, and so come again.

    >>> [list(drawn(setup, 10).values()) for setup in table_setups(5) if setup.name == "S-5-tumbling"]
    [[[0, 1, 3, 4, 6, 7], [2, 5, 9], [8]]]
    """
    found: dict[tuple[Window, ...], list[int]] = {}
    for seed in range(sets):
        found.setdefault(setup.windows(seed), []).append(seed)
    return found


def _found(
    spark: SparkSession, setup: Setup, seeds: Sequence[int], scale: Scale, source: Source, kept: Kept
) -> list[Reading]:
    """Measure a window set once, or take what is kept; it counts as often as it is drawn."""
    name = f"{setup.name} {seeds[0]}"
    rows = kept.get(name)
    if rows is None:
        rows = [asdict(reading) for reading in _measured(spark, setup, seeds[0], scale, source)]
        kept.keep(name, rows)
    measured = [Reading(**row) for row in rows]
    return [replace(reading, set=number) for number in seeds for reading in measured]


def _measured(spark: SparkSession, setup: Setup, seed: int, scale: Scale, source: Source) -> list[Reading]:
    windows = setup.windows(seed)
    runs = _runs(_query(spark, source.path, windows))
    _warm_up(spark, setup, seed, source, runs)
    repeats = {name: scale.repeats if name in ("native", "auto") else scale.paper for name in runs}
    timed = interleave(runs, repeats=repeats, seconds=scale.seconds, warm_up=False)
    native = spread(timed["native"].seconds).median
    found = []
    for name, (optimizer, _) in PLANS.items():
        run, seconds = runs[name], timed[name].seconds
        assert isinstance(run, Planned)
        physical = run.plan.physical
        cost = None if name == "auto" else float(optimize(windows, "min", optimizer=optimizer, rate=1).cost)
        found.append(
            Reading(
                setup.name,
                seed,
                name,
                len(seconds),
                spread(seconds).median,
                spread(run.planning[-len(seconds) :]).median,
                run.without_planning(seconds),
                native,
                run.ways(),
                physical.seconds,
                physical.native_seconds,
                cost,
            )
        )
    return found


def _runs(query: Query) -> dict[str, Native | Planned]:
    return {"native": Native(query)} | {name: Planned(query, *how) for name, how in PLANS.items()}


def _warm_up(
    spark: SparkSession, setup: Setup, seed: int, source: Source, runs: Mapping[str, Native | Planned]
) -> None:
    """Run the same plans over a few events, for Spark to compile them; and see once that they agree."""
    query = _query(spark, source.few, setup.windows(seed))
    Native(query)()
    expected = fingerprint(query.native()) if seed == 0 else None
    for name, run in runs.items():
        if isinstance(run, Planned):
            # With the statistics of all events, because few would be planned in another way.
            known = run.plan.physical.statistics
            small = Planned(query, *PLANS[name], statistics=known)
            small()
            if expected and fingerprint(small.plan.run()) != expected:
                msg = f"{setup.name}, set {seed}: the rows of {name} are not those of the plan written by hand"
                raise AssertionError(msg)


def _query(spark: SparkSession, path: str, windows: Sequence[Window]) -> Query:
    """Ask for the minimum over windows of so many seconds."""
    timed = [hopping(f"{window.range}s", slide=f"{window.slide}s") for window in windows]
    return mt.windows(spark.read.parquet(path), time="ts", keys="device").over(*timed).agg(low=agg.min("v"))


def rows(found: Sequence[Reading]) -> tuple[tuple[Cell, ...], ...]:
    """List the readings under `COLUMNS`."""
    return tuple(
        (
            *(r.setup, r.set, r.plan, r.runs, r.seconds, r.planning, r.native, r.boost, r.bare_boost),
            *(r.ways, r.predicted, r.predicted_native, r.paper_cost),
        )
        for r in found
    )


def _report(
    table: PaperTable, scale: Scale, found: Sequence[Reading], source: Source, told: Mapping[str, Cell], earlier: int
) -> Report:
    above = [setup for setup in table.figures if _auto(found, setup).mean > table.figures[setup][2]]
    missed = [setup for setup in table.figures if setup not in above]
    return Report(
        table.name,
        table.title,
        {
            "events": scale.events,
            "data": source.what,
            "aggregate": "min",
            "window unit": "second",
            "sets per setup": scale.sets,
            "runs per set of native and auto": scale.repeats,
            "runs per set of the paper's plans": scale.paper,
            "events to warm up on": scale.few,
            "sink": "noop",
            **told,
        },
        (_auto_table(table, found), _paper_table(table, found), _seconds_table(found)),
        Table("measurements", COLUMNS, rows(found)),
        Chart(table.title, "time of native / time of the plan, mean and largest", tuple(_panels(table, found))),
        (
            f"auto is above the paper's mean with factor windows in {len(above)} of {len(table.figures)} setups"
            + (f"; not in {', '.join(missed)}." if missed else "."),
            "A boost is the time of native (one groupBy(window(...)) per window, and their union) over the time of the "
            "plan, medians of runs in turn; planning with its look at the source is counted in every plan but native. "
            "`mincost` and `factor` are the paper's plans, as a tree of windows inside Spark; the paper's figures are "
            "of Trill on one core.",
            "A window set that is drawn by several seeds is measured once and counts for each: there are three "
            "different sequential ones of a size.",
            f"Data: {source.what}.",
            *((table.note,) if table.note else ()),
            *(
                (f"{earlier} of the window sets were measured by an earlier run, which was broken off.",)
                if earlier
                else ()
            ),
        ),
    )


def _auto_table(table: PaperTable, found: Sequence[Reading]) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for setup, paper in table.figures.items():
        readings = _of(found, setup, "auto")
        boosts = _auto(found, setup)
        bare = spread(r.bare_boost for r in readings).mean
        met = "yes" if boosts.mean > paper[2] else "no"
        lines.append((setup, f"{boosts.mean:.2f} / {boosts.largest:.2f}", bare, paper[2], met, _ways(readings)))
    columns = ("setup", "mean / max", "unplanned", "paper", "above", "ways")
    return Table("auto: boost over native, beside the paper's mean with factor windows", columns, tuple(lines))


def _paper_table(table: PaperTable, found: Sequence[Reading]) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for setup, paper in table.figures.items():
        cells = [setup]
        for name, (mean, largest) in {"mincost": paper[:2], "factor": paper[2:]}.items():
            boosts = spread(r.boost for r in _of(found, setup, name))
            cells += [f"{boosts.mean:.2f} / {boosts.largest:.2f}", f"{mean:.2f} / {largest:.2f}"]
        lines.append(tuple(cells))
    columns = ("setup", "mincost", "paper w/o", "factor", "paper with")
    return Table("The paper's plans inside Spark: boost, mean / max", columns, tuple(lines))


def _seconds_table(found: Sequence[Reading]) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for setup in dict.fromkeys(r.setup for r in found):
        auto = _of(found, setup, "auto")
        means = [spread(r.seconds for r in _of(found, setup, name)).mean for name in PLANS]
        native, planning = spread(r.native for r in auto).mean, spread(r.planning for r in auto).mean
        lines.append((setup, native, *means, planning))
    return Table("Seconds, mean over the sets", ("setup", "native", *PLANS, "auto's planning"), tuple(lines))


def _panels(table: PaperTable, found: Sequence[Reading]) -> Iterator[Panel]:
    paper = {"paper without": 0, "paper with": 2}
    for generator in ("R", "S"):
        setups = [setup for setup in table.figures if setup.startswith(generator)]
        series = []
        for name in PLANS:
            boosts = [spread(r.boost for r in _of(found, setup, name)) for setup in setups]
            series.append(Series(name, tuple(b.mean for b in boosts), tuple(b.largest for b in boosts)))
        for name, place in paper.items():
            given = [table.figures[setup] for setup in setups]
            series.append(Series(name, tuple(row[place] for row in given), tuple(row[place + 1] for row in given)))
        places = tuple("\n".join(setup.rsplit("-", 1)) for setup in setups)
        yield Panel({"R": "RandomGen", "S": "SequentialGen"}[generator], places, tuple(series))


def _auto(found: Sequence[Reading], setup: str) -> Spread:
    return spread(r.boost for r in _of(found, setup, "auto"))


def _of(found: Sequence[Reading], setup: str, plan: str) -> list[Reading]:
    return [r for r in found if (r.setup, r.plan) == (setup, plan)]


def _ways(readings: Sequence[Reading]) -> str:
    """Say what auto chose, and how often where it did not choose the same for all sets."""
    ways = [r.ways for r in readings]
    counted = {way: ways.count(way) for way in dict.fromkeys(ways)}
    return ways[0] if len(counted) == 1 else ", ".join(f"{way}: {n}" for way, n in counted.items())
