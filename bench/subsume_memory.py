"""Figure 11: what all windows hold in memory together, subsumed and each on its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bench.chart import Panel, Series
from bench.report import Table
from bench.subsume_groups import LONGEST, drawn
from muntin import agg
from muntin.share.stairs_items import Items
from muntin.share.subsume import separate, subsume_windows
from muntin.share.subsume_manager import WindowManager

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WAYS = {"subsumed": subsume_windows, "separate": separate}
HOLDS = ("events", "sub-aggregates")


@dataclass(frozen=True, slots=True)
class Scale:
    """How many windows hold events, at how many events per unit of time, and for how long that is looked at."""

    windows: tuple[int, ...] = (1_000, 2_000, 5_000, 10_000)
    classes: tuple[str, ...] = ("smooth", "medium", "abrupt")
    rate: int = 10
    units: int = 60


@dataclass(frozen=True, slots=True)
class Holding:
    """What is held on average at the end of a unit of time; of it, what waits in buffer queues."""

    kind: str
    windows: int
    way: str
    holds: str
    total: float
    buffered: float


def jobs(scale: Scale) -> list[Callable[[], Holding]]:
    """List what to look at."""
    return [
        partial(_holding, scale, kind, count, way, holds)
        for kind in scale.classes
        for count in scale.windows
        for way in WAYS
        for holds in HOLDS
    ]


def _holding(scale: Scale, kind: str, count: int, way: str, holds: str) -> Holding:
    operation: Any = Items(len) if holds == "events" else agg.sum
    manager = WindowManager(operation, drawn(kind, count, 0), grouping=WAYS[way])
    # Sub-aggregates do not grow with the rate.
    rate = scale.rate if holds == "events" else 1
    totals, buffered = [], []
    for unit in range(LONGEST + scale.units):
        for value in range(rate):
            manager.add(unit, value)
        if unit >= LONGEST:  # windows are complete from here on
            held = manager.held
            totals.append(held.total)
            buffered.append(held.buffer)
    return Holding(kind, count, way, holds, fmean(totals), fmean(buffered))


def tables(scale: Scale, found: Sequence[Holding]) -> tuple[Table, ...]:
    """Tell what is held either way."""
    return tuple(
        Table(
            f"Held for all windows, {holds}"
            + (f" at {scale.rate} per unit of time (Figure 11)" if holds == "events" else " of SUM"),
            ("windows", "subsumed", "of it in buffers", "separate", "times less"),
            tuple(
                (
                    f"{kind}, {count:,}",
                    shared.total,
                    shared.buffered,
                    alone.total,
                    alone.total / shared.total,
                )
                for kind in scale.classes
                for count in scale.windows
                for shared, alone in [_pair(found, kind, count, holds)]
            ),
        )
        for holds in HOLDS
    )


def panels(scale: Scale, found: Sequence[Holding]) -> tuple[Panel, ...]:
    """Draw what is held for the medium class, as the figure does."""
    pairs = [_pair(found, "medium", count, "events") for count in scale.windows]
    series = tuple(Series(way, tuple(pair[i].total / 1000 for pair in pairs)) for i, way in enumerate(WAYS))
    places = tuple(f"{count:,}" for count in scale.windows)
    title = f"Thousand events held, medium, {scale.rate} per unit, by number of windows"
    return (Panel(title, places, series, lines=True),)


def says(scale: Scale, found: Sequence[Holding]) -> tuple[str, str, str]:
    """Hold the savings against the paper's word."""
    less = [
        alone.total / shared.total for shared, alone in (_pair(found, "medium", n, "events") for n in scale.windows)
    ]
    return "memory of the medium class, less by", "orders of magnitude", f"{min(less):,.0f} to {max(less):,.0f} times"


def _pair(found: Sequence[Holding], kind: str, count: int, holds: str) -> tuple[Holding, Holding]:
    here = {each.way: each for each in found if (each.kind, each.windows, each.holds) == (kind, count, holds)}
    return here["subsumed"], here["separate"]
