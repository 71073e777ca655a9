"""Aggregates of Python objects over a stream: events kept by slice, folded when windows leave.

Their partials may be anything, and no columns hold them: so the state keeps the events that they are made of, and
whatever arrives late takes its place among them.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from muntin.kernels.groups import key_codes
from muntin.kernels.objects import folding, guarded, lifted
from muntin.stream.blob import decode, encode
from muntin.stream.rows import joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin.incremental.columnar_operator import Array
    from muntin.stream.layout import Layout
    from muntin.stream.slices import Store

# Where events of slices are kept, beside the rows of slices (level 0) and of nodes (above).
LEVEL = -2


class EventSlices:
    """The events of a bucket's slices: keys, slice, time, and what aggregates read."""

    def __init__(self, layout: Layout, store: Store, schema: pa.Schema) -> None:
        self.layout = layout
        self._store, self._schema = store, schema
        self._read: dict[int, pa.RecordBatch | None] = {}
        self._changed: set[int] = set()

    def add(self, events: pa.RecordBatch) -> None:
        """Add events to their slices."""
        panes = events.column(self.layout.keys).to_numpy()
        order = np.argsort(panes, kind="stable")
        events, panes = events.take(pa.array(order)), panes[order]
        starts = np.flatnonzero(np.diff(panes, prepend=panes[:1] - 1)).tolist()
        for start, end in zip(starts, [*starts[1:], len(panes)], strict=True):
            pane = int(panes[start])
            old, new = self._slice(pane), events.slice(start, end - start)
            self._read[pane] = new if old is None else joined([old, new])
            self._changed.add(pane)

    def between(self, known: Array, start: int, end: int) -> list[pa.RecordBatch]:
        """Give the events of the slices, among those known, that begin from pane `start` on, before `end`."""
        first, last = np.searchsorted(known, (start, end)).tolist()
        found = [self._slice(pane) for pane in known[first:last].tolist()]
        return [events for events in found if events is not None]

    def close(self, before: Array, known: Array) -> None:
        """Forget the slices that are no longer known, and write what changed."""
        for pane in np.setdiff1d(before, known).tolist():
            self._store.remove(LEVEL, pane)
        for pane in sorted(self._changed.intersection(known.tolist())):
            events = self._read[pane]
            assert events is not None
            self._store.put(LEVEL, pane, encode(events))

    def _slice(self, pane: int) -> pa.RecordBatch | None:
        if pane not in self._read:
            blob = self._store.get(LEVEL, pane)
            self._read[pane] = None if blob is None else decode(blob, self._schema)
        return self._read[pane]


def with_objects(events: EventSlices, known: Array, leaving: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add to windows that leave what the aggregates of objects come to in each: a column for every one of them."""
    layout = events.layout
    guards = [guarded(each.label, each.function, each.fit) for each in layout.objects]
    for batch in leaving:
        starts = batch.column(1).to_numpy()
        # All rows of a batch are of one window.
        length = layout.windows[batch.column(0)[0].as_py()].range
        parts = events.between(known, int(starts.min()), int(starts.max()) + length)
        folded = _Folded(layout, guards, joined(parts), batch.columns[2 : 2 + layout.keys], batch.num_rows)
        results = [folded.results(starts, length, place) for place in range(len(guards))]
        arrays = [pa.array(part, each.result) for part, each in zip(results, layout.objects, strict=True)]
        columns = [*batch.columns, *arrays]
        yield pa.RecordBatch.from_arrays(columns, names=[f"_{place}" for place in range(len(columns))])


class _Folded:
    """Partials of each key and slice, as far as some windows need them."""

    def __init__(
        self, layout: Layout, guards: list[Any], events: pa.RecordBatch, keys: list[pa.Array], rows: int
    ) -> None:
        both = [pa.concat_arrays([key, column]) for key, column in zip(keys, events.columns, strict=False)]
        codes, _ = key_codes(both, rows + events.num_rows)
        self._codes = codes[:rows]
        panes = events.column(layout.keys).to_numpy()
        times = events.column(layout.keys + 1).to_numpy()
        order = np.lexsort((times, codes[rows:]))
        codes, panes, times = codes[rows:][order], panes[order], times[order]
        inputs = [column.take(pa.array(order)) for column in events.columns[layout.keys + 2 :]]
        ties = np.ones(len(codes), np.bool_)
        ties[1:] = (np.diff(codes) != 0) | (np.diff(times) != 0)
        edges = np.ones(len(codes), np.bool_)
        edges[1:] = (np.diff(codes) != 0) | (np.diff(panes) != 0)
        firsts = np.flatnonzero(edges)
        self._low = int(panes.min())
        self._span = int(panes.max()) - self._low + 1
        self._groups = codes[firsts] * self._span + (panes[firsts] - self._low)
        self._guards = guards
        ends = [*firsts[1:].tolist(), len(codes)]
        runs = list(zip(firsts.tolist(), ends, strict=True))
        self._partials: list[list[Any]] = []
        for guard, each in zip(guards, layout.objects, strict=True):
            fold = folding([guard], [lifted(each, inputs, ties)])
            self._partials.append([fold(start, end) for start, end in runs])

    def results(self, starts: Array, length: int, place: int) -> list[Any]:
        """Combine and lower the partials of each window, for one of the aggregates."""
        low = np.clip(starts - self._low, 0, self._span)
        high = np.clip(starts + length - self._low, 0, self._span)
        first = np.searchsorted(self._groups, self._codes * self._span + low)
        last = np.searchsorted(self._groups, self._codes * self._span + high)
        guard, partials = self._guards[place], self._partials[place]
        return [
            guard.lower(reduce(guard.combine, partials[a:b]) if b > a else guard.identity)
            for a, b in zip(first.tolist(), last.tolist(), strict=True)
        ]
