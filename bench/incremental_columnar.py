"""What a slide costs per key where one structure holds vectors over thousands of keys."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.chart import Chart, Panel, Series
from bench.incremental_structures import AGGREGATES, ROUNDS, Stream
from bench.measure import interleave, spread
from bench.report import Report, Table, shown
from muntin.errors import AggregateError
from muntin.incremental import ALGORITHMS
from muntin.incremental.columnar import KeyedWindow
from muntin.incremental.columnar_catalog import columnar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.measure import Spread, Timed, Track
    from bench.report import Cell
    from muntin.incremental.columnar_operator import Array, Vector

COLUMNAR: Final = ("FlatFAT", "TwoStacks", "DABA", "FlatFIT", "Panes-Inv")
OVER: Final = ("sum", "max")
# Nanoseconds a step of the best public C++ implementations (IBM sliding-window-aggregators: one key, one pinned core),
# as least and most: the goal is to need less per key.
PUBLIC: Final[Mapping[str, tuple[float, float]]] = {
    "FlatFAT": (250, 250),
    "TwoStacks": (10, 30),
    "DABA": (12, 12),
    "FlatFIT": (16, 16),
}
TIMES_PLAIN: Final = 100
WAYS: Final = ("vectors", "events", "plain")


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure: keys, panes in the window, and runs of one round of slides each."""

    keys: int = 10_000
    panes: int = 1024
    repeats: int = 5


@dataclass(frozen=True, slots=True)
class Reading:
    """Nanoseconds per key and slide, by the clock, and the median of them on the processor.

    `vectors`: a partial over all keys goes in, one comes out. `events`: key codes and values go in, results come out.
    `plain`: the same algorithm for one key, without NumPy.
    """

    aggregate: str
    algorithm: str
    way: str
    slides: int
    runs: int
    cost: Spread
    least: float
    processor: float


@dataclass(frozen=True, slots=True)
class Goal:
    """Something to reach, and what was found, by the clock and on the processor."""

    what: str
    found: float
    processor: float
    goal: str
    met: str

    @property
    def row(self) -> tuple[Cell, ...]:
        """Give the cells of a table."""
        return self.what, self.found, self.processor, self.goal, self.met


def measure(scale: Scale, track: Track) -> list[Reading]:
    """Slide the structures that never look at the data: over vectors, from events to results, and for one key."""
    return [reading for aggregate in track(OVER, "columnar") for reading in _measured(aggregate, scale)]


