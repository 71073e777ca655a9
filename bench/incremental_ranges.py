"""What a slide costs where every range is asked for at every slide (multi-query optimization, Figure 12)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bench.chart import Chart, Panel, Series
from bench.incremental_slides import size_name, size_places
from bench.incremental_structures import AGGREGATES, CHECKED, Stream, contenders, partials
from bench.measure import interleave, spread
from bench.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.measure import Spread, Track
    from bench.report import Cell

AGGREGATE: Final = "max"


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure: window sizes, runs, the seconds that a run aims at and that it may take at most."""

    sizes: tuple[int, ...] = tuple(1 << power for power in range(13))
    repeats: int = 3
    seconds: float = 0.03
    limit: float = 5.0


@dataclass(frozen=True, slots=True)
class Reading:
    """Slides per second with as many answers each as the window has partials; None where a run would take too long."""

    algorithm: str
    window: int
    slides: int
    runs: int
    rate: Spread | None
    slowest: float | None
    processor: float | None


def structures() -> dict[str, Any]:
    """List the structures that answer for any range.

    >>> "DABA" in structures(), "FlatFIT" in structures()
    (False, True)
    """
    return {name: make for name, make in contenders(AGGREGATES[AGGREGATE]).items() if hasattr(make(), "query_last")}


def measure(scale: Scale, track: Track) -> list[Reading]:
    """Slide every structure that answers for any range, over windows of growing size."""
    pool = partials(AGGREGATE, max(scale.sizes) * 5 // 4 + 1)
    streams = [Stream(name, make(), pool) for name, make in structures().items()]
    readings: list[Reading] = []
    for size in track(sorted(scale.sizes), "ranges"):
        found = _measured(size, streams, scale)
        readings += found
        slow = {r.algorithm for r in found if r.rate is None}
        streams = [stream for stream in streams if stream.algorithm not in slow]
    return readings


def answer(stream: Stream, slides: int) -> list[Any]:
    """Slide, and ask for every range each time; give the answers of the last slide, the shortest range first.

    >>> stream = Stream("Panes", structures()["Panes"](), [3, 1, 2])
    >>> stream.grow(2)
    >>> answer(stream, 1)
    [2, 2]
    """
    window: Any = stream.window
    ranges, found = range(1, len(window) + 1), []
    for _ in range(slides):
        stream.slide(1)
        found = [window.query_last(count) for count in ranges]
    return found


def _measured(size: int, streams: Sequence[Stream], scale: Scale) -> list[Reading]:
    planned: dict[str, tuple[int, float]] = {}
    for stream in streams:
        stream.grow(size)
        start = time.perf_counter()
        told = answer(stream, 1)
        each = time.perf_counter() - start
        if size <= CHECKED:
            _check(stream, told)
        slides = max(1, round(scale.seconds / each))
        planned[stream.algorithm] = slides, slides * each
    fit = [stream for stream in streams if planned[stream.algorithm][1] <= scale.limit]
    timed = interleave(
        {stream.algorithm: partial(answer, stream, planned[stream.algorithm][0]) for stream in fit},
        repeats=scale.repeats,
        seconds=scale.repeats * 2 * scale.seconds,
        warm_up=False,
    )
    readings = []
    for stream in streams:
        name, (slides, _) = stream.algorithm, planned[stream.algorithm]
        if name not in timed:
            readings.append(Reading(name, size, slides, 0, None, None, None))
            continue
        runs = timed[name].seconds
        processor = slides / max(1e-9, spread(timed[name].processor).median)
        rate = spread(slides / seconds for seconds in runs)
        readings.append(Reading(name, size, slides, len(runs), rate, slides / max(runs), processor))
    return readings


def _check(stream: Stream, told: Sequence[Any]) -> None:
    """Refuse to time what computes something else."""
    best, wanted = AGGREGATES[AGGREGATE].identity, []
    for value in reversed(stream.expected()):
        best = AGGREGATES[AGGREGATE].combine(value, best)
        wanted.append(best)
    if list(told) != wanted:
        msg = (
            f"{stream.algorithm} gave {list(told)[:5]}... for the ranges of {len(wanted)}, a fold gives {wanted[:5]}..."
        )
        raise AssertionError(msg)


def report(scale: Scale, readings: Sequence[Reading]) -> Report:
    """Show the slides a second, as Figure 12 does."""
    names = tuple(dict.fromkeys(r.algorithm for r in readings))
    rates = {(r.algorithm, r.window): r.rate.median for r in readings if r.rate}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (size_name(size), *(rates.get((name, size)) for name in names)) for size in scale.sizes
    )
    columns = ("aggregate", "algorithm", "window", "slides", "runs", "slides_per_s", "slowest", "fastest", "processor")
    measured: tuple[tuple[Cell, ...], ...] = tuple(
        (
            *(AGGREGATE, r.algorithm, r.window, r.slides, r.runs),
            *((r.rate.median, r.slowest, r.rate.largest) if r.rate else (None, None, None)),
            r.processor,
        )
        for r in readings
    )
    series = tuple(
        Series(
            name.partition("-Non")[0],
            tuple(None if (rate := rates.get((name, n))) is None else rate / 1e3 for n in scale.sizes),
        )
        for name in names[:5]
    )
    title = "Slides per second, every range asked at every slide"
    slow = [f"{r.algorithm} from {r.window:,}" for r in readings if r.rate is None]
    return Report(
        "incremental-ranges",
        title,
        {
            "window sizes": f"{min(scale.sizes):,} to {max(scale.sizes):,}",
            "runs": scale.repeats,
            "seconds per run": scale.seconds,
            "threads": 1,
        },
        (Table(f"{AGGREGATE}: slides per second", ("window", *names), rows),),
        Table("measurements", columns, measured),
        Chart(
            title,
            "thousand slides/s",
            (Panel(AGGREGATE, size_places(scale.sizes), series, lines=True),),
            log=True,
        ),
        (
            "A slide evicts the oldest partial, inserts one, and asks for the last 1, 2, ... n partials, one by one. "
            "TwoStacks, DABA and the Reactive Aggregator answer for the whole window only and are not among them.",
            *((f"Left out, as one run would have taken too long: {'; '.join(slow)}.",) if slow else ()),
        ),
    )
