"""Lists of whole numbers in few bytes: slices mostly follow one another at equal steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from muntin.incremental.columnar_operator import Array


def pack(numbers: Array) -> bytes:
    """Write increasing numbers as runs of equal steps: first, step, count.

    >>> len(pack(np.arange(0, 5000, 5))), unpack(pack(np.array([3, 5, 7, 8]))).tolist()
    (24, [3, 5, 7, 8])
    """
    if not len(numbers):
        return b""
    steps = np.diff(numbers)
    # A run ends where the step changes; the number after it begins the next, and so takes one step with it.
    changed = np.flatnonzero(np.diff(steps)) + 1
    starts = [0]
    for place in changed.tolist():
        if place > starts[-1]:
            starts.append(place + 1)
    starts = [start for start in starts if start < len(numbers)]
    counts = np.diff([*starts, len(numbers)])
    runs = np.empty((len(starts), 3), np.int64)
    runs[:, 0] = numbers[starts]
    runs[:, 2] = counts
    runs[:, 1] = [int(steps[start]) if count > 1 else 1 for start, count in zip(starts, counts.tolist(), strict=True)]
    return runs.astype("<i8").tobytes()


def unpack(packed: bytes) -> Array:
    """Read numbers back."""
    runs = np.frombuffer(packed, "<i8").reshape(-1, 3)
    parts = [first + step * np.arange(count) for first, step, count in runs.tolist()]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
