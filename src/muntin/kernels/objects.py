"""Aggregates of Python objects: every window of every key from sorted events, as Arrow batches go by."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from muntin.aggregate.algebra import same
from muntin.errors import AggregateError
from muntin.incremental.structure import EMPTY
from muntin.kernels.arrow_rows import LEAVE, differs, leaving
from muntin.kernels.slice_tree import SliceTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.incremental.columnar_operator import Array
    from muntin.window.spec import Window

# A row that an aggregate's filter leaves out: told apart by identity, as null is a value.
_LEFT_OUT: Final = object()


@dataclass(frozen=True, slots=True)
class ObjectAggregate:
    """A user's aggregate as a worker runs it: which columns it reads, and how values go in and out."""

    label: str
    function: AggregateFunction
    columns: tuple[int, ...]
    """The places of its columns among the inputs."""
    readers: tuple[Callable[[Any], Any] | None, ...]
    """How a value that Arrow gives becomes the one that `lift` sees; None where it is the same."""
    fit: Callable[[Any], Any]
    """How a result of `lower` becomes one that Arrow takes for `result`."""
    result: pa.DataType
    kept: int | None = None
    """The place of the filter among the inputs: rows where it is not true are left out."""
    resort: bool = False
    """Events of one time do not come in order of this aggregate's values, and it asks for that order."""


@dataclass(frozen=True, slots=True)
class Objects:
    """What a worker needs to know: plain values and the users' functions, so that Spark can send them.

    Batches have the `keys` key columns, then (where `coarse` is set) the coarse bucket, then the time in microseconds,
    then the inputs, and are sorted by key, bucket and time. Pane p begins at `p * width + offset`; windows count in
    panes. What leaves has the window's number, the start in panes, the keys, and a result per aggregate.

    >>> from muntin import Window, agg
    >>> longest = agg.define("longest", lift=len, combine=max, selects=True)
    >>> work = Objects(0, (Window(2, 1),), (ObjectAggregate("r", longest, (0,), (None,), int, pa.int64()),), 10)
    >>> events = pa.RecordBatch.from_pydict({"time": [3, 5, 24], "name": ["ab", "abc", "a"]})
    >>> [list(row.values()) for batch in work(iter([events])) for row in batch.to_pylist()]
    [[0, -1, 3], [0, 0, 3], [0, 1, 1], [0, 2, 1]]
    """

    keys: int
    windows: tuple[Window, ...]
    aggregates: tuple[ObjectAggregate, ...]
    width: int
    offset: int = 0
    coarse: int | None = None
    """The length of a coarse bucket in panes: a window belongs to the bucket of its last pane."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn sorted events into windows, holding a batch and the slices of one key's open windows."""
        marks = self.keys + (self.coarse is not None)
        guards = [guarded(aggregate.label, aggregate.function, aggregate.fit) for aggregate in self.aggregates]
        out = _Leaving(self)
        tree = SliceTree(self.windows, self.coarse, guards, out.leave)
        resort = any(aggregate.resort for aggregate in self.aggregates)
        if resort:
            batches = whole_ties(batches, marks + 1)
        last: pa.RecordBatch | None = None
        for batch in batches:
            if not batch.num_rows:
                continue
            columns = batch.columns
            units = changes(columns[:marks], batch.num_rows, last)
            micros = columns[marks].to_numpy()
            panes = (micros - self.offset) // self.width
            edges = units.copy()
            edges[0] = True  # a run, though it may go on with the pane of the batch before
            edges[1:] |= panes[1:] != panes[:-1]
            runs = np.flatnonzero(edges)
            owns = None if self.coarse is None else columns[self.keys].to_numpy() * self.coarse
            ties = changes(columns[: marks + 1], batch.num_rows, None) if resort else units
            values = [lifted(aggregate, columns[marks + 1 :], ties) for aggregate in self.aggregates]
            out.meet(columns[: self.keys], units)
            fold = folding(guards, values)
            ends = [*runs[1:].tolist(), batch.num_rows]
            for at, end, pane, begins in zip(
                runs.tolist(), ends, panes[runs].tolist(), units[runs].tolist(), strict=True
            ):
                if begins:
                    tree.close()
                    out.unit += 1
                    tree.begin(None if owns is None else int(owns[at]))
                tree.push(pane, fold(at, end))
                if out.rows >= LEAVE:
                    yield from out.batches()
            yield from out.batches()
            last = batch.take(pa.array([batch.num_rows - 1]))  # taken: a slice would hold the whole batch
        tree.close()
        yield from out.batches()


