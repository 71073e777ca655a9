"""Events to measure with, written once as parquet on the local disk: seeded, in order of time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from muntin.errors import MuntinError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession

# The events begin here: 2024-01-01 00:00 UTC, in seconds.
BEGIN: Final = 1_704_067_200
TYPES: Final = ("view", "cart", "buy")
_MICROS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Source:
    """Events as files: where they are, what they are, and a few of them to warm up on."""

    path: str
    few: str
    rows: int
    what: str


def constant_pace(spark: SparkSession, folder: Path, events: int, *, few: int = 10_000) -> Source:
    """Write events of one device, one each second, as Synthetic-10M has them (factor-windows V-A.2)."""
    return _source(folder, events, few, partial(_paced, spark), "synthetic: one event each second, one key")


def power(spark: SparkSession, folder: Path, events: int, data: Path | None, *, few: int = 10_000) -> Source:
    """Write events of a machine's power: a sample repeated end to end, or made up where there is none.

    The sample is parquet with the time `ts` and the power `mf01` (DEBS 2012 Grand Challenge).
    """
    if data is None:
        what = "synthetic stand-in for the DEBS 2012 power readings: 100 events a second, jittered, one key"
        return _source(folder, events, few, partial(_made_up, spark), what)
    build, size = _tiled(spark, data)
    times = max(1.0, events / size)
    what = f"{data.name}: {size:,} real events, repeated end to end {times:,.1f} times, one key"
    return _source(folder, events, few, build, what)


def shop(spark: SparkSession, folder: Path, name: str, events: int, keys: int, days: int) -> str:
    """Write events of visitors of a shop, of three types, at random over some days."""
    from pyspark.sql import functions as F

    span = days * 86_400 * _MICROS
    number = F.floor(F.rand(11) * len(TYPES)).cast("int")
    frame = _in_order(spark, events, span).select(
        "ts",
        F.floor(F.rand(12) * keys).alias("visitor"),
        F.get(F.array(*(F.lit(kind) for kind in TYPES)), number).alias("type"),
    )
    return _written(frame, folder / name)


def mixed(spark: SparkSession, folder: Path, events: int, keys: int, span: float, seed: int) -> str:
    """Write events with values of several types; `span` is the seconds they spread over."""
    from pyspark.sql import functions as F

    key = F.floor(F.rand(seed) * keys) if keys > 1 else F.lit(0).cast("bigint")
    value = F.rand(seed + 1) * 100
    frame = _in_order(spark, events, max(1, int(span * _MICROS))).select(
        "ts",
        key.alias("device"),
        value.alias("v"),
        F.floor(F.rand(seed + 2) * 1_000).alias("n"),
        F.concat(F.lit("item "), F.floor(F.rand(seed + 3) * 1_000)).alias("s"),
        value.cast("decimal(12,2)").alias("d"),
    )
    return _written(frame, folder / f"mixed_{seed}")


def _paced(spark: SparkSession, events: int) -> DataFrame:
    from pyspark.sql import functions as F

    time = F.timestamp_seconds(F.col("id") + BEGIN)
    return _numbers(spark, events).select(time.alias("ts"), *_one_device(F.rand(1) * 100))


def _made_up(spark: SparkSession, events: int) -> DataFrame:
    from pyspark.sql import functions as F

    # A daily cycle and noise; each event up to 4 ms off its place at 100 events a second.
    micros = F.col("id") * 10_000 + (F.rand(2) * 4_000).cast("bigint") + BEGIN * _MICROS
    cycle = F.sin(F.col("id") * (6.283185307 / 8_640_000)) * 3_000
    value = F.round(F.rand(3) * 500 + 12_000 + cycle)
    return _numbers(spark, events).select(F.timestamp_micros(micros).alias("ts"), *_one_device(value))


def _repeated(spark: SparkSession, sample: DataFrame, size: int, period: int, events: int) -> DataFrame:
    from pyspark.sql import functions as F

    later = F.call_function("div", F.col("id"), F.lit(size)) * period
    # The sample goes to every core whole, so that the numbers stay in order, and with them the times.
    numbered = _numbers(spark, events).withColumn("place", F.pmod("id", F.lit(size)))
    return numbered.join(F.broadcast(sample), "place").select(
        F.timestamp_micros(F.col("micros") + later).alias("ts"), *_one_device(F.col("value"))
    )


def _tiled(spark: SparkSession, data: Path) -> tuple[Callable[[int], DataFrame], int]:
    """Read a sample, to be repeated end to end; and say how many events it has."""
    from pyspark.errors import PySparkException
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    if not data.exists():
        msg = f"there is no {data}: give --data a parquet file with the columns ts and mf01"
        raise MuntinError(msg)
    try:
        sample = spark.read.parquet(str(data)).select(
            F.unix_micros(F.col("ts").cast("timestamp")).alias("micros"), F.col("mf01").cast("double").alias("value")
        )
        found = sample.agg(F.count("*"), F.min("micros"), F.max("micros")).first()
    except PySparkException as error:
        msg = f"{data} cannot be read as parquet with the columns ts and mf01: {str(error).splitlines()[0]}"
        raise MuntinError(msg) from error
    size, first, last = found or (0, 0, 0)
    if size < 2:
        msg = f"{data} has {size} events: two at least are needed to know their pace"
        raise MuntinError(msg)
    placed = sample.withColumn("place", (F.row_number().over(Window.orderBy("micros")) - 1).cast("bigint"))
    # The next turn begins one mean gap after the last event.
    period = (last - first) * size // (size - 1)
    return partial(_repeated, spark, placed, size, period), size


def _source(folder: Path, events: int, few: int, build: Callable[[int], DataFrame], what: str) -> Source:
    path = _written(build(events), folder / "events")
    return Source(path, _written(build(min(events, few)), folder / "few"), events, what)


def _one_device(value: Column) -> tuple[Column, Column]:
    from pyspark.sql import functions as F

    return F.lit("device-1").alias("device"), value.cast("double").alias("v")


def _in_order(spark: SparkSession, events: int, span: int) -> DataFrame:
    """Give each numbered event a time near its place: as a log has them."""
    from pyspark.sql import functions as F

    step = span / events
    micros = ((F.col("id") + F.rand(9)) * step).cast("bigint") + BEGIN * _MICROS
    return _numbers(spark, events).withColumn("ts", F.timestamp_micros(micros))


def _numbers(spark: SparkSession, events: int) -> DataFrame:
    # Few files for few events: small ones would cost more to open than to read.
    return spark.range(0, events, 1, max(1, min(8, events // 50_000)))


def _written(frame: DataFrame, path: Path) -> str:
    frame.write.mode("overwrite").parquet(str(path))
    return str(path)
