"""Columnar variance and standard deviation: counts, means and squared deviations over keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from muntin.aggregate import moments
from muntin.incremental.columnar_operator import Array, Column, ColumnarOperator, Component, Vector, known, there

if TYPE_CHECKING:
    from collections.abc import Sequence

_INT, _FLOAT = np.dtype(np.int64), np.dtype(np.float64)
_SPREADS = {
    function.name: function for function in (moments.VARIANCE, moments.VAR_POP, moments.STDDEV, moments.STDDEV_POP)
}


def spread(name: str, dtype: np.dtype[Any]) -> ColumnarOperator:
    """Measure the spread of values: `variance`, `var_pop`, `stddev` or `stddev_pop`."""
    less = 0 if name.endswith("_pop") else 1

    def finish(partial: Vector) -> Column:
        n, _, m2 = partial
        variance = m2 / np.maximum(n - less, 1)
        return Column(np.sqrt(variance, out=variance) if name.startswith("std") else variance, n > less)

    return ColumnarOperator(
        function=_SPREADS[name],
        inputs=(dtype,),
        components=(Component("n", _INT, 0), Component("mean", _FLOAT, 0.0), Component("m2", _FLOAT, 0.0)),
        make=_make,
        merge=_merge,
        finish=finish,
        take_away=_take_away,
        warns=True,
    )


def _make(columns: Sequence[Column], _: int) -> Vector:
    mean = known(columns[0], 0).astype(np.float64)
    return there(columns[0]).astype(np.int64), mean, mean - mean  # 0, but NaN for NaN and infinities


def _merge(x: Vector, y: Vector) -> Vector:
    # Chan, Golub and LeVeque, as the scalar form.
    (nx, mean_x, m2_x), (ny, mean_y, m2_y) = x, y
    n = nx + ny
    delta = mean_y - mean_x
    if nx.all() and ny.all():
        share = ny / n
        mean = delta * share
        mean += mean_x
    else:
        # Where one side has no values the other must come through as it is: its mean may be infinite or its square
        # overflow, and times a share of zero that would be NaN.
        share = ny / np.maximum(n, 1)
        delta = np.where((nx > 0) & (ny > 0), delta, 0.0)
        mean = np.where(nx > 0, mean_x + delta * share, mean_y)
    share *= nx
    delta *= delta
    delta *= share
    m2 = m2_x + m2_y
    m2 += delta
    return n, mean, m2


def _take_away(whole: Vector, y: Vector) -> Vector:
    (total, mean_whole, m2_whole), (ny, mean_y, m2_y) = whole, y
    n = total - ny
    left = np.maximum(n, 1)
    mean = mean_whole + (mean_whole - mean_y) * (ny / left)
    delta = mean_y - mean
    m2 = m2_whole - m2_y - delta * delta * (n * (ny / np.maximum(total, 1)))
    m2 = np.where(m2 < 0, 0.0, m2)  # a sum of squares: below zero is rounding; NaN stays NaN
    m2 = np.where(n == 1, mean - mean, m2)
    return n, _kept(n, ny, mean, mean_whole), _kept(n, ny, m2, m2_whole)


def _kept(n: Array, taken: Array, less: Array, whole: Array) -> Array:
    """Choose: nothing left, nothing taken, or the difference."""
    return np.where(n == 0, 0.0, np.where(taken == 0, whole, less))
