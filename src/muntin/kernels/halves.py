"""Windows as the suffix of one block and the prefix of the next: TwoStacks in array form, for any operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from muntin.incremental.columnar_operator import Array, Vector
    from muntin.kernels.scan import Scan


@dataclass(frozen=True, slots=True)
class Halves:
    """Aggregate windows of two halves, each of which many windows share.

    >>> from muntin.kernels.scan import UfuncScan
    >>> lane = Halves(UfuncScan(0, np.minimum, (99,)))
    >>> out = (np.empty((1, 6), np.int64),)
    >>> lane.slide((np.array([[5, 3, 4, 6]]),), 3, 2, out)
    >>> out[0]
    array([[5, 3, 3, 3, 4, 6]])
    >>> lane.over((np.array([5, 3, 4, 6]),), np.array([0, 2]), np.array([1, 4]))
    (array([5, 4]),)
    """

    scan: Scan

    @property
    def components(self) -> slice:
        """Say which components these are."""
        return self.scan.components

    def slide(self, grid: Vector, length: int, lead: int, out: Vector) -> None:
        """Aggregate every `length` neighbouring columns, see `Lane`.

        Van Herk (1992), Gil and Werman (1993): in blocks as long as the window, a window is a suffix of one block and
        a prefix of the next.
        """
        scan = self.scan
        width, begins = grid[0].shape[-1], out[0].shape[-1] - lead
        if lead:  # windows that begin before the grid are its prefixes
            first = min(lead, width)
            scan.accumulate(_cut(grid, 0, first), _cut(out, 0, first))
            for part in out:
                part[..., first:lead] = part[..., first - 1, None]
        body = _cut(out, lead, lead + begins)
        self._by_blocks(_cut(grid, 0, begins), length, body, backward=True)
        if width <= length or not begins:
            return
        late = _cut(grid, length, width)
        prefixes = tuple(np.empty(part.shape, part.dtype) for part in late)
        self._by_blocks(late, length, prefixes, backward=False)
        end = tuple(part[..., -1:].copy() for part in prefixes)
        for part, none in zip(prefixes, scan.neutral, strict=True):
            part[..., length - 1 :: length] = none  # a window that is one whole block has it as its suffix already
        inside = min(begins, width - length + 1)
        here = _cut(body, 1, inside)
        scan.merge(here, _cut(prefixes, 0, inside - 1), here)
        # Left are the windows that end beyond the grid. Those that begin in its last block are done.
        here = _cut(body, inside, max(inside, min(begins, (width - 1) // length * length)))
        if here[0].size:
            scan.merge(here, tuple(np.broadcast_to(part, here[0].shape) for part in end), here)

    def over(self, partial: Vector, first: Array, stop: Array) -> Vector:
        """Aggregate the places from each `first` up to, without it, `stop`, however the ranges lie.

        A disjoint sparse table, cut off at the longest range. In blocks of 2**level places, where `level` is the
        highest bit in which the two ends differ, a range is a suffix of one block and a prefix of the next. A longest
        range of 2**cap places does so at level `cap` too, so that no higher one is needed.
        """
        last = stop - 1
        out = tuple(part[first] for part in partial)  # right where a range is one place
        if not len(first):
            return out
        cap = (int((stop - first).max()) - 1).bit_length()
        level = np.frexp((first ^ last).astype(np.float64))[1] - 1  # the highest bit: exact below 2**53
        np.minimum(level, cap, out=level)
        places = len(partial[0])
        padded = tuple(np.concatenate((part, np.repeat(part[-1:], -places % (1 << cap)))) for part in partial)
        for depth in np.flatnonzero(np.bincount(level + 1)[1:]).tolist():
            chosen = np.flatnonzero(level == depth)
            found = self._at_level(padded, first[chosen], last[chosen], depth)
            for part, new in zip(out, found, strict=True):
                part[chosen] = new
        return out

    def _at_level(self, padded: Vector, first: Array, last: Array, depth: int) -> Vector:
        early, late = first >> depth, last >> depth
        # Only the blocks that a range touches: at low levels these are few, the ends of each key.
        touched = np.zeros(len(padded[0]) >> depth, np.bool_)
        touched[early] = True
        touched[late] = True
        blocks = np.flatnonzero(touched)
        rows = tuple(part.reshape(-1, 1 << depth) for part in padded)
        if len(blocks) < len(touched):
            rows = tuple(part[blocks] for part in rows)
            row_of = np.cumsum(touched) - 1
            early, late = row_of[early], row_of[late]
        suffixes, prefixes = (tuple(np.empty(part.shape, part.dtype) for part in rows) for _ in range(2))
        self.scan.accumulate(rows, suffixes, backward=True)
        self.scan.accumulate(rows, prefixes)
        mask = (1 << depth) - 1
        found = tuple(part.ravel()[(early << depth) + (first & mask)] for part in suffixes)
        self.scan.merge(found, tuple(part.ravel()[(late << depth) + (last & mask)] for part in prefixes), found)
        return found

    def _by_blocks(self, x: Vector, length: int, out: Vector, *, backward: bool) -> None:
        width = x[0].shape[-1]
        whole = width // length * length
        shape = (*x[0].shape[:-1], whole // length, length)
        rows, found = (tuple(part[..., :whole].reshape(shape) for part in vector) for vector in (x, out))
        self.scan.accumulate(rows, found, backward=backward)
        self.scan.accumulate(_cut(x, whole, width), _cut(out, whole, width), backward=backward)


def _cut(vector: Vector, start: int, stop: int) -> Vector:
    return tuple(part[..., start:stop] for part in vector)