def guarded(
    label: str, function: AggregateFunction, fit: Callable[[Any], Any] = same
) -> AggregateFunction[Any, Any, Any]:
    """Let a user's functions fail with the aggregate's name, the phase and the values; `fit` is part of lower.

    >>> from muntin import agg
    >>> guarded("r", agg.define("size", lift=len, combine=max)).lift(3)
    Traceback (most recent call last):
    ...
    muntin.errors.AggregateError: `r` (size): lift failed on 3: TypeError: object of type 'int' has no len(). ...
    """
    name = f"`{label}`" if label == function.name else f"`{label}` ({function.name})"

    lift_, combine_, lower_ = function.lift, function.combine, function.lower

    def lift(value: Any) -> Any:
        try:
            return lift_(value)
        except Exception as error:
            raise AggregateError(_failure(name, "lift", error, value)) from error

    def combine(x: Any, y: Any) -> Any:
        try:
            return combine_(x, y)
        except Exception as error:
            raise AggregateError(_failure(name, "combine", error, x, y)) from error

    def lower(partial: Any) -> Any:
        try:
            return fit(lower_(partial))
        except Exception as error:
            raise AggregateError(_failure(name, "lower", error, partial)) from error

    return replace(function, lift=lift, combine=combine, lower=lower)


def _failure(name: str, phase: str, error: Exception, *values: Any) -> str:
    given = " and ".join(_SHORT.repr(value) for value in values)
    return (
        f"{name}: {phase} failed on {given}: {type(error).__name__}: {error}. "
        f"Let the aggregate's {phase} take such values, or filter them out first"
    )


_SHORT: Final = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 120


def changes(columns: Sequence[pa.Array], rows: int, last: pa.RecordBatch | None) -> Array:
    """Mark the rows that differ from the row before them; the first from `last`, the row before the batch."""
    changed = np.zeros(rows, np.bool_)
    changed[0] = last is None
    for place, column in enumerate(columns):
        if last is None:
            changed[1:] |= differs(column)
        else:
            changed |= differs(pa.concat_arrays([last.column(place), column]))
    return changed


