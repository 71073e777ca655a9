"""Experiments 6 and 7 of the multi-query paper: plans run for real, and their throughput beside the estimate."""

from __future__ import annotations

import gc
import operator
import time
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Final

from bench.report import Table
from bench.weave_plans import MIDDLE, NAMES, OPTIMIZERS, TABLED, mean
from muntin.share.candidates import offers
from muntin.share.queries import query_set
from muntin.share.run import TreeRun
from muntin.share.schedule import schedule
from muntin.share.technique import TECHNIQUES
from muntin.window.slices import pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench.report import Cell
    from muntin.share.bundle import Bundle
    from muntin.share.candidates import Offer
    from muntin.share.technique import Estimate
    from muntin.share.workload import Workload
    from muntin.window.spec import Window

PAPER: Final = {"weave": 0.31, "triweave": 0.14}
EXPERIMENT: Final = {"weave": 6, "triweave": 7}
ESTIMATES: Final[tuple[Estimate, ...]] = ("paper", "due")


@dataclass(frozen=True, slots=True)
class Scale:
    """The query loads to run, and how long each tree runs at least, on the processor."""

    load: Workload = MIDDLE
    draws: int = 3
    seconds: float = 0.5


@dataclass(frozen=True, slots=True)
class Plain:
    """An operator on whole numbers that is one call into the interpreter, so that operations cost about the same."""

    name: str
    identity: int
    combine: Callable[[Any, Any], Any]
    inverse: Callable[[Any, Any], Any] | None = None
    commutative: bool = True
    overlap_tolerant: bool = False
    selects: bool = False

    @property
    def invertible(self) -> bool:
        """Tell whether there is an inverse."""
        return self.inverse is not None

    @property
    def evictable(self) -> bool:
        """Tell whether the oldest partial can be taken away."""
        return self.inverse is not None


SUM: Final = Plain("sum", 0, operator.add, operator.sub)
MAX: Final = Plain("max", -(10**18), max, overlap_tolerant=True, selects=True)


@dataclass(frozen=True, slots=True)
class Ran:
    """A plan that was run: what it was said to cost per unit of time, and what it took.

    `seconds` are those of all trees for one unit of time, `summed` the results per second of each tree run alone, added
    up, which is how the paper adds.
    """

    draw: int
    estimate: Estimate
    optimizer: str
    technique: str
    trees: int
    cost: float
    results: float
    seconds: float
    summed: float

    @property
    def throughput(self) -> float:
        """Results per second."""
        return self.results / self.seconds


def jobs(scale: Scale, series: Sequence[int]) -> list[Callable[[], list[Ran]]]:
    """List the plans to run: of each load, for each optimizer and estimate, all techniques in turn."""
    return [
        partial(_run, scale, series, draw, optimizer, estimate)
        for draw in range(scale.draws)
        for optimizer in OPTIMIZERS
        for estimate in ESTIMATES
    ]


def _run(scale: Scale, series: Sequence[int], draw: int, optimizer: str, estimate: Estimate) -> list[Ran]:
    found = query_set(scale.load.windows(seed=draw))
    ran = []
    collecting = gc.isenabled()
    gc.disable()
    try:
        for name in TABLED:
            (offer,) = offers(found, TECHNIQUES[name], estimate, float(scale.load.rate), (optimizer,))
            gc.collect()
            ran.append(_taken(offer, found.distinct, series, scale, draw, estimate))
    finally:
        if collecting:
            gc.enable()
    return ran


def _taken(
    offer: Offer, windows: Sequence[Window], series: Sequence[int], scale: Scale, draw: int, estimate: Estimate
) -> Ran:
    assert offer.model is not None
    assert offer.bundles is not None
    name = offer.model.technique.name
    kind = SUM if name == "SlickDeque-Inv" else MAX
    period = schedule(windows).period
    starts = list(pairs(*windows).edges_between(0, period))
    shared = offer.optimizer == "triweave"
    seconds = _folding(series, starts, period, kind, scale.seconds) if shared else 0.0
    summed = results = 0.0
    for bundle in offer.bundles:
        every, many = _tree(bundle, windows, name, kind, series, period, starts if shared else None, scale.seconds)
        seconds += every
        results += many
        summed += many / every
    return Ran(draw, estimate, offer.optimizer, name, len(offer.bundles), offer.cost, results, seconds, summed)


