"""Rows of partials by slice and key: made of events, brought together, and read as windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from muntin.incremental.columnar_runs import reduce_runs
from muntin.kernels.groups import grouping, key_codes
from muntin.kernels.sweep import _Loaded as Loaded
from muntin.stream.best import best_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.incremental.columnar_operator import Array
    from muntin.stream.layout import Layout


def merged(layout: Layout, table: pa.RecordBatch, panes: Array | None = None) -> tuple[pa.RecordBatch, Array]:
    """Combine the rows of one key and slice into one, in order of slices; and say which row each began with.

    `panes` stand in for the rows' own slices, where these come together in longer stretches.
    """
    if panes is None:
        panes = table.column(layout.keys).to_numpy()
    codes, distinct = key_codes(table.columns[: layout.keys], table.num_rows)
    order, firsts = grouping(panes, codes, distinct)
    heads = firsts if order is None else order[firsts]
    rows = pa.array(heads)
    columns = [column.take(rows) for column in table.columns[: layout.keys]]
    columns.append(pa.array(panes[heads]))
    columns += combined(layout, table.columns[layout.keys + 1 :], order, firsts)
    return pa.RecordBatch.from_arrays(columns, names=table.schema.names), heads


def combined(layout: Layout, fields: Sequence[pa.Array], order: Array | None, firsts: Array) -> list[pa.Array]:
    """Combine rows, taken in some order, from each of `firsts` to the next: the lanes' columns of what comes out."""
    found: list[pa.Array] = []
    place = 0
    for lane in layout.lanes:
        columns = list(fields[place : place + lane.columns])
        place += lane.columns
        if lane.load == "row":
            chosen = pa.array(best_rows(columns, order, firsts, largest=lane.operator == "arg_max"))
            found += [column.take(chosen) for column in columns]
            continue
        loaded = Loaded.of(lane, columns)
        vector = loaded.vector if order is None else tuple(part[order] for part in loaded.vector)
        found += loaded.lower(reduce_runs(loaded.operator, vector, firsts))
    return found


def joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Put rows one after the other."""
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
