"""The Reactive Aggregator's cost per tuple, against window size and the tuples per firing (Figures 9 and 10)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from bench.chart import Chart, Panel, Series
from bench.incremental_slides import size_name, size_places
from bench.incremental_structures import AGGREGATES, partials
from bench.measure import interleave, spread
from bench.report import Report, Table, shown
from muntin.incremental.reactive_fifo import FifoBuffer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bench.incremental_structures import Window
    from bench.measure import Spread, Track
    from bench.report import Cell

COSTED: Final = ("max", "stddev")
# Tuples per firing: m, for a window of n; None where the window has too few.
FIRINGS: Final[Mapping[str, Callable[[int], int | None]]] = {
    "m = 1": lambda n: 1,
    "m = 4": lambda n: 4 if n >= 4 else None,
    "m = 64": lambda n: 64 if n >= 64 else None,
    "m = n/16": lambda n: n // 16 or None,
    "m = n/4": lambda n: n // 4 or None,
    "m = n": lambda n: n,
}
OSCILLATING: Final = "m = 1, oscillating"
DRAWN: Final = ("m = 1", OSCILLATING, "m = 64", "m = n/16", "m = n")
# The least capacity: below it a window's capacity cannot fall, hence not oscillate.
LEAST: Final = 8


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure: window sizes, runs, the seconds that a run aims at and that it may take at most."""

    sizes: tuple[int, ...] = tuple(1 << power for power in range(3, 21))
    repeats: int = 3
    seconds: float = 0.03
    limit: float = 6.0


@dataclass(frozen=True, slots=True)
class Reading:
    """Microseconds per tuple, on the processor and by the clock; None where a run would have taken too long."""

    aggregate: str
    firing: str
    window: int
    tuples: int
    runs: int
    cost: Spread | None
    least: float | None
    clock: float | None


