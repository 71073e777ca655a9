"""What is looked at before a query is planned: little, and not where even a little takes all of the work."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin import agg, hopping, tumbling
from muntin.table_plan import TablePlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

MANY = tuple(tumbling(f"{n}m") for n in range(1, 9))


@pytest.fixture
def texts(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """40,000 events in four files."""
    path = str(tmp_path / "texts")
    spark.range(0, 40_000, 1, 4).selectExpr("timestamp_seconds(id) ts", "id % 3 k").write.csv(path)
    return spark.read.schema("ts timestamp, k bigint").csv(path)


@contextmanager
def counted_jobs(spark: SparkSession) -> Iterator[Callable[[], int]]:
    """Count the jobs that Spark begins for what is done meanwhile."""
    group = str(uuid.uuid4())
    spark.sparkContext.setJobGroup(group, "planning")
    try:
        yield lambda: len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))
    finally:
        spark.sparkContext.setJobGroup("", "")


def planned(frame: DataFrame, *windows: mt.Window) -> TablePlan:
    plan = mt.windows(frame, time="ts", keys="k").over(*windows).agg(n=agg.count()).plan()
    assert isinstance(plan, TablePlan)
    return plan


@pytest.mark.parametrize(
    "above",
    [
        lambda frame: frame.dropDuplicates(["ts"]),
        lambda frame: frame.orderBy("ts"),
        lambda frame: frame.groupBy("ts", "k").count(),
        lambda frame: frame.join(frame.select(F.col("ts").alias("t")), F.col("ts") == F.col("t")),
        lambda frame: frame.repartition(3),
    ],
    ids=["duplicates", "sorted", "grouped", "joined", "repartitioned"],
)
def test_work_is_not_done_twice_to_look_at_its_first_rows(spark: SparkSession, texts: DataFrame, above: object) -> None:
    assert callable(above)
    frame = above(texts)
    with counted_jobs(spark) as begun:
        one = planned(frame, tumbling("1m"))
        few = planned(frame, tumbling("1m"), tumbling("5m"))
        assert not begun()
        # Where the ways differ by far it is worth it.
        for windows in (MANY, [hopping("1h", slide="1m")]):
            assert planned(frame, *windows).physical.statistics.seen
        assert begun()
    assert not one.physical.statistics.seen
    assert "not looked at: even the first rows take all of the work" in one.explain()
    assert {step.way for plan in (one, few) for step in plan.physical.steps} <= {"native", "spread"}
    assert few.run().count() == few.query.native().count() > 0


def test_what_spark_keeps_is_looked_at(texts: DataFrame) -> None:
    kept = texts.orderBy("ts").cache()
    assert planned(kept, tumbling("1m")).physical.statistics.seen
    kept.unpersist()


def test_first_rows_are_taken_from_the_first_partition_alone(spark: SparkSession, texts: DataFrame) -> None:
    tracker, group = spark.sparkContext.statusTracker(), str(uuid.uuid4())
    spark.conf.set("spark.sql.files.maxPartitionBytes", "400k")
    spark.sparkContext.setJobGroup(group, "planning")
    try:
        assert texts.rdd.getNumPartitions() >= 4
        found = planned(texts, tumbling("1m")).physical.statistics
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        assert sum(stage.numTasks for stage in stages if stage) == 1
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
        spark.sparkContext.setJobGroup("", "")
    assert found.seen
    assert found.keys == 3


def test_sql_over_files_is_planned_without_a_job(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "events")
    spark.range(0, 20_000, 1, 1).selectExpr("timestamp_seconds(id) ts", "id % 3 k", "id v").write.parquet(path)
    frame = spark.read.parquet(path)
    with counted_jobs(spark) as begun:
        text = "SELECT {}, COUNT(*) AS n FROM Input TIMESTAMP BY {} GROUP BY {}, TumblingWindow(minute, 5)"
        plain = mt.sql(text.format("K AS device", "TS", "K"), Input=frame).plan()
        covered = mt.windows(frame, time="ts", keys=F.col("k").cast("string")).over(tumbling("1m")).agg(n=agg.sum("k"))
        assert not begun()
        made = [
            mt.sql(text.format("v % 5 AS k", "ts", "v % 5"), Input=frame).plan(),
            mt.sql(text.format("k", "DATEADD(day, 1, ts)", "k"), Input=frame).plan(),
            covered.plan(),
        ]
        assert begun()
    for plan, keys in zip([plain, *made], (3, 5, 3, 3), strict=True):
        assert isinstance(plan, TablePlan)
        assert (plan.physical.statistics.keys, plan.physical.statistics.rows) == (keys, 20_000)


def test_keys_with_maps_inside_are_looked_at(spark: SparkSession) -> None:
    frame = spark.sql("select timestamp_seconds(id) ts, named_struct('m', map('a', id % 2)) k from range(20)")
    plan = planned(frame, tumbling("10s"), tumbling("20s"))
    assert plan.physical.statistics.keys == 2
    assert plan.run().count() == plan.query.native().count() == 6


def test_a_hot_key_is_found(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "events")
    hot = "if(id % 10 < 7, 0, id % 1000)"
    spark.range(0, 20_000, 1, 1).selectExpr("timestamp_seconds(id) ts", f"{hot} k").write.parquet(path)
    found = planned(spark.read.parquet(path), *MANY).physical.statistics
    assert found.keys > 64
    assert 0.6 < found.hot < 0.8


@pytest.mark.parametrize(
    "above",
    [
        lambda frame: frame.where("k = 7"),
        lambda frame: frame.where(F.udf(lambda k: k == 7, "boolean")("k")),
        lambda frame: frame.mapInArrow(lambda batches: batches, frame.schema),
    ],
    ids=["filter", "function", "batches"],
)
def test_one_window_does_not_wait_for_the_few_rows_that_pass(
    spark: SparkSession, texts: DataFrame, above: object
) -> None:
    assert callable(above)
    frame = above(texts)
    with counted_jobs(spark) as begun:
        one = planned(frame, tumbling("1m"))
        assert not begun()
        # By hand two windows read the events twice: to look at them and to read them once is no more.
        for windows in ([tumbling("1m"), tumbling("5m")], [hopping("1h", slide="1m")]):
            assert planned(frame, *windows).physical.statistics.seen
        assert begun()
    assert not one.physical.statistics.seen


def test_the_last_rows_are_looked_at_too(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "events")
    begun = spark.range(0, 20_000, 1, 1).selectExpr("timestamp_seconds(0) ts", "0L k", "id v")
    later = spark.range(0, 40_000, 1, 2).selectExpr("timestamp_seconds(id * 500) ts", "id % 5000 k", "id v")
    begun.unionAll(later).write.parquet(path)
    found = planned(spark.read.parquet(path), *MANY).physical.statistics
    assert found.rows == 60_000
    assert found.keys >= 5_000
    assert found.span >= 10_000_000_000


def test_the_last_rows_of_one_file_are_in_its_last_row_group(tmp_path: Path, spark: SparkSession) -> None:
    times = pa.array([0] * 20_000 + [second * 1_000_000 for second in range(20_000)], pa.timestamp("us", "UTC"))
    path = str(tmp_path / "events.parquet")
    pq.write_table(pa.table({"ts": times, "k": pa.array([0] * 40_000)}), path, row_group_size=20_000)
    found = planned(spark.read.parquet(path), *MANY).physical.statistics
    assert (found.rows, found.keys) == (40_000, 1)
    assert found.span == 9_999_000_000


def test_lists_of_texts_take_more_room_than_lists_of_numbers(spark: SparkSession) -> None:
    frame = spark.range(10).selectExpr("timestamp_seconds(id) ts", "id v", "string(id) s")
    known = mt.Statistics(rows=300_000, keys=1, span=15_000_000_000)
    query = mt.windows(frame, time="ts").over(*(tumbling(f"{n}h") for n in range(3, 13)))
    notes = {}
    for column in ("v", "s"):
        plan = query.agg(all=agg.collect(column)).plan(statistics=known)
        assert isinstance(plan, TablePlan)
        notes[column] = next(c.note for c in plan.physical.candidates if c.name == "spread")
        ways = [step.way for step in plan.physical.steps]
        assert ways == ["spread"] if column == "v" else "spread" not in ways
    assert notes["s"].startswith("the values of all windows")
    assert not notes["v"].startswith("the values of all windows")
    two = query.agg(x=agg.collect("v"), y=agg.collect("v", filter="v > 1"), z=agg.collect("v", filter="v > 2")).plan(
        statistics=known
    )
    assert isinstance(two, TablePlan)
    assert "spread" not in [step.way for step in two.physical.steps]
