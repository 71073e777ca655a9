"""Prefixes and suffixes of stretches of partials: the two halves of every window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from muntin.kernels.component import OneComponent

if TYPE_CHECKING:
    from muntin.incremental.columnar_operator import ColumnarOperator, Vector

# Up to so many places are scanned one after the other; more are cut into stretches first.
_SHORT = 64


class Scan(Protocol):
    """Combine some components of a partial along the last axis of their arrays."""

    @property
    def components(self) -> slice:
        """Say which components of the operator's partial these are."""

    @property
    def neutral(self) -> tuple[Any, ...]:
        """Give what stands in each component for no values."""

    def accumulate(self, x: Vector, out: Vector, *, backward: bool = False) -> None:
        """Write at each place the aggregate up to it; backward: from it to the end."""

    def merge(self, x: Vector, y: Vector, out: Vector) -> None:
        """Write x combined with y, the earlier on the left; `out` may be one of the two."""


@dataclass(frozen=True, slots=True)
class UfuncScan(OneComponent):
    """Scan one component that combines by a ufunc."""

    neutral: tuple[Any]

    def accumulate(self, x: Vector, out: Vector, *, backward: bool = False) -> None:
        """Write at each place the aggregate up to it; backward: from it to the end."""
        if x[0].size:
            step = slice(None, None, -1 if backward else 1)
            self.ufunc.accumulate(x[0][..., step], axis=-1, out=out[0][..., step])

    def merge(self, x: Vector, y: Vector, out: Vector) -> None:
        """Write x combined with y."""
        self.ufunc(x[0], y[0], out=out[0])


@dataclass(frozen=True, slots=True)
class MergeScan:
    """Scan all components of an operator together, for a combine that is more than a ufunc for each."""

    operator: ColumnarOperator

    @property
    def components(self) -> slice:
        """Say that these are all components."""
        return slice(0, len(self.operator.components))

    @property
    def neutral(self) -> tuple[Any, ...]:
        """Give what stands in each component for no values."""
        return tuple(part.neutral for part in self.operator.components)

    def accumulate(self, x: Vector, out: Vector, *, backward: bool = False) -> None:
        """Write at each place the aggregate up to it; backward: from it to the end."""
        if not x[0].size:
            return
        if backward:
            x, out = (tuple(part[..., ::-1] for part in vector) for vector in (x, out))
        for part, new in zip(out, x, strict=True):
            part[...] = new
        self._accumulate(out, backward=backward)

    def merge(self, x: Vector, y: Vector, out: Vector) -> None:
        """Write x combined with y."""
        for part, new in zip(out, self.operator.merge(x, y), strict=True):
            part[...] = new

    def _accumulate(self, out: Vector, *, backward: bool) -> None:
        length = out[0].shape[-1]
        if length <= _SHORT:
            for place in range(1, length):
                before, here = (tuple(part[..., at] for part in out) for at in (place - 1, place))
                self.merge(here, before, here) if backward else self.merge(before, here, here)
            return
        # In two levels, so that the interpreter takes 2 * sqrt(length) steps over long arrays and not `length` over
        # short ones: scan stretches side by side, scan their ends, and put each end before the next stretch.
        stretch = math.isqrt(length - 1) + 1
        whole = length // stretch * stretch
        rows = tuple(part[..., :whole].reshape(*part.shape[:-1], -1, stretch) for part in out)
        self._accumulate(rows, backward=backward)
        self._accumulate(tuple(part[..., whole:] for part in out), backward=backward)
        ends = tuple(part[..., -1].copy() for part in rows)
        self._accumulate(ends, backward=backward)
        before = tuple(part[..., :-1, None] for part in ends)
        here = tuple(part[..., 1:, :] for part in rows)
        self._join(before, here, backward=backward)
        if whole < length:
            here = tuple(part[..., whole:] for part in out)
            self._join(tuple(part[..., -1:] for part in ends), here, backward=backward)

    def _join(self, before: Vector, here: Vector, *, backward: bool) -> None:
        shape = here[0].shape
        wide = tuple(np.broadcast_to(part, shape) for part in before)
        self.merge(here, wide, here) if backward else self.merge(wide, here, here)
