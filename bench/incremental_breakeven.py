"""From which window size on the Reactive Aggregator pays (Tangwongsan et al., Table 3)."""

from __future__ import annotations

import math
import random
import re
import statistics
import time
from collections import deque
from dataclasses import dataclass
from functools import partial
from operator import itemgetter, mul
from typing import TYPE_CHECKING, Any, Final

from bench.chart import Chart, Panel, Series
from bench.measure import interleave, spread
from bench.report import Report, Table
from muntin.aggregate import catalog
from muntin.incremental.panes import Panes
from muntin.incremental.reactive_fifo import FifoBuffer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bench.measure import Track
    from bench.report import Cell
    from muntin.aggregate.algebra import AggregateFunction

# Recomputing: by the aggregate's own combine, or by what Python offers for that one function, as the paper's baseline
# was written for each function by hand.
BASELINES: Final = ("combine", "builtin")
TIMES: Final = (1, 10)
TEN: Final = 10


@dataclass(frozen=True, slots=True)
class Case:
    """A row of Table 3: the function, its events, how Python computes it at once, and the paper's two figures."""

    name: str
    function: AggregateFunction
    event: Callable[[random.Random], Any]
    builtin: Callable[[deque[Any]], Any]
    paper: tuple[int | None, int | None]


def _integer(chance: random.Random) -> int:
    return chance.getrandbits(31)


def _pair(chance: random.Random) -> tuple[int, int]:
    return chance.getrandbits(31), chance.getrandbits(31)


def _float_pair(chance: random.Random) -> tuple[float, int]:
    return chance.random(), chance.getrandbits(31)


def _mean(window: deque[Any]) -> float:
    return float(sum(window) / len(window))


def _count_of_min(window: deque[Any]) -> int:
    return window.count(min(window))


def _deviation(less: int, window: deque[Any]) -> float:
    # The sums of Table 1. They lose digits, but nothing in Python that does not is as fast.
    n, total = len(window), sum(window)
    return math.sqrt(max(0.0, sum(map(mul, window, window)) - total * total / n) / max(1, n - less))


def _arg_max(window: deque[Any]) -> Any:
    return max(window, key=itemgetter(0))[1]


