"""A query over a stream as one line of operators: events to partials, one shuffle, one stateful operator, windows."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from muntin.errors import QueryError
from muntin.kernels.sweep import Lane
from muntin.spark.bound import watermark_of
from muntin.spark.crossing import HEAD, in_panes, key_fields, key_names
from muntin.spark.custom import ObjectColumns, object_aggregate
from muntin.spark.panes import MICROS, PANE, Grid, parts_of, timed
from muntin.spark.stateful import OUTPUT, Gathered, Unpacked, Windows
from muntin.spark.sweep import shown_wide, shown_windows, wide_fields
from muntin.stream.bucket import Schemas
from muntin.stream.gather import Gather
from muntin.stream.labels import MOST, labels
from muntin.stream.layout import Layout
from muntin.stream.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from muntin.spark.bound import Bound
    from muntin.spark.managed import Managed
    from muntin.stream.layout import Mode

PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
KEPT: Final = "muntin_state"
"""Under this name a stream's progress has, in `observedMetrics`, how many slices and nodes are kept."""
SLICE_START: Final = "slice_start"
_BUCKET: Final = "_mt_b"
_MICROS: Final = "_mt_t"


@dataclass(frozen=True, slots=True)
class Streaming:
    """A query laid out for a stream's workers."""

    bound: Bound
    layout: Layout
    grid: Grid
    buckets: int

    objects: ObjectColumns
    """What the aggregates of Python objects read."""
    managed: Managed | None = None
    """What is different where queries come and go."""

    @property
    def names(self) -> tuple[str, ...]:
        """The aggregates."""
        return tuple(name for name, _ in self.bound.query.aggregates)

    @property
    def lane_names(self) -> tuple[str, ...]:
        """The aggregates whose partials are columns."""
        return tuple(name for name in self.names if name in self.bound.recipes)

    @property
    def object_names(self) -> dict[str, str]:
        """The aggregates of Python objects, each with the column in which its result comes back."""
        named = [name for name in self.names if name in self.bound.custom]
        return {name: f"_mt_r{place}" for place, name in enumerate(named)}

    def fingerprint(self, rows: Sequence[T.StructField], events: Sequence[T.StructField]) -> str:
        """Say, as text, what a checkpoint must agree with: `rows` are columns of slices, `events` of events kept."""
        if self.managed is not None:
            return json.dumps(self.managed.identity)
        query = self.bound.query
        said = {
            "version": VERSION,
            "keys": [f"{name} {self.bound.key_type(name).simpleString()}" for name in query.keys],
            "windows": [f"{w.id}: {w}" for w in query.windows],
            "aggregates": [f"{name}={aggregate!r}" for name, aggregate in query.aggregates],
            "inputs": [f"{name} of {', '.join(types) or 'events'}" for name, types in self.bound.types.items()],
            "lanes": [f"{lane.operator}({', '.join(lane.dtypes)})" for lane in self.layout.lanes],
            "pane": [self.grid.width, self.grid.offset],
            "buckets": self.buckets,
            "mode": self.layout.mode,
            "columns": self._columns(rows),
        }
        if events:
            said["events"] = [field.dataType.simpleString() for field in events]
        return json.dumps(said)

    def _columns(self, rows: Sequence[T.StructField]) -> list[list[Any]]:
        """Name the columns of slices for who reads a checkpoint: the keys, when the slice begins, the partials."""
        names = [*self.bound.query.keys, SLICE_START]
        for name, (_, part) in parts_of(self.bound, self.lane_names).items():
            assert part.lane is not None
            fields = list(part.lane.stream_fields)
            names += [name] if len(fields) == 1 else [f"{name}.{field}" for field in fields]
        types = [field.dataType for field in rows]
        types[self.layout.keys] = self.bound.time_type
        return [[name, kind.jsonValue()] for name, kind in zip(names, types, strict=True)]


def lay_out(
    bound: Bound,
    trees: Sequence[int],
    pane: tuple[int, int],
    mode: Mode,
    buckets: int,
    managed: Managed | None = None,
) -> Streaming:
    """Lay a query out: which lanes its partials take, and which windows a tree serves."""
    grid = Grid(*pane) if managed is None else Grid(1, 0)
    lanes = []
    for _, part in parts_of(bound, bound.recipes).values():
        assert part.lane is not None
        lanes.append(Lane(part.lane.operator, part.lane.dtypes, part.lane.load, len(part.lane.stream_fields)))
    windows = in_panes(bound.query.windows, grid)
    objects = ObjectColumns()
    made = tuple(object_aggregate(bound, name, objects) for name in bound.custom)
    layout = Layout(len(bound.query.keys), windows, tuple(lanes), grid.width, grid.offset, frozenset(trees), mode, made)
    if managed is not None:
        cuts = in_panes(managed.cuts, grid)
        layout = replace(layout, step=pane[0], cuts=cuts, since=managed.since, retain=managed.retain)
    return Streaming(bound, layout, Grid(*pane), buckets if bound.query.keys else 1, objects, managed)


