"""A stream's checkpoint as its owner sees it: the slices that are open, what each bucket remembers, and the plan."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import types as T

from muntin.errors import StateError
from muntin.spark.reason import reason
from muntin.spark.stateful import CLOCK, PLAN, SLICES
from muntin.spark.streaming import SLICE_START, arrow_schema
from muntin.stream.blob import decode
from muntin.stream.clock import Clock
from muntin.stream.labels import labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

_HEAD: Final = (T.StructField("bucket", T.IntegerType()), T.StructField("level", T.IntegerType()))
_CLOCKS: Final = (
    _HEAD[0],
    T.StructField("batch", T.LongType()),
    T.StructField("watermark", T.TimestampType()),
    T.StructField("slices", T.LongType()),
    T.StructField("nodes", T.LongType()),
)


def read_state(spark: SparkSession, checkpoint: str, batch: int | None = None) -> DataFrame:
    """Read the slices that a stream keeps, after its last micro-batch or a given one: a row for each key and slice.

    The columns are the bucket, the level, when the slice begins, the keys, and the partials as the state holds them:
    times and dates as numbers since 1970. Level 0 are the slices; the rows above are nodes of a tree over them, which
    hold the same events again.
    """
    plan = read_plan(spark, checkpoint, batch)
    if "columns" not in plan:
        msg = f"{checkpoint} is a manager's: its slices have columns that change. Ask the manager for status()"
        raise StateError(msg)
    keys = len(plan["keys"])
    # Types are kept in Spark's own JSON, which any struct of keys goes through unharmed.
    fields = [T.StructField.fromJson({"name": n, "type": t, "nullable": True}) for n, t in plan["columns"]]
    stored = [*fields[:keys], T.StructField(SLICE_START, T.LongType()), *fields[keys + 1 :]]
    shown = [*_HEAD, fields[keys], *fields[:keys], *fields[keys + 1 :]]
    # On the way names are numbers: those of the columns may have dots, and be alike.
    numbered = [T.StructField(f"_{place}", field.dataType) for place, field in enumerate(shown)]
    work = _Slices(arrow_schema(stored), arrow_schema(numbered), keys, tuple(plan["pane"]), _numbers(plan))
    found = (
        _stored(spark, checkpoint, SLICES, batch)
        # Below are what the output mode "latest" has shown, and events that aggregates in Python read.
        .where("user_map_key.level >= 0")
        .select("key.bucket", "user_map_key.level", "user_map_value.rows")
        .mapInArrow(work, T.StructType(numbered))
    )
    return found.toDF(*(field.name for field in shown))


def read_clocks(spark: SparkSession, checkpoint: str, batch: int | None = None) -> DataFrame:
    """Read what each bucket of keys remembers: the last micro-batch, its watermark, its slices and nodes."""
    numbers = _numbers(read_plan(spark, checkpoint, batch))
    found = _stored(spark, checkpoint, CLOCK, batch).select("key.bucket", "value.packed")
    return found.mapInArrow(_Clocks(arrow_schema(_CLOCKS), numbers), T.StructType([*_CLOCKS]))


def read_plan(spark: SparkSession, checkpoint: str, batch: int | None = None) -> dict[str, Any]:
    """Read which query a checkpoint belongs to: its windows, aggregates, keys, buckets, and the state's columns."""
    try:
        found = _stored(spark, checkpoint, PLAN, batch).select("value.plan").limit(1).collect()
    except PySparkException as error:
        msg = f"{checkpoint} cannot be read as the checkpoint of windows over a stream: {reason(error)}"
        raise StateError(msg) from error
    if not found:
        msg = f"the checkpoint {checkpoint} holds no slices yet: its stream has not seen an event"
        raise StateError(msg)
    plan: dict[str, Any] = json.loads(found[0][0])
    return plan


def clear_torn(checkpoint: Path) -> None:
    """Take away what a start left that was killed while it wrote its first offsets.

    Spark would refuse the checkpoint ever after: to it a hidden file is a sign that another query was here.
    """
    folder = checkpoint / "offsets"
    if not any(place.name.isdigit() for place in folder.glob("*")):
        for place in folder.glob(".*.tmp*"):
            place.unlink()


def _stored(spark: SparkSession, checkpoint: str, variable: str, batch: int | None) -> DataFrame:
    reader = spark.read.format("statestore").option("stateVarName", variable)
    reader = reader if batch is None else reader.option("batchId", batch)
    return reader.load(checkpoint)


def _numbers(plan: Mapping[str, Any]) -> dict[int, int]:
    """Find the number of each bucket, which Spark knows by its label."""
    return {label: number for number, label in enumerate(labels(plan["buckets"]))}


class _Slices:
    """Make rows of blobs, in `mapInArrow`."""

    def __init__(
        self, stored: pa.Schema, shown: pa.Schema, keys: int, pane: tuple[int, int], numbers: Mapping[int, int]
    ) -> None:
        self.stored, self.shown, self.keys, self.pane, self.numbers = stored, shown, keys, pane, numbers

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        width, offset = self.pane
        for batch in batches:
            for label, level, blob in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                rows = decode(blob, self.stored)
                marks = [np.full(rows.num_rows, number, np.int32) for number in (self.numbers[label], level)]
                starts = pa.array(rows.column(self.keys).to_numpy() * width + offset).cast(self.shown.types[2])
                columns = [*rows.columns[: self.keys], *rows.columns[self.keys + 1 :]]
                yield pa.RecordBatch.from_arrays([*map(pa.array, marks), starts, *columns], schema=self.shown)


class _Clocks:
    """Make rows of what buckets remember, in `mapInArrow`."""

    def __init__(self, shown: pa.Schema, numbers: Mapping[int, int]) -> None:
        self.shown, self.numbers = shown, numbers

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for label, packed in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                clock = Clock.unpack(packed)
                nodes = sum(len(kept) for level, kept in clock.kept.items() if level > 0)
                row = (self.numbers[label], clock.batch, clock.watermark, len(clock.kept[0]), nodes)
                arrays = [pa.array([cell]).cast(kind) for cell, kind in zip(row, self.shown.types, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=self.shown)
