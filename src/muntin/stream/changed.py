"""The windows that a micro-batch changed, with what they hold now: Spark's output mode "update"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from muntin.kernels.groups import grouping, key_codes
from muntin.stream.rows import joined
from muntin.stream.windows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin.incremental.columnar_operator import Array
    from muntin.stream.layout import Layout
    from muntin.stream.slices import Slices
    from muntin.window.spec import Window


def changed(slices: Slices, taken: pa.RecordBatch, low: int) -> Iterator[pa.RecordBatch]:
    """Compute, for the keys and slices of rows just taken in, every window that ends after pane `low`."""
    layout = slices.layout
    keys = taken.columns[: layout.keys]
    codes, _ = key_codes(keys, taken.num_rows)
    panes = taken.column(layout.keys).to_numpy()
    for number, window in enumerate(layout.windows):
        rows, starts = _holding(window, panes, low)
        if not len(rows):
            continue
        ends = range(int(starts.min()) + window.range, int(starts.max()) + window.range + 1, window.slide)
        parts = slices.between(ends[0] - window.range, ends[-1])
        mine = _of_keys(layout, joined(parts), keys, taken.num_rows)
        heads = _pairs(codes[rows], starts)
        wanted = [column.take(pa.array(rows[heads])) for column in keys]
        for found in Rows.of(layout, mine).windows(number, ends):
            kept = _matching(wanted, starts[heads], found.columns[2 : 2 + layout.keys], found.column(1).to_numpy())
            yield found.take(pa.array(np.flatnonzero(kept)))


def _holding(window: Window, panes: Array, low: int) -> tuple[Array, Array]:
    """List, for each of some slices, the windows that hold it and end after pane `low`: row and start."""
    last = panes - (panes - window.offset) % window.slide
    # Starts from the last one back, as long as the window still reaches the slice and has not ended.
    reach = np.maximum(panes + 1, low + 1) - window.range
    counts = np.maximum((last - reach) // window.slide + 1, 0)
    rows = np.repeat(np.arange(len(panes)), counts)
    back = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, last[rows] - back * window.slide


def _pairs(codes: Array, starts: Array) -> Array:
    """Choose one row of each pair of key and start."""
    low = int(starts.min())
    order, firsts = grouping(codes, starts - low, int(starts.max()) - low + 1)
    return firsts if order is None else order[firsts]


def _of_keys(layout: Layout, rows: pa.RecordBatch, keys: list[pa.Array], count: int) -> pa.RecordBatch:
    """Keep the rows of some keys."""
    if not layout.keys:
        return rows
    both = [pa.concat_arrays([key, column]) for key, column in zip(keys, rows.columns, strict=False)]
    codes, _ = key_codes(both, count + rows.num_rows)
    return rows.filter(pa.array(np.isin(codes[count:], codes[:count])))


def _matching(wanted: list[pa.Array], starts: Array, keys: list[pa.Array], found: Array) -> Array:
    """Tell which windows found are among those wanted: of the same key and start."""
    both = [pa.concat_arrays([one, other]) for one, other in zip(wanted, keys, strict=True)]
    codes, distinct = key_codes(both, len(starts) + len(found))
    every = np.concatenate([starts, found])
    pairs = (every - every.min()) * distinct + codes
    there: Array = np.isin(pairs[len(starts) :], pairs[: len(starts)])
    return there
