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
from muntin.stream.forms import Plain
from muntin.stream.latest import latest
from muntin.stream.objects import EventSlices, with_objects
from muntin.stream.rows import joined, merged
from muntin.stream.slices import Slices
from muntin.stream.windows import due

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from muntin.incremental.columnar_operator import Array
    from muntin.stream.forms import Codec, Forms
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
    events: pa.Schema | None = None
    """Of the events themselves (keys, slice, time, inputs), where aggregates of objects ask for them."""
    forms: Forms | None = None
    """What columns slices may have in the state, where they change while the stream runs."""

    @property
    def codec(self) -> Codec:
        """How slices are read and written."""
        return Plain(self.rows) if self.forms is None else self.forms

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
    blobs: Sequence[tuple[bytes, bytes]],
    batch: int,
    watermark: int,
) -> Told:
    """Take the rows of a micro-batch, and its events, given as blobs, and let windows leave as the mode says.

    `watermark` is the one, in microseconds, by which windows are complete in this micro-batch.
    """
    late = watermark if clock is None else clock.late(batch, watermark)
    low, high = layout.passed(late), layout.passed(watermark)
    slices = Slices(layout, store, schemas.codec, {} if clock is None else clock.kept)
    before = slices.known
    arrived = [decode(rows, schemas.rows) for rows, _ in blobs if rows]
    taken = take(slices, joined(arrived), low) if arrived else None
    finish = _Finish(slices, schemas, store)
    finish.take([events for _, events in blobs if events], low)
    if layout.mode == "append":
        leaving = list(finish(due(slices, low, high)))
    elif layout.mode == "update":
        leaving = [] if taken is None else list(finish(changed(slices, taken, low)))
    else:
        leaving = _latest(slices, schemas, store, low, high, finish)
    slices.close(high)
    finish.close(before)
    end = layout.next_end(slices.known, high)
    timer = None if end is None else layout.timer(end)
    return Told(Clock(batch, watermark, timer, slices.index), leaving)


class _Finish:
    """What windows still need that the lanes did not compute: the aggregates of objects, where there are any."""

    def __init__(self, slices: Slices, schemas: Schemas, store: Store) -> None:
        self._slices, self._schema = slices, schemas.events
        self._events = None if schemas.events is None else EventSlices(slices.layout, store, schemas.events)

    def take(self, blobs: list[bytes], low: int) -> None:
        if self._events is None or self._schema is None or not blobs:
            return
        arrived = joined([decode(blob, self._schema) for blob in blobs])
        panes = arrived.column(self._slices.layout.keys).to_numpy()
        arrived = arrived.filter(pa.array(self._slices.layout.needed(panes, low)))
        if arrived.num_rows:
            self._events.add(arrived)

    def __call__(self, leaving: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return leaving if self._events is None else with_objects(self._events, self._slices.known, leaving)

    def close(self, before: Array) -> None:
        if self._events is not None:
            self._events.close(before, self._slices.known)


def _latest(
    slices: Slices, schemas: Schemas, store: Store, low: int, high: int, finish: _Finish
) -> list[pa.RecordBatch]:
    schema = schemas.latest(slices.layout)
    blob = store.get(*_WIDE)
    before = pa.RecordBatch.from_pylist([], schema=schema) if blob is None else decode(blob, schema)
    whole, leaving = latest(slices, before, low, high, schemas.windows, finish)
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
    in_time = layout.needed(panes, low)
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
