"""Rows of slices to rows of windows: those that are due, for all keys of a bucket at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from muntin.incremental.columnar_runs import reduce_runs
from muntin.kernels.groups import grouping, key_codes
from muntin.kernels.sweep import Sweep, _Stretch
from muntin.kernels.sweep import _Loaded as Loaded
from muntin.stream import tree
from muntin.stream.rows import joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin.incremental.columnar_operator import Array
    from muntin.stream.layout import Layout
    from muntin.stream.slices import Slices
    from muntin.window.spec import Window

# Up to so many windows that are due at once are put together one by one; more go through the kernels of batch.
_FEW: Final = 3


def due(slices: Slices, low: int, high: int) -> Iterator[pa.RecordBatch]:
    """Compute every window that ends after pane `low` and not after `high`: number, start, keys, lanes' results."""
    layout = slices.layout
    if high <= low or not len(slices.known):
        return
    wanted: list[tuple[int, range]] = []
    for number, window in enumerate(layout.windows):
        ends = _with_slices(slices, window, layout.ends(number, low, high))
        if not ends:
            continue
        if number in layout.trees and len(ends) * 2 * window.range.bit_length() < window.range + len(ends):
            for end in ends:
                yield from _from_tree(slices, number, end)
        else:
            wanted.append((number, ends))
    if not wanted:
        return
    first = min(ends[0] - layout.windows[number].range for number, ends in wanted)
    parts = slices.between(first, max(ends[-1] for _, ends in wanted))
    if not parts:
        return
    rows = Rows.of(layout, joined(parts))
    for number, ends in wanted:
        if len(ends) <= _FEW:
            for end in ends:
                yield from rows.window(number, end - layout.windows[number].range)
        else:
            yield from rows.windows(number, ends)


def due_window(slices: Slices, number: int, end: int) -> Iterator[pa.RecordBatch]:
    """Compute one window of every key that has a slice in it: one batch, or none where no key has."""
    if number in slices.layout.trees:
        yield from _from_tree(slices, number, end)
        return
    start = end - slices.layout.windows[number].range
    parts = slices.between(start, end)
    if parts:
        yield from Rows.of(slices.layout, joined(parts)).window(number, start)


def _from_tree(slices: Slices, number: int, end: int) -> Iterator[pa.RecordBatch]:
    start = end - slices.layout.windows[number].range
    parts = tree.stretch(slices, start, end)
    if parts:
        yield from Rows.of(slices.layout, joined(parts)).window(number, start)


def _with_slices(slices: Slices, window: Window, ends: range) -> range:
    """Leave out the windows before the first slice and after the last: a stream may begin in 2026, not in 1970."""
    if not ends:
        return ends
    first, last = int(slices.known[0]), int(slices.known[-1])
    skip = max(0, -(-(first + 1 - ends[0]) // window.slide))
    stop = max(0, (last + window.range - ends[0]) // window.slide + 1)
    return ends[skip:stop]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of slices in memory, in order of key and slice."""

    layout: Layout
    batch: pa.RecordBatch
    codes: Array
    panes: Array
    loaded: tuple[Loaded, ...]

    @classmethod
    def of(cls, layout: Layout, batch: pa.RecordBatch) -> Rows:
        """Bring rows into order."""
        codes, _ = key_codes(batch.columns[: layout.keys], batch.num_rows)
        panes = batch.column(layout.keys).to_numpy()
        low = int(panes.min())
        order, _ = grouping(codes, panes - low, int(panes.max()) - low + 1)
        if order is not None:
            batch, codes, panes = batch.take(pa.array(order)), codes[order], panes[order]
        loaded, place = [], layout.keys + 1
        for lane in layout.lanes:
            columns = batch.columns[place : place + lane.columns]
            place += lane.columns
            # What breaks ties inside a slice is not asked for between slices: there the earlier one has it.
            loaded.append(Loaded.of(lane, [columns[0], columns[-1]] if lane.load == "row" else columns))
        return cls(layout, batch, codes, panes, tuple(loaded))

    def window(self, number: int, start: int) -> Iterator[pa.RecordBatch]:
        """Compute one window of every key that has a slice in it."""
        end = start + self.layout.windows[number].range
        rows = np.flatnonzero((self.panes >= start) & (self.panes < end))
        if not len(rows):
            return
        codes = self.codes[rows]
        firsts = np.flatnonzero(np.diff(codes, prepend=codes[0] - 1))
        every = len(rows) == len(self.panes)
        results = []
        for lane in self.loaded:
            vector = lane.vector if every else tuple(part[rows] for part in lane.vector)
            results += lane.lower(reduce_runs(lane.operator, vector, firsts))
        heads = pa.array(rows[firsts])
        keys = [column.take(heads) for column in self.batch.columns[: self.layout.keys]]
        yield self._leaving(
            [_same(number, len(firsts), np.int32), _same(start, len(firsts), np.int64), *keys, *results]
        )

    def windows(self, number: int, ends: range) -> Iterator[pa.RecordBatch]:
        """Compute many windows that follow one another, by the kernels that tables go through."""
        window = self.layout.windows[number]
        rows = np.flatnonzero((self.panes >= ends[0] - window.range) & (self.panes < ends[-1]))
        if not len(rows):
            return
        batch = self.batch if len(rows) == len(self.panes) else self.batch.take(pa.array(rows))
        lanes, columns = [], [*batch.columns[: self.layout.keys + 1]]
        place = self.layout.keys + 1
        for lane in self.layout.lanes:
            fields = batch.columns[place : place + lane.columns]
            place += lane.columns
            if lane.load == "row":
                lane, fields = replace(lane, columns=2), [fields[0], fields[-1]]
            lanes.append(lane)
            columns += fields
        sweep = Sweep(self.layout.keys, (window,), tuple(lanes))
        table = pa.Table.from_arrays(columns, names=[f"_{place}" for place in range(len(columns))])
        stretch = _Stretch.of(sweep, table, None, open_end=False)
        # A window goes by its last pane there.
        low, high = np.full_like(stretch.low, ends[0] - 1), np.full_like(stretch.high, ends[-1])
        for found in replace(stretch, low=low, high=high, bounded=True).windows():
            yield self._leaving([_same(number, found.num_rows, np.int32), *found.columns[1:]])

    def _leaving(self, columns: list[pa.Array]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(columns, names=[f"_{place}" for place in range(len(columns))])


def _same(value: int, rows: int, dtype: type[np.generic]) -> pa.Array:
    return pa.array(np.full(rows, value, dtype))
