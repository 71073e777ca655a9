"""Figure 16: edges counted by the bit set and by F1, and plans for up to a million queries."""

from __future__ import annotations

import itertools
import resource
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Final

from bench.measure import interleave
from bench.report import Table, shown
from muntin.share.bitset import bit_set_count
from muntin.share.bundle import merged
from muntin.share.candidates import offers
from muntin.share.combs import combs_of, thin
from muntin.share.cost import WeaveCost
from muntin.share.edges import edges_of, rate_of
from muntin.share.queries import query_set
from muntin.share.technique import TECHNIQUES
from muntin.share.weave import weave
from muntin.share.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from muntin.share.bundle import Bundle

GOAL: Final = 10_000
MILLION_SECONDS: Final = 60.0
MILLION_GIB: Final = 4.0
PANES: Final = WeaveCost(TECHNIQUES["Panes"], "paper", 1.0)


@dataclass(frozen=True, slots=True)
class Scale:
    """How long composite slides are, how many queries are counted either way, and by F1 alone."""

    longest_slide: int = 1_000_000_000
    queries: tuple[int, ...] = (10, 50, 100, 250, 550)
    many: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    repeats: int = 3
    planned_slide: int = 100_000


@dataclass(frozen=True, slots=True)
class Counted:
    """Seconds of the processor to count the edges of a query load, by either way.

    `bit_set` and `f1` start from the distinct slides, `whole` is F1 from the queries themselves.
    """

    queries: int
    bit_set: float | None
    f1: float | None
    whole: float
    edges: int


@dataclass(frozen=True, slots=True)
class Planned:
    """Seconds to find WeaveShare's plan, with edges counted either way, and whether both plans are the same."""

    queries: int
    bit_set: float
    f1: float
    same: bool


@dataclass(frozen=True, slots=True)
class Findings:
    """All readings, and the most memory that the process held."""

    counted: tuple[Counted, ...]
    planned: tuple[Planned, ...]
    many_plans: tuple[tuple[int, float], ...]
    peak_gib: float


def jobs(scale: Scale) -> list[Callable[[], Counted | Planned | tuple[int, float]]]:
    """List the readings to take."""
    found: list[Callable[[], Counted | Planned | tuple[int, float]]] = []
    found += [partial(_counted, scale, queries) for queries in scale.queries]
    found += [partial(_planned, scale, queries) for queries in scale.queries[:3]]
    for queries in scale.many:
        found += [partial(_many, queries), partial(_many_planned, queries)]
    return found


def gathered(readings: Sequence[Counted | Planned | tuple[int, float]]) -> Findings:
    """Sort readings by kind."""
    return Findings(
        tuple(r for r in readings if isinstance(r, Counted)),
        tuple(r for r in readings if isinstance(r, Planned)),
        tuple(r for r in readings if isinstance(r, tuple)),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    )


def _counted(scale: Scale, queries: int) -> Counted:
    windows = Workload(queries, scale.longest_slide).windows(seed=queries)
    combs = sorted(combs_of(windows))
    timed = interleave(
        {
            "bit set": lambda: bit_set_count(combs),
            "f1": lambda: rate_of(thin(combs)),
            "whole": lambda: edges_of(windows).rate,
        },
        repeats=scale.repeats,
        seconds=20.0,
        warm_up=False,
    )
    marked, rate = timed["bit set"].result, timed["f1"].result
    taken = {name: min(each.processor) for name, each in timed.items()}
    assert isinstance(marked, tuple)
    if not Fraction(*marked) == rate == timed["whole"].result:
        msg = f"the bit set has {marked[0]} edges in {marked[1]} for {queries} queries, F1 has {rate} per unit"
        raise AssertionError(msg)
    return Counted(queries, taken["bit set"], taken["f1"], taken["whole"], marked[0])


def _many(queries: int) -> Counted:
    windows = Workload(queries).windows(seed=0)
    start = time.process_time()
    found = edges_of(windows)
    return Counted(queries, None, None, time.process_time() - start, found.count or 0)


def _many_planned(queries: int) -> tuple[int, float]:
    windows = Workload(queries).windows(seed=0)
    start = time.process_time()
    list(offers(query_set(windows), TECHNIQUES["SlickDeque-NonInv"], "paper", 1.0, ("weave",)))
    return queries, time.process_time() - start


def _planned(scale: Scale, queries: int) -> Planned:
    windows = Workload(queries, scale.planned_slide, overlap=50).windows(seed=queries)
    bundles = query_set(windows).bundles
    start = time.process_time()
    slow = woven_by_bit_set(bundles, PANES)
    middle = time.process_time()
    quick = weave(bundles, PANES).trees
    end = time.process_time()
    same = {frozenset(tree.places) for tree in slow} == {frozenset(tree.places) for tree in quick}
    return Planned(queries, middle - start, end - middle, same)


