"""Windows as ranges of rows: for sparse panes, for slides of several panes, and for slices of unequal length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from muntin.errors import AggregateError
from muntin.incremental.columnar_runs import starts_of_runs
from muntin.kernels.lane import lanes as lanes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.incremental.columnar_operator import Array, ColumnarOperator, Vector
    from muntin.kernels.lane import Lane
    from muntin.kernels.strips import Strip
    from muntin.kernels.table import Panes

# As a window moves by one pane, panes enter and leave: at most two different ranges for each row. Where windows are
# more than this many times the rows, most of them hold the same rows as the one before.
_REPEATED: Final = 4


def aggregate_ranges(operator: ColumnarOperator, partial: Sequence[Array], first: Array, stop: Array) -> Vector:
    """Aggregate the slices from each `first` up to, without it, `stop`: windows over slices of any lengths.

    >>> from muntin.incremental.columnar_catalog import columnar
    >>> high = columnar("max", "int64")
    >>> slices = high.lift(np.array([3, 1, 4, 1, 5]))
    >>> aggregate_ranges(high, slices, np.array([0, 1, 3]), np.array([2, 4, 4]))[0]
    array([3, 4, 1])
    """
    vector = operator.check(partial)
    first, stop = np.asarray(first), np.asarray(stop)
    if first.dtype.kind != "i" or stop.dtype.kind != "i" or first.ndim != 1 or first.shape != stop.shape:
        msg = f"ranges are two equal arrays of integers, got {first.shape} {first.dtype} and {stop.shape} {stop.dtype}"
        raise AggregateError(msg)
    wrong = np.flatnonzero((first < 0) | (first >= stop) | (stop > len(vector[0])))
    if len(wrong):
        at = int(wrong[0])
        msg = f"range {at} is [{first[at]}, {stop[at]}): each must hold a slice, and there are {len(vector[0])}"
        raise AggregateError(msg)
    out = operator.neutral(len(first))
    with np.errstate(all="ignore"):
        _over(lanes_of(operator), vector, first.astype(np.int64), stop.astype(np.int64), out)
    return out


def fill(strip: Strip, table: Panes, length: int, slide: int, lanes: tuple[Lane, ...], out: Vector) -> None:
    """Aggregate a strip's windows, and write them in order of stretch and start."""
    first, stop = window_ranges(strip, table.panes[strip.start : strip.stop], length, slide)
    partial = tuple(part[strip.start : strip.stop] for part in table.partial)
    if len(first) <= _REPEATED * (strip.stop - strip.start):
        _over(lanes, partial, first, stop, out)
        return
    starts = starts_of_runs(first, stop)
    times = np.diff(starts, append=len(first))
    found = tuple(np.empty(len(starts), part.dtype) for part in partial)
    _over(lanes, partial, first[starts], stop[starts], found)
    for part, new in zip(out, found, strict=True):
        part[...] = np.repeat(new, times)


def window_ranges(strip: Strip, panes: Array, length: int, slide: int) -> tuple[Array, Array]:
    """Find the rows of each window of a strip, as ranges."""
    # Windows `low` to `high` hold a pane. It is the first of those that do not hold the pane before, and the last of
    # those that do not hold the next. In a stretch each window is one of them. So both lists name all windows, in the
    # same order, and no search is needed.
    lasts = np.append(strip.firsts[1:], len(panes)) - 1
    highs, times = strip.lows + strip.counts - 1, lasts + 1 - strip.firsts
    low = np.maximum(-((length - 1 - panes) // slide), np.repeat(strip.lows, times))
    high = np.minimum(panes // slide, np.repeat(highs, times))
    as_first, as_last = high.copy(), -low
    as_first[1:] -= high[:-1]
    as_first[strip.firsts] = high[strip.firsts] - strip.lows + 1
    as_last[:-1] += low[1:]
    as_last[lasts] = highs - low[lasts] + 1
    rows = np.arange(len(panes))
    return np.repeat(rows, as_first), np.repeat(rows + 1, as_last)


def _over(lanes: tuple[Lane, ...], partial: Vector, first: Array, stop: Array, out: Vector) -> None:
    for lane in lanes:
        found = lane.over(partial[lane.components], first, stop)
        for part, new in zip(out[lane.components], found, strict=True):
            part[...] = new
