"""Runs of windows: neighbours of one key leave Python as one row with lists, which Spark takes apart again.

A row that crosses costs Spark far more than an element of a list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from muntin.kernels.arrow_rows import LEAVE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from muntin.incremental.columnar_operator import Array

# So many windows are in one run at most: rows of bounded size, whatever the number of windows.
LONGEST: Final = 1 << 10


def run_starts(units: Array, starts: Array, slide: int) -> Array:
    """Find the rows with which runs begin: windows of one unit, each a slide after the one before.

    >>> run_starts(np.array([0, 0, 0, 1, 1]), np.array([0, 5, 15, 20, 25]), 5)
    array([0, 2, 3])
    """
    fresh = np.ones(len(starts), np.bool_)
    np.not_equal(np.diff(starts), slide, out=fresh[1:])
    fresh[1:] |= units[1:] != units[:-1]
    fresh[::LONGEST] = True
    return np.flatnonzero(fresh)


def in_lists(arrays: Iterable[pa.Array], firsts: Array, size: int) -> list[pa.Array]:
    """Put the values of each run into a list.

    >>> in_lists([pa.array([1, 2, 3])], np.array([0, 2]), 3)[0].to_pylist()
    [[1, 2], [3]]
    """
    offsets = pa.array(np.append(firsts, size).astype(np.int32))
    return [pa.ListArray.from_arrays(offsets, array) for array in arrays]


def batches(size: int) -> Iterator[slice]:
    """Cut rows into stretches of bounded length."""
    return (slice(start, min(start + LEAVE, size)) for start in range(0, size, LEAVE))
