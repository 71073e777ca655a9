"""Windows from one topic of Kafka to another, on a Spark of its own: jars must be there when the JVM starts.

It is started as `python -m tests.sources.kafka_driver BROKER FOLDER JAR...`.
"""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

import muntin as mt
from muntin import agg, hopping, tumbling
from muntin.spark.session import start
from tests.spark.streams import plain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from muntin import Query

SCHEMA = "t bigint, device string, temp double"
BEGIN, SECONDS, LATE = 1_700_000_000, 900, 30
# A value that is null stays a field of its message.
OPTIONS = {"ignoreNullFields": "false"}
WINDOWS = (tumbling("30s"), tumbling("1m"), hopping("5m", slide="30s"))


def main(broker: str, folder: str, *jars: str) -> None:
    """Send events, run windows over them, send more, go on from the checkpoint, and compare with a table."""
    spark = start(
        "local[2]",
        {
            "spark.jars": ",".join(jars),
            "spark.driver.memory": "700m",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.sql.shuffle.partitions": "1",
        },
    )
    rng = random.Random(3)
    times = [BEGIN + second - rng.randint(0, LATE) for second in range(SECONDS)]
    events = [(time, rng.choice("abc"), rng.uniform(-5, 30)) for time in times]
    # After all others, so that the watermark passes the end of every window that holds one of them.
    last = (BEGIN + 10 * SECONDS, "end", 0.0)
    for part in (events[: SECONDS // 2], [*events[SECONDS // 2 :], last]):
        send(spark, broker, "events", spark.createDataFrame(part, SCHEMA).coalesce(1))
        windowed(spark, broker, folder)
    wanted = asked(spark.createDataFrame(events, SCHEMA)).native()
    found = received(spark, broker, "windows", wanted)
    rows = [sorted((plain(row) for row in frame.collect()), key=repr) for frame in (found, wanted)]
    assert rows[0] == rows[1], f"{len(rows[0])} rows from Kafka, {len(rows[1])} of the table"
    print("rows", len(rows[0]))
    spark.stop()


def asked(events: DataFrame) -> Query:
    """Ask for the windows of events."""
    frame = events.withColumn("ts", F.timestamp_seconds("t"))
    # One partition may be read further than the other: more patience than the events themselves ask for.
    late = f"{3 * LATE}s" if events.isStreaming else None
    query = mt.windows(frame, time="ts", keys="device", watermark=late)
    return query.over(*WINDOWS).agg(n=agg.count(), low=agg.min("temp"), mean=agg.avg("temp"))


def windowed(spark: SparkSession, broker: str, folder: str) -> None:
    """Run the windows over what the topic has, several micro-batches of it, from the checkpoint on."""
    source = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", broker)
        .option("subscribe", "events")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 300)
        .load()
    )
    events = source.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("event")).select("event.*")
    rows = asked(events).plan(strategy="arrow").stream()
    running = (
        as_messages(rows)
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", broker)
        .option("topic", "windows")
        .option("checkpointLocation", folder)
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert running.awaitTermination(120), "the stream did not end"
    finally:
        running.stop()
    assert len(running.recentProgress) >= 2


def as_messages(rows: DataFrame) -> DataFrame:
    """Make each row a message: its device the key, all of it the value."""
    return rows.select(F.col("device").alias("key"), F.to_json(F.struct("*"), OPTIONS).alias("value"))


def received(spark: SparkSession, broker: str, topic: str, like: DataFrame) -> DataFrame:
    """Read all messages of a topic as rows."""
    found = spark.read.format("kafka").option("kafka.bootstrap.servers", broker).option("subscribe", topic).load()
    return found.select(F.from_json(F.col("value").cast("string"), like.schema, OPTIONS).alias("row")).select("row.*")


def send(spark: SparkSession, broker: str, topic: str, rows: DataFrame) -> None:
    """Send rows to a topic, each device to a partition of its own."""
    as_messages(rows).write.format("kafka").option("kafka.bootstrap.servers", broker).option("topic", topic).save()


if __name__ == "__main__":
    main(*sys.argv[1:])
