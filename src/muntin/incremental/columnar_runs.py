"""Reduce runs of neighbouring partials, each to one: what a slice of events, or a tumbling window, comes to."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from muntin.incremental.columnar_operator import Array, ColumnarOperator, Vector


# Runs of up to so many places are joined place by place: longer ones leave too little to do for each call.
_SHORT: Final = 64
# And so many of them for each one of another length.
_EVEN: Final = 256


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


def reduce_even(operator: ColumnarOperator, partial: Vector, starts: Array) -> Vector:
    """Combine the places from each start to the next as `reduce_runs` does, fast where nearly all have one length.

    >>> from muntin.incremental.columnar_catalog import columnar
    >>> largest = columnar("max", "int64")
    >>> reduce_even(largest, largest.lift(np.array([4, 6, 5, 9, 1])), np.array([0, 1, 3]))
    (array([4, 6, 9]), array([ True,  True,  True]))
    """
    places = len(partial[0])
    if operator.ufuncs is None or places > _SHORT * len(starts) or len(starts) in (0, places):
        return reduce_runs(operator, partial, starts)
    after = np.append(starts[1:], places)
    lengths = after - starts
    length = int(lengths[len(lengths) // 2])
    odd = np.flatnonzero(lengths != length)
    if len(odd) * _EVEN > len(starts):
        return reduce_runs(operator, partial, starts)
    found = tuple(np.empty(len(starts), part.dtype) for part in partial)
    # Between runs of another length lie those of the same, which are columns of a table.
    bounds = [-1, *odd.tolist(), len(starts)]
    with np.errstate(all="ignore"):
        for f, part, out in zip(operator.ufuncs, partial, found, strict=True):
            for run in bounds[1:-1]:
                out[run] = f.reduce(part[starts[run] : after[run]])
            for run, end in pairwise(bounds):
                if run + 1 < end:
                    table = part[starts[run + 1] : after[end - 1]].reshape(end - run - 1, length)
                    sums = out[run + 1 : end]
                    sums[...] = table[:, 0]
                    for place in range(1, length):
                        f(sums, table[:, place], out=sums)
    return found


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
