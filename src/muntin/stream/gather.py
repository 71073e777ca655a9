"""Events of a micro-batch to partials of slices, before any shuffle: what a task reads is combined at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from muntin.stream.blob import encode
from muntin.stream.rows import joined, merged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin.stream.layout import Layout

# So many events are brought together before they are combined: enough for NumPy, little for memory.
CHUNK: Final = 1 << 18
# So many rows at most leave in one blob.
MOST: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Gather:
    """Turn events into rows of (bucket, rows, events): batches have the bucket, the keys, the pane, the lanes' columns.

    Where aggregates of objects ask for the events themselves, their time and what is read of them come after that,
    and they leave as they are. `labels` are the numbers under which Spark knows the buckets. The first task of a
    micro-batch sends empty blobs to each, so that every bucket learns of every batch with data, and of its watermark.
    """

    layout: Layout
    labels: tuple[int, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch], *, first: bool) -> Iterator[pa.RecordBatch]:
        """Combine what one task reads."""
        if first:
            yield _blobs(list(self.labels), [b""] * len(self.labels), [b""] * len(self.labels))
        waiting: list[pa.RecordBatch] = []
        rows, least = 0, CHUNK
        width = 2 + self.layout.keys + sum(lane.columns for lane in self.layout.lanes)
        for whole in batches:
            batch = whole
            if self.layout.objects and batch.num_rows:
                yield from self._events(batch, width)
                batch = batch.select(range(width))
            waiting.append(batch)
            rows += batch.num_rows
            if rows < least:
                continue
            table = self._combined(joined(waiting))
            if table.num_rows > CHUNK:
                # Hardly anything comes together: better on its way than in memory.
                yield from self._leaving(table)
                waiting, rows, least = [], 0, CHUNK
            else:
                waiting, rows = [table], table.num_rows
                least = table.num_rows + CHUNK
        if rows:
            yield from self._leaving(self._combined(joined(waiting)))

    def _combined(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        layout = self.layout
        panes = layout.starts(batch.column(layout.keys + 1).to_numpy())
        rows = pa.RecordBatch.from_arrays(batch.columns[1:], names=batch.schema.names[1:])
        table, heads = merged(layout, rows, panes)
        return table.add_column(0, batch.schema.field(0), batch.column(0).take(pa.array(heads)))

    def _events(self, batch: pa.RecordBatch, width: int) -> Iterator[pa.RecordBatch]:
        panes = self.layout.starts(batch.column(self.layout.keys + 1).to_numpy())
        columns = [*batch.columns[: self.layout.keys + 1], pa.array(panes), *batch.columns[width:]]
        yield from self._leaving(
            pa.RecordBatch.from_arrays(columns, names=[f"_{n}" for n in range(len(columns))]), True
        )

    def _leaving(self, table: pa.RecordBatch, events: bool = False) -> Iterator[pa.RecordBatch]:
        buckets = table.column(0).to_numpy()
        order = np.argsort(buckets, kind="stable")
        table = table.take(pa.array(order))
        buckets = buckets[order]
        edges = np.searchsorted(buckets, np.arange(len(self.labels) + 1)).tolist()
        rows = pa.RecordBatch.from_arrays(table.columns[1:], names=table.schema.names[1:])
        labels: list[int] = []
        blobs: list[bytes] = []
        for label, start, stop in zip(self.labels, edges, edges[1:], strict=False):
            for at in range(start, stop, MOST):
                labels.append(label)
                blobs.append(encode(rows.slice(at, min(MOST, stop - at))))
        empty = [b""] * len(blobs)
        yield _blobs(labels, empty, blobs) if events else _blobs(labels, blobs, empty)


def _blobs(labels: list[int], rows: list[bytes], events: list[bytes]) -> pa.RecordBatch:
    arrays = [pa.array(labels, pa.int32()), pa.array(rows, pa.binary()), pa.array(events, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, names=["bucket", "rows", "events"])
