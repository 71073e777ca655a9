"""The slices of one bucket of keys: what is in the state, what changed, and what has to be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

    from muntin.incremental.columnar_operator import Array
    from muntin.stream.forms import Codec
    from muntin.stream.layout import Layout


class Store(Protocol):
    """Where blobs are kept: Spark's state in a stream, a dict in tests. Level 0 are slices, those above are nodes."""

    def get(self, level: int, index: int) -> bytes | None:
        """Read a blob."""

    def put(self, level: int, index: int, blob: bytes) -> None:
        """Write a blob."""

    def remove(self, level: int, index: int) -> None:
        """Forget a blob."""


class Slices:
    """Read slices as they are asked for, each once, and write only what changed and is still needed."""

    def __init__(self, layout: Layout, store: Store, codec: Codec, known: dict[int, Array]) -> None:
        self.layout = layout
        self.known: Array = known.get(0, np.empty(0, np.int64))
        """Where the slices begin that hold rows, in order."""
        self.nodes: dict[int, set[int]] = {
            level: set(numbers.tolist()) for level, numbers in known.items() if level and len(numbers)
        }
        self._store = store
        self._codec = codec
        self._read: dict[tuple[int, int], pa.RecordBatch] = {}
        self._changed: set[tuple[int, int]] = set()
        self._stored = {(0, pane) for pane in self.known.tolist()}
        self._stored |= {(level, index) for level, indices in self.nodes.items() for index in indices}

    @property
    def index(self) -> dict[int, Array]:
        """The numbers of all that is kept, by level."""
        found = {level: np.array(sorted(indices), np.int64) for level, indices in self.nodes.items() if indices}
        return {0: self.known} | found

    def read(self, level: int, index: int) -> pa.RecordBatch | None:
        """Give the rows of a slice or a node; None where there are none."""
        place = (level, index)
        if place not in self._read:
            blob = self._store.get(level, index) if place in self._stored else None
            if blob is None:
                return None
            self._read[place] = self._codec.decode(blob)
        return self._read[place]

    def write(self, level: int, index: int, rows: pa.RecordBatch) -> None:
        """Put rows in place of what a slice or a node held."""
        self._read[level, index] = rows
        self._changed.add((level, index))
        if level:
            self.nodes.setdefault(level, set()).add(index)

    def between(self, start: int, end: int) -> list[pa.RecordBatch]:
        """Give the rows of the slices that begin from pane `start` on, before `end`."""
        first, last = np.searchsorted(self.known, (start, end)).tolist()
        found = [self.read(0, pane) for pane in self.known[first:last].tolist()]
        return [rows for rows in found if rows is not None]

    def add(self, rows: pa.RecordBatch, panes: Array) -> None:
        """Put the rows of slices in place, which hold what was there before; rows are in order of slices."""
        starts = np.flatnonzero(np.diff(panes, prepend=panes[:1] - 1))
        ends = [*starts[1:].tolist(), len(panes)]
        for start, end in zip(starts.tolist(), ends, strict=True):
            self.write(0, int(panes[start]), rows.slice(start, end - start))
        self.known = np.union1d(self.known, panes[starts])

    def close(self, passed: int) -> None:
        """Forget what no window needs that ends after pane `passed`, and write what changed."""
        self.known = self.known[self.layout.needed(self.known, passed)] if len(self.known) else self.known
        # A tree serves windows that are still to end, so none of its nodes is asked for that begins before them.
        windows = [self.layout.windows[number] for number in self.layout.trees]
        starts = [self.layout.due(window, passed, passed + window.slide)[0] - window.range for window in windows]
        for level, indices in self.nodes.items():
            # Windows that had trees may be gone, where windows come and go.
            kept_nodes = [index for index in indices if index << level >= min(starts)] if starts else []
            indices.intersection_update(kept_nodes)
        kept = {(0, pane) for pane in self.known.tolist()}
        kept |= {(level, index) for level, indices in self.nodes.items() for index in indices}
        for place in self._stored - kept:
            self._store.remove(*place)
        for place in sorted(self._changed & kept):
            self._store.put(*place, self._codec.encode(self._read[place]))
        self._stored = kept
        self._changed.clear()
