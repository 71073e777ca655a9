"""All windows of a partition in one sweep over its panes, as Arrow batches go by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.incremental.columnar_catalog import columnar
from muntin.incremental.columnar_operator import Column
from muntin.kernels.product import places, product, separable
from muntin.kernels.table import pane_table
from muntin.kernels.windows import window_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin.incremental.columnar_operator import Array, ColumnarOperator, Vector
    from muntin.kernels.table import Panes
    from muntin.kernels.windows import WindowRows
    from muntin.window.spec import Window

# So many panes are gathered before windows are computed: enough for NumPy, little for memory.
CHUNK: Final = 1 << 17
# So many windows leave in one batch at most.
LEAVE: Final = 1 << 16


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
    """The length of a coarse bucket in panes: a window belongs to the bucket in which it starts."""

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
            if rows < max(CHUNK, 0 if carried is None else carried.num_rows):
                continue
            table = _joined(carried, gathered)
            stretch = _Stretch.of(self, table, emitted, open_end=True)
            yield from stretch.windows()
            carried, emitted = stretch.carry(reach)
            gathered, rows = [], 0
        if rows or carried is not None:
            yield from _Stretch.of(self, _joined(carried, gathered), emitted, open_end=False).windows()


def _joined(carried: pa.Table | None, gathered: list[pa.RecordBatch]) -> pa.Table:
    new = pa.Table.from_batches(gathered) if gathered else None
    tables = [table for table in (carried, new) if table is not None]
    return pa.concat_tables(tables).combine_chunks()


@dataclass(frozen=True, slots=True, eq=False)
class _Stretch:
    """Panes in memory: the units (a key, or a key in a coarse bucket) they belong to, and which windows may leave."""

    sweep: Sweep
    table: pa.Table
    units: Array
    firsts: Array
    panes: Array
    lows: Array
    """For each unit, the first end of a window that has not left yet, and the first start that is its own."""
    own: Array
    ends: Array
    """For each unit, the last end of a window that is complete, and the start after its last own."""
    after: Array
    bounded: bool

    @classmethod
    def of(cls, sweep: Sweep, table: pa.Table, emitted: int | None, *, open_end: bool) -> _Stretch:
        marks = sweep.keys + (sweep.coarse is not None)
        panes = _column(table, marks).to_numpy()
        changed = np.zeros(len(panes), np.bool_)
        changed[:1] = True
        for place in range(marks):
            changed[1:] |= _differs(_column(table, place))
        firsts = np.flatnonzero(changed)
        units = np.cumsum(changed) - 1
        count = len(firsts)
        lows, ends = np.full(count, np.iinfo(np.int64).min), np.full(count, np.iinfo(np.int64).max)
        own, after = lows.copy(), ends.copy()
        if sweep.coarse is not None:
            own = _column(table, sweep.keys).to_numpy()[firsts] * sweep.coarse
            after = own + sweep.coarse
        if emitted is not None:
            lows[0] = emitted
        if open_end:
            ends[-1] = panes[-1] + 1
        bounded = sweep.coarse is not None or emitted is not None or open_end
        return cls(sweep, table, units, firsts, panes, lows, own, ends, after, bounded)

    def carry(self, reach: int) -> tuple[pa.Table, int]:
        """Keep the panes of the last unit that windows still open hold, and the end up to which windows have left."""
        last = int(self.panes[-1])
        start = int(self.firsts[-1])
        start += int(np.searchsorted(self.panes[start:], last + 1 - reach, side="right"))
        # Taken and not sliced: a slice would hold the whole stretch in memory.
        return self.table.take(np.arange(start, len(self.panes))), last + 1

    def windows(self) -> Iterator[pa.RecordBatch]:
        lanes = [_Loaded.of(lane, self._fields(place)) for place, lane in enumerate(self.sweep.lanes)]
        together = [lane for lane in lanes if separable(lane.operator)]
        alone = [lane for lane in lanes if not separable(lane.operator)]
        groups = [[lane] for lane in alone]
        if together or not groups:
            groups.insert(0, together)
        tables = [self._panes(group) for group in groups]
        for number, window in enumerate(self.sweep.windows):
            found = [window_batches(table, window, operator) for table, operator in tables]
            for rows in zip(*found, strict=True):
                kept = self._kept(window, rows[0])
                results: dict[int, list[pa.Array]] = {}
                for group, part in zip(groups, rows, strict=True):
                    self._lower(group, part, kept, results, lanes)
                yield from self._leave(number, rows[0], kept, [a for i in range(len(lanes)) for a in results[i]])

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
        low = np.maximum(self.own, _less(self.lows, window.range) + 1)
        high = np.minimum(self.after, _less(self.ends, window.range) + 1)
        kept = (rows.starts >= low[rows.keys]) & (rows.starts < high[rows.keys])
        return None if kept.all() else np.flatnonzero(kept)

    def _lower(
        self,
        group: list[_Loaded],
        rows: WindowRows,
        kept: Array | None,
        results: dict[int, list[pa.Array]],
        lanes: list[_Loaded],
    ) -> None:
        partial = rows.partial if kept is None else tuple(part[kept] for part in rows.partial)
        for lane, place in zip(group, places([lane.operator for lane in group]), strict=True):
            results[next(i for i, other in enumerate(lanes) if other is lane)] = lane.lower(partial[place])

    def _leave(
        self, number: int, rows: WindowRows, kept: Array | None, results: list[pa.Array]
    ) -> Iterator[pa.RecordBatch]:
        starts, units = (rows.starts, rows.keys) if kept is None else (rows.starts[kept], rows.keys[kept])
        if not len(starts):
            return
        at = pa.array(self.firsts[units])
        keys = [_column(self.table, place).take(at) for place in range(self.sweep.keys)]
        columns = [pa.array(np.full(len(starts), number, np.int32)), pa.array(starts), *keys, *results]
        batch = pa.RecordBatch.from_arrays(columns, names=[f"_{i}" for i in range(len(columns))])
        for start in range(0, batch.num_rows, LEAVE):
            yield batch.slice(start, LEAVE)


@dataclass(frozen=True, slots=True, eq=False)
class _Loaded:
    """A lane's partials as vectors over the rows, and what is needed to give results back."""

    lane: Lane
    operator: ColumnarOperator
    vector: Vector
    taken: pa.Array | None

    @classmethod
    def of(cls, lane: Lane, fields: list[pa.Array]) -> _Loaded:
        operator = columnar(lane.operator, *lane.dtypes)
        if lane.load == "row":
            rows = Column(np.arange(len(fields[0])))
            return cls(lane, operator, operator.lift(_values(fields[0]), rows), fields[1])
        if lane.load == "lift":
            return cls(lane, operator, operator.lift(*map(_values, fields)), None)
        found = zip(map(_values, fields), operator.components, strict=True)
        vector = tuple(
            values if valid is None else np.where(valid, values, part.neutral) for (values, valid), part in found
        )
        return cls(lane, operator, vector, None)

    def lower(self, partial: Vector) -> list[pa.Array]:
        if self.lane.load == "raw":
            if self.lane.operator in ("min_count", "max_count"):
                return [pa.array(partial[0]), pa.array(partial[1], mask=partial[0] == 0)]
            return [pa.array(part) for part in partial]
        values, valid = self.operator.lower(partial)
        found = pa.array(values) if valid is None or valid.all() else pa.array(values, mask=~valid)
        return [found if self.taken is None else self.taken.take(found)]


