"""Optimization time (factor-windows V-E, Figure 12): the sets of Tables I to III, and sets of 1,000 windows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from bench.chart import Chart, Panel, Series
from bench.measure import interleave, spread
from bench.report import Report, Table, shown
from bench.workloads import many_windows, table_setups
from muntin import LogicalPlan, Window, optimize
from muntin.logical.divisors import divisors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bench.measure import Spread, Track
    from bench.report import Cell
    from muntin.logical.optimize import Optimizer

ALL: Final[tuple[Optimizer, ...]] = ("mincost", "factor", "auto", "exact")
FAST: Final[tuple[Optimizer, ...]] = ("factor", "auto")
AGGREGATES: Final = ("min", "sum")
FAMILIES: Final = ("R-tumbling", "R-hopping", "S-tumbling", "S-hopping")
FACTOR_GOAL: Final = 0.010
AUTO_GOAL: Final = 0.100
MANY_GOAL: Final = 2.0


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure: window sets per setup, runs of each, and the size of the large sets."""

    sizes: tuple[int, ...] = (5, 10, 15, 20)
    sets: int = 10
    repeats: int = 9
    many: int = 1_000
    many_repeats: int = 3


@dataclass(frozen=True, slots=True)
class Reading:
    """The time one optimizer took for one window set: medians of its runs, by the clock and on the processor."""

    setup: str
    size: int
    set: int
    aggregate: str
    optimizer: Optimizer
    runs: int
    seconds: float
    processor: float
    gap: float | None


def run(*, quick: bool, track: Track) -> Report:
    """Measure, in full or as a quick check with three sets of each kind."""
    return measure(Scale(sizes=(5, 20), sets=3, repeats=3, many_repeats=1) if quick else Scale(), track)


def measure(scale: Scale, track: Track) -> Report:
    """Time the optimizers on the window sets of the paper and on large ones."""
    jobs = [
        partial(
            _timed, f"{setup.generator}-{setup.shape}", setup.windows(seed), seed, "min", ALL, repeats=scale.repeats
        )
        for setup in table_setups(*scale.sizes)
        for seed in range(scale.sets)
    ]
    jobs += [
        partial(_timed, kind, windows, 0, aggregate, FAST, repeats=scale.many_repeats)
        for kind, windows in many_windows(scale.many, seed=0).items()
        for aggregate in AGGREGATES
    ]
    # Imports, caches of the interpreter and NumPy's first calls belong to no window set.
    _timed("", table_setups(5)[0].windows(0), 0, "min", ALL, repeats=1)
    readings = [reading for job in track(jobs, "optimizer") for reading in job()]
    return _report(scale, readings)


def _timed(
    setup: str, windows: Sequence[Window], seed: int, aggregate: str, optimizers: Sequence[Optimizer], *, repeats: int
) -> list[Reading]:
    def task(optimizer: Optimizer) -> Callable[[], LogicalPlan]:
        return lambda: optimize(windows, aggregate, optimizer=optimizer, rate=1)

    # Divisors are remembered between calls: forgotten before each run, every run finds them anew.
    timed = interleave(
        {optimizer: task(optimizer) for optimizer in optimizers},
        repeats=repeats,
        seconds=1.0 if "exact" in optimizers else 10.0,
        warm_up=False,
        before=divisors.cache_clear,
    )
    return [
        Reading(
            setup,
            len(windows),
            seed,
            aggregate,
            optimizer,
            len(timed[optimizer].seconds),
            spread(timed[optimizer].seconds).median,
            spread(timed[optimizer].processor).median,
            timed[optimizer].result.gap,
        )
        for optimizer in optimizers
    ]


def _report(scale: Scale, readings: Sequence[Reading]) -> Report:
    measurements = Table(
        "measurements",
        ("setup", "windows", "set", "aggregate", "optimizer", "runs", "ms", "processor_ms", "gap"),
        tuple(
            (r.setup, r.size, r.set, r.aggregate, r.optimizer, r.runs, 1e3 * r.seconds, 1e3 * r.processor, r.gap)
            for r in readings
        ),
    )
    return Report(
        "optimizer",
        "Optimization time",
        {
            "aggregates": "min; min and sum for the large sets",
            "rate": 1,
            "sets per setup": scale.sets,
            "runs per set and optimizer": scale.repeats,
            "windows in a large set": scale.many,
            "runs per large set": scale.many_repeats,
        },
        (
            _goals(scale, readings),
            _sizes(scale, readings, ALL[:2]),
            _sizes(scale, readings, ALL[2:]),
            _kinds(scale, readings),
        ),
        measurements,
        Chart("Optimization time", "ms, median and p90 of the sets", _panels(scale, readings), log=True),
        (
            "A set's time is the median of its runs, taken in turn with the other optimizers; the figures are the "
            "median, the 90th percentile and the largest over the sets of a setup.",
            _proved(readings),
        ),
    )


