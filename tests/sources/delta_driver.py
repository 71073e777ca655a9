"""Delta tables in and out, as table and as stream, on a Spark of its own: jars must be there when the JVM starts.

It is started as `python -m tests.sources.delta_driver FOLDER JAR...`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

import muntin as mt
from muntin import agg, hopping, tumbling
from muntin.spark.delta import with_delta
from muntin.spark.session import start
from tests.spark.streams import plain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from muntin import Query

SECONDS = 900
BEGIN = 1_700_000_000


def main(folder: str, *jars: str) -> None:
    """Write events, ask for windows over them as a table and as a stream, and compare with the plan by hand."""
    settings = {
        "spark.jars": ",".join(jars),
        "spark.driver.memory": "700m",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "1",
        # Each reading of a table's log would be fifty tasks.
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    spark = start("local[2]", with_delta(settings))
    events = spark.range(SECONDS).select(
        F.timestamp_seconds(F.col("id") + BEGIN).alias("ts"),
        F.concat(F.lit("d"), F.col("id") % 3).alias("device"),
        F.sin("id").alias("temp"),
    )
    for half in ("ts < timestamp_seconds(1700000450)", "ts >= timestamp_seconds(1700000450)"):
        events.where(half).coalesce(1).write.format("delta").mode("append").save(f"{folder}/events")
    wanted = collected(asked(events).native())
    asked(spark.read.format("delta").load(f"{folder}/events")).plan().run().write.format("delta").save(
        f"{folder}/table"
    )
    assert collected(spark.read.format("delta").load(f"{folder}/table")) == wanted

    # After all others, so that the watermark passes the end of every window that holds one of them.
    last = events.limit(1).select(F.timestamp_seconds(F.lit(BEGIN + 9 * SECONDS)).alias("ts"), F.lit("end"), "temp")
    last.toDF("ts", "device", "temp").write.format("delta").mode("append").save(f"{folder}/events")
    stream = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(f"{folder}/events")
    running = (
        asked(stream)
        .plan(strategy="arrow")
        .stream()
        .writeStream.format("delta")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start(f"{folder}/stream")
    )
    try:
        assert running.awaitTermination(120), "the stream did not end"
    finally:
        running.stop()
    assert collected(spark.read.format("delta").load(f"{folder}/stream")) == wanted
    print("rows", len(wanted))
    spark.stop()


def asked(events: DataFrame) -> Query:
    """Ask for the windows of events."""
    late = "30s" if events.isStreaming else None
    query = mt.windows(events, time="ts", keys="device", watermark=late).over(tumbling("1m"), hopping("5m", slide="1m"))
    return query.agg(n=agg.count(), low=agg.min("temp"), mean=agg.avg("temp"))


def collected(rows: DataFrame) -> list[tuple[Any, ...]]:
    """Give rows in an order of their own."""
    return sorted((plain(row) for row in rows.collect()), key=repr)


if __name__ == "__main__":
    main(*sys.argv[1:])
