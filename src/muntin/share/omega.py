"""Omega: operations for each slice of a tree, as the multi-query paper estimates them (Equations 3 to 7, Table 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from muntin.share.combs import thin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from muntin.window.spec import Window

Floats: TypeAlias = NDArray[np.float64]

# The sum of 1/i! from 1 on: after 20 terms a float does not change any more.
_FACTORIALS: Final = tuple(float(sum(1 / math.factorial(i) for i in range(1, n + 1))) for n in range(21))


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """What a tree has to do: the ranges and slides of its distinct queries, and its edges per unit of time.

    `steps` counts the slides of which none is a multiple of another: with one, slices are alike for every window.

    >>> from muntin import Window
    >>> load = load_of([Window(6, 2), Window(8, 4)], rate=0.5)
    >>> load.partials, load.due
    (array([3., 4.]), 1.5)
    """

    ranges: Floats
    slides: Floats
    rate: float
    lengths: Floats
    """The distinct ranges, in order."""
    results: float
    """The sum of 1 / s_i: results per unit of time."""
    overlap: float
    """The sum of r_i / s_i: windows in which a time lies."""
    steps: int = 1

    @property
    def queries(self) -> int:
        """Q: the number of distinct queries."""
        return len(self.ranges)

    @property
    def partials(self) -> Floats:
        """P_i: how many partials a range is made of on average, the range times the edge rate; no fewer than one."""
        return np.maximum(self.ranges * self.rate, 1.0)

    @property
    def distinct(self) -> Floats:
        """The different P_i, in order. They differ where the ranges do."""
        return np.maximum(self.lengths * self.rate, 1.0)

    @property
    def longest(self) -> float:
        """P: how many partials the longest range is made of on average."""
        return max(float(self.lengths[-1]) * self.rate, 1.0)

    @property
    def due(self) -> float:
        """How many results are due at an edge, on average."""
        return self.results / self.rate


def load_of(windows: Iterable[Window], rate: float) -> Load:
    """Take the load of a tree from its queries; identical ones count once."""
    found = sorted({(w.slide, w.range, w.offset) for w in windows})
    summed = load(np.array([w[1] for w in found], float), np.array([w[0] for w in found], float), rate)
    return replace(summed, steps=len(thin((w[0], 0) for w in found)))


def load(ranges: Floats, slides: Floats, rate: float) -> Load:
    """Sum up ranges, and slides that are all the same, under an edge rate."""
    return Load(ranges, slides, rate, np.unique(ranges), float(np.sum(1 / slides)), float(np.sum(ranges / slides)))


def joined(one: Load, other: Load, rate: float, steps: int) -> Load:
    """Put two loads together under one edge rate. Sums add up; this is done for every pair of trees.

    >>> from muntin import Window
    >>> both = joined(load_of([Window(6, 2)], 0.5), load_of([Window(8, 4), Window(6, 1)], 1), rate=1, steps=1)
    >>> both.lengths, both.results, both.overlap
    (array([6., 8.]), 1.75, 11.0)
    """
    lengths = np.concatenate((one.lengths, other.lengths))
    lengths.sort(kind="stable")
    first = np.empty(len(lengths), np.bool_)
    first[0] = True
    np.not_equal(lengths[1:], lengths[:-1], out=first[1:])
    return Load(
        np.concatenate((one.ranges, other.ranges)),
        np.concatenate((one.slides, other.slides)),
        rate,
        lengths[first],
        one.results + other.results,
        one.overlap + other.overlap,
        steps,
    )


def panes(load: Load) -> float:
    """Estimate Panes (Equation 3): the sum of r_i / s_i.

    A slice lies in r_i / s_i windows of query i, and is read once for each. A result of P partials takes P - 1
    combines, so the exact count is lower by the number of results for each slice.

    >>> from muntin import Window
    >>> panes(load_of([Window(6, 2), Window(8, 4)], rate=0.5))
    5.0
    """
    return load.overlap


def flatfat(load: Load) -> float:
    """Estimate FlatFAT (Equation 4): for each query ⌊log2(P - 1)⌋ + (P - 1) / 2^⌊log2(P)⌋.

    A new slice updates the path from its leaf to the root, log2 of the leaves; the longest range reads the root and
    every other a cover of its leaves by subtrees. Every query is taken to be asked at every edge. Below two partials
    the formula has no value: there P - 1 joins it to 0 at one partial.

    >>> from muntin import Window
    >>> flatfat(load_of([Window(8, 1)], rate=1)), flatfat(load_of([Window(9, 1)], rate=1))
    (2.875, 4.0)
    """
    partials = load.partials
    below = np.floor(np.log2(np.maximum(partials - 1, 1.0)))
    return float(np.sum(below + (partials - 1) / 2 ** np.floor(np.log2(partials))))


def flatfit(load: Load) -> float:
    """Estimate FlatFIT (Equation 5): 3 Q.

    Three combines for each result over the turns of its circular buffer, and every query asked at every edge.

    >>> from muntin import Window
    >>> flatfit(load_of([Window(6, 2), Window(8, 4)], rate=0.5))
    6.0
    """
    return 3.0 * load.queries


def slickdeque_inv(load: Load) -> float:
    """Estimate SlickDeque-Inv (Equation 6): twice the number of different P_i.

    Each running aggregate takes the new slice in and the expiring one out. A range whose number of partials varies
    along the composite slide needs one running aggregate for each number; the estimate takes their mean for all.

    >>> from muntin import Window
    >>> slickdeque_inv(load_of([Window(8, 2), Window(8, 4)], rate=0.5))
    2.0
    """
    return 2.0 * len(load.lengths)


def slickdeque_noninv(load: Load) -> float:
    """Estimate SlickDeque-NonInv (Equation 7): 2 - 2/P + Q + the sum of 1/i! for i from 1 to P, P the longest range.

    Below two combines for each slice, a comparison for each query, and a walk along the deque; every query asked at
    every edge. On random data the deque is as long as the harmonic number of P, and not as the sum of 1/i!, which
    ends at 1.72 (see the tests of `muntin.incremental.slickdeque`); `muntin.share.omega_due` uses neither, as our
    deque is searched by bisection.

    >>> from muntin import Window
    >>> slickdeque_noninv(load_of([Window(1, 1)], rate=1)), round(slickdeque_noninv(load_of([Window(64, 1)], 1)), 3)
    (2.0, 4.687)
    """
    return 2 - 2 / load.longest + load.queries + _FACTORIALS[min(math.floor(load.longest), 20)]


def panes_inv(load: Load) -> float:
    """Estimate Panes-Inv: a running aggregate for each distinct range, one combine and one inverse each.

    Not in the paper's table. Slices leave it by time and not by number, so that one for each range is exact.

    >>> from muntin import Window
    >>> panes_inv(load_of([Window(8, 2), Window(8, 4)], rate=0.5))
    2.0
    """
    return 2.0 * int(np.count_nonzero(load.distinct > 1))


def twostacks(load: Load) -> float:
    """Estimate TwoStacks, a structure for each distinct range: 3 - 4/P for each.

    Not in the paper's table, as TwoStacks answers for the whole window only: each range has its own. A slice is
    pushed, flipped and asked for once, less what the flip spares (`muntin.incremental.twostacks`).

    >>> from muntin import Window
    >>> twostacks(load_of([Window(8, 1)], rate=1))
    2.5
    """
    return float(np.sum(np.maximum(0.0, 3 - 4 / load.distinct)))


def daba(load: Load) -> float:
    """Estimate DABA, a structure for each distinct range: 4 - 6/P for each.

    As for TwoStacks; the flip is done a step at a time, and one step more is paid (`muntin.incremental.daba`).

    >>> from muntin import Window
    >>> daba(load_of([Window(8, 1)], rate=1))
    3.25
    """
    return float(np.sum(np.maximum(0.0, 4 - 6 / load.distinct)))