def woven_by_bit_set(bundles: Sequence[Bundle], cost: WeaveCost) -> list[Bundle]:
    """Merge trees greedily as `muntin.share.weave` does, with every union's edges marked one by one."""
    trees = dict(enumerate(bundles))
    known: dict[tuple[int, int], tuple[float, Bundle]] = {}
    number = len(bundles)
    while True:
        for i, j in itertools.combinations(trees, 2):
            if (i, j) not in known:
                both = _marked(trees[i], trees[j])
                known[i, j] = cost.tree(trees[i]) + cost.tree(trees[j]) - cost.tree(both), both
        alive = [(-gain, pair) for pair, (gain, _) in known.items() if pair[0] in trees and pair[1] in trees]
        best = min(alive, default=(0.0, (0, 0)))
        if best[0] > -1e-9:
            return list(trees.values())
        trees.pop(best[1][0])
        trees.pop(best[1][1])
        trees[number] = known[best[1]][1]
        number += 1


def _marked(one: Bundle, other: Bundle) -> Bundle:
    """Merge two bundles, and take the edges from a bit set."""
    both = merged(one, other)
    edges = Fraction(*bit_set_count({*one.combs, *other.combs}))
    return replace(both, edges=edges, exact=True, load=replace(both.load, rate=float(edges)))


def tables(scale: Scale, found: Findings) -> tuple[Table, ...]:
    """Tell the times of both ways."""
    rows = tuple(
        (
            f"{c.queries:,}",
            None if c.bit_set is None else 1e3 * c.bit_set,
            None if c.f1 is None else 1e3 * c.f1,
            None if c.bit_set is None or c.f1 is None else f"{c.bit_set / c.f1:,.0f}",
            1e3 * c.whole,
            None if c.bit_set is None else f"{c.bit_set / c.whole:,.0f}",
            f"{c.edges:,}",
        )
        for c in found.counted
    )
    plans = tuple(
        (f"{p.queries:,}", p.bit_set, p.f1, f"{p.bit_set / p.f1:,.0f}", "yes" if p.same else "no")
        for p in found.planned
    ) + tuple((f"{queries:,}", None, seconds, None, None) for queries, seconds in found.many_plans)
    return (
        Table(
            "Edges counted, ms (Figure 16)",
            ("queries", "bit set", "F1", "times", "F1 from queries", "times", "edges"),
            rows,
        ),
        Table(
            "WeaveShare's plan, seconds, by how edges are counted",
            ("queries", "bit set", "F1", "times", "same plan"),
            plans,
        ),
    )


def goals(found: Findings) -> tuple[tuple[str, str, str, str], ...]:
    """Hold the findings against what was set out."""
    best = max(c.bit_set / c.f1 for c in found.counted if c.bit_set is not None and c.f1 is not None)
    whole = max(c.bit_set / c.whole for c in found.counted if c.bit_set is not None)
    million = max(c.whole for c in found.counted if c.bit_set is None)
    largest = max(c.queries for c in found.counted)
    return (
        ("F1 against the bit set, both from slides, times as fast", f"{best:,.0f}", f"> {GOAL:,}", _yes(best > GOAL)),
        ("F1 from queries against the bit set, times as fast", f"{whole:,.0f}", f"> {GOAL:,}", _yes(whole > GOAL)),
        (
            f"edges of {largest:,} queries, seconds",
            shown(million),
            f"< {MILLION_SECONDS:.0f}",
            _yes(million < MILLION_SECONDS),
        ),
        ("memory of it all, GiB", shown(found.peak_gib), f"< {MILLION_GIB:.0f}", _yes(found.peak_gib < MILLION_GIB)),
    )


def _yes(met: bool) -> str:
    return "yes" if met else "no"


def notes(scale: Scale, found: Findings) -> tuple[str, ...]:
    """Say what was counted."""
    equal = "all the same" if all(p.same for p in found.planned) else "not all the same"
    return (
        f"Figure 16: slides are divisors of {scale.longest_slide:,}, and the bit set has a byte for each unit of that "
        "composite slide, marked and counted by NumPy. The bit set and F1 are given the distinct slides; 'F1 from "
        "queries' finds these first. The paper reaches 550 queries with the bit set and does not give the slides; up "
        "to 60,000 times is its figure. Beyond, slides are divisors of 1,000. Plans by either way are "
        f"{equal}. All times are those of the processor.",
    )