def _tree(
    bundle: Bundle,
    windows: Sequence[Window],
    technique: str,
    kind: Plain,
    series: Sequence[int],
    period: int,
    starts: list[int] | None,
    least: float,
) -> tuple[float, float]:
    """Run a tree, all its ranges full; give the seconds and the results of one unit of time."""
    plan = schedule([windows[place] for place in sorted(bundle.places)], period=period)
    run = TreeRun(plan, technique, kind, starts)
    longest = plan.points[-1].held[-1]
    turns = -(-longest // len(series))
    run.fill((list(series) * turns)[:longest])
    source = _items(series, run.items)
    run.turn(next(source))
    taken, units, results = 0.0, 0, 0
    while taken < least:
        items = next(source)
        start = time.process_time()
        results += len(run.turn(items))
        taken += time.process_time() - start
        units += period
    return taken / units, results / units


def _folding(series: Sequence[int], starts: list[int], period: int, kind: Plain, least: float) -> float:
    """Fold events into the slices of all queries; give the seconds of one unit of time."""
    spans = list(zip(starts, [*starts[1:], period], strict=True))
    source = _items(series, period)
    taken, units = 0.0, 0
    while taken < least:
        items = next(source)
        start = time.process_time()
        for a, b in spans:
            reduce(kind.combine, items[a:b])
        taken += time.process_time() - start
        units += period
    return taken / units


def _items(series: Sequence[int], count: int) -> Iterator[Sequence[int]]:
    """Go round the series in pieces."""
    at = 0
    while True:
        if at + count > len(series):
            at = 0
        yield series[at : at + count]
        at += count


def deviations(ran: Sequence[Ran]) -> tuple[float, float]:
    """Compare estimated and actual throughput of one load's plans, both scaled so that the largest is 1.

    Give the mean distance, as a share of the actual reading, and as a share of the largest.
    """
    said, seen = [1 / r.cost for r in ran], [r.throughput for r in ran]
    pairs = [(a / max(said), b / max(seen)) for a, b in zip(said, seen, strict=True)]
    return mean(abs(a - b) / b for a, b in pairs), mean(abs(a - b) for a, b in pairs)


def grouped(ran: Sequence[Ran], optimizer: str, estimate: Estimate) -> list[list[Ran]]:
    """Part the plans of one optimizer and estimate by load."""
    draws = sorted({r.draw for r in ran})
    return [[r for r in ran if (r.draw, r.optimizer, r.estimate) == (d, optimizer, estimate)] for d in draws]


def tables(ran: Sequence[Ran]) -> tuple[Table, ...]:
    """Tell estimates and readings of the first load, and the deviations of all."""
    found = []
    for optimizer in OPTIMIZERS:
        for estimate in ESTIMATES:
            first = grouped(ran, optimizer, estimate)[0]
            top = max(1 / r.cost for r in first), max(r.throughput for r in first)
            rows: tuple[tuple[Cell, ...], ...] = tuple(
                (r.technique, r.trees, r.cost, 1 / r.cost / top[0], r.throughput, r.throughput / top[1], r.summed)
                for r in first
            )
            how = "Table 3" if estimate == "paper" else "due"
            found.append(
                Table(
                    f"Experiment {EXPERIMENT[optimizer]}: {NAMES[optimizer]}, priced by {how}",
                    ("technique", "trees", "cost", "estimated", "results/s", "actual", "results/s, trees added"),
                    rows,
                )
            )
    summary = tuple(
        (
            f"{EXPERIMENT[optimizer]}: {NAMES[optimizer]}, {'Table 3' if estimate == 'paper' else 'due'}",
            f"{100 * PAPER[optimizer]:.0f} %" if estimate == "paper" else "-",
            *(
                f"{100 * mean(each):.0f} %"
                for each in zip(*map(deviations, grouped(ran, optimizer, estimate)), strict=True)
            ),
            f"{sum(map(in_order, grouped(ran, optimizer, estimate)))} of {len(grouped(ran, optimizer, estimate))}",
        )
        for optimizer in OPTIMIZERS
        for estimate in ESTIMATES
    )
    columns = ("experiment", "paper", "of the reading", "of the largest", "order holds")
    return Table("Estimated and actual throughput: mean deviation", columns, summary), *found


def in_order(ran: Sequence[Ran]) -> bool:
    """Tell whether the plans are as fast, one after the other, as their costs say; 10 % apart counts as equal."""
    by_cost = sorted(ran, key=lambda r: r.cost)
    return all(b.throughput <= 1.1 * a.throughput for i, a in enumerate(by_cost) for b in by_cost[i + 1 :])


def notes(scale: Scale, what: str) -> tuple[str, ...]:
    """Say how plans were run."""
    load = scale.load
    overlap = "" if load.overlap == MIDDLE.overlap else f" The paper's overlap is {MIDDLE.overlap:,}; here it is less."
    return (
        f"Experiments 6 and 7: {load.queries} queries, S_max {load.longest_slide:,}, O_max {load.overlap:,}, one event "
        f"per unit ({what}), {scale.draws} draw(s). Each tree runs on one core, all ranges full, for {scale.seconds:g} "
        "s of the processor at least; the time of a plan is that of all its trees and, for TriWeave, of the common "
        "partial aggregator. Sum for SlickDeque-Inv, max for the others, on whole numbers." + overlap,
        "Both throughputs are scaled so that the largest is 1. The paper does not say what its deviation is a share "
        "of: ours are given as a share of the actual reading, where a slow technique weighs as much as a fast one, and "
        "as a share of the largest. The paper adds up the results per second of trees that run one after the other, "
        "each for the same time; added that way a plan of more trees gets more time (last column).",
    )