def _column(table: pa.Table, place: int) -> pa.Array:
    column = table.column(place)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _values(array: pa.Array) -> Column:
    if not array.null_count:
        return Column(array.to_numpy(zero_copy_only=False))
    return Column(array.fill_null(0).to_numpy(zero_copy_only=False), array.is_valid().to_numpy(zero_copy_only=False))


def _differs(column: pa.Array) -> Array:
    """Tell of each row but the first whether it differs from the row before; null and NaN are like themselves."""
    here, there = column[1:], column[:-1]
    if pa.types.is_nested(column.type):
        # Arrow compares no structs: by their fields, and other nested values one by one.
        return _nested_differs(column)
    differs = pc.not_equal(here, there)
    if pa.types.is_floating(column.type):
        differs = pc.and_not(differs, pc.and_(pc.is_nan(here), pc.is_nan(there)))
    if column.null_count:
        differs = pc.if_else(pc.or_(here.is_null(), there.is_null()), pc.xor(here.is_null(), there.is_null()), differs)
    found: Array = differs.to_numpy(zero_copy_only=False)
    return found


def _nested_differs(column: pa.Array) -> Array:
    if pa.types.is_struct(column.type):
        nulls = column.is_null().to_numpy(zero_copy_only=False)
        differs = nulls[1:] != nulls[:-1]
        for field in column.flatten():
            differs = differs | _differs(field)
        return differs
    values = column.to_pylist()
    return np.array([x != y for x, y in zip(values[1:], values, strict=False)], np.bool_)


def _less(times: Array, length: int) -> Array:
    """Subtract, but leave what stands for no bound as it is."""
    bound = (times != np.iinfo(np.int64).min) & (times != np.iinfo(np.int64).max)
    return np.where(bound, times - length, times - np.sign(times))
