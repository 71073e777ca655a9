"""Omega as our structures have it: a query is asked when its result is due, and each result is an operation.

Table 3 asks every query at every edge. A query that slides by 1,000 in a tree whose edges lie 1 apart is due at one
edge of a thousand, so in trees of mixed slides Table 3 counts far too much. Here d_i is the share of edges at which
query i is due, D their sum (`Load.due`), and handing a result out counts one, whatever it took.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from muntin.share import omega

if TYPE_CHECKING:
    from muntin.share.omega import Floats, Load


def panes(load: Load) -> float:
    """Estimate Panes: P - 1 combines and the result, at d_i of the edges, which is Equation 3 again.

    >>> from muntin import Window
    >>> panes(omega.load_of([Window(6, 2), Window(8, 4)], rate=0.5))
    5.0
    """
    return omega.panes(load)


def flatfat(load: Load) -> float:
    """Estimate FlatFAT: log2(P) for the path of a new slice, P the longest; log2(P_i) - 1 + 1/P_i for other ranges.

    The latter is the mean number of combines that join the fewest subtrees over P_i leaves, over all places where
    they may begin: exact for powers of two. The longest range reads the root.

    >>> from muntin import Window
    >>> flatfat(omega.load_of([Window(8, 1)], rate=1)), flatfat(omega.load_of([Window(8, 1), Window(4, 1)], rate=1))
    (4.0, 6.25)
    """
    partials = load.partials
    cover = np.where(partials < load.longest, np.log2(partials) - 1 + 1 / partials, 0.0)
    return float(np.log2(load.longest) + np.sum(_shares(load) * cover)) + load.due


def flatfit(load: Load) -> float:
    """Estimate FlatFIT: for each result 1 + 2 / (1 + 2 D² / P) combines, P the mean number of partials of a result.

    One alone takes 3; where results of many ranges are asked for, each finds the shortcuts of the others, and in the
    end one combine is left. That form was fitted to counts of slides that divide one another. Where they do not,
    results begin anywhere, and shortcuts are what path compression alone makes of them: log P to the base 2 + D
    (Tarjan and van Leeuwen, 1984). What came since the last result is new to all: 1 / D slices, if that is more than
    one.

    >>> from muntin import Window
    >>> round(flatfit(omega.load_of([Window(1000, 1)], rate=1)), 2)
    4.0
    """
    mean = load.rate * load.overlap / load.results
    if mean <= 1:
        return load.due
    combines = 1 + 2 / (1 + 2 * load.due**2 / mean)
    if load.steps > 1:
        combines = max(combines, math.log(mean, 2 + load.due))
    return load.due * (1 + combines + max(0.0, 1 / load.due - 1))


def slickdeque_inv(load: Load) -> float:
    """Estimate SlickDeque-Inv: one combine and one inverse for each running aggregate, at every edge, due or not.

    One is kept for each *number* of partials that a result is made of. Where slides divide one another a range has
    one such number (Equation 6). Where they do not, it is made of now more, now fewer: with K slides of which none is
    a multiple of another, of some 2 (K - 1) different numbers, as counts of unrelated slides show. There are no more
    numbers than the longest range has partials.

    >>> from muntin import Window
    >>> slickdeque_inv(omega.load_of([Window(8, 2), Window(8, 4)], rate=0.5))
    3.5
    """
    if load.steps == 1:
        return panes_inv(load)
    partials = load.distinct
    numbers = float(np.sum(np.minimum(2.0 * (load.steps - 1), partials)[partials > 1]))
    return 2 * min(numbers, load.longest) + load.due


def slickdeque_noninv(load: Load) -> float:
    """Estimate SlickDeque-NonInv: 2 - 2/P combines, P the longest range; answers are found by bisection.

    >>> from muntin import Window
    >>> slickdeque_noninv(omega.load_of([Window(8, 1)], rate=1))
    2.75
    """
    return 2 - 2 / load.longest + load.due


def panes_inv(load: Load) -> float:
    """Estimate Panes-Inv: one combine and one inverse for each distinct range; slices leave it by time.

    >>> from muntin import Window
    >>> panes_inv(omega.load_of([Window(8, 2), Window(8, 4)], rate=0.5))
    3.5
    """
    return omega.panes_inv(load) + load.due


def twostacks(load: Load) -> float:
    """Estimate TwoStacks: 2 - 3/P for each distinct range at every edge, 1 - 1/P_i to join the tops for a result.

    >>> from muntin import Window
    >>> twostacks(omega.load_of([Window(8, 1)], rate=1))
    3.5
    """
    return float(np.sum(np.maximum(0.0, 2 - 3 / load.distinct))) + _joined(load) + load.due


def daba(load: Load) -> float:
    """Estimate DABA: 3 - 5/P for each distinct range at every edge, 1 - 1/P_i to join front and back for a result.

    >>> from muntin import Window
    >>> daba(omega.load_of([Window(8, 1)], rate=1))
    4.25
    """
    return float(np.sum(np.maximum(0.0, 3 - 5 / load.distinct))) + _joined(load) + load.due


def _shares(load: Load) -> Floats:
    """Compute d_i, the share of the edges at which each query is due."""
    shares: Floats = 1 / (load.slides * load.rate)
    return shares


def _joined(load: Load) -> float:
    return float(np.sum(_shares(load) * (1 - 1 / load.partials)))
