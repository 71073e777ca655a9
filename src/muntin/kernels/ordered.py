"""Floats as integers of the same order: NumPy accumulates minima of integers four times as fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from muntin.kernels.component import OneComponent
from muntin.kernels.halves import Halves
from muntin.kernels.scan import UfuncScan

if TYPE_CHECKING:
    from muntin.incremental.columnar_operator import Array, Vector

_SIGN_BIT = 63
_MAGNITUDE = (1 << _SIGN_BIT) - 1


def ranks(floats: Array) -> Array:
    """Map floats to 64-bit integers in Spark's order, NaN greatest.

    The bits of a float, read as an integer, are in order for positive ones, and in reverse for negative ones: those
    are turned over. It is its own inverse, see `floats_in_place`.

    >>> np.argsort(ranks(np.array([np.nan, 1.0, -np.inf, -2.0, 0.5, np.inf, -np.nan]))).tolist()
    [2, 3, 4, 1, 5, 0, 6]
    """
    bits = floats.view(np.int64)
    found: Array = bits >> _SIGN_BIT
    found &= _MAGNITUDE
    found ^= bits
    if found.size and found.min() < _LEAST:  # a NaN with its sign set, as 0/0 gives, would come before all else
        found[found < _LEAST] = _NAN
    return found


def floats_in_place(ranked: Array) -> None:
    """Turn ranks back into floats, in the same memory."""
    flip = ranked >> _SIGN_BIT
    flip &= _MAGNITUDE
    ranked ^= flip


_NAN, _LEAST = (int(np.array(value).view(np.int64)) for value in (np.nan, -np.inf))
_LEAST ^= _MAGNITUDE


@dataclass(frozen=True, slots=True)
class Ordered(OneComponent):
    """Aggregate the smallest or the largest floats by their ranks: the ufunc is `minimum` or `maximum`.

    >>> lane = Ordered(0, np.minimum)
    >>> out = (np.empty((1, 4)),)
    >>> lane.slide((np.array([[0.5, np.nan, -2.0]]),), 2, 1, out)
    >>> out[0]
    array([[ 0.5,  0.5, -2. , -2. ]])
    """

    def slide(self, grid: Vector, length: int, lead: int, out: Vector) -> None:
        """Aggregate every `length` neighbouring columns, see `Lane`."""
        found = out[0].view(np.int64)
        self._halves().slide((ranks(grid[0]),), length, lead, (found,))
        floats_in_place(found)

    def over(self, partial: Vector, first: Array, stop: Array) -> Vector:
        """Aggregate the places from each `first` up to, without it, `stop`."""
        (found,) = self._halves().over((ranks(partial[0]),), first, stop)
        floats_in_place(found)
        return (found.view(np.float64),)

    def _halves(self) -> Halves:
        return Halves(UfuncScan(self.component, self.ufunc, (_NAN if self.ufunc is np.minimum else _LEAST,)))
