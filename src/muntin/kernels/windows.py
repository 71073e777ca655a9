"""All windows of all keys from their panes, in one pass."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from muntin.errors import AggregateError
from muntin.incremental.columnar_operator import cut
from muntin.incremental.columnar_runs import reduce_even, starts_of_runs
from muntin.kernels import grid, ranges
from muntin.kernels.lane import lanes
from muntin.kernels.stretches import FEW, tumbling_starts
from muntin.kernels.strips import Strip, strips
from muntin.kernels.table import LIMIT, Panes, pane_table, regrouped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from muntin.incremental.columnar_operator import Array, ColumnarOperator, Vector
    from muntin.kernels.lane import Lane
    from muntin.window.spec import Window


@dataclass(frozen=True, slots=True, eq=False)
class WindowRows:
    """Hold one row for each window that contains an event: its key, where it starts, and its partial."""

    keys: Array
    starts: Array
    partial: Vector

    def __len__(self) -> int:
        return len(self.keys)


def all_windows(
    keys: Array, panes: Array, partial: Sequence[Array], windows: Iterable[Window], operator: ColumnarOperator
) -> tuple[WindowRows, ...]:
    """Aggregate every window of a set over the panes of many keys, rows sorted by key and then by pane.

    Windows count in panes. Each window that holds a present pane has a row, in order of key and start, those too that
    begin before a key's first pane or end after its last, as Spark emits them.

    >>> from muntin.incremental.columnar_catalog import columnar
    >>> from muntin.window.spec import Window
    >>> total = columnar("sum", "int64")
    >>> keys, panes, partial = np.array([7, 7, 8]), np.array([0, 1, 4]), total.lift(np.array([1, 10, 100]))
    >>> pairs, triples = all_windows(keys, panes, partial, [Window(2, 2), Window(3, 1)], total)
    >>> pairs.keys, pairs.starts, total.lower(pairs.partial).to_list()
    (array([7, 8]), array([0, 4]), [11, 100])
    >>> triples.starts, total.lower(triples.partial).to_list()
    (array([-2, -1,  0,  1,  2,  3,  4]), [1, 11, 11, 10, 100, 100, 100])
    """
    table = pane_table(keys, panes, partial, operator)
    return tuple(window_rows(table, window, operator) for window in windows)


def window_rows(table: Panes, window: Window, operator: ColumnarOperator) -> WindowRows:
    """Aggregate one window over a table of panes."""
    if window.tumbling:
        return tumbling_rows(table, window, operator)
    work = _Hopping.prepare(table, window, operator)
    found = list(strips(work.table, work.length, work.slide))
    sizes = [strip.windows for strip in found]
    out = work.room(sum(sizes))
    at = 0
    for strip, size in zip(found, sizes, strict=True):
        work.fill(strip, _part(out, at, at + size))
        at += size
    return out


def window_batches(table: Panes, window: Window, operator: ColumnarOperator) -> Iterator[WindowRows]:
    """Aggregate one window in batches of bounded size, in order: for what does not fit into memory at once.

    >>> from muntin.incremental.columnar_catalog import columnar
    >>> from muntin.window.spec import Window
    >>> count = columnar("count")
    >>> table = pane_table(np.array([0, 1]), np.array([5, 5]), (np.array([2, 3]),), count)
    >>> [len(batch) for batch in window_batches(table, Window(10, 1), count)]
    [20]
    """
    if window.tumbling:
        yield tumbling_rows(table, window, operator)
        return
    work = _Hopping.prepare(table, window, operator)
    for strip in strips(work.table, work.length, work.slide):
        out = work.room(strip.windows)
        work.fill(strip, out)
        yield out


@dataclass(frozen=True, slots=True, eq=False)
class _Hopping:
    """A hopping window over a table of panes as wide as its range and slide allow."""

    table: Panes
    window: Window
    operator: ColumnarOperator
    lanes: tuple[Lane, ...]
    length: int
    slide: int

    @classmethod
    def prepare(cls, table: Panes, window: Window, operator: ColumnarOperator) -> _Hopping:
        _check_range(window)
        width = math.gcd(window.range, window.slide)
        table = _widened(table, width, window.offset, operator)
        return cls(table, window, operator, lanes(operator), window.range // width, window.slide // width)

    def room(self, size: int) -> WindowRows:
        partial = tuple(np.empty(size, part.dtype) for part in self.operator.components)
        return WindowRows(np.empty(size, self.table.keys.dtype), np.empty(size, np.int64), partial)

    def fill(self, strip: Strip, out: WindowRows) -> None:
        counts = strip.counts
        keys = self.table.keys[strip.firsts + strip.start]
        starts = strip.lows * self.window.slide + self.window.offset
        if len(counts) * int(counts.max()) == len(out):
            shape = (len(counts), int(counts[0]))
            out.keys.reshape(shape)[...] = keys[:, None]
            hops = np.arange(shape[1]) * self.window.slide
            np.add(starts[:, None], hops, out=out.starts.reshape(shape))
        else:
            out.keys[...] = np.repeat(keys, counts)
            before = np.cumsum(counts) - counts
            # Numbered through the strip this may pass 2**63; it wraps around, and back by what is added.
            out.starts[...] = np.arange(len(out)) * self.window.slide
            out.starts[...] += np.repeat(starts - before * self.window.slide, counts)
        with np.errstate(all="ignore"):  # infinities and NaN are values like others, as in Spark
            if grid.suits(strip, self.slide):
                grid.fill(strip, self.table, self.length, self.operator, self.lanes, out.partial)
            else:
                ranges.fill(strip, self.table, self.length, self.slide, self.lanes, out.partial)


def tumbling_rows(rows: Panes | WindowRows, window: Window, operator: ColumnarOperator) -> WindowRows:
    """Aggregate a tumbling window over panes, or over the rows of a shorter tumbling window that partitions it.

    >>> from muntin.incremental.columnar_catalog import columnar
    >>> from muntin.window.spec import Window
    >>> count = columnar("count")
    >>> table = pane_table(np.zeros(4, np.int64), np.arange(4), (np.ones(4, np.int64),), count)
    >>> pairs = tumbling_rows(table, Window(2, 2), count)
    >>> tumbling_rows(pairs, Window(4, 4), count).partial
    (array([4]),)
    """
    _check_range(window)
    if isinstance(rows, Panes) and len(rows.breaks) * FEW < len(rows):
        wide, starts = tumbling_starts(rows, window)
    else:
        every = ((rows.panes if isinstance(rows, Panes) else rows.starts) - window.offset) // window.range
        starts = starts_of_runs(rows.keys, every)
        wide = every[starts]
    partial = reduce_even(operator, rows.partial, starts)
    return WindowRows(rows.keys[starts], wide * window.range + window.offset, partial)


def _widened(table: Panes, width: int, offset: int, operator: ColumnarOperator) -> Panes:
    """Combine panes into wider ones, the first of which begins at `offset`."""
    if width == 1:
        return replace(table, panes=table.panes - offset) if offset else table
    return regrouped(table, (table.panes - offset) // width, operator)


def _check_range(window: Window) -> None:
    if window.range > LIMIT:
        msg = f"a window of {window.range} panes: at most 2**61 can be counted. Use wider panes"
        raise AggregateError(msg)


def _part(rows: WindowRows, start: int, stop: int) -> WindowRows:
    return WindowRows(rows.keys[start:stop], rows.starts[start:stop], cut(rows.partial, start, stop))
