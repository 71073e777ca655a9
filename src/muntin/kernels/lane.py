"""Lanes: the components of a partial that must be aggregated together, and the way that suits them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from muntin.kernels.halves import Halves
from muntin.kernels.ordered import Ordered
from muntin.kernels.scan import MergeScan, UfuncScan
from muntin.kernels.subtract import Subtract, subtractable

if TYPE_CHECKING:
    from muntin.incremental.columnar_operator import Array, ColumnarOperator, Vector


class Lane(Protocol):
    """Aggregate windows over some components of a partial, whatever their overlap at O(1) combines a pane."""

    @property
    def components(self) -> slice:
        """Say which components of the operator's partial these are."""

    def slide(self, grid: Vector, length: int, lead: int, out: Vector) -> None:
        """Aggregate every `length` neighbouring columns of a grid, and write one column for each window.

        Window j covers the columns from `j - lead` up to, without it, `j - lead + length`, those of them that exist.
        `lead` is `length - 1`, for all windows that touch the grid, or 0 for those that begin on it. Every window
        begins before the grid ends; where columns are left on which none begins, `length` must divide the others.
        """

    def over(self, partial: Vector, first: Array, stop: Array) -> Vector:
        """Aggregate the places from each `first` up to, without it, `stop`."""


def lanes(operator: ColumnarOperator) -> tuple[Lane, ...]:
    """Take an operator apart into lanes.

    >>> from muntin.incremental.columnar_catalog import columnar
    >>> [type(lane).__name__ for name in ("sum", "min") for lane in lanes(columnar(name, "float64"))]
    ['Subtract', 'Halves', 'Ordered', 'Subtract']
    """
    if operator.ufuncs is None:
        return (Halves(MergeScan(operator)),)
    found: list[Lane] = []
    for place, (ufunc, part) in enumerate(zip(operator.ufuncs, operator.components, strict=True)):
        if subtractable(ufunc, part.dtype):
            found.append(Subtract(place, ufunc))
        elif part.dtype.kind == "f" and ufunc in (np.fmin, np.maximum):
            found.append(Ordered(place, np.minimum if ufunc is np.fmin else np.maximum))
        else:
            found.append(Halves(UfuncScan(place, ufunc, (part.neutral,))))
    return tuple(found)