def measure(scale: Scale, track: Track) -> list[Reading]:
    """Fire at different granularities, over windows of fixed and of oscillating capacity."""
    jobs = [(aggregate, size) for aggregate in COSTED for size in scale.sizes]
    pools = {aggregate: partials(aggregate, max(scale.sizes) * 5 // 4 + 1) for aggregate in COSTED}
    return [
        reading
        for aggregate, size in track(jobs, "per tuple")
        for reading in _measured(aggregate, size, pools[aggregate], scale)
    ]


def _measured(aggregate: str, size: int, pool: list[Any], scale: Scale) -> list[Reading]:
    function, stream = AGGREGATES[aggregate], cycle(pool)
    fixed, changing = (FifoBuffer(function, capacity) for capacity in (size, LEAST))
    for window in (fixed, changing) if size > LEAST else (fixed,):
        for value in islice(stream, size):
            window.insert(value)
        window.query()
    tasks: dict[str, Callable[[], int]] = {}
    for name, share in FIRINGS.items():
        m = share(size)
        if m is not None:
            tasks[name] = partial(fire, fixed, stream, m, _firings(fixed, stream, m, scale.seconds))
    readings = []
    # A round of oscillation is half a window of firings with one tuple each.
    if size > LEAST and size / 2 * scale.seconds / _firings(fixed, stream, 1, scale.seconds) <= scale.limit:
        tasks[OSCILLATING] = partial(oscillate, changing, stream, size, scale.seconds)
    elif size > LEAST:
        readings.append(Reading(aggregate, OSCILLATING, size, size // 2, 0, None, None, None))
    timed = interleave(tasks, repeats=scale.repeats, seconds=scale.repeats * 2 * scale.seconds, warm_up=False)
    for name, runs in timed.items():
        # The processor's time: a curve of costs must not show what the neighbours did.
        costs = [1e6 * seconds / runs.result for seconds in runs.processor]
        clock = 1e6 * spread(runs.seconds).median / runs.result
        readings.append(Reading(aggregate, name, size, runs.result, len(costs), spread(costs), min(costs), clock))
    return readings


def _firings(window: FifoBuffer[Any], stream: Iterator[Any], m: int, seconds: float) -> int:
    """Find how many firings take about so many seconds."""
    fire(window, stream, m, 64 // m)  # short firings need some practice, long ones none
    count = 1
    while True:
        start = perf_counter()
        fire(window, stream, m, count)
        taken = perf_counter() - start
        if taken >= seconds / 4:
            return max(1, round(count * seconds / taken))
        count *= 4


def fire(window: Window, stream: Iterator[Any], m: int, firings: int) -> int:
    """Let m tuples go and m others come before each result, and count those that came.

    >>> window, stream = FifoBuffer(AGGREGATES["max"], 8), iter(range(100))
    >>> for value in islice(stream, 8):
    ...     window.insert(value)
    >>> fire(window, stream, 4, 3), window.query(), len(window)
    (12, 19, 8)
    """
    evict, insert, query = window.evict, window.insert, window.query
    for _ in range(firings):
        for _ in range(m):
            evict()
        for value in islice(stream, m):
            insert(value)
        query()
    return m * firings


def oscillate(window: FifoBuffer[Any], stream: Iterator[Any], size: int, seconds: float) -> int:
    """Drive the capacity from n to 2n and back, for some time in whole rounds, and count the tuples that came.

    Tuples come one by one, each with a result, until the full window doubles its capacity; then half of them and a few
    more go at once, until it halves.

    >>> window, stream = FifoBuffer(AGGREGATES["max"], 4), iter(range(1000))
    >>> for value in islice(stream, 16):
    ...     window.insert(value)
    >>> oscillate(window, stream, 16, 0.0), window.capacity, len(window)
    (10, 16, 16)
    """
    insert, query, came, start = window.insert, window.query, 0, perf_counter()
    while not came or perf_counter() - start < seconds:
        insert(next(stream))
        query()
        assert window.capacity == 2 * size
        came += 1
        while window.capacity > size:
            window.evict()
        for value in islice(stream, size - len(window)):
            insert(value)
            query()
            came += 1
    return came


def report(scale: Scale, readings: Sequence[Reading]) -> Report:
    """Put the costs per tuple into a table for each aggregate, and draw them as Figures 9 and 10 do."""
    names = (*FIRINGS, OSCILLATING)
    tables = tuple(
        Table(
            f"{aggregate}: microseconds per tuple",
            ("window", *names),
            tuple((size_name(n), *(_cost(readings, aggregate, name, n) for name in names)) for n in scale.sizes),
        )
        for aggregate in COSTED
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            *(r.aggregate, r.firing, r.window, r.tuples, r.runs),
            *((r.cost.median, r.least, r.cost.largest) if r.cost else (None, None, None)),
            r.clock,
        )
        for r in readings
    )
    columns = ("aggregate", "firing", "window", "tuples", "runs", "us_per_tuple", "least", "most", "by_the_clock")
    panels = tuple(
        Panel(
            aggregate,
            size_places(scale.sizes),
            tuple(Series(name, tuple(_cost(readings, aggregate, name, n) for n in scale.sizes)) for name in DRAWN),
            lines=True,
        )
        for aggregate in COSTED
    )
    title = "Reactive Aggregator: cost per tuple, m tuples per firing, n in the window"
    return Report(
        "incremental-per-tuple",
        title,
        {
            "structure": FifoBuffer.card.name,
            "window sizes": f"{min(scale.sizes):,} to {max(scale.sizes):,}",
            "runs": scale.repeats,
            "seconds per run": scale.seconds,
            "time": "on the processor",
            "garbage collection": "off while the clock runs",
            "threads": 1,
        },
        tables,
        Table("measurements", columns, rows),
        Chart(title, "µs per tuple, median", panels),
        (
            "With a fixed capacity, a firing lets m tuples go, takes m others in and gives a result. An oscillating "
            "capacity goes from n to 2n and back all the time: tuples come one by one, each with a result, until the "
            "window of n is full and doubles; then half of them and a few go at once, and it halves (Figure 9). "
            "m = 4 and m = n/4 are in the table alone.",
            *sentences(readings),
        ),
    )


def sentences(readings: Sequence[Reading]) -> tuple[str, ...]:
    """Say how the cost grows, what resizing adds, and what is missing."""
    said, ratios = [], []
    for aggregate in COSTED:
        curves = {
            name: {r.window: r.cost.median for r in readings if (r.aggregate, r.firing) == (aggregate, name) and r.cost}
            for name in ("m = 1", "m = n", OSCILLATING)
        }
        for name in ("m = 1", "m = n"):
            low, high = min(curves[name]), max(curves[name])
            small, large = shown(curves[name][low]), shown(curves[name][high])
            said.append(f"{aggregate}, {name}: {small} at n = {low:,} and {large} at n = {high:,}")
        ratios += [cost / curves["m = 1"][n] for n, cost in curves[OSCILLATING].items()]
    found = [f"Microseconds per tuple of the Reactive Aggregator: {'; '.join(said)}."]
    if ratios:
        found.append(
            f"With an oscillating capacity a tuple costs {spread(ratios).median:.2f} times as much as with a fixed one "
            f"(median over sizes; {min(ratios):.2f} to {max(ratios):.2f})."
        )
    missing = [f"{r.aggregate} at n = {r.window:,}" for r in readings if r.cost is None]
    if missing:
        found.append(f"Left out, as one round of oscillation would have taken too long: {', '.join(missing)}.")
    return tuple(found)


def _cost(readings: Sequence[Reading], aggregate: str, firing: str, size: int) -> float | None:
    wanted = (aggregate, firing, size)
    found = [r.cost.median for r in readings if (r.aggregate, r.firing, r.window) == wanted and r.cost]
    return found[0] if found else None
