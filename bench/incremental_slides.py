"""What slides cost, told: tables, charts and sentences from the readings of `bench.incremental_structures`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from bench.chart import Chart, Panel, Series
from bench.incremental_structures import AGGREGATES, CONSTANT, SLICK, TREES
from bench.measure import spread
from bench.report import Report, Table, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.incremental_structures import Latency, Reading, Scale
    from bench.report import Cell

# One of each kind: recomputing, a tree, amortised, de-amortised, and the one that looks at the data.
CONTRAST: Final = (TREES[0], TREES[-1], "TwoStacks", "DABA", SLICK)
WATCHED: Final = (TREES[-1], "FlatFIT", "TwoStacks", "DABA", SLICK)


def size_name(size: int) -> str:
    """Write a window's size shortly where it is a round binary number.

    >>> [size_name(size) for size in (1, 512, 1 << 16, 1 << 20, 1000)]
    ['1', '512', '64K', '1M', '1,000']
    """
    for power, unit in ((20, "M"), (10, "K")):
        if size >= 1 << power and size % (1 << power) == 0:
            return f"{size >> power}{unit}"
    return f"{size:,}"


def size_places(sizes: Sequence[int]) -> tuple[str, ...]:
    """Name the places of a chart's axis, every other one where there are many.

    >>> size_places([1, 2, 4])
    ('1', '2', '4')
    """
    step = 2 if len(sizes) > 12 else 1
    return tuple("" if place % step else size_name(size) for place, size in enumerate(sizes))


def reports(scale: Scale, readings: Sequence[Reading]) -> tuple[Report, ...]:
    """Report throughput, by kind of algorithm, and latency."""
    return (
        _throughput(scale, readings, "constant", "Slides per second: constant time, amortised or not", CONSTANT),
        _throughput(scale, readings, "trees", "Slides per second: trees, and recomputing", TREES),
        _latency(scale, readings),
    )


def contrast(scale: Scale, readings: Sequence[Reading]) -> Chart:
    """Draw one algorithm of each kind."""
    return _rates("Slides per second against window size", scale, readings, CONTRAST)


def summary(readings: Sequence[Reading]) -> tuple[Table, ...]:
    """Show all algorithms at a middling and at the largest window."""
    sizes = sorted({r.window for r in readings})
    chosen = dict.fromkeys((min(sizes, key=lambda size: abs(size - 1024)), sizes[-1]))
    return tuple(
        Table(
            f"Slides per second, window of {size:,}",
            ("algorithm", *AGGREGATES),
            tuple((name, *(_rate(readings, each, name, size) for each in AGGREGATES)) for name in (*CONSTANT, *TREES)),
        )
        for size in chosen
    )


def sentences(readings: Sequence[Reading]) -> tuple[str, ...]:
    """Say what the readings show at the largest window."""
    largest = max(r.window for r in readings)
    said = []
    for aggregate in AGGREGATES:
        ranked = sorted(
            (
                (r.rate.median, r.algorithm)
                for r in readings
                if (r.aggregate, r.window) == (aggregate, largest) and r.rate
            ),
            reverse=True,
        )
        if ranked:
            (most, first), (least, last) = ranked[0], ranked[-1]
            said.append(f"{aggregate}: {first} {shown(most)}, {last} {shown(least)}")
    found = [f"Slides per second at a window of {largest:,}, fastest and slowest: {'; '.join(said)}."]
    longest = {
        name: [r.latency.largest for r in readings if (r.algorithm, r.window) == (name, largest) and r.latency]
        for name in ("DABA", "TwoStacks")
    }
    if all(longest.values()):
        daba, stacks = (max(values) / 1e3 for values in longest.values())
        found.append(
            f"The longest single slide there, over all aggregates: {shown(daba)} ms for DABA, whose bound is constant, "
            f"and {shown(stacks)} ms for TwoStacks, which flips the whole window at once."
        )
    return (*found, *left_out(readings))


def left_out(readings: Iterable[Reading]) -> tuple[str, ...]:
    """Say what took too long."""
    names = [f"{r.algorithm} on {r.aggregate} from {r.window:,}" for r in readings if r.rate is None]
    return (f"Left out, as one run would have taken too long: {'; '.join(names)}.",) if names else ()


def _throughput(scale: Scale, readings: Sequence[Reading], name: str, title: str, families: Sequence[str]) -> Report:
    chosen = [r for r in readings if r.family in families]
    tables = []
    for aggregate in AGGREGATES:
        present = [name for name in families if any((r.aggregate, r.family) == (aggregate, name) for r in chosen)]
        rows = tuple(
            (size_name(size), *(_rate(chosen, aggregate, family, size) for family in present)) for size in scale.sizes
        )
        tables.append(Table(f"{aggregate}: slides per second", ("window", *present), rows))
    columns = ("aggregate", "algorithm", "window", "slides", "runs", "slides_per_s", "slowest", "fastest", "processor")
    rows = tuple(
        (
            *(r.aggregate, r.algorithm, r.window, r.slides, r.runs),
            *((r.rate.median, r.slowest, r.rate.largest) if r.rate else (None, None, None)),
            r.processor,
        )
        for r in chosen
    )
    return Report(
        f"incremental-{name}",
        title,
        settings(scale),
        tuple(tables),
        Table("measurements", columns, rows),
        _rates(title, scale, chosen, families),
        (
            "A slide evicts the oldest partial, inserts one and asks for the result; partials are lifted beforehand. "
            "The figure is the median of the runs, each of whole rounds where an algorithm does the work of a window "
            "in one slide of a round.",
            *left_out(chosen),
        ),
    )


def settings(scale: Scale) -> dict[str, Cell]:
    """Tell how the readings were taken."""
    return {
        "window sizes": f"{min(scale.sizes):,} to {max(scale.sizes):,}",
        "values": "random 31-bit integers",
        "runs": scale.repeats,
        "seconds per run": scale.seconds,
        "order of runs": "in turn, every other round backwards",
        "garbage collection": "off while the clock runs",
        "threads": 1,
        "one reading of the clock (ns)": _clock(),
    }


def _latency(scale: Scale, readings: Sequence[Reading]) -> Report:
    sizes = sorted({r.window for r in readings})
    shown_sizes = list(dict.fromkeys((min(sizes, key=lambda size: abs(size - 1024)), sizes[-1])))
    tables = []
    for aggregate in AGGREGATES:
        for size in shown_sizes:
            found = [(r.algorithm, r.latency) for r in readings if (r.aggregate, r.window) == (aggregate, size)]
            rows = tuple((name, *_percentiles(each)) for name, each in found if each)
            columns = ("algorithm", "slides", "p50", "p99", "p99.9", "max")
            tables.append(Table(f"{aggregate}, window of {size:,}: microseconds of a slide", columns, rows))
    measurements = Table(
        "measurements",
        ("aggregate", "algorithm", "window", "slides", "p50_us", "p99_us", "p999_us", "max_us"),
        tuple((r.aggregate, r.algorithm, r.window, *_percentiles(r.latency)) for r in readings if r.latency),
    )
    panels = []
    drawn = scale.sizes[:: 2 if len(scale.sizes) > 12 else 1]  # more whiskers would hide one another
    for aggregate in AGGREGATES:
        series = []
        for family in WATCHED:
            at = {r.window: r.latency for r in readings if (r.aggregate, r.family) == (aggregate, family) and r.latency}
            middle = tuple(_thousands(at[size].p50 if size in at else None) for size in drawn)
            highs = tuple(_thousands(at[size].largest if size in at else None) for size in drawn)
            series.append(Series(family, middle, highs))
        panels.append(Panel(aggregate, size_places(drawn), tuple(series), lines=True))
    title = "Latency of a slide against window size"
    return Report(
        "incremental-latency",
        title,
        settings(scale),
        tuple(tables),
        measurements,
        Chart(title, "ms, median and longest", tuple(panels), log=True),
        (
            "Each slide is timed alone, the two readings of the clock included. A percentile is one of the slides, by "
            "nearest rank: p99 needs 100 slides, p99.9 needs 1,000. The longest slide includes whatever else the "
            "machine did meanwhile.",
        ),
    )


def _percentiles(latency: Latency) -> tuple[Cell, ...]:
    return latency.slides, latency.p50, latency.p99, latency.p999, latency.largest


def _rates(title: str, scale: Scale, readings: Sequence[Reading], families: Sequence[str]) -> Chart:
    panels = []
    for aggregate in AGGREGATES:
        series = tuple(
            Series(family, tuple(_thousands(_rate(readings, aggregate, family, size)) for size in scale.sizes))
            for family in families
        )
        panels.append(Panel(aggregate, size_places(scale.sizes), series, lines=True))
    return Chart(title, "thousand slides per second, median", tuple(panels), log=True)


def _rate(readings: Iterable[Reading], aggregate: str, family: str, size: int) -> float | None:
    wanted = (aggregate, family, size)
    found = [r.rate.median for r in readings if (r.aggregate, r.family, r.window) == wanted and r.rate]
    return found[0] if found else None


def _thousands(value: float | None) -> float | None:
    # The scale has room for numbers below a million.
    return None if value is None else value / 1e3


def _clock() -> float:
    read = time.perf_counter_ns
    return float(spread(-read() + read() for _ in range(1001)).median)