def _proved(readings: Sequence[Reading]) -> str:
    exact = [r for r in readings if r.optimizer == "exact"]
    optimal = sum(r.gap == 0 for r in exact)
    return (
        "`exact` weighs all candidates until the optimum is proved, for 60 s at most: it is there to judge the others "
        f"by, and runs until it has taken a second in all. It proved {optimal} of {len(exact)} sets."
    )


def _goals(scale: Scale, readings: Sequence[Reading]) -> Table:
    largest = max(scale.sizes)
    rows = []
    for optimizer, goal in (("factor", FACTOR_GOAL), ("auto", AUTO_GOAL)):
        medians = [
            _spread(r for r in readings if (r.setup, r.size, r.optimizer) == (family, largest, optimizer)).median
            for family in FAMILIES
        ]
        rows.append(_goal(f"{optimizer}, {largest} windows, slowest setup's median", max(medians), goal))
    for optimizer in FAST:
        times = [r.seconds for r in readings if r.setup not in FAMILIES and r.optimizer == optimizer]
        rows.append(_goal(f"{optimizer}, {scale.many:,} windows, slowest kind's median", max(times), MANY_GOAL))
    return Table("Goals", ("what", "ms", "goal", "met"), tuple(rows))


def _goal(what: str, seconds: float, goal: float) -> tuple[str, float, str, str]:
    return what, 1e3 * seconds, f"< {1e3 * goal:,.0f}", "yes" if seconds < goal else "no"


def _sizes(scale: Scale, readings: Sequence[Reading], optimizers: Sequence[Optimizer]) -> Table:
    rows = tuple(
        (
            family.replace("-", f"-{size}-"),
            *(_cell(_chosen(readings, family, size, "min", each)) for each in optimizers),
        )
        for family in FAMILIES
        for size in scale.sizes
    )
    columns = ("setup", *(f"{optimizer} median / p90 / max" for optimizer in optimizers))
    return Table(f"Window sets of Tables I to III, ms: {' and '.join(optimizers)}", columns, rows)


def _kinds(scale: Scale, readings: Sequence[Reading]) -> Table:
    cases: list[tuple[str, Optimizer]] = [(aggregate, optimizer) for aggregate in AGGREGATES for optimizer in FAST]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (kind, *(1e3 * _spread(_chosen(readings, kind, scale.many, *case)).median for case in cases))
        for kind in dict.fromkeys(r.setup for r in readings if r.setup not in FAMILIES)
    )
    columns = ("kind", *(f"{aggregate} {optimizer}" for aggregate, optimizer in cases))
    return Table(f"Sets of {scale.many:,} windows, ms: median of the runs", columns, rows)


def _panels(scale: Scale, readings: Sequence[Reading]) -> tuple[Panel, ...]:
    panels = []
    for family in FAMILIES:
        series = []
        for optimizer in ALL:
            found = [_spread(_chosen(readings, family, size, "min", optimizer)) for size in scale.sizes]
            series.append(Series(optimizer, tuple(1e3 * f.median for f in found), tuple(1e3 * f.p90 for f in found)))
        goals = (("goal: factor", 1e3 * FACTOR_GOAL), ("goal: auto", 1e3 * AUTO_GOAL))
        places = tuple(f"{size} windows" for size in scale.sizes)
        panels.append(Panel(f"{family}, min", places, tuple(series), lines=True, goals=goals))
    kinds = tuple(dict.fromkeys(r.setup for r in readings if r.setup not in FAMILIES))
    for aggregate in AGGREGATES:
        large = tuple(
            Series(
                optimizer,
                tuple(_spread(_chosen(readings, k, scale.many, aggregate, optimizer)).median * 1e3 for k in kinds),
            )
            for optimizer in FAST
        )
        places = tuple(kind.replace(" ", "\n", 1) for kind in kinds)
        panels.append(Panel(f"{scale.many:,} windows, {aggregate}", places, large, goals=(("goal", 1e3 * MANY_GOAL),)))
    return tuple(panels)


def _chosen(readings: Sequence[Reading], setup: str, size: int, aggregate: str, optimizer: Optimizer) -> list[Reading]:
    wanted = (setup, size, aggregate, optimizer)
    return [r for r in readings if (r.setup, r.size, r.aggregate, r.optimizer) == wanted]


def _spread(readings: Iterable[Reading]) -> Spread:
    return spread(r.seconds for r in readings)


def _cell(readings: Sequence[Reading]) -> str:
    found = _spread(readings)
    return " / ".join(shown(1e3 * value) for value in (found.median, found.p90, found.largest))
