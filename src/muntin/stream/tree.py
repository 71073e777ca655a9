"""A tree over slices, kept in the state: long windows read a few of its nodes and not every slice.

FlatFAT (Tangwongsan et al., section 4) over aligned stretches of panes: node (level, index) holds the rows of the
slices that begin from pane `index << level` on, before the next node's. Nodes are made when a window first asks
for them, and a late event goes into those that exist above its slice: O(log n) of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from muntin.stream.rows import joined, merged

if TYPE_CHECKING:
    from muntin.stream.slices import Slices


def stretch(slices: Slices, start: int, end: int) -> list[pa.RecordBatch]:
    """Give rows that make up a window from pane `start` to `end`, from as few nodes as there are."""
    found = []
    for level, index in cover(start, end):
        rows = _node(slices, level, index)
        if rows is not None:
            found.append(rows)
    return found


def cover(start: int, end: int) -> list[tuple[int, int]]:
    """Cut a stretch of panes into aligned ones, each as long as can be.

    >>> cover(3, 12)
    [(0, 3), (2, 1), (2, 2)]
    """
    found = []
    while start < end:
        level = (start & -start).bit_length() - 1 if start else (end - start).bit_length() - 1
        level = min(level, (end - start).bit_length() - 1)
        found.append((level, start >> level))
        start += 1 << level
    return found


def add_late(slices: Slices, rows: pa.RecordBatch) -> None:
    """Add rows to the nodes that exist above their slices."""
    layout = slices.layout
    panes = rows.column(layout.keys).to_numpy()
    for level, known in slices.nodes.items():
        above = panes >> level
        for index in sorted(known.intersection(above.tolist())):
            some = rows.filter(pa.array(above == index))
            node = slices.read(level, index)
            assert node is not None
            both = joined([node, some])
            whole, _ = merged(layout, both, np.full(both.num_rows, index << level))
            slices.write(level, index, whole)


def _node(slices: Slices, level: int, index: int) -> pa.RecordBatch | None:
    start, end = index << level, index + 1 << level
    first, last = np.searchsorted(slices.known, (start, end)).tolist()
    if last - first < 2:
        return slices.read(0, int(slices.known[first])) if last > first else None
    made = slices.nodes.get(level)
    if made is not None and index in made:
        return slices.read(level, index)
    halves = [_node(slices, level - 1, 2 * index + side) for side in (0, 1)]
    there = [half for half in halves if half is not None]
    if len(there) == 1:
        return there[0]
    both = joined(there)
    whole, _ = merged(slices.layout, both, np.full(both.num_rows, start))
    slices.write(level, index, whole)
    return whole
