"""Which windows there are: stretches of panes, cut into strips small enough for the processor's cache."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from muntin.errors import AggregateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin.incremental.columnar_operator import Array
    from muntin.kernels.table import Panes

# So many windows are computed together: few enough for the cache, many enough for the interpreter not to count.
BATCH: Final = 1 << 18
# A part of a stretch reads the panes of one window more than it has windows: so it has at least so many times as many.
PARTS: Final = 4
# No memory holds as many windows, and the sums of their numbers stay far from the end of 64-bit integers.
MOST: Final = 1 << 48


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
    spans: Array
    """How many panes there are from the base to the stretch's last pane, absent ones too."""
    lows: Array
    """The number of its first window: window k covers the panes from k * slide on."""
    counts: Array
    """How many windows it has."""

    @property
    def windows(self) -> int:
        """The number of windows."""
        return int(self.counts.sum())


def strips(table: Panes, length: int, slide: int) -> Iterator[Strip]:
    """Cut a table of panes into strips of about as many windows, in order.

    >>> from muntin.incremental.columnar_catalog import columnar
    >>> from muntin.kernels.table import pane_table
    >>> keys, panes, n = np.array([0, 0, 0, 1]), np.array([1, 2, 9, 9]), np.ones(4, np.int64)
    >>> table = pane_table(keys, panes, (n,), columnar("count"))
    >>> [(strip.firsts.tolist(), strip.lows.tolist(), strip.counts.tolist()) for strip in strips(table, 3, 1)]
    [([0, 2, 3], [-1, 7, 7], [4, 3, 3])]
    """
    if not len(table):
        return
    # A stretch begins with another key, or after a gap that no window reaches across.
    firsts = np.concatenate((np.zeros(1, np.int64), table.breaks[table.jumps >= length]))
    afters = np.append(firsts[1:], len(table))
    bases, lasts = table.panes[firsts], table.panes[afters - 1]
    spans, lows = lasts - bases + 1, -((length - 1 - bases) // slide)
    counts = lasts // slide - lows + 1
    emitted = counts.sum(dtype=np.float64)  # as integers they might wrap around
    if emitted > MOST:
        msg = f"{emitted:.3g} windows of {length} panes hold an event: too many. Use a longer slide, or wider panes"
        raise AggregateError(msg)
    ends = np.cumsum(counts)
    part = length * max(PARTS, -(-BATCH // length))  # of whole blocks, see `Lane.slide`
    long = np.flatnonzero(counts > part + length)
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
        here, start = slice(at, to), int(firsts[at])
        yield Strip(
            start, int(afters[to - 1]), firsts[here] - start, bases[here], spans[here], lows[here], counts[here]
        )
        at = to


def _parts(panes: Array, rows: slice, length: int, slide: int, part: int) -> Iterator[Strip]:
    here = panes[rows]
    low, high = -((length - 1 - int(here[0])) // slide), int(here[-1]) // slide
    # The first part has the windows that begin before the stretch, too. The last reaches to the end of the stretch.
    bounds = [low, *range(low + (length - 1) // slide + part, high - length, part), high + 1]
    for first, after in pairwise(bounds):
        start, stop = np.searchsorted(here, (first * slide, (after - 1) * slide + length)).tolist()
        base = max(int(here[0]), first * slide)
        numbers = (0, base, int(here[stop - 1]) - base + 1, first, after - first)
        yield Strip(rows.start + start, rows.start + stop, *(np.array([number]) for number in numbers))
