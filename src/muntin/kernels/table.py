"""Panes as columns: one row for each key and pane that has events, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from muntin.errors import AggregateError
from muntin.incremental.columnar_runs import reduce_runs, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.incremental.columnar_operator import Array, ColumnarOperator, Vector

# So many rows are looked at together: what they need at once stays in the processor's cache.
CHUNK: Final = 1 << 15
# Beyond it, the ends of windows might not be 64-bit integers any more.
LIMIT: Final = 1 << 61
# The distance between rows of different keys: no window reaches so far.
OTHER: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Panes:
    """Hold the panes of many keys: sorted by key, then by pane, each once."""

    keys: Array
    panes: Array
    partial: Vector
    breaks: Array
    """The rows that are not of the key and the pane that follow on the row before."""
    jumps: Array
    """How far each of them is from the row before: `OTHER` where the key is another."""

    def __len__(self) -> int:
        return len(self.keys)


def pane_table(keys: Array, panes: Array, partial: Sequence[Array], operator: ColumnarOperator) -> Panes:
    """Check columns of panes, and combine rows of one key and pane into one.

    >>> from muntin.incremental.columnar_catalog import columnar
    >>> n = np.array([1, 2, 5])
    >>> pane_table(np.array([0, 0, 1]), np.array([-3, -3, 7]), (n,), columnar("count")).partial
    (array([3, 5]),)
    >>> pane_table(np.array([0, 0, 1]), np.array([-3, -4, 7]), (n,), columnar("count"))
    Traceback (most recent call last):
    ...
    muntin.errors.AggregateError: rows must be sorted by key and then by pane: row 1 (key 0, pane -4) comes after ...
    """
    keys, panes = np.asarray(keys), np.asarray(panes)
    vector = operator.check(partial)
    for name, column in (("key codes", keys), ("panes", panes)):
        if column.ndim != 1 or column.dtype.kind != "i":
            msg = f"{name} are a 1-d array of signed integers, got {column.ndim}-d {column.dtype}"
            raise AggregateError(msg)
    if not len(keys) == len(panes) == len(vector[0]):
        msg = f"{len(keys)} key codes, {len(panes)} panes and {len(vector[0])} partials: each row needs all three"
        raise AggregateError(msg)
    panes = panes.astype(np.int64, copy=False)
    return _merged(keys, panes, vector, operator)


def regrouped(table: Panes, panes: Array, operator: ColumnarOperator) -> Panes:
    """Give rows new panes, in the same order, and combine those of one key and pane into one."""
    return _merged(table.keys, panes, table.partial, operator)


def _merged(keys: Array, panes: Array, partial: Vector, operator: ColumnarOperator) -> Panes:
    breaks, jumps = _breaks(keys, panes)
    if not (jumps == 0).any():
        return Panes(keys, panes, partial, breaks, jumps)
    starts = starts_of_runs(keys, panes)
    keys, panes = keys[starts], panes[starts]
    return Panes(keys, panes, reduce_runs(operator, partial, starts), *_breaks(keys, panes))


def _breaks(keys: Array, panes: Array) -> tuple[Array, Array]:
    """Find where the next row is not the same key's next pane; refuse rows out of order."""
    rows, jumps = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for start in range(0, len(keys), CHUNK):
        here = slice(start + 1, start + 1 + CHUNK)
        before = slice(start, len(keys[here]) + start)
        _check_limit(panes[start : start + 1 + CHUNK])
        step = panes[here] - panes[before]
        broken = step != 1
        broken |= keys[here] != keys[before]
        found = np.flatnonzero(broken)
        if not len(found):
            continue
        step = step[found]
        found += start + 1
        same = keys[found] == keys[found - 1]
        wrong = (keys[found] < keys[found - 1]) | (same & (step < 0))
        if wrong.any():
            at = int(found[np.flatnonzero(wrong)[0]])
            row, last = (f"(key {keys[place]}, pane {panes[place]})" for place in (at, at - 1))
            msg = f"rows must be sorted by key and then by pane: row {at} {row} comes after {last}"
            raise AggregateError(msg)
        rows.append(found)
        jumps.append(np.where(same, step, OTHER))
    return np.concatenate(rows), np.concatenate(jumps)


def _check_limit(panes: Array) -> None:
    low, high = int(panes.min()), int(panes.max())
    if max(-low, high) > LIMIT:
        msg = f"pane indices must lie within ±2**61, got {low} to {high}. Use wider panes"
        raise AggregateError(msg)
