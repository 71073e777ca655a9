"""How far Algorithm 3 is from the optimum, over the window sets of Table I: the question the paper leaves open."""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Final

from bench.chart import Chart, Panel, Series
from bench.measure import spread
from bench.report import Report, Table
from bench.workloads import Setup, table_setups
from muntin import optimize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.measure import Track
    from bench.report import Cell
    from muntin.logical.optimize import Optimizer
    from muntin.logical.relation import Covers

# MIN tolerates overlap and may read any cover; SUM needs exact partitions.
AGGREGATES: Final = ("min", "sum")
# The paper's rules let a window combine all intervals between its ends (dense); the fewest that do are sparse.
PLANS: Final[dict[str, tuple[Optimizer, Covers]]] = {
    "mincost": ("mincost", "dense"),
    "factor": ("factor", "dense"),
    "exact dense": ("exact", "dense"),
    "exact sparse": ("exact", "sparse"),
    "auto": ("auto", "sparse"),
}


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure: the sizes of the window sets and how many of each kind."""

    sizes: tuple[int, ...] = (5, 10)
    sets: int = 10


@dataclass(frozen=True, slots=True)
class Reading:
    """The plans of one window set: how often each cost goes into the cost without sharing, and what is proved."""

    setup: str
    set: int
    aggregate: str
    boosts: dict[str, Fraction]
    proved: dict[str, bool]
    seconds: dict[str, float]

    def gap(self, optimum: str) -> float:
        """Compute by what share Algorithm 3's plan costs more than an optimum."""
        return float(self.boosts[optimum] / self.boosts["factor"] - 1)


def run(*, quick: bool, track: Track) -> Report:
    """Measure ten sets of each kind, or three as a quick check."""
    return measure(Scale(sets=3) if quick else Scale(), track)


def measure(scale: Scale, track: Track) -> Report:
    """Plan every window set with each optimizer and compare the costs."""
    jobs = [
        partial(_compared, setup, seed, aggregate)
        for aggregate in AGGREGATES
        for setup in table_setups(*scale.sizes)
        for seed in range(scale.sets)
    ]
    return _report(scale, [job() for job in track(jobs, "gap")])


def _compared(setup: Setup, seed: int, aggregate: str) -> Reading:
    boosts: dict[str, Fraction] = {}
    proved: dict[str, bool] = {}
    seconds: dict[str, float] = {}
    for name, (optimizer, covers) in PLANS.items():
        start = time.perf_counter()
        plan = optimize(setup.windows(seed), aggregate, optimizer=optimizer, rate=1, covers=covers)
        seconds[name] = time.perf_counter() - start
        boosts[name] = Fraction(plan.baseline_cost) / plan.cost
        proved[name] = plan.gap == 0
    return Reading(setup.name, seed, aggregate, boosts, proved, seconds)


def _report(scale: Scale, readings: Sequence[Reading]) -> Report:
    columns = tuple(f"{figure} {name}" for figure in ("boost", "proved", "seconds") for name in PLANS)
    measurements = Table(
        "measurements",
        ("setup", "set", "aggregate", *columns, "gap dense", "gap sparse"),
        tuple(
            (
                r.setup,
                r.set,
                r.aggregate,
                *(float(boost) for boost in r.boosts.values()),
                *r.proved.values(),
                *r.seconds.values(),
                r.gap("exact dense"),
                r.gap("exact sparse"),
            )
            for r in readings
        ),
    )
    title = "Algorithm 3 and the optimum"
    tables = [form(readings, aggregate) for aggregate in AGGREGATES for form in (_boosts, _gaps)]
    panels = tuple(_panel(readings, aggregate) for aggregate in AGGREGATES)
    return Report(
        "gap",
        title,
        {"aggregates": ", ".join(AGGREGATES), "rate": 1, "sets per setup": scale.sets, "time limit of exact (s)": 60},
        tuple(tables),
        measurements,
        Chart(title, "cost without sharing / cost of the plan, mean and largest", panels),
        (
            "A boost is the cost without sharing over the cost of the plan; a gap is by how much the plan of "
            "Algorithm 3 (`factor`) costs more than the optimum. `exact dense` keeps to the paper's rules but weighs "
            "all candidates; `exact sparse` also combines only the fewest intervals that cover. `proved` counts the "
            "sets whose optimum is certain; a gap to one that is not is a lower bound.",
        ),
    )


def _boosts(readings: Sequence[Reading], aggregate: str) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (setup, *(spread(float(r.boosts[name]) for r in found).mean for name in PLANS))
        for setup, found in _by_setup(readings, aggregate).items()
    )
    return Table(f"{aggregate}: boost, mean over the sets", ("setup", *PLANS), rows)


def _gaps(readings: Sequence[Reading], aggregate: str) -> Table:
    rows = tuple(
        (setup, *_gap(found, "exact dense"), *_gap(found, "exact sparse"))
        for setup, found in _by_setup(readings, aggregate).items()
    )
    columns = ("setup", "dense mean / max", "proved", "s", "sparse mean / max", "proved", "s")
    return Table(f"{aggregate}: gap of Algorithm 3 to the optimum, and the mean time to find that", columns, rows)


def _gap(readings: Sequence[Reading], optimum: str) -> tuple[str, str, str]:
    gaps = spread(r.gap(optimum) for r in readings)
    proved = sum(r.proved[optimum] for r in readings)
    seconds = spread(r.seconds[optimum] for r in readings).mean
    return f"{gaps.mean:.1%} / {gaps.largest:.1%}", f"{proved}/{len(readings)}", f"{seconds:.2f}"


def _panel(readings: Sequence[Reading], aggregate: str) -> Panel:
    by_setup = _by_setup(readings, aggregate)
    places = tuple("\n".join(setup.rsplit("-", 1)) for setup in by_setup)
    series = []
    for name in PLANS:
        found = [spread(float(r.boosts[name]) for r in each) for each in by_setup.values()]
        series.append(Series(name, tuple(f.mean for f in found), tuple(f.largest for f in found)))
    rule = "any cover" if aggregate == "min" else "partitions only"
    return Panel(f"{aggregate} ({rule})", places, tuple(series))


def _by_setup(readings: Sequence[Reading], aggregate: str) -> dict[str, list[Reading]]:
    found: dict[str, list[Reading]] = {}
    for reading in readings:
        if reading.aggregate == aggregate:
            found.setdefault(reading.setup, []).append(reading)
    return found
