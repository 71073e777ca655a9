"""Reduce runs of neighbouring partials, each to one: what a slice of events, or a tumbling window, comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from muntin.incremental.columnar_operator import Array, ColumnarOperator, Vector


def starts_of_runs(*columns: Array) -> Array:
    """Find where runs of equal values begin; values are equal if they are so in every column.

    >>> starts_of_runs(np.array([3, 3, 3, 7]), np.array([1, 1, 2, 2]))
    array([0, 2, 3])
    """
    changes = np.zeros(len(columns[0]), np.bool_)
    changes[:1] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changes)


def reduce_runs(operator: ColumnarOperator, partial: Vector, starts: Array) -> Vector:
    """Combine the places from each start to the next, in order, into one.

    >>> from muntin.incremental.columnar_catalog import columnar
    >>> largest = columnar("max", "int64")
    >>> reduce_runs(largest, largest.lift(np.array([4, 6, 5, 9])), np.array([0, 3]))
    (array([6, 9]), array([ True,  True]))
    """
    places = len(partial[0])
    if len(starts) == places:
        return partial
    with np.errstate(all="ignore"):
        if operator.ufuncs is not None:
            return tuple(f.reduceat(part, starts) for f, part in zip(operator.ufuncs, partial, strict=True))
        return _halve(operator, partial, np.diff(starts, append=places))


def _halve(operator: ColumnarOperator, partial: Vector, lengths: Array) -> Vector:
    # For a combine that is no ufunc: join neighbours of a run pairwise until one is left. Order is kept, and the
    # places shrink by half each time, so that all rounds together cost as much as two.
    while len(partial[0]) > len(lengths):
        firsts = np.repeat(np.cumsum(lengths) - lengths, lengths)
        even = (np.arange(len(firsts)) - firsts) % 2 == 0
        left = np.flatnonzero(even)
        paired = np.append(~even[1:], False)[left]  # an odd place follows: of the same run, as each begins with an even
        right = left[paired] + 1
        joined = operator.merge(tuple(part[left[paired]] for part in partial), tuple(part[right] for part in partial))
        partial = tuple(part[left] for part in partial)
        for part, new in zip(partial, joined, strict=True):
            part[paired] = new
        lengths = (lengths + 1) // 2
    return partial