def whole_ties(batches: Iterable[pa.RecordBatch], columns: int) -> Iterator[pa.RecordBatch]:
    """Cut batches anew, so that rows with the same first `columns` values stand in one."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        last = held[-1].slice(held[-1].num_rows - 1) if held else None
        changed = np.flatnonzero(changes(batch.columns[:columns], batch.num_rows, last))
        # A batch's first row, where none is held, begins a tie but ends none.
        cut = int(changed[-1]) if len(changed) else 0
        if cut or (held and len(changed)):
            yield _one([*held, batch.slice(0, cut)])
            held = []
        held.append(batch.slice(cut))
    if held:
        yield _one(held)


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def rank(value: Any) -> Any:
    """Give what sorts a value as Spark does: null first, NaN last, nested values by their parts.

    >>> sorted([3.0, float("nan"), None, -1.0], key=rank)
    [None, -1.0, 3.0, nan]
    """
    if value is None:
        return (0,)
    if isinstance(value, float) and value != value:
        return (2,)
    return (1, tuple(map(rank, value)) if isinstance(value, (list, tuple)) else value)


def lifted(aggregate: ObjectAggregate, inputs: Sequence[pa.Array], ties: Array) -> list[Any]:
    """Take what an aggregate lifts, row by row, in the order in which it asks for it."""
    rows = len(ties)
    columns = []
    for place, reader in zip(aggregate.columns, aggregate.readers, strict=True):
        found = pylist(inputs[place])
        columns.append(found if reader is None else list(map(reader, found)))
    arity = aggregate.function.arity
    values: list[Any] = columns[0] if arity == 1 else list(zip(*columns, strict=True)) if arity else [()] * rows
    if aggregate.resort:
        order = list(range(rows))
        edges = [*np.flatnonzero(ties).tolist(), rows]
        for start, end in pairwise(edges):
            if end - start > 1:
                order[start:end] = sorted(range(start, end), key=lambda row: rank(values[row]))
        values = [values[row] for row in order]
    else:
        order = None
    if aggregate.kept is None:
        return values
    kept = pylist(inputs[aggregate.kept])
    taken = kept if order is None else [kept[row] for row in order]
    return [value if keep else _LEFT_OUT for value, keep in zip(values, taken, strict=True)]


def pylist(array: pa.Array) -> list[Any]:
    """Make Python values of an array; numbers by NumPy, which is several times faster.

    >>> pylist(pa.array([3, None, 5]))
    [3, None, 5]
    """
    if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        found: list[Any] = array.to_pylist()
        return found
    if not array.null_count:
        return list(array.to_numpy().tolist())
    values: list[Any] = array.fill_null(0).to_numpy().tolist()
    for row in np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)).tolist():
        values[row] = None
    return values


def folding(guards: Sequence[AggregateFunction], values: Sequence[list[Any]]) -> Callable[[int, int], Any]:
    """Fold the rows of a run: into a partial, or for several aggregates into a tuple of them."""

    def single(guard: AggregateFunction, column: list[Any]) -> Callable[[int, int], Any]:
        lift, combine, identity = guard.lift, guard.combine, guard.identity

        def fold(start: int, end: int) -> Any:
            total: Any = EMPTY
            for value in column[start:end]:
                if value is not _LEFT_OUT:
                    partial = lift(value)
                    total = partial if total is EMPTY else combine(total, partial)
            return identity if total is EMPTY else total

        return fold

    folds = [single(guard, column) for guard, column in zip(guards, values, strict=True)]
    if len(folds) == 1:
        return folds[0]
    return lambda start, end: tuple([fold(start, end) for fold in folds])


class _Leaving:
    """Windows that leave: runs of equal results, and the keys that they belong to."""

    def __init__(self, work: Objects) -> None:
        self._work = work
        self._keys: list[pa.Array] = []
        self.unit = -1
        """The place among the keys of the one whose windows leave now."""
        self.rows = 0
        self._runs: list[tuple[int, int, int, int]] = []
        self._results: list[Any] = []

    def meet(self, keys: Sequence[pa.Array], begins: Array) -> None:
        """Take the keys of the units that begin in a batch; of those before, only the last still has windows."""
        new = pa.array(np.flatnonzero(begins))
        taken = [column.take(new) for column in keys]
        if self.unit < 0:
            self._keys = taken
            return
        at = pa.array([self.unit])
        self._keys = [pa.concat_arrays([old.take(at), more]) for old, more in zip(self._keys, taken, strict=True)]
        self.unit = 0

    def leave(self, number: int, start: int, count: int, result: Any) -> None:
        """Let `count` windows of one result leave, from `start` on."""
        self._runs.append((self.unit, number, start, count))
        self._results.append(result)
        self.rows += count

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Write down what has gathered."""
        if not self._runs:
            return
        units, numbers, starts, counts = np.array(self._runs, np.int64).T
        slides = np.array([window.slide for window in self._work.windows])
        aggregates = self._work.aggregates
        found = [self._results] if len(aggregates) == 1 else list(zip(*self._results, strict=True))
        results = [pa.array(part, how.result) for part, how in zip(found, aggregates, strict=True)]
        ends = np.cumsum(counts)
        # A gap lets a window of a day by the second leave 86,400 times: runs are written out a batch at a time.
        for start in range(0, self.rows, LEAVE):
            each = np.arange(start, min(start + LEAVE, self.rows))
            at = np.searchsorted(ends, each, side="right")
            within = each - (ends[at] - counts[at])
            keys, rows = pa.array(units[at]), pa.array(at)
            columns = [
                pa.array(numbers[at].astype(np.int32)),
                pa.array(starts[at] + within * slides[numbers[at]]),
                *(column.take(keys) for column in self._keys),
                *(column.take(rows) for column in results),
            ]
            yield from leaving(columns)
        self._runs, self._results, self.rows = [], [], 0
