"""Tumbling windows over stretches of panes without a gap: where they begin is counted, and no pane is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from muntin.kernels.table import OTHER

if TYPE_CHECKING:
    from muntin.incremental.columnar_operator import Array
    from muntin.kernels.table import Panes
    from muntin.window.spec import Window

# Stretches are worth counting where they have more panes than this on average.
FEW: Final = 8


def tumbling_starts(table: Panes, window: Window) -> tuple[Array, Array]:
    """Find the windows that hold a pane: their numbers, and the row with which each begins, in order.

    >>> from muntin.incremental.columnar_catalog import columnar
    >>> from muntin.kernels.table import pane_table
    >>> from muntin.window.spec import Window
    >>> panes = np.array([1, 2, 3, 4, 7, 8])
    >>> table = pane_table(np.zeros(6, np.int64), panes, (np.ones(6, np.int64),), columnar("count"))
    >>> tumbling_starts(table, Window(3, 3))
    (array([0, 1, 2]), array([0, 2, 4]))
    """
    if not len(table):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    firsts = np.concatenate((np.zeros(1, np.int64), table.breaks))
    bases = table.panes[firsts] - window.offset
    lasts = table.panes[np.append(firsts[1:], len(table)) - 1] - window.offset
    lows = bases // window.range
    counts = lasts // window.range - lows + 1
    before = np.cumsum(counts) - counts
    wide = np.arange(int(counts.sum())) + np.repeat(lows - before, counts)
    # A stretch begins inside of its first window, and all others begin inside of the stretch.
    starts = wide * window.range + np.repeat(firsts - bases, counts)
    starts[before] = firsts
    # A gap inside of a window: the stretch after it goes on with the window of the one before.
    on = np.flatnonzero((table.jumps != OTHER) & (lows[1:] == lasts[:-1] // window.range)) + 1
    if not len(on):
        return wide, starts
    kept = np.ones(len(wide), np.bool_)
    kept[before[on]] = False
    return wide[kept], starts[kept]
