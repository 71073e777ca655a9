"""Panes in the JVM, then all windows of a partition in one pass of NumPy kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.declare.query import WINDOW, WINDOW_ID
from muntin.kernels.sweep import Lane, Sweep
from muntin.spark.panes import BUCKET, PANE, finished, floor_div, key_columns, panes, parts_of
from muntin.window.spec import Window

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyarrow import RecordBatch
    from pyspark.sql import Column, DataFrame

    from muntin.spark.bound import Bound
    from muntin.spark.panes import Grid, Parts

_NUMBER: Final = "_mt_w"
_START: Final = "_mt_s"
_END: Final = "_mt_e"


def sweep(
    bound: Bound,
    names: Sequence[str],
    windows: Sequence[Window],
    grid: Grid,
    coarse: int | None,
    *,
    wide: bool = False,
) -> DataFrame:
    """Compute some aggregates over some windows from panes; `coarse` panes make a bucket, where keys are few."""
    parts = parts_of(bound, names)
    rows = panes(bound, grid, parts)
    counted = tuple(
        Window(w.range // grid.width, w.slide // grid.width, (w.offset - grid.offset) // grid.width) for w in windows
    )
    fields: list[Column] = []
    lanes: list[Lane] = []
    back: list[T.StructField] = []
    for column, part in parts.values():
        lane = part.lane
        assert lane is not None, f"{part.name} does not go by kernels"
        fields += [take(F.col(column)).alias(f"{column}_{name}") for name, take in lane.fields.items()]
        lanes.append(Lane(lane.operator, lane.dtypes, lane.load, len(lane.fields)))
        back += [T.StructField(f"{column}_{name}", kind) for name, kind in lane.results.items()]
    # Under names of our own: mapInArrow takes a dot in a column's name for a path.
    numbered = [f"_mt_k{place}" for place in range(len(bound.query.keys))]
    keys = [key.alias(name) for key, name in zip(key_columns(bound), numbered, strict=True)]
    order = [*map(F.col, numbered), F.col(PANE)]
    marks = [*keys, F.col(PANE)]
    if coarse is not None:
        reach = max(window.range for window in counted)
        rows = rows.withColumn(BUCKET, F.explode(last_buckets(F.col(PANE), coarse, reach)))
        order.insert(-1, F.col(BUCKET))
        marks.insert(-1, F.col(BUCKET))
    spread = rows.select(*marks, *fields)
    spread = spread.repartition(*order[:-1]) if order[:-1] else spread.repartition(1)
    work = Sweep(len(keys), counted, tuple(lanes), coarse, wide)
    if wide:
        head = [T.StructField(_END, T.LongType())]
        results = [
            T.StructField(f"{field.name}_{number}", field.dataType) for number in range(len(windows)) for field in back
        ]
    else:
        head = [T.StructField(_NUMBER, T.IntegerType()), T.StructField(_START, T.LongType())]
        results = back
    known = [T.StructField(name, key.dataType) for name, key in zip(numbered, bound.schema.fields, strict=True)]
    schema = T.StructType([*head, *known, *results])
    found = spread.sortWithinPartitions(*order).mapInArrow(_Named(work, tuple(schema.names)), schema)
    return (_side_by_side if wide else _shown)(bound, found, names, windows, grid, parts)


def last_buckets(pane: Column, coarse: int, reach: int) -> Column:
    """List the coarse buckets of the last panes of windows that hold a pane: its own and, near its end, the next."""
    own, last = floor_div(pane, coarse), floor_div(pane + (reach - 1), coarse)
    return F.when(own == last, F.array(own)).otherwise(F.sequence(own, last))


def _buckets(pane: Column, coarse: int, reach: int) -> Column:
    """List the coarse buckets in which windows start that hold a pane: its own and, near its start, the one before."""
    own, first = floor_div(pane, coarse), floor_div(pane - (reach - 1), coarse)
    return F.when(own == first, F.array(own)).otherwise(F.sequence(first, own))


def _shown(
    bound: Bound, found: DataFrame, names: Sequence[str], windows: Sequence[Window], grid: Grid, parts: Parts
) -> DataFrame:
    """Give windows their ids and times, and finish the aggregates."""
    ids = F.array(*(F.lit(window.id) for window in windows))
    ranges = F.array(*(F.lit(window.range).cast("bigint") for window in windows))
    number = F.col(_NUMBER)
    start = grid.start(F.col(_START))
    merged = _rebuilt(parts, "")
    return found.select(
        F.get(ids, number).alias(WINDOW_ID),
        bound.window(start, start + F.get(ranges, number)).alias(WINDOW),
        *_keys(bound),
        *(finished(bound, name, merged).alias(name) for name in names),
    )


def _side_by_side(
    bound: Bound, found: DataFrame, names: Sequence[str], windows: Sequence[Window], grid: Grid, parts: Parts
) -> DataFrame:
    """Finish the aggregates of each window in columns of their own."""
    results = []
    for number, window in enumerate(windows):
        merged = _rebuilt(parts, f"_{number}")
        # A window without an event has nothing but nulls here, and every finish turns nulls into null.
        results += [finished(bound, name, merged).alias(f"{name}_{window.id}") for name in names]
    at = bound.instant(grid.start(F.col(_END)))
    return found.select(*_keys(bound), at.alias("at"), *results)


def _keys(bound: Bound) -> list[Column]:
    """Give the keys their own names again."""
    return [F.col(f"_mt_k{place}").alias(name) for place, name in enumerate(bound.query.keys)]


def _rebuilt(parts: Parts, suffix: str) -> dict[str, Column]:
    merged = {}
    for name, (column, part) in parts.items():
        assert part.lane is not None
        merged[name] = part.lane.rebuild({result: F.col(f"{column}_{result}{suffix}") for result in part.lane.results})
    return merged


class _Named:
    """The work, its results named as Spark expects them."""

    def __init__(self, work: Sweep, names: tuple[str, ...]) -> None:
        self.work, self.names = work, names

    def __call__(self, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        for batch in self.work(batches):
            yield batch.rename_columns(list(self.names))
