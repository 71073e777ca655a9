"""What a slide costs in each structure of the taxonomy, against the window's size: throughput and latency."""

from __future__ import annotations

import gc
import math
import random
import time
from array import array
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from bench.measure import interleave, spread
from muntin.aggregate import catalog
from muntin.errors import AggregateError
from muntin.incremental import ALGORITHMS
from muntin.incremental.reactive_buffer import ReactiveBuffer
from muntin.incremental.reactive_fifo import FifoBuffer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bench.measure import Spread, Track
    from muntin.aggregate.algebra import AggregateFunction

AGGREGATES: Final[Mapping[str, AggregateFunction]] = {
    "sum": catalog.sum,
    "max": catalog.max,
    "stddev": catalog.stddev,
    "argmax": catalog.arg_max,
}
# Both forms of SlickDeque are drawn as one: each aggregate can have but one of them.
SLICK: Final = "SlickDeque"
CONSTANT: Final = ("Panes-Inv", SLICK, "TwoStacks", "DABA", "FlatFIT")
TREES: Final = ("Panes", "FlatFAT", "B-Int", ReactiveBuffer.card.name, FifoBuffer.card.name)
# These do the work of a whole window in one slide of so many: figures must come from whole rounds of slides.
ROUNDS: Final[Mapping[str, int]] = {"TwoStacks": 0, "FlatFIT": 1}
# Slides that are timed one by one, at the least.
LEAST: Final = 3
# Up to this size, the result after the slides is compared with a fold of the same partials.
CHECKED: Final = 1 << 12


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure: window sizes, and the seconds that a run aims at and that it may take at most."""

    sizes: tuple[int, ...] = tuple(1 << power for power in range(21))
    repeats: int = 3
    seconds: float = 0.03
    limit: float = 20.0


@dataclass(frozen=True, slots=True)
class Latency:
    """The microseconds that single slides took; a percentile needs slides enough to be one of them."""

    slides: int
    p50: float
    p99: float | None
    p999: float | None
    largest: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What the slides of one structure cost at one size; `rate` is slides per second, None where left out."""

    aggregate: str
    algorithm: str
    window: int
    slides: int
    runs: int
    rate: Spread | None
    slowest: float | None
    processor: float | None
    latency: Latency | None

    @property
    def family(self) -> str:
        """Name the algorithm as the charts do."""
        return SLICK if self.algorithm.startswith(SLICK) else self.algorithm


class Window(Protocol):
    """What every structure of the taxonomy and both buffers of the Reactive Aggregator answer to."""

    def __len__(self) -> int: ...
    def insert(self, value: Any, /) -> None:
        """Add a partial."""

    def evict(self) -> None:
        """Drop the oldest."""

    def query(self) -> Any:
        """Aggregate the window."""


def contenders(function: AggregateFunction) -> dict[str, Callable[[], Window]]:
    """List the algorithms that are legal for an aggregate, the Reactive Aggregator's buffers among them.

    >>> "Panes-Inv" in contenders(catalog.sum), "Panes-Inv" in contenders(catalog.max)
    (True, False)
    """
    kinds: list[Any] = [*ALGORITHMS.values(), ReactiveBuffer, FifoBuffer]
    found: dict[str, Callable[[], Window]] = {}
    for kind in kinds:
        try:
            kind(function)
        except AggregateError:
            continue
        found[kind.card.name] = partial(kind, function)
    return found


def partials(aggregate: str, count: int) -> list[Any]:
    """Lift random 31-bit integers, as the paper aggregates; the argument of argmax is the event's number.

    >>> partials("max", 2)
    [1813382118, 827307999]
    """
    chance, function = random.Random(0), AGGREGATES[aggregate]
    values = (chance.getrandbits(31) for _ in range(count))
    if function.arity == 1:
        return [function.lift(value) for value in values]
    return [function.lift((value, number)) for number, value in enumerate(values)]


class Stream:
    """A window and the partials that flow through it, over and over."""

    __slots__ = ("_pool", "_position", "algorithm", "window")

    def __init__(self, algorithm: str, window: Window, pool: list[Any]) -> None:
        self.algorithm = algorithm
        self.window = window
        self._pool = pool
        self._position = 0

    def grow(self, size: int) -> None:
        """Fill the window up to a size, and pay what the first result costs."""
        for value in self._next(size - len(self.window)):
            self.window.insert(value)
        self.window.query()

    def slide(self, count: int) -> None:
        """Slide as fast as can be."""
        evict, insert, query = self.window.evict, self.window.insert, self.window.query
        for value in self._next(count):
            evict()
            insert(value)
            query()

    def watch(self, count: int) -> array[int]:
        """Slide with an eye on the clock: the nanoseconds of each slide."""
        evict, insert, query, clock = self.window.evict, self.window.insert, self.window.query, time.perf_counter_ns
        taken = array("q")
        for value in self._next(count):
            start = clock()
            evict()
            insert(value)
            query()
            taken.append(clock() - start)
        return taken

    def expected(self) -> list[Any]:
        """List the partials that the window must hold."""
        size, length = len(self.window), len(self._pool)
        return [self._pool[(self._position + offset) % length] for offset in range(-size, 0)]

    def _next(self, count: int) -> list[Any]:
        at = self._position % len(self._pool)
        self._position += count
        batch = self._pool[at : at + count]
        while len(batch) < count:
            batch += self._pool[: count - len(batch)]
        return batch