def stream(work: Streaming) -> DataFrame:
    """Build the streaming DataFrame: nothing runs until the user starts a query on it."""
    bound, layout = work.bound, work.layout
    grid = Grid(layout.width, layout.offset)
    check_watermark(bound)
    use_rocksdb(bound.events.sparkSession)
    parts = parts_of(bound, work.lane_names)
    # -0.0 and 0.0 are one group; which of the two a key shows is settled here, as groupBy does.
    keys = [
        key + F.lit(0.0).cast(kind) if isinstance(kind, (T.FloatType, T.DoubleType)) else key
        for key, kind in zip(bound.keys, (bound.key_type(name) for name in bound.query.keys), strict=True)
    ]
    bucket = F.pmod(F.hash(*keys), F.lit(work.buckets)) if keys else F.lit(0)
    fields: list[Column] = []
    back: list[T.StructField] = []
    for column, part in parts.values():
        assert part.lane is not None
        assert part.single is not None
        single = part.single()
        fields += [take(single).alias(f"{column}_{name}") for name, take in part.lane.stream_fields.items()]
        back += [T.StructField(f"{column}_{name}", kind) for name, kind in part.lane.results.items()]
    named = [key.alias(name) for key, name in zip(keys, key_names(bound), strict=True)]
    pane = work.grid.pane()
    pane = pane if work.managed is None else work.grid.start(pane)
    marks = [bucket.cast("int").alias(_BUCKET), *named, F.expr(pane).alias(PANE)]
    read = [F.col(MICROS).alias(_MICROS), *work.objects.columns] if work.layout.objects else []
    events = timed(bound).select(*marks, *fields, *read)
    kinds = events.schema.fields
    arriving, width = arrow_schema(kinds), len(marks) + len(fields)
    custom = dict(bound.query.aggregates)
    back += [
        T.StructField(column, T.DataType.fromDDL(custom[name].function.returns))
        for name, column in work.object_names.items()
    ]
    stored = arrow_schema(kinds[1:width])
    schemas = Schemas(
        stored,
        arrow_schema([*HEAD, *key_fields(bound), *back]),
        arrow_schema([*kinds[1 : len(marks)], *kinds[width:]]) if read else None,
        None if work.managed is None else work.managed.columns(stored, len(marks) - 1),
    )
    leaving = [*HEAD, *key_fields(bound), *back] if work.layout.mode != "latest" else wide_fields(bound, back)
    # The tag of event time ends here: lateness is judged for each window, and not by Spark for the event.
    found = (
        events.mapInArrow(
            Gathered(Gather(work.layout, labels(work.buckets)), arriving), "bucket int, rows binary, events binary"
        )
        .groupBy("bucket")
        .transformWithState(
            Windows(work.layout, schemas, work.fingerprint(kinds[1:width], kinds[width:])),
            outputStructType=OUTPUT,
            outputMode="Append",
            timeMode="EventTime",
        )
        .observe(KEPT, F.sum("slices").alias("slices"), F.sum("nodes").alias("nodes"))
        .mapInArrow(Unpacked(arrow_schema(leaving)), T.StructType(leaving))
    )
    shape = shown_wide if work.layout.mode == "latest" else shown_windows
    return shape(bound, found, work.names, bound.query.windows, grid, parts, work.object_names)


def use_rocksdb(spark: SparkSession) -> None:
    """Let Spark keep state in RocksDB, the only place where processors in Python can; refuse another's choice."""
    chosen = spark.conf.get(PROVIDER, "")
    if chosen == ROCKSDB:
        return
    if chosen and "HDFSBackedStateStoreProvider" not in chosen:
        msg = f"{PROVIDER} is {chosen}: windows over a stream keep their slices in RocksDB. Set it to {ROCKSDB}"
        raise QueryError(msg)
    spark.conf.set(PROVIDER, ROCKSDB)


def check_buckets(buckets: int) -> int:
    """Refuse a number of buckets that cannot be dealt out."""
    if isinstance(buckets, bool) or not isinstance(buckets, int) or not 1 <= buckets <= MOST or buckets & buckets - 1:
        msg = f"buckets must be a power of two from 1 to {MOST}, got {buckets!r}"
        raise QueryError(msg)
    return buckets


def check_watermark(bound: Bound) -> None:
    """Refuse a stream that does not say how late its events may be."""
    query = bound.query
    if watermark_of(bound.events, query.time) is None:
        msg = (
            f"the stream has no watermark on {query.time!r}, so no window would ever be complete. "
            "Say how late events may be: windows(..., watermark='10 minutes')"
        )
        raise QueryError(msg)


def arrow_schema(fields: Sequence[T.StructField]) -> pa.Schema:
    """Give columns as Arrow has them."""
    # All may be null: whether a column may is not the same for an event and for what becomes of many.
    nullable = [T.StructField(field.name, field.dataType) for field in fields]
    found: pa.Schema = to_arrow_schema(T.StructType(nullable), timezone="UTC")
    return found