CASES: Final = (
    Case("Count", catalog.count, _integer, len, (None, None)),
    Case("Sum", catalog.sum, _integer, sum, (370, 5200)),
    Case("Sum<Double>", catalog.sum, random.Random.random, sum, (290, 5200)),
    Case("Max", catalog.max, _integer, max, (260, 5200)),
    Case("Max<Double>", catalog.max, random.Random.random, max, (130, 3600)),
    Case("ArithmeticMean", catalog.avg, _integer, _mean, (10, 900)),
    Case("MinCount", catalog.min_count, _integer, _count_of_min, (200, 4480)),
    Case("SampleStdDev", catalog.stddev, _integer, partial(_deviation, 1), (10, 700)),
    Case("PopulationStdDev", catalog.stddev_pop, _integer, partial(_deviation, 0), (10, 700)),
    Case("ArgMax", catalog.arg_max, _pair, _arg_max, (130, 2770)),
    Case("ArgMax<Double>", catalog.arg_max, _float_pair, _arg_max, (250, 5810)),
    Case("Collect", catalog.collect, _integer, list, (None, None)),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure: searches per function, the largest window, how near to come, seconds and runs per probe."""

    cases: tuple[Case, ...] = CASES
    searches: int = 3
    limit: int = 81_920
    nearest: float = 0.02
    seconds: float = 0.003
    repeats: int = 3


@dataclass(frozen=True, slots=True)
class Reading:
    """The smallest window where the Reactive Aggregator is so many times as fast, one for each search.

    None: nowhere up to the limit.
    """

    case: Case
    baseline: str
    times: int
    found: tuple[int | None, ...]

    @property
    def median(self) -> int | None:
        """Take the middle search, where never comes last."""
        middle = statistics.median_high(math.inf if size is None else size for size in self.found)
        return None if middle == math.inf else int(middle)


def measure(scale: Scale, track: Track) -> list[Reading]:
    """Search for the break-even points of each function."""
    jobs = [(case, search) for search in range(scale.searches) for case in scale.cases]
    found: dict[tuple[str, str, int], list[int | None]] = {}
    for case, _ in track(jobs, "break-even"):
        probe = _Probe(case, scale)
        for baseline in BASELINES:
            for times in TIMES:
                size = smallest(partial(probe.beats, baseline, times), scale.limit, scale.nearest)
                found.setdefault((case.name, baseline, times), []).append(size)
    return [
        Reading(case, baseline, times, tuple(found[case.name, baseline, times]))
        for case in scale.cases
        for baseline in BASELINES
        for times in TIMES
    ]


def smallest(holds: Callable[[int], bool], limit: int, nearest: float = 0.0) -> int | None:
    """Find the smallest multiple of ten for which something holds: by doubling, then by bisection.

    It stops where the two ends are ten apart, or `nearest` of the upper one.

    >>> smallest(lambda n: n >= 371, limit=10_000), smallest(lambda n: True, limit=100), smallest(lambda n: False, 100)
    (380, 10, None)
    """
    low, high = 0, TEN
    while not holds(high):
        low, high = high, 2 * high
        if high > limit:
            return None
    while high - low > max(TEN, nearest * high):
        middle = (low + high) // (2 * TEN) * TEN
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


class _Probe:
    """Time slides of a window of some size, incrementally and recomputed, once for each size and way to recompute."""

    def __init__(self, case: Case, scale: Scale) -> None:
        chance = random.Random(0)
        self._case, self._scale = case, scale
        self._events = [case.event(chance) for _ in range(4096)]
        self._ratios: dict[tuple[str, int], float] = {}

    def beats(self, baseline: str, times: int, size: int) -> bool:
        """Tell whether the Reactive Aggregator is so many times as fast as recomputing, at a size."""
        if (baseline, size) not in self._ratios:
            self._ratios[baseline, size] = self._ratio(baseline, size)
        return self._ratios[baseline, size] >= times

    def _ratio(self, baseline: str, size: int) -> float:
        scale, function = self._scale, self._case.function
        filling = [self._events[place % len(self._events)] for place in range(size)]
        reactive: FifoBuffer[Any] = FifoBuffer(function, size)
        again: Callable[[list[Any]], None]
        if baseline == "combine":
            panes: Panes[Any] = Panes(function)
            for event in filling:
                panes.insert(function.lift(event))
            again = partial(_slide, panes, function)
        else:
            again = partial(_slide_plain, deque(filling), self._case.builtin)
        for event in filling:
            reactive.insert(function.lift(event))
        counts, tasks = {}, {}
        for name, way in (("incremental", partial(_slide, reactive, function)), ("again", again)):
            way(self._events[:1])  # the first result builds the tree
            start = time.perf_counter()
            way(self._events[:3])
            each = (time.perf_counter() - start) / 3
            counts[name] = min(len(self._events), max(1, round(scale.seconds / each)))
            tasks[name] = partial(way, self._events[: counts[name]])
        timed = interleave(tasks, repeats=scale.repeats, warm_up=False)
        # Time on the processor: a neighbour's work must not decide a comparison of milliseconds.
        cost = {name: spread(timed[name].processor).median / counts[name] for name in tasks}
        return cost["again"] / cost["incremental"]


def _slide(window: FifoBuffer[Any] | Panes[Any], function: AggregateFunction, events: list[Any]) -> None:
    evict, insert, query, lift, lower = window.evict, window.insert, window.query, function.lift, function.lower
    for event in events:
        evict()
        insert(lift(event))
        lower(query())


def _slide_plain(window: deque[Any], compute: Callable[[deque[Any]], Any], events: list[Any]) -> None:
    for event in events:
        window.popleft()
        window.append(event)
        compute(window)


def report(scale: Scale, readings: Sequence[Reading]) -> Report:
    """Put the break-even points beside the paper's."""
    measurements = Table(
        "measurements",
        ("function", "recomputed_by", "times_as_fast", "search", "window", "paper"),
        tuple(
            (r.case.name, r.baseline, r.times, search, size, r.case.paper[TIMES.index(r.times)])
            for r in readings
            for search, size in enumerate(r.found)
        ),
    )
    title = "Where the Reactive Aggregator breaks even with recomputing"
    return Report(
        "incremental-break-even",
        title,
        {
            "searches": scale.searches,
            "largest window": scale.limit,
            "runs per probe": scale.repeats,
            "seconds per run": scale.seconds,
            "time": "on the processor",
            "threads": 1,
        },
        (_ranges(scale, readings),),
        measurements,
        Chart(title, "smallest window; no mark: none", _panels(scale, readings), log=True),
        (note(scale),),
    )


def note(scale: Scale) -> str:
    """Explain the columns."""
    return (
        "The paper's figures are those of C++ in IBM InfoSphere Streams on a 3.0 GHz Xeon X5160; ours are Python here, "
        "where one call costs more than many additions: they can be set side by side, not compared. Ours recompute "
        "by the aggregate's own combine (Panes), or by the builtin that Python has for that one function. Found by "
        f"doubling and bisection, to ten or {scale.nearest:.0%} of the window, whichever is more; the median of "
        f"{scale.searches} search{'' if scale.searches == 1 else 'es'}."
    )


def summary(readings: Sequence[Reading]) -> Table:
    """Show the medians beside the paper's figures."""
    rows: list[tuple[Cell, ...]] = []
    for case in dict.fromkeys(r.case for r in readings):
        cells: list[Cell] = [case.name]
        for place, times in enumerate(TIMES):
            cells.append("never" if case.paper[place] is None else case.paper[place])
            cells += ["-" if found is None else found for found in _medians(readings, case, times)]
        rows.append(tuple(cells))
    columns = ("function", "paper", *BASELINES, "10x paper", *(f"10x {name}" for name in BASELINES))
    return Table("Break-even with recomputing: smallest window (Table 3)", columns, tuple(rows))


def sentence(scale: Scale, readings: Sequence[Reading]) -> str:
    """Say where it pays."""
    parts = []
    for baseline in BASELINES:
        medians = {r.case.name: r.median for r in readings if (r.baseline, r.times) == (baseline, 1)}
        sizes = [size for size in medians.values() if size is not None]
        never = [name for name, size in medians.items() if size is None]
        pays = f"from {min(sizes):,} to {max(sizes):,} tuples" if sizes else "nowhere"
        parts.append(
            f"against {baseline} {pays}, depending on the function"
            + (f" (not up to {scale.limit:,}: {', '.join(never)})" if never else "")
        )
    return f"The Reactive Aggregator breaks even {'; '.join(parts)}."


def _medians(readings: Iterable[Reading], case: Case, times: int) -> list[int | None]:
    found = {r.baseline: r.median for r in readings if (r.case, r.times) == (case, times)}
    return [found[baseline] for baseline in BASELINES]


def _ranges(scale: Scale, readings: Sequence[Reading]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for r in readings:
        sizes = [f"{size:,}" if size is not None else f"> {scale.limit:,}" for size in sorted(r.found, key=_or_never)]
        paper = r.case.paper[TIMES.index(r.times)]
        rows.append((r.case.name, r.baseline, r.times, "never" if paper is None else paper, *_ends(r, sizes)))
    columns = ("function", "recomputed by", "times as fast", "paper", "median", "least", "most")
    return Table("Smallest window, to the nearest ten (Table 3)", columns, tuple(rows))


def _or_never(size: int | None) -> float:
    return math.inf if size is None else size


def _ends(reading: Reading, sizes: Sequence[str]) -> tuple[str, str, str]:
    return sizes[len(sizes) // 2], sizes[0], sizes[-1]


def _panels(scale: Scale, readings: Sequence[Reading]) -> tuple[Panel, ...]:
    half = -(-len(scale.cases) // 2)
    panels = []
    for place, times in enumerate(TIMES):
        for cases in (scale.cases[:half], scale.cases[half:]):
            if not cases:
                continue
            medians = [_medians(readings, case, times) for case in cases]
            series = (
                Series("the paper (C++, 2015)", tuple(case.paper[place] for case in cases)),
                *(
                    Series(f"here, by {name}", tuple(each[column] for each in medians))
                    for column, name in enumerate(BASELINES)
                ),
            )
            names = tuple(re.sub("StdDev|Mean|<", r"\n\g<0>", case.name) for case in cases)
            title = "Faster than recomputing" if times == 1 else f"{times} times as fast as recomputing"
            panels.append(Panel(title, names, series))
    return tuple(panels)
