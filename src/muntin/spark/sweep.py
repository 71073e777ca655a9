"""Panes in the JVM, then all windows of a partition in one pass of NumPy kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.declare.query import WINDOW_ID
from muntin.kernels.sweep import Lane, Sweep
from muntin.kernels.unpack import Unpack
from muntin.spark.crossing import (
    HEAD,
    RANGE,
    RUN_HEAD,
    SLIDE,
    START,
    Named,
    identified,
    in_panes,
    key_fields,
    key_names,
    keys_back,
    last_buckets,
    spanned,
)
from muntin.spark.packs import PRESENT, packs
from muntin.spark.panes import BUCKET, PANE, finished, key_columns, panes, parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from muntin.spark.bound import Bound
    from muntin.spark.panes import Grid, Parts
    from muntin.window.spec import Window

_END: Final = "_mt_e"
_AT: Final = "_mt_a"
_FIRST: Final = "_mt_f"


def sweep(
    bound: Bound,
    names: Sequence[str],
    windows: Sequence[Window],
    grid: Grid,
    coarse: int | None,
    *,
    pack: int = 1,
    runs: bool = False,
    wide: bool = False,
) -> DataFrame:
    """Compute some aggregates over some windows from panes.

    `coarse` panes make a bucket, where keys are few, and `pack` neighbouring ones share a row on their way to Python.
    With `runs` neighbouring windows share one on their way back.
    """
    parts = parts_of(bound, names)
    rows = panes(bound, grid, parts) if pack == 1 else packs(bound, grid, parts, pack)
    counted = in_panes(windows, grid)
    fields: list[Column] = []
    lanes: list[Lane] = []
    back: list[T.StructField] = []
    for column, part in parts.values():
        lane = part.lane
        assert lane is not None, f"{part.name} does not go by kernels"
        for name, take in lane.fields.items():
            fields.append(F.col(f"{column}_{name}") if pack > 1 else take(F.col(column)).alias(f"{column}_{name}"))
        lanes.append(Lane(lane.operator, lane.dtypes, lane.load, len(lane.fields)))
        back += [T.StructField(f"{column}_{name}", kind) for name, kind in lane.results.items()]
    numbered = key_names(bound)
    keys = [key.alias(name) for key, name in zip(key_columns(bound), numbered, strict=True)]
    order, marks = [*numbered, PANE], [PANE]
    if coarse is not None:
        reach = max(window.range for window in counted)
        assert coarse % pack == 0, f"buckets of {coarse} panes cut packs of {pack} in two"
        # A pack goes where its first pane does, and its last.
        buckets = last_buckets(f"({PANE} * {pack}L)" if pack > 1 else PANE, coarse, reach + pack - 1)
        rows = rows.withColumn(BUCKET, F.explode(buckets))
        order.insert(-1, BUCKET)
        marks.insert(-1, BUCKET)
    if pack > 1:
        marks.append(PRESENT)
    spread = rows.select(*keys, *marks, *fields)
    spread = spread.repartition(*order[:-1]) if order[:-1] else spread.repartition(1)
    ids = tuple(window.id for window in windows) if runs and not wide else None
    swept = Sweep(len(numbered), counted, tuple(lanes), coarse, wide, ids)
    work = swept if pack == 1 else Unpack(len(order) - 1, pack, swept)
    schema = T.StructType(
        wide_fields(bound, back)
        if wide
        else [*HEAD, *key_fields(bound), *back]
        if ids is None
        else [*RUN_HEAD, *key_fields(bound), *(T.StructField(f.name, T.ArrayType(f.dataType)) for f in back)]
    )
    found = spread.sortWithinPartitions(*order).mapInArrow(Named(work, schema), schema)
    if ids is not None:
        return _shown_runs(bound, found, names, grid, parts, [field.name for field in back])
    return (shown_wide if wide else shown_windows)(bound, found, names, windows, grid, parts)


def wide_fields(bound: Bound, results: Sequence[T.StructField]) -> list[T.StructField]:
    """Give the columns that leave Python in wide form: the end in panes, the keys, each window's results."""
    wide = [
        T.StructField(f"{field.name}_{number}", field.dataType)
        for number in range(len(bound.query.windows))
        for field in results
    ]
    return [T.StructField(_END, T.LongType()), *key_fields(bound), *wide]


def shown_windows(
    bound: Bound,
    found: DataFrame,
    names: Sequence[str],
    windows: Sequence[Window],
    grid: Grid,
    parts: Parts,
    ready: Mapping[str, str] | None = None,
) -> DataFrame:
    """Give windows their ids and times, and finish the aggregates but those that are `ready`, in columns so named."""
    merged, done = _rebuilt(parts, ""), ready or {}
    results = [(F.col(done[n]) if n in done else finished(bound, n, merged)).alias(n) for n in names]
    return found.select(*identified(bound, windows, grid), *keys_back(bound), *results)


def shown_wide(
    bound: Bound,
    found: DataFrame,
    names: Sequence[str],
    windows: Sequence[Window],
    grid: Grid,
    parts: Parts,
    ready: Mapping[str, str] | None = None,
) -> DataFrame:
    """Finish the aggregates of each window in columns of their own, but those that are `ready`."""
    results, done = [], ready or {}
    for number, window in enumerate(windows):
        merged = _rebuilt(parts, f"_{number}")
        # A window without an event has nothing but nulls here, and every finish turns nulls into null.
        results += [
            (F.col(f"{done[n]}_{number}") if n in done else finished(bound, n, merged)).alias(f"{n}_{window.id}")
            for n in names
        ]
    at = bound.instant(F.expr(grid.start(_END)))
    return found.select(*keys_back(bound), at.alias("at"), *results)


def _shown_runs(
    bound: Bound, found: DataFrame, names: Sequence[str], grid: Grid, parts: Parts, lists: Sequence[str]
) -> DataFrame:
    """Take runs of windows apart, give each its times, and finish the aggregates."""
    first, *others = lists
    # One list is exploded, and the others are asked for the same place: they have the same length.
    each = found.select(
        *(name for name in found.columns if name not in (START, first)),
        F.expr(f"{START} AS {_FIRST}"),
        F.posexplode(first).alias(_AT, first),
    )
    rows = each.selectExpr(
        WINDOW_ID,
        f"{_FIRST} + {_AT} * {SLIDE} AS {START}",
        RANGE,
        *key_names(bound),
        first,
        *(f"get({name}, {_AT}) AS {name}" for name in others),
    )
    merged = _rebuilt(parts, "")
    results = [finished(bound, name, merged).alias(name) for name in names]
    return rows.select(WINDOW_ID, spanned(bound, grid), *keys_back(bound), *results)


def _rebuilt(parts: Parts, suffix: str) -> dict[str, Column]:
    merged = {}
    for name, (column, part) in parts.items():
        assert part.lane is not None
        merged[name] = part.lane.rebuild({result: F.col(f"{column}_{result}{suffix}") for result in part.lane.results})
    return merged