def _measured(aggregate: str, scale: Scale) -> list[Reading]:
    chance = np.random.default_rng(0)
    operator = columnar(AGGREGATES[aggregate], "float64")
    # More slices than the window holds, so that those that come in are no longer in the processor's cache.
    slices = [chance.random(scale.keys) for _ in range(scale.panes * 5 // 4)]
    vectors = [operator.lift(values) for values in slices]
    codes = np.arange(scale.keys)
    lift = AGGREGATES[aggregate].lift
    plain = [lift(float(value)) for value in chance.random(scale.panes * 5 // 4)]
    tasks, slides = {}, {}
    for name in COLUMNAR:
        try:
            windows = [KeyedWindow(ALGORITHMS[name], operator, scale.keys) for _ in range(2)]
        except AggregateError:
            continue
        for vector in vectors[: scale.panes]:
            for window in windows:
                window.insert_vector(vector)
        for way in WAYS:
            slides[name, way] = scale.panes + ROUNDS.get(name, 0)
        tasks[name, "vectors"] = partial(_slide, windows[0], deque(vectors), slides[name, "vectors"])
        tasks[name, "events"] = partial(_slide_events, windows[1], codes, deque(slices), slides[name, "events"])
        stream = Stream(name, ALGORITHMS[name](AGGREGATES[aggregate]), plain)
        stream.grow(scale.panes)
        tasks[name, "plain"] = partial(stream.slide, slides[name, "plain"])
    timed: dict[str, Timed[None]] = interleave(
        {f"{name}/{way}": task for (name, way), task in tasks.items()}, repeats=scale.repeats
    )
    readings = []
    for name, way in tasks:
        runs, steps = timed[f"{name}/{way}"], slides[name, way]
        steps_and_keys = steps * (1 if way == "plain" else scale.keys)
        costs = [1e9 * seconds / steps_and_keys for seconds in runs.seconds]
        processor = 1e9 * spread(runs.processor).median / steps_and_keys
        readings.append(Reading(aggregate, name, way, steps, len(costs), spread(costs), min(costs), processor))
    return readings


def _slide(window: KeyedWindow, vectors: deque[Vector], slides: int) -> None:
    for _ in range(slides):
        window.evict()
        window.insert_vector(vectors[0])
        window.query()
        vectors.rotate(-1)


def _slide_events(window: KeyedWindow, codes: Array, slices: deque[Array], slides: int) -> None:
    for _ in range(slides):
        window.evict()
        window.insert(codes, slices[0])
        window.results()
        slices.rotate(-1)


def goals(readings: Sequence[Reading]) -> list[Goal]:
    """Hold the figures against the goals."""
    found = {(r.aggregate, r.algorithm, r.way): r for r in readings}
    reached = []
    for aggregate in OVER:
        for name, (least, most) in PUBLIC.items():
            mine = found[aggregate, name, "vectors"]
            cost = mine.cost.median
            met = "yes" if cost < least else "within" if cost < most else "no"
            goal = f"< {least:g}" if least == most else f"< {least:g}-{most:g}"
            reached.append(Goal(f"{name}, {aggregate}: ns per key and slide", cost, mine.processor, goal, met))
    times = {
        (aggregate, name): (
            found[aggregate, name, "plain"].cost.median / r.cost.median,
            found[aggregate, name, "plain"].processor / r.processor,
        )
        for (aggregate, name, way), r in found.items()
        if way == "vectors"
    }
    (aggregate, name), (clock, processor) = min(times.items(), key=lambda each: each[1])
    reached.append(
        Goal(
            f"plain Python / columnar, least ({name}, {aggregate})",
            clock,
            processor,
            f">= {TIMES_PLAIN}",
            "yes" if clock >= TIMES_PLAIN else "no",
        )
    )
    return reached


def report(scale: Scale, readings: Sequence[Reading]) -> Report:
    """Show what a key costs beside plain Python and the public implementations in C++."""
    found = {(r.aggregate, r.algorithm, r.way): r for r in readings}
    rows: list[tuple[Cell, ...]] = []
    for aggregate in OVER:
        for name in COLUMNAR:
            if (aggregate, name, "plain") not in found:
                continue
            vectors, events, plain = (found[aggregate, name, way].cost.median for way in WAYS)
            public = _range(PUBLIC.get(name))
            rows.append((f"{name}, {aggregate}", vectors, events, plain, plain / vectors, public))
    columns = ("algorithm", "vectors", "events to results", "plain Python", "plain / vectors", "C++, one key")
    panels = tuple(
        Panel(
            f"{aggregate} of float64",
            COLUMNAR,
            (
                *(
                    Series(f"{label}", tuple(_cost(found.get((aggregate, name, way))) for name in COLUMNAR))
                    for label, way in (
                        ("plain Python, one key", "plain"),
                        ("columnar, events to results", "events"),
                        ("columnar, vectors", "vectors"),
                    )
                ),
                Series(
                    "public C++, one key",
                    tuple(PUBLIC[name][0] if name in PUBLIC else None for name in COLUMNAR),
                    tuple(PUBLIC[name][1] if name in PUBLIC else None for name in COLUMNAR),
                ),
            ),
        )
        for aggregate in OVER
    )
    measurements = Table(
        "measurements",
        ("aggregate", "algorithm", "way", "slides", "runs", "ns_per_key_and_slide", "least", "most", "processor"),
        tuple(
            (
                *(r.aggregate, r.algorithm, r.way, r.slides, r.runs),
                *(r.cost.median, r.least, r.cost.largest, r.processor),
            )
            for r in readings
        ),
    )
    title = f"Columnar over keys: {scale.keys:,} keys, {scale.panes:,} panes"
    return Report(
        "incremental-columnar",
        title,
        {
            "keys": scale.keys,
            "panes in the window": scale.panes,
            "runs": scale.repeats,
            "slides per run": "one round of the window",
            "order of runs": "in turn, every other round backwards, after a warm-up",
            "threads": 1,
        },
        (Table("Nanoseconds per key and slide, median of the runs", columns, tuple(rows)),),
        measurements,
        Chart(title, "ns per key and slide, median", panels, log=True),
        (
            "A slide evicts, inserts and asks for the result of the window. Vectors: a partial over all keys goes in "
            "and one comes out. Events to results: key codes and values go in, one event of each key, and each key's "
            "result comes out. Plain Python: the same algorithm with one key. C++: what the best public "
            "implementations take for one key on one pinned core, for scale.",
        ),
    )


def sentence(readings: Sequence[Reading]) -> str:
    """Say what a key costs."""
    costs = [(r.cost.median, f"{r.algorithm} on {r.aggregate}") for r in readings if r.way == "vectors"]
    (least, cheap), (most, dear) = min(costs), max(costs)
    return f"Columnar, a key and slide costs from {shown(least)} ns ({cheap}) to {shown(most)} ns ({dear})."


def _cost(reading: Reading | None) -> float | None:
    return None if reading is None else reading.cost.median


def _range(figures: tuple[float, float] | None) -> str | None:
    if figures is None:
        return None
    least, most = figures
    return f"{least:g}" if least == most else f"{least:g}-{most:g}"
