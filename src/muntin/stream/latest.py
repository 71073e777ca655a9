"""One wide row for a key: the last complete window of each kind, side by side, whenever one of them changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from muntin.kernels.arrow_rows import differs
from muntin.kernels.groups import key_codes
from muntin.stream.windows import due_window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from muntin.incremental.columnar_operator import Array
    from muntin.stream.slices import Slices


def latest(
    slices: Slices,
    before: pa.RecordBatch,
    low: int,
    high: int,
    schema: pa.Schema,
    finish: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
    """Bring the wide rows up to pane `high`; give all of them, and those that changed with the instant in front.

    `before` holds the wide rows as of pane `low`: keys, then for each window whether it has an event, and its results.
    `finish` adds what lanes do not compute. A key that is in no window any more leaves once more, with nulls, and is
    forgotten.
    """
    layout = slices.layout
    width = (before.num_columns - layout.keys) // len(layout.windows)
    found: dict[int, pa.RecordBatch] = {}
    ends = []
    for number, window in enumerate(layout.windows):
        due = layout.due(window, low, high)
        ends.append(layout.due(window, high - window.slide, high)[-1])
        if due:
            complete = next(finish(due_window(slices, number, due[-1])), None)
            found[number] = pa.RecordBatch.from_pylist([], schema=schema) if complete is None else complete
    if not found:
        return before, None
    tables = [before.select(range(layout.keys)), *(part.select(range(2, 2 + layout.keys)) for part in found.values())]
    counts = [table.num_rows for table in tables]
    joined_keys = [pa.concat_arrays([table.column(place) for table in tables]) for place in range(layout.keys)]
    codes, distinct = key_codes(joined_keys, sum(counts))
    starts = np.cumsum([0, *counts])
    heads = np.full(distinct, -1)
    heads[codes[::-1]] = np.arange(len(codes))[::-1]
    present = np.flatnonzero(heads >= 0)
    keys = [column.take(pa.array(heads[present])) for column in joined_keys]
    old = _places(codes[: counts[0]], distinct)[present]
    columns: list[pa.Array] = []
    changed = old < 0
    alive = np.zeros(len(present), np.bool_)
    for number in range(len(layout.windows)):
        at = layout.keys + number * width
        olds = [_taken(before.column(at + place), old) for place in range(width)]
        if number in found:
            where = 1 + list(found).index(number)
            new = _places(codes[starts[where] : starts[where + 1]], distinct)[present]
            part = found[number]
            fresh = [pa.array(new >= 0), *(_taken(column, new) for column in part.columns[2 + layout.keys :])]
            for one, other in zip(olds[1:], fresh[1:], strict=True):
                changed |= _unlike(one, other)
        else:
            fresh = [pa.array(_there(olds[0])), *olds[1:]]
        alive |= _there(fresh[0])
        columns += fresh
    whole = pa.RecordBatch.from_arrays([*keys, *columns], schema=before.schema)
    shown = [place for place in range(whole.num_columns) if place < layout.keys or (place - layout.keys) % width]
    leaving = whole.select(shown).filter(pa.array(changed))
    instant = pa.array(np.full(leaving.num_rows, max(ends), np.int64))
    return whole.filter(pa.array(alive)), leaving.add_column(0, "_at", instant)


def _places(codes: Array, distinct: int) -> Array:
    """Say in which row each key stands; -1 where in none."""
    found = np.full(distinct, -1)
    found[codes] = np.arange(len(codes))
    return found


def _taken(column: pa.Array, rows: Array) -> pa.Array:
    return column.take(pa.array(rows, mask=rows < 0))


def _there(column: pa.Array) -> Array:
    there: Array = column.fill_null(False).to_numpy(zero_copy_only=False)
    return there


def _unlike(x: pa.Array, y: pa.Array) -> Array:
    """Tell of each pair whether the two differ; null and NaN are like themselves."""
    both = pa.concat_arrays([x, y]).take(pa.array(np.arange(2 * len(x)).reshape(2, -1).T.ravel()))
    return differs(both)[::2] if len(x) else np.zeros(0, np.bool_)
