"""Panes as columns: one row for each key and pane that has events, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from muntin.errors import AggregateError
from muntin.incremental.columnar_runs import reduce_runs, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from muntin.incremental.columnar_operator import Array, ColumnarOperator, Vector

# So many rows are looked at together: what they need at once stays in the processor's cache.
CHUNK: Final = 1 << 15
# Beyond it, the ends of windows might not be 64-bit integers any more.
LIMIT: Final = 1 << 61


@dataclass(frozen=True, slots=True, eq=False)
class Panes:
    """Hold the panes of many keys: sorted by key, then by pane, each once."""

    keys: Array
    panes: Array
    partial: Vector

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
    if len(panes) and max(-int(panes.min()), int(panes.max())) > LIMIT:
        msg = f"pane indices must lie within ±2**61, got {panes.min()} to {panes.max()}. Use wider panes"
        raise AggregateError(msg)
    repeated = False
    for start, step, same in steps(keys, panes):
        wrong = same & (step < 0)
        wrong |= keys[start + 1 : start + 1 + len(step)] < keys[start : start + len(step)]
        if wrong.any():
            at = start + int(np.flatnonzero(wrong)[0]) + 1
            here, before = (f"(key {keys[row]}, pane {panes[row]})" for row in (at, at - 1))
            msg = f"rows must be sorted by key and then by pane: row {at} {here} comes after {before}"
            raise AggregateError(msg)
        repeated = repeated or bool((same & (step == 0)).any())
    table = Panes(keys, panes, vector)
    return regrouped(table, panes, operator) if repeated else table


def regrouped(table: Panes, panes: Array, operator: ColumnarOperator) -> Panes:
    """Give rows new panes, in the same order, and combine those of one key and pane into one."""
    starts = starts_of_runs(table.keys, panes)
    return Panes(table.keys[starts], panes[starts], reduce_runs(operator, table.partial, starts))


def steps(keys: Array, panes: Array) -> Iterator[tuple[int, Array, Array]]:
    """Yield, in chunks, the distance from each row's pane to the next one's, and whether both are of one key."""
    for start in range(0, len(keys) - 1, CHUNK):
        stop = min(start + CHUNK, len(keys) - 1)
        same = keys[start + 1 : stop + 1] == keys[start:stop]
        yield start, panes[start + 1 : stop + 1] - panes[start:stop], same
