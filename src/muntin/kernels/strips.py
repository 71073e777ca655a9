"""Which windows there are: stretches of panes, cut into strips small enough for the processor's cache."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from muntin.kernels.table import steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin.incremental.columnar_operator import Array
    from muntin.kernels.table import Panes

# So many windows are computed together.
BATCH: Final = 1 << 16
# A part of a stretch reads the panes of one window more than it has windows: so it has at least so many times as many.
PARTS: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Strip:
    """A few whole stretches, or a part of the windows of one long stretch.

    A stretch is a run of one key's panes that no gap as long as the window parts: so each window from the first that
    touches the stretch to the last holds a pane of it, and no window holds panes of two stretches.
    """

    start: int
    """The first row of panes."""
    stop: int
    """The row after the last."""
    firsts: Array
    """The row with which each stretch begins, counted from `start`."""
    bases: Array
    """The pane with which it begins; in a part that is not the first, where its first window begins."""
    lows: Array
    """The number of each stretch's first window: window k covers the panes from k * slide on."""
    highs: Array
    """The number of its last window."""

    @property
    def counts(self) -> Array:
        """The number of windows of each stretch."""
        return self.highs - self.lows + 1

    @property
    def windows(self) -> int:
        """The number of windows."""
        return int(self.counts.sum())


def strips(table: Panes, length: int, slide: int) -> Iterator[Strip]:
    """Cut a table of panes into strips of about as many windows, in order.

    >>> from muntin.kernels.table import Panes
    >>> table = Panes(np.array([0, 0, 0, 1]), np.array([1, 2, 9, 9]), ())
    >>> [(strip.firsts.tolist(), strip.lows.tolist(), strip.highs.tolist()) for strip in strips(table, 3, 1)]
    [([0, 2, 3], [-1, 7, 7], [2, 9, 9])]
    """
    if not len(table):
        return
    firsts = _stretches(table, length)
    afters = np.append(firsts[1:], len(table))
    lows = -((length - 1 - table.panes[firsts]) // slide)
    highs = table.panes[afters - 1] // slide
    ends = np.cumsum(highs - lows + 1)
    # Parts of whole blocks, see `Lane.slide`.
    part = length * max(PARTS, -(-BATCH // length))
    long = np.flatnonzero(highs - lows >= part + length)
    at = 0
    while at < len(firsts):
        place = int(np.searchsorted(long, at))
        next_long = int(long[place]) if place < len(long) else len(firsts)
        if next_long == at:
            yield from _parts(table.panes, slice(int(firsts[at]), int(afters[at])), length, slide, part)
            at += 1
            continue
        before = int(ends[at - 1]) if at else 0
        to = min(next_long, max(at + 1, int(np.searchsorted(ends, before + BATCH, side="right"))))
        start = int(firsts[at])
        bases = table.panes[firsts[at:to]]
        yield Strip(start, int(afters[to - 1]), firsts[at:to] - start, bases, lows[at:to], highs[at:to])
        at = to


def _stretches(table: Panes, length: int) -> Array:
    """Find the rows with which stretches begin: another key, or a gap that no window reaches across."""
    found = [np.zeros(1, np.int64)]
    for start, step, same in steps(table.keys, table.panes):
        found.append(np.flatnonzero(~same | (step >= length)) + (start + 1))
    return np.concatenate(found)


def _parts(panes: Array, rows: slice, length: int, slide: int, part: int) -> Iterator[Strip]:
    here = panes[rows]
    low, high = -((length - 1 - int(here[0])) // slide), int(here[-1]) // slide
    # The first part has the windows that begin before the stretch, too. The last may be shorter, or reach to the end.
    bounds = [low, *range(low + (length - 1) // slide + part, high - length, part), high + 1]
    for start, after in pairwise(bounds):
        begin, end = np.searchsorted(here, (start * slide, (after - 1) * slide + length)).tolist()
        bases, lows, highs = (np.array([pane]) for pane in (max(int(here[0]), start * slide), start, after - 1))
        yield Strip(rows.start + begin, rows.start + end, np.zeros(1, np.int64), bases, lows, highs)
