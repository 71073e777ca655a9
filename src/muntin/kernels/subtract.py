"""Windows as differences of prefixes: two operations a pane, for what can be taken away without a loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from muntin.kernels.component import OneComponent

if TYPE_CHECKING:
    from muntin.incremental.columnar_operator import Array, Vector


def subtractable(ufunc: np.ufunc, dtype: np.dtype[Any]) -> bool:
    """Tell whether a prefix can be taken away from a longer one without a loss.

    Integers, whose sums are exact modulo 2**64 and so right wherever the window's own sum fits; and truth values, as
    counts. Floats not: the small part of a window would drown in a large prefix, and a NaN or an infinity would stay
    in all windows after it.

    >>> subtractable(np.add, np.dtype("int64")), subtractable(np.add, np.dtype("float64"))
    (True, False)
    """
    return (dtype.kind == "i" and ufunc is np.add) or (dtype.kind == "b" and ufunc in (np.logical_or, np.logical_and))


@dataclass(frozen=True, slots=True)
class Subtract(OneComponent):
    """Aggregate one component by prefix differences.

    >>> out = (np.empty((1, 6), np.int64),)
    >>> Subtract(0, np.add).slide((np.array([[5, 3, 4, 6]]),), 3, 2, out)
    >>> out[0]
    array([[ 5,  8, 12, 13, 10,  6]])
    >>> Subtract(0, np.add).over((np.array([5, 3, 4, 6]),), np.array([0, 1]), np.array([1, 4]))
    (array([ 5, 13]),)
    """

    def slide(self, grid: Vector, length: int, lead: int, out: Vector) -> None:
        """Aggregate every `length` neighbouring columns, see `Lane`."""
        (x,), (found,) = grid, out
        if x.dtype.kind != "b":
            _differences(np.cumsum(x, axis=-1), length, lead, found)
        elif x.all():
            found[...] = True  # no nulls is the common case
        else:
            counts = np.empty(found.shape, np.int32)
            _differences(np.cumsum(self._counted(x), axis=-1, dtype=np.int32), length, lead, counts)
            self._told(counts, found)

    def over(self, partial: Vector, first: Array, stop: Array) -> Vector:
        """Aggregate the places from each `first` up to, without it, `stop`."""
        (x,) = partial
        sums = np.zeros(len(x) + 1, np.int64)
        np.cumsum(self._counted(x), out=sums[1:])
        found = sums[stop]
        found -= sums[first]
        if x.dtype.kind != "b":
            return (found,)
        truth = np.empty(found.shape, np.bool_)
        self._told(found, truth)
        return (truth,)

    def _counted(self, x: Array) -> Array:
        if x.dtype.kind != "b":
            return x
        return (x if self.ufunc is np.logical_or else ~x).view(np.int8)

    def _told(self, counts: Array, out: Array) -> None:
        """Read truth from counts: some are true, or none is false."""
        if self.ufunc is np.logical_or:
            np.greater(counts, 0, out=out)
        else:
            np.equal(counts, 0, out=out)


def _differences(sums: Array, length: int, lead: int, out: Array) -> None:
    width, begins = sums.shape[-1], out.shape[-1] - lead
    first = min(lead, width)
    out[..., :first] = sums[..., :first]  # windows that begin before the grid
    out[..., first:lead] = sums[..., -1:]
    body = out[..., lead:]
    body[..., :1] = sums[..., min(length, width) - 1, None]
    inside = min(begins, max(width - length + 1, 1))
    np.subtract(sums[..., length : length + inside - 1], sums[..., : inside - 1], out=body[..., 1:inside])
    np.subtract(sums[..., -1:], sums[..., inside - 1 : begins - 1], out=body[..., inside:])  # they end beyond the grid
