"""Figure 12: what SUM costs for 10,000 windows of each class, against the rate of the stream."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bench.chart import Panel, Series
from bench.report import Table, shown
from bench.subsume_groups import CLASSES, LONGEST, drawn
from muntin import agg
from muntin.share.subsume import separate, subsume_windows
from muntin.share.subsume_manager import WindowManager

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.report import Cell

PAPER_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Scale:
    """How many windows, which rates, over how many units of time, and up to which rate separate windows take part."""

    windows: int = 10_000
    rates: tuple[int, ...] = (1_000, 10_000, 20_000, 50_000, 100_000)
    units: int = 60
    separate_units: int = 20


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds on the processor for a unit of time: of all, and of the results alone, with one event in the unit."""

    kind: str
    way: str
    rate: int
    groups: int
    seconds: float
    results: float


def jobs(scale: Scale) -> list[Callable[[], Cost]]:
    """List the runs: every class at every rate, and separate windows at the lowest."""
    return [
        *(partial(_cost, scale, kind, "subsumed", rate) for kind in CLASSES for rate in (1, *scale.rates)),
        *(partial(_cost, scale, kind, "separate", 1) for kind in CLASSES),
    ]


def _cost(scale: Scale, kind: str, way: str, rate: int) -> Cost:
    grouping = subsume_windows if way == "subsumed" else separate
    manager = WindowManager(agg.sum, drawn(kind, scale.windows, 0), grouping=grouping)
    # Bytes of connections, as far as a sum cares: skewed whole numbers.
    values = [int(value) for value in np.random.default_rng(rate).lognormal(6, 2, rate)]
    add = manager.add
    for unit in range(LONGEST):
        add(unit, 1)
    # A unit with one event takes little time: more of them are looked at.
    units = scale.separate_units if way == "separate" else scale.units * (6 if rate == 1 else 1)
    results = 0
    start = time.process_time()
    for unit in range(LONGEST, LONGEST + units):
        for value in values:
            results += len(add(unit, value))
    seconds = (time.process_time() - start) / units
    return Cost(kind, way, rate, len(manager.grouping), seconds, results / units)


def tables(scale: Scale, found: Sequence[Cost]) -> tuple[Table, ...]:
    """Tell what a unit of time costs."""
    rates: list[tuple[Cell, ...]] = [
        (f"{rate:,}", *(1e3 * _one(found, kind, "subsumed", rate).seconds for kind in CLASSES))
        for rate in (1, *scale.rates)
    ]
    alone: list[tuple[Cell, ...]] = []
    for kind in CLASSES:
        shared, separately = _one(found, kind, "subsumed", 1), _one(found, kind, "separate", 1)
        times = separately.seconds / shared.seconds
        results = f"{shared.results:,.0f}"
        alone.append((kind, shared.groups, results, 1e3 * shared.seconds, 1e3 * separately.seconds, times))
    return (
        Table(
            f"SUM over {scale.windows:,} windows, ms per unit of time (Figure 12)",
            ("events per unit", *CLASSES),
            tuple(rates),
        ),
        Table(
            f"Results of {scale.windows:,} windows alone, ms per unit of time, one event in each",
            ("class", "groups", "results per unit", "subsumed", "separate", "times"),
            tuple(alone),
        ),
    )


def panels(scale: Scale, found: Sequence[Cost]) -> tuple[Panel, ...]:
    """Draw the cost over the rate."""
    places = tuple(f"{rate:,}" for rate in scale.rates)
    series = tuple(
        Series(kind, tuple(1e3 * _one(found, kind, "subsumed", rate).seconds for rate in scale.rates))
        for kind in CLASSES
    )
    return (Panel(f"SUM, {scale.windows:,} windows, ms per unit, by events per unit", places, series, lines=True),)


def says(scale: Scale, found: Sequence[Cost]) -> tuple[str, str, str]:
    """Hold the cost against the paper's word."""
    most = max((each for each in found if each.rate == max(scale.rates)), key=lambda each: each.seconds)
    what = f"SUM of {scale.windows:,} windows, s per unit of time"
    return (
        what,
        f"< {PAPER_SECONDS:.0f} in most cases",
        f"{shown(most.seconds)} at most, at {most.rate:,} events per unit",
    )


def _one(found: Sequence[Cost], kind: str, way: str, rate: int) -> Cost:
    return next(each for each in found if (each.kind, each.way, each.rate) == (kind, way, rate))
