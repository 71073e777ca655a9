"""One bucket of keys, one micro-batch: take rows in, let windows leave, keep what is still needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from muntin.stream import tree
from muntin.stream.blob import decode, encode
from muntin.stream.changed import changed
from muntin.stream.clock import Clock
from muntin.stream.latest import latest
from muntin.stream.rows import joined, merged
from muntin.stream.slices import Slices
from muntin.stream.windows import due

if TYPE_CHECKING:
    from collections.abc import Iterable

    from muntin.incremental.columnar_operator import Array
    from muntin.stream.layout import Layout
    from muntin.stream.slices import Store

# Where the wide rows of the mode "latest" are kept, beside slices (level 0) and nodes (above).
_WIDE: Final = (-1, 0)


class Told(NamedTuple):
    """What a micro-batch came to: what the bucket remembers, and the rows that leave."""

    clock: Clock
    leaving: list[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Schemas:
    """The columns of rows: in slices, and of windows that leave (number, start, keys, lanes' results)."""

    rows: pa.Schema
    windows: pa.Schema

    def latest(self, layout: Layout) -> pa.Schema:
        """Give the columns of wide rows in the state: keys, of each window whether it is there, its results."""
        keys = [self.windows.field(2 + place) for place in range(layout.keys)]
        results = [self.windows.field(place) for place in range(2 + layout.keys, len(self.windows))]
        wide = [
            pa.field(f"{name}_{number}", kind)
            for number in range(len(layout.windows))
            for name, kind in [("_there", pa.bool_()), *((field.name, field.type) for field in results)]
        ]
        return pa.schema([*keys, *wide])


def advance(
    layout: Layout,
    schemas: Schemas,
    store: Store,
    clock: Clock | None,
    blobs: Iterable[bytes],
    batch: int,
    watermark: int,
) -> Told:
    """Take the rows of a micro-batch, given as blobs, into the slices, and let windows leave as the mode says.

    `watermark` is the one, in microseconds, by which windows are complete in this micro-batch.
    """
    late = watermark if clock is None else clock.late(batch, watermark)
    low, high = layout.passed(late), layout.passed(watermark)
    slices = Slices(layout, store, schemas.rows, {} if clock is None else clock.kept)
    arrived = [decode(blob, schemas.rows) for blob in blobs if blob]
    taken = take(slices, joined(arrived), low) if arrived else None
    if layout.mode == "append":
        leaving = list(due(slices, low, high))
    elif layout.mode == "update":
        leaving = [] if taken is None else list(changed(slices, taken, low))
    else:
        leaving = _latest(slices, schemas, store, low, high)
    slices.close(high)
    end = layout.next_end(slices.known, high)
    timer = None if end is None else layout.timer(end)
    return Told(Clock(batch, watermark, timer, slices.index), leaving)


def _latest(slices: Slices, schemas: Schemas, store: Store, low: int, high: int) -> list[pa.RecordBatch]:
    schema = schemas.latest(slices.layout)
    blob = store.get(*_WIDE)
    before = pa.RecordBatch.from_pylist([], schema=schema) if blob is None else decode(blob, schema)
    whole, leaving = latest(slices, before, low, high, schemas.windows)
    if leaving is None:
        return []
    if whole.num_rows:
        store.put(*_WIDE, encode(whole))
    elif blob is not None:
        store.remove(*_WIDE)
    return [leaving] if leaving.num_rows else []


def take(slices: Slices, rows: pa.RecordBatch, low: int) -> pa.RecordBatch | None:
    """Add rows to the slices that a window still needs, one that ends after pane `low`; give those that were."""
    layout = slices.layout
    panes: Array = rows.column(layout.keys).to_numpy()
    in_time = layout.last_ends(panes) > low
    if not in_time.all():
        rows, panes = rows.filter(pa.array(in_time)), panes[in_time]
    if not len(panes):
        return None
    touched = np.unique(panes)
    before = [slices.read(0, pane) for pane in np.intersect1d(touched, slices.known).tolist()]
    if slices.nodes:
        tree.add_late(slices, rows)
    whole, _ = merged(layout, joined([*(old for old in before if old is not None), rows]))
    slices.add(whole, whole.column(layout.keys).to_numpy())
    return rows
