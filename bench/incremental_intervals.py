"""Arasu and Widom's base intervals beside the Reactive Aggregator, m tuples at once (Tangwongsan et al., Figure 11)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Final

from bench.chart import Chart, Panel, Series
from bench.incremental_reactive import FIRINGS, fire
from bench.incremental_slides import size_name, size_places
from bench.incremental_structures import AGGREGATES, contenders, partials
from bench.measure import interleave, spread
from bench.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.measure import Spread, Track
    from bench.report import Cell

AGGREGATE: Final = "max"
FIRED: Final = ("m = 1", "m = 64", "m = n/4", "m = n")
WAYS: Final = ("Reactive Aggregator (FIFO)", "B-Int")


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure: window sizes, runs, and the tuples that a run takes in at the least."""

    sizes: tuple[int, ...] = tuple(1 << power for power in range(3, 18))
    repeats: int = 3
    tuples: int = 4096


@dataclass(frozen=True, slots=True)
class Reading:
    """Microseconds of the processor per tuple."""

    algorithm: str
    firing: str
    window: int
    tuples: int
    runs: int
    cost: Spread


def measure(scale: Scale, track: Track) -> list[Reading]:
    """Fire at different granularities over windows of either kind."""
    pool = partials(AGGREGATE, max(scale.sizes) * 5 // 4 + 1)
    return [
        reading for size in track(sorted(scale.sizes), "base intervals") for reading in _measured(size, pool, scale)
    ]


def _measured(size: int, pool: list[Any], scale: Scale) -> list[Reading]:
    makers = contenders(AGGREGATES[AGGREGATE])
    tasks: dict[tuple[str, str], Any] = {}
    for name in WAYS:
        window, stream = makers[name](), cycle(pool)
        for value in islice(stream, size):
            window.insert(value)
        window.query()
        for firing in FIRED:
            m = FIRINGS[firing](size)
            if m is not None:
                tasks[name, firing] = partial(fire, window, stream, m, -(-scale.tuples // m))
    timed = interleave({f"{name}, {firing}": task for (name, firing), task in tasks.items()}, repeats=scale.repeats)
    found = []
    for name, firing in tasks:
        runs = timed[f"{name}, {firing}"]
        cost = spread(1e6 * seconds / runs.result for seconds in runs.processor)
        found.append(Reading(name, firing, size, runs.result, len(runs.processor), cost))
    return found


def report(scale: Scale, readings: Sequence[Reading]) -> Report:
    """Show the cost of a tuple either way, as Figure 11 does."""
    costs = {(r.algorithm, r.firing, r.window): r.cost.median for r in readings}
    columns = tuple(f"{firing}: {name}" for firing in FIRED for name in ("reactive", "base intervals"))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (size_name(n), *(costs.get((name, firing, n)) for firing in FIRED for name in WAYS)) for n in scale.sizes
    )
    panels = tuple(
        Panel(
            firing,
            size_places(scale.sizes),
            tuple(Series(name, tuple(costs.get((name, firing, n)) for n in scale.sizes)) for name in WAYS),
            lines=True,
        )
        for firing in FIRED
    )
    title = "Base intervals beside the Reactive Aggregator"
    return Report(
        "incremental-intervals",
        title,
        {
            "window sizes": f"{min(scale.sizes):,} to {max(scale.sizes):,}",
            "runs": scale.repeats,
            "tuples per run, at least": scale.tuples,
            "time": "on the processor",
            "threads": 1,
        },
        (Table(f"{AGGREGATE}: microseconds per tuple", ("window", *columns), rows),),
        Table(
            "measurements",
            ("algorithm", "aggregate", "firing", "window", "tuples", "runs", "us_per_tuple", "most"),
            tuple(
                (r.algorithm, AGGREGATE, r.firing, r.window, r.tuples, r.runs, r.cost.median, r.cost.largest)
                for r in readings
            ),
        ),
        Chart(title, "µs per tuple, median", panels),
        (
            "A firing lets m tuples go, takes m others in and gives a result. B-Int keeps base intervals, which is "
            "Arasu and Widom's algorithm; like the Reactive Aggregator it is written in Python.",
        ),
    )
