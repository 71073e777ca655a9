"""Packs of panes back to panes: several neighbours of a key came in one row, as Arrow batches go by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class Unpack:
    """Take packs apart before `work` gets them: plain values, so that Spark can send them.

    Batches have `marks` columns that go with every pane, then the number of the pack, then which of its `width` panes
    are there (a bit for each), then of every field a list with an element for each pane. What `work` gets has the
    marks, the number of the pane and the fields, in the order of the packs and within each of its panes.
    """

    marks: int
    width: int
    work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn packs into what the work makes of their panes."""
        return self.work(unpacked(batch, self.marks, self.width) for batch in batches)


def unpacked(batch: pa.RecordBatch, marks: int, width: int) -> pa.RecordBatch:
    """Take the packs of one batch apart.

    >>> columns = [3, 4], [0b11, 0b10], [[1, 2], [None, 5]]
    >>> packs = pa.record_batch([pa.array(column) for column in columns], ["pack", "present", "field"])
    >>> unpacked(packs, 0, 2).to_pydict()
    {'_0': [6, 7, 9], '_1': [1, 2, 5]}
    """
    numbers, present = (batch.column(marks + i).to_numpy(zero_copy_only=False) for i in (0, 1))
    there = np.flatnonzero((present[:, None] >> np.arange(width)) & 1)
    panes = (numbers[:, None] * width + np.arange(width)).ravel()
    fields = [batch.column(place).flatten() for place in range(marks + 2, batch.num_columns)]
    if len(there) < len(panes):
        # Where all panes are there, as most often, nothing needs to be taken out.
        index = pa.array(there)
        panes, fields = panes[there], [field.take(index) for field in fields]
    rows = pa.array(there // width)
    columns = [*(batch.column(mark).take(rows) for mark in range(marks)), pa.array(panes), *fields]
    return pa.RecordBatch.from_arrays(columns, names=[f"_{i}" for i in range(len(columns))])