def measure(scale: Scale, track: Track) -> list[Reading]:
    """Slide every legal structure over windows of growing size."""
    jobs = [(aggregate, size) for aggregate in AGGREGATES for size in sorted(scale.sizes)]
    pool: list[Any] = []
    streams: list[Stream] = []
    readings: list[Reading] = []
    for aggregate, size in track(jobs, "structures"):
        if size == min(scale.sizes):
            # More partials than the largest window holds, so that none meets itself in it.
            pool = partials(aggregate, max(scale.sizes) * 5 // 4 + 1)
            streams = [Stream(name, build(), pool) for name, build in contenders(AGGREGATES[aggregate]).items()]
        found = _measured(aggregate, size, streams, scale)
        readings += found
        # What takes too long at one size does so at all larger ones.
        slow = {r.algorithm for r in found if r.rate is None}
        streams = [stream for stream in streams if stream.algorithm not in slow]
    return readings


def _measured(aggregate: str, size: int, streams: Sequence[Stream], scale: Scale) -> list[Reading]:
    for stream in streams:
        stream.grow(size)
    planned = {stream.algorithm: _planned(stream, size, scale.seconds) for stream in streams}
    fit = [stream for stream in streams if planned[stream.algorithm][1] <= scale.limit]
    timed = interleave(
        {stream.algorithm: partial(stream.slide, planned[stream.algorithm][0]) for stream in fit},
        repeats=scale.repeats,
        seconds=scale.repeats * 2 * scale.seconds,
        warm_up=False,  # the window was filled, and the plan was made by slides
    )
    readings = []
    for stream in streams:
        name, (slides, _) = stream.algorithm, planned[stream.algorithm]
        if name not in timed:
            readings.append(Reading(aggregate, name, size, slides, 0, None, None, None, None))
            continue
        runs = timed[name].seconds
        rate = spread(slides / seconds for seconds in runs)
        processor = slides / spread(timed[name].processor).median
        latency = _latency(stream, slides)
        readings.append(Reading(aggregate, name, size, slides, len(runs), rate, slides / max(runs), processor, latency))
        if size <= CHECKED:
            _check(aggregate, stream)
    return readings


def _planned(stream: Stream, size: int, seconds: float) -> tuple[int, float]:
    """Find how many slides take about so many seconds, rounded up to whole rounds, and how long they will take."""
    stream.slide(1)  # after growth, the first slide may pay for all
    count, taken = 1, _taken(stream, 1)
    while taken < seconds / 4:
        count *= 4
        taken = _taken(stream, count)
    if taken < 4 * seconds or stream.algorithm in ROUNDS:
        # Of three, the one into which neither the dear slide of a round fell nor something else that the machine did.
        taken = min(taken, _taken(stream, count), _taken(stream, count))
    each = taken / count
    slides = max(1, round(seconds / each))
    if stream.algorithm in ROUNDS:
        length = size + ROUNDS[stream.algorithm]
        slides = -(-slides // length) * length
    return slides, slides * each


def _taken(stream: Stream, slides: int) -> float:
    start = time.perf_counter()
    stream.slide(slides)
    return time.perf_counter() - start


def _latency(stream: Stream, slides: int) -> Latency:
    collecting = gc.isenabled()
    gc.disable()  # as in the runs for throughput
    try:
        taken = sorted(stream.watch(max(slides, LEAST)))
    finally:
        if collecting:
            gc.enable()

    def rank(share: float, least: int) -> float | None:
        return taken[math.ceil(share * len(taken)) - 1] / 1e3 if len(taken) >= least else None

    return Latency(len(taken), taken[(len(taken) - 1) // 2] / 1e3, rank(0.99, 100), rank(0.999, 1000), taken[-1] / 1e3)


def _check(aggregate: str, stream: Stream) -> None:
    """Refuse to time what computes something else."""
    function = AGGREGATES[aggregate]
    found, wanted = function.lower(stream.window.query()), function.lower(function.merge(stream.expected()))
    # What is taken away again leaves its rounding: only the inverses of floats do not give the very same.
    close = math.isclose(found, wanted, rel_tol=1e-6) if isinstance(found, float) else found == wanted
    if not close:
        msg = f"{stream.algorithm} gave {found!r} for {aggregate} of {len(stream.window)}, a fold gives {wanted!r}"
        raise AssertionError(msg)
