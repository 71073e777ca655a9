"""All windows of a partition in one sweep over its panes, as Arrow batches go by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from muntin.incremental.columnar_catalog import columnar
from muntin.incremental.columnar_operator import Column, by_ufuncs
from muntin.kernels.arrow_rows import differs, leaving
from muntin.kernels.product import places, product, separable
from muntin.kernels.runs import batches, in_lists, run_starts
from muntin.kernels.table import pane_table
from muntin.kernels.windows import tumbling_rows, window_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin.incremental.columnar_operator import Array, ColumnarOperator, Vector
    from muntin.kernels.table import Panes
    from muntin.kernels.windows import WindowRows
    from muntin.window.spec import Window

# So many panes are gathered before windows are computed: enough for NumPy, little for memory.
CHUNK: Final = 1 << 17
# So many windows, if each pane is alone, wait for each other to be put side by side.
MOST: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class Lane:
    """How one partial is computed: its columnar operator, how it is loaded, and how many columns it has."""

    operator: str
    dtypes: tuple[str, ...]
    load: str
    """"lift": the column is like a value; "raw": the columns are the components; "row": the second goes by its row."""
    columns: int


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a worker needs to know: plain values, so that Spark can send them.

    Batches have the `keys` key columns, then (where `coarse` is set) the coarse bucket, then the pane, then the
    columns of the lanes, and are sorted by all but the last. Windows count in panes. What leaves has the window's
    number, the start in panes, the keys, and the lanes' results.
    """

    keys: int
    windows: tuple[Window, ...]
    lanes: tuple[Lane, ...]
    coarse: int | None = None
    """The length of a coarse bucket in panes: a window belongs to the bucket of its last pane."""
    wide: bool = False
    """One row for all windows of a key that end together: the end in panes, the keys, each window's results."""
    ids: tuple[str, ...] | None = None
    """Where set, neighbouring windows leave as one row: id, start, slide and range in panes, keys, lists of results."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn sorted panes into windows, holding no more than a chunk and the panes that open windows need."""
        reach = max(window.range for window in self.windows)
        carried: pa.Table | None = None
        emitted: int | None = None
        gathered: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            gathered.append(batch)
            rows += batch.num_rows
            # As many as are carried at least: or panes of a long window would be carried again and again.
            if rows < max(self._chunk, 0 if carried is None else carried.num_rows):
                continue
            stretch = _Stretch.of(self, _joined(carried, gathered), emitted, open_end=True)
            yield from stretch.windows()
            carried, emitted = stretch.carry(reach)
            if not carried.num_rows:
                # Windows of one pane: none is open, and what comes next may be another key, at any time.
                carried = emitted = None
            gathered, rows = [], 0
        if rows or carried is not None:
            yield from _Stretch.of(self, _joined(carried, gathered), emitted, open_end=False).windows()

    @property
    def _chunk(self) -> int:
        # Long rows leave in batches; wide ones wait for each other, and a lone pane can be in many windows.
        if not self.wide:
            return CHUNK
        return max(CHUNK >> 5, min(CHUNK, MOST // sum(-(-w.range // w.slide) for w in self.windows)))


def _joined(carried: pa.Table | None, gathered: list[pa.RecordBatch]) -> pa.Table:
    new = pa.Table.from_batches(gathered) if gathered else None
    tables = [table for table in (carried, new) if table is not None]
    return pa.concat_tables(tables).combine_chunks()


@dataclass(frozen=True, slots=True, eq=False)
class _Stretch:
    """Panes in memory: the units (a key, or a key in a coarse bucket) they belong to, and which windows may leave.

    A window leaves with its last pane, whether there are events in that or not: where `low <= last pane < high`.
    """

    sweep: Sweep
    table: pa.Table
    units: Array
    firsts: Array
    panes: Array
    low: Array
    high: Array
    bounded: bool

    @classmethod
    def of(cls, sweep: Sweep, table: pa.Table, emitted: int | None, *, open_end: bool) -> _Stretch:
        marks = sweep.keys + (sweep.coarse is not None)
        panes = _column(table, marks).to_numpy()
        changed = np.zeros(len(panes), np.bool_)
        changed[:1] = True
        for place in range(marks):
            changed[1:] |= differs(_column(table, place))
        firsts = np.flatnonzero(changed)
        units = np.cumsum(changed) - 1
        low = np.full(len(firsts), np.iinfo(np.int64).min)
        high = np.full(len(firsts), np.iinfo(np.int64).max)
        if sweep.coarse is not None:
            low = _column(table, sweep.keys).to_numpy()[firsts] * sweep.coarse
            high = low + sweep.coarse
        if emitted is not None:
            low[0] = max(int(low[0]), emitted)
        if open_end:
            # The key's next row, if there is one, is of a later pane: a window that ends before it is complete.
            high[-1] = min(int(high[-1]), int(panes[-1]) + 1)
        bounded = sweep.coarse is not None or emitted is not None or open_end
        return cls(sweep, table, units, firsts, panes, low, high, bounded)

    def carry(self, reach: int) -> tuple[pa.Table, int]:
        """Keep the panes of the last unit that windows still open hold, and the last pane with which none is left."""
        last = int(self.panes[-1])
        start = int(self.firsts[-1])
        start += int(np.searchsorted(self.panes[start:], last + 1 - reach, side="right"))
        # Taken and not sliced: a slice would hold the whole stretch in memory.
        return self.table.take(np.arange(start, len(self.panes))), last + 1

    def windows(self) -> Iterator[pa.RecordBatch]:
        """Compute the windows that may leave."""
        lanes = [_Loaded.of(lane, self._fields(place)) for place, lane in enumerate(self.sweep.lanes)]
        groups = [[lane] for lane in lanes if not separable(lane.operator)]
        together = [lane for lane in lanes if separable(lane.operator)]
        if together or not groups:
            groups.insert(0, together)
        tables = [self._panes(group) for group in groups]
        order = [lane for group in groups for lane in group]
        found = self._found(groups, tables, [order.index(lane) for lane in lanes])
        if self.sweep.ids is not None:
            yield from self._runs(self.sweep.ids, found)
        else:
            yield from self._wide(list(found)) if self.sweep.wide else self._long(found)

    def _found(
        self, groups: list[list[_Loaded]], tables: list[tuple[Panes, ColumnarOperator]], order: list[int]
    ) -> Iterator[tuple[int, Array, Array, list[list[pa.Array]]]]:
        """Yield, of each window in turn, units, starts and the lanes' results of those that leave."""
        swept = [_Swept(table, operator, {}) for table, operator in tables]
        for number, window in sorted(enumerate(self.sweep.windows), key=lambda each: each[1].range):
            for rows in zip(*(table.batches(window) for table in swept), strict=True):
                kept = self._kept(window, rows[0])
                results = []
                for group, part in zip(groups, rows, strict=True):
                    partial = part.partial if kept is None else tuple(values[kept] for values in part.partial)
                    where = places([lane.operator for lane in group])
                    results += [lane.lower(partial[place]) for lane, place in zip(group, where, strict=True)]
                units, starts = rows[0].keys, rows[0].starts
                if kept is not None:
                    units, starts = units[kept], starts[kept]
                yield number, units, starts, [results[place] for place in order]

    def _long(self, found: Iterator[tuple[int, Array, Array, list[list[pa.Array]]]]) -> Iterator[pa.RecordBatch]:
        for number, units, starts, results in found:
            if not len(starts):
                continue
            columns = [
                pa.array(np.full(len(starts), number, np.int32)),
                pa.array(starts),
                *self._keys(units),
                *(array for lane in results for array in lane),
            ]
            yield from leaving(columns)

    def _runs(
        self, ids: tuple[str, ...], found: Iterator[tuple[int, Array, Array, list[list[pa.Array]]]]
    ) -> Iterator[pa.RecordBatch]:
        for number, units, starts, results in found:
            window = self.sweep.windows[number]
            arrays = [array for lane in results for array in lane]
            for part in batches(len(starts)):
                firsts = run_starts(units[part], starts[part], window.slide)
                size = len(firsts)
                columns = [
                    pa.repeat(ids[number], size),
                    pa.array(starts[part][firsts]),
                    *(pa.array(np.full(size, length)) for length in (window.slide, window.range)),
                    *self._keys(units[part][firsts]),
                    *in_lists((array[part] for array in arrays), firsts, part.stop - part.start),
                ]
                yield from leaving(columns)

    def _wide(self, found: list[tuple[int, Array, Array, list[list[pa.Array]]]]) -> Iterator[pa.RecordBatch]:
        """Put windows that end together into one row, the results of each window side by side."""
        ends = [starts + self.sweep.windows[number].range for number, _, starts, _ in found]
        units = np.concatenate([part[1] for part in found]) if found else np.empty(0, np.int64)
        if not len(units):
            return
        every = np.concatenate(ends)
        order = np.lexsort((every, units))
        fresh = np.ones(len(order), np.bool_)
        fresh[1:] = (np.diff(units[order]) != 0) | (np.diff(every[order]) != 0)
        place = np.empty(len(order), np.int64)
        place[order] = np.cumsum(fresh) - 1
        heads = order[fresh]
        columns: list[list[pa.Array] | None] = [None] * len(self.sweep.windows)
        at = 0
        pieces: dict[int, list[tuple[Array, list[pa.Array]]]] = {}
        for number, _, starts, results in found:
            here = place[at : at + len(starts)]
            at += len(starts)
            pieces.setdefault(number, []).append((here, [array for lane in results for array in lane]))
        for number, parts in pieces.items():
            rows = np.concatenate([here for here, _ in parts])
            taken = np.full(len(heads), -1, np.int64)
            taken[rows] = np.arange(len(rows))
            index = pa.array(taken, mask=taken < 0) if (taken < 0).any() else pa.array(taken)
            columns[number] = [
                pa.concat_arrays(arrays).take(index) for arrays in zip(*(a for _, a in parts), strict=True)
            ]
        some = next(found_ for found_ in columns if found_ is not None)
        empty = [pa.nulls(len(heads), array.type) for array in some]
        flat = [array for results in columns for array in (results or empty)]
        yield from leaving([pa.array(every[heads]), *self._keys(units[heads]), *flat])

    def _keys(self, units: Array) -> list[pa.Array]:
        at = pa.array(self.firsts[units])
        return [_column(self.table, place).take(at) for place in range(self.sweep.keys)]

    def _fields(self, place: int) -> list[pa.Array]:
        at = self.sweep.keys + (self.sweep.coarse is not None) + 1
        at += sum(lane.columns for lane in self.sweep.lanes[:place])
        return [_column(self.table, at + i) for i in range(self.sweep.lanes[place].columns)]

    def _panes(self, group: list[_Loaded]) -> tuple[Panes, ColumnarOperator]:
        if not group:
            operator = columnar("count")
            return pane_table(self.units, self.panes, (np.ones(len(self.panes), np.int64),), operator), operator
        operator = product([lane.operator for lane in group]) if len(group) > 1 else group[0].operator
        vector = tuple(array for lane in group for array in lane.vector)
        return pane_table(self.units, self.panes, vector, operator), operator

    def _kept(self, window: Window, rows: WindowRows) -> Array | None:
        """Choose the windows that leave now: those of their own unit, complete, and not gone before."""
        if not self.bounded:
            return None
        lasts = rows.starts + (window.range - 1)
        kept = (lasts >= self.low[rows.keys]) & (lasts < self.high[rows.keys])
        return None if kept.all() else np.flatnonzero(kept)


@dataclass(frozen=True, slots=True, eq=False)
class _Swept:
    """Panes and the tumbling windows computed so far, from which longer ones are made: factor windows at work."""

    table: Panes
    operator: ColumnarOperator
    known: dict[Window, WindowRows]

    def batches(self, window: Window) -> Iterator[WindowRows]:
        """Aggregate one window, from as few rows as there are."""
        if not window.tumbling:
            yield from window_batches(self.table, window, self.operator)
            return
        parents = (w for w in self.known if window.range % w.range == 0 and (window.offset - w.offset) % w.range == 0)
        parent = max(parents, key=lambda w: w.range, default=None)
        rows = tumbling_rows(self.table if parent is None else self.known[parent], window, self.operator)
        self.known[window] = rows
        yield rows


@dataclass(frozen=True, slots=True, eq=False)
class _Loaded:
    """A lane's partials as vectors over the rows, and what is needed to give results back."""

    lane: Lane
    whole: ColumnarOperator
    operator: ColumnarOperator
    """What combines: the whole operator, or less of it."""
    vector: Vector
    taken: pa.Array | None
    sure: int | None = None
    """Which component only tells whether there is a value, and was left out because there always is one."""

    @classmethod
    def of(cls, lane: Lane, fields: list[pa.Array]) -> _Loaded:
        operator = columnar(lane.operator, *lane.dtypes)
        if lane.load == "row":
            rows = Column(np.arange(len(fields[0])))
            return cls(lane, operator, operator, operator.lift(_values(fields[0]), rows), fields[1])
        if lane.load == "lift":
            vector = operator.lift(*map(_values, fields))
            names = [part.name for part in operator.components]
            if fields[0].null_count or operator.ufuncs is None:
                return cls(lane, operator, operator, vector, None)
            # Every pane has a value, and every window a pane: half the work of most lanes is to find that out.
            sure = names.index("valid" if "valid" in names else "n")
            return cls(lane, operator, _without(operator, sure), vector[:sure] + vector[sure + 1 :], None, sure)
        found = zip(map(_values, fields), operator.components, strict=True)
        vector = tuple(
            values if valid is None else np.where(valid, values, part.neutral) for (values, valid), part in found
        )
        return cls(lane, operator, operator, vector, None)

    def lower(self, partial: Vector) -> list[pa.Array]:
        if self.lane.load == "raw":
            if self.lane.operator in ("min_count", "max_count"):
                return [pa.array(partial[0]), pa.array(partial[1], mask=partial[0] == 0)]
            return [pa.array(part) for part in partial]
        if self.sure is not None:
            part = self.whole.components[self.sure]
            partial = (*partial[: self.sure], np.ones(len(partial[0]), part.dtype), *partial[self.sure :])
        values, valid = self.whole.lower(partial)
        found = pa.array(values) if valid is None or valid.all() else pa.array(values, mask=~valid)
        return [found if self.taken is None else self.taken.take(found)]


def _without(operator: ColumnarOperator, place: int) -> ColumnarOperator:
    """Leave out one component of an operator whose components combine each by itself."""
    assert operator.ufuncs is not None
    ufuncs = operator.ufuncs[:place] + operator.ufuncs[place + 1 :]
    components = operator.components[:place] + operator.components[place + 1 :]
    return replace(operator, components=components, ufuncs=ufuncs, merge=by_ufuncs(*ufuncs), take_away=None)


def _column(table: pa.Table, place: int) -> pa.Array:
    column = table.column(place)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _values(array: pa.Array) -> Column:
    if not array.null_count:
        return Column(array.to_numpy(zero_copy_only=False))
    return Column(array.fill_null(0).to_numpy(zero_copy_only=False), array.is_valid().to_numpy(zero_copy_only=False))
