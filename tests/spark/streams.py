"""Streams for tests: events in files, one file for each micro-batch, and what queries over them emit when."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

PARTITIONS = "spark.sql.shuffle.partitions"
SCHEMA = "t bigint, k string, i int, v double, s string"
Event = dict[str, Any]


def write(folder: Path, batches: Sequence[Sequence[Event]], first: int = 0) -> Path:
    """Write the events of each micro-batch to a file of its own; Spark takes files in order of their times."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, events in enumerate(batches, first):
        place = folder / f"{number:05}.json"
        hidden = folder / f".{number:05}.tmp"
        hidden.write_text("".join(json.dumps(event) + "\n" for event in events))
        os.utime(hidden, (number + 1, number + 1))
        hidden.rename(place)
    return folder


def read(spark: SparkSession, folder: Path) -> DataFrame:
    """Read the files as a stream, one for each micro-batch; times are microseconds."""
    found = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder))
    return found.withColumn("ts", F.timestamp_micros("t")).drop("t")


@dataclass(frozen=True)
class Emitted:
    """What a query emitted, micro-batch by micro-batch, and what Spark said of each."""

    rows: list[tuple[Any, ...]]
    """The number of the micro-batch, then the row."""
    progress: list[Any]

    @property
    def unnumbered(self) -> list[tuple[Any, ...]]:
        """The rows alone."""
        return sorted((row[1:] for row in self.rows), key=repr)


def emitted(frames: Mapping[str, DataFrame], checkpoints: Path, mode: str = "append") -> dict[str, Emitted]:
    """Run queries side by side over what there is, two tasks each, and gather what each emits."""
    spark = next(iter(frames.values())).sparkSession
    before = spark.conf.get(PARTITIONS) or "4"
    spark.conf.set(PARTITIONS, "2")
    gathered: dict[str, list[tuple[Any, ...]]] = {name: [] for name in frames}

    def collect(name: str) -> Any:
        def each(batch: DataFrame, number: int) -> None:
            gathered[name] += [(number, *plain(row)) for row in batch.collect()]

        return each

    running = {
        name: frame.writeStream.foreachBatch(collect(name))
        .outputMode(mode)
        .option("checkpointLocation", str(checkpoints / name))
        .trigger(availableNow=True)
        .start()
        for name, frame in frames.items()
    }
    # Each query has taken its own copy of the settings.
    spark.conf.set(PARTITIONS, before)
    try:
        for query in running.values():
            query.awaitTermination()
    finally:
        for query in running.values():
            query.stop()
    return {
        name: Emitted(sorted(gathered[name], key=repr), list(query.recentProgress)) for name, query in running.items()
    }


def plain(row: Any) -> tuple[Any, ...]:
    """Make a row one that compares: floats to nine digits, windows flat."""
    return tuple(_cell(cell) for cell in row)


def _cell(cell: Any) -> Any:
    if isinstance(cell, float):
        return "NaN" if math.isnan(cell) else float(f"{cell:.9g}")
    if isinstance(cell, tuple):
        return plain(cell)
    return cell
