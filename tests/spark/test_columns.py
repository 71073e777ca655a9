"""Columns and their names: keys that take a name, joined frames, fields of structs. Beside `groupBy` by hand."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin import Statistics, agg, hopping, tumbling
from muntin.errors import ManagerError, QueryError
from tests.spark.streams import read, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession

    from muntin.physical.choose import Strategy

STRATEGIES: tuple[Strategy, ...] = ("native", "spread", "jvm", "arrow", "auto")
FEW = Statistics(rows=1e8, keys=1, span=300_000_000)


@pytest.fixture
def readings(spark: SparkSession) -> DataFrame:
    return spark.sql(
        "select timestamp_seconds(id) ts, id * 0.5D temp, named_struct('temp', id % 2, 'o', id) payload "
        "from range(0, 20, 1, 2)"
    )


def seen(frame: DataFrame) -> list[Any]:
    return sorted(tuple(row) for row in frame.collect())


@pytest.mark.parametrize(
    "make",
    [
        lambda: F.col("payload.temp"),
        lambda: (F.col("temp") / 7).cast("int").alias("temp"),
        lambda: (F.col("temp") > 4).alias("TEMP"),
        lambda: F.col("temp").cast("boolean"),
    ],
    ids=["field", "same name", "other case", "cast"],
)
def test_aggregates_read_the_column_and_not_the_key_of_its_name(
    readings: DataFrame, make: Callable[[], Column]
) -> None:
    key = make()
    q = (
        mt.windows(readings, time="ts", keys=key)
        .over(tumbling("10s"))
        .agg(a=agg.sum("temp"), b=agg.max(F.col("temp") + 1), n=agg.count(filter="temp > 5"), t=agg.max("ts"))
    )
    by_hand = readings.groupBy(F.window("ts", "10 seconds").alias("w"), key.alias("key")).agg(
        F.sum("temp"), F.max(F.col("temp") + 1), F.count_if(F.col("temp") > 5), F.max("ts")
    )
    wanted = seen(by_hand.select("w.start", *by_hand.columns[1:]))
    assert len(wanted) >= 2
    for strategy in STRATEGIES:
        found = q.plan(strategy=strategy, statistics=FEW).run()
        assert found.columns[2] == q.keys[0]
        assert seen(found.select("window.start", *found.columns[2:])) == wanted, strategy
    assert seen(q.native().select("window.start", *found.columns[2:])) == wanted


def test_aggregates_read_the_time_column_and_not_the_time_of_its_name(readings: DataFrame) -> None:
    later = (F.col("ts") + F.expr("interval 1 hour")).alias("ts")
    q = mt.windows(readings, time=later).over(tumbling("1h")).agg(t=agg.max("ts"))
    (row,) = q.plan().run().select(F.col("window.start").cast("long"), F.col("t").cast("long")).collect()
    assert tuple(row) == (3600, 19)
    assert seen(q.plan().run()) == seen(q.native())


def test_a_column_given_as_an_expression_is_that_column(readings: DataFrame) -> None:
    q = mt.windows(readings, time=F.col("ts"), keys=F.col("temp")).over(tumbling("10s")).agg(n=agg.count())
    assert q.source is readings
    assert (q.time, q.keys) == ("ts", ("temp",))


@pytest.mark.parametrize("as_text", [True, False])
def test_columns_of_a_join_by_their_aliases(readings: DataFrame, as_text: bool) -> None:
    frame = readings.selectExpr("ts", "temp", "payload.temp k")
    pairs = frame.alias("a").join(frame.alias("b"), F.col("a.ts") == F.col("b.ts"))
    given: Any = ("a.ts", "b.k", "a.temp") if as_text else (F.col("a.ts"), F.col("b.k").alias("k"), F.col("a.temp"))
    time, key, value = given
    q = mt.windows(pairs, time=time, keys=key).over(tumbling("10s")).agg(s=agg.sum(value))
    wanted = seen(
        pairs.groupBy(F.window("a.ts", "10 seconds").alias("w"), "b.k")
        .agg(F.sum("a.temp").alias("s"))
        .select("w.start", "k", "s")
    )
    for strategy in STRATEGIES:
        found = q.plan(strategy=strategy, statistics=FEW).run()
        assert seen(found.select("window.start", *(f"`{name}`" for name in found.columns[2:]))) == wanted, strategy
    with pytest.raises(QueryError, match=r"reads 'a.tmp': there is no such column"):
        mt.windows(pairs, time=time, keys=key).over(tumbling("10s")).agg(s=agg.sum("a.tmp")).plan()


def test_a_struct_may_be_spelled_in_two_cases(readings: DataFrame, tmp_path: Path) -> None:
    """Spark 4.3 prunes one of the two spellings below two explodes: only what was written to a file shows it."""
    path = str(tmp_path / "readings")
    readings.write.parquet(path)
    frame = readings.sparkSession.read.parquet(path)
    of = mt.windows(frame, time="ts", keys="payload.temp").over(tumbling("2s"), hopping("4s", slide="2s"))
    q = of.agg(s=agg.sum("PAYLOAD.temp"), t=agg.max(F.col("Payload.o")), n=agg.count(filter="PayLoad.o > 3"))
    wanted = seen(q.native())
    assert len(wanted) > 20
    for strategy in STRATEGIES:
        assert seen(q.plan(strategy=strategy, statistics=FEW).run()) == wanted, strategy


def test_a_manager_takes_no_key_that_hides_a_column(spark: SparkSession, tmp_path: Path) -> None:
    stream = read(spark, write(tmp_path / "in", []))
    with pytest.raises(ManagerError, match="the key 'k' is an expression named like a column"):
        mt.Manager(
            stream, time="ts", keys=F.upper("k").alias("k"), watermark="10s",
            checkpoint=tmp_path / "ck", sink=tmp_path / "out",
        )  # fmt: skip


def test_sums_of_decimals_that_overflow_are_null_where_spark_makes_them_so(spark: SparkSession) -> None:
    nines = "9" * 38
    frame = spark.sql(
        f"select timestamp_seconds(c1) ts, c2 k, cast(c3 as decimal(38,0)) v from values "
        f"(0, 'a', {nines}BD), (0, 'a', {nines}BD), (10, 'a', 5BD), (11, 'a', -7BD), "
        f"(0, 'b', {nines}BD), (10, 'b', {nines}BD), (0, 'c', 1BD), (10, 'c', null), (20, 'c', 2BD), (0, 'd', null) "
        "as t(c1, c2, c3)"
    )
    windows = (tumbling("10s"), tumbling("20s"), tumbling("30s"))
    q = mt.windows(frame, time="ts", keys="k").over(*windows).agg(s=agg.sum("v"), n=agg.count("v"))
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        wanted = seen(q.native().select("window_id", "k", "window.start", F.col("s").cast("string"), "n"))
        sums = {(row[0], row[1]): row[3] for row in wanted if row[2].timestamp() == 0}
        assert (sums["tumbling_30s", "a"], sums["tumbling_30s", "b"], sums["tumbling_30s", "c"]) == (None, None, "3")
        for strategy in STRATEGIES[1:3]:
            found = q.plan(strategy=strategy, statistics=FEW).run()
            assert found.dtypes == q.native().dtypes
            told = found.select("window_id", "k", "window.start", F.col("s").cast("string"), "n")
            assert seen(told) == wanted, strategy
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    roomy = mt.windows(frame.withColumn("v", F.lit(Decimal("1.5"))), time="ts").over(*windows).agg(s=agg.sum("v"))
    assert seen(roomy.plan(strategy="jvm", statistics=FEW).run()) == seen(roomy.native())


@pytest.mark.parametrize(
    "key", ["null", "make_interval(0, 0, 0, id % 2)", "struct(map('a', id % 2))"], ids=["void", "interval", "map"]
)
def test_what_is_computed_apart_meets_by_keys_that_spark_does_not_join(spark: SparkSession, key: str) -> None:
    frame = spark.sql(f"select timestamp_seconds(id) ts, {key} k, cast(id as int) id from range(0, 60, 1, 2)")
    frame = frame.withColumn("v", F.expr("if(id < 20, null, id)"))
    q = (
        mt.windows(frame, time="ts", keys="k")
        .over(tumbling("20s"), hopping("30s", slide="10s"))
        .agg(middle=agg.median("v"), n=agg.count("v"), name=agg.max(F.col("v").cast("string")))
    )

    def told(rows: DataFrame) -> list[Any]:
        return seen(rows.selectExpr("window_id", "window.start", "to_json(struct(k))", "middle", "n", "name"))

    wanted = told(q.native())
    assert len(wanted) >= 11
    for strategy in STRATEGIES[1:]:
        plan = q.plan(strategy=strategy, statistics=FEW)
        assert plan.run().dtypes == q.native().dtypes
        assert plan.run().columns == list(q.columns)
        assert told(plan.run()) == wanted, strategy


def test_nothing_but_nulls_is_neither_true_nor_false(spark: SparkSession) -> None:
    frame = spark.sql("select timestamp_seconds(id) ts, null v from range(0, 20, 1, 1)")
    q = mt.windows(frame, time="ts").over(tumbling("5s"), tumbling("10s")).agg(a=agg.any("v"), b=agg.all("v"))
    for strategy in STRATEGIES:
        found = q.plan(strategy=strategy, statistics=FEW).run()
        assert found.dtypes == q.native().dtypes, strategy
        assert seen(found) == seen(q.native()), strategy


def test_what_is_known_of_the_files_of_events(spark: SparkSession, tmp_path: Path) -> None:
    for part in range(3):
        events = spark.sql(f"select timestamp_seconds(id * 3) ts, id v from range({part}, {20 + part}, 1, 1)")
        events.write.parquet(str(tmp_path / f"part={part}"))
    frame = spark.read.parquet(str(tmp_path))
    told = frame.select("*", F.col("_metadata.file_path").alias("file"), F.col("_metadata.file_size").alias("size"))

    def query(of: DataFrame, file: str, size: Any, kept: str) -> Any:
        return (
            mt.windows(of, time="ts", keys=file)
            .over(tumbling("10s"), hopping("20s", slide="10s"))
            .agg(n=agg.count(filter=kept), middle=agg.median(size), most=agg.max(size), v=agg.sum("v"))
        )

    wanted = seen(query(told, "file", "size", "size > 1").native())
    assert len({row[2] for row in wanted}) == 3
    for size in ("_metadata.file_size", F.col("_metadata.file_size")):
        q = query(frame, "_metadata.file_path", size, "_metadata.file_size > 1")
        assert seen(q.native()) == wanted
        for strategy in STRATEGIES:
            assert seen(q.plan(strategy=strategy, statistics=FEW).run()) == wanted, strategy
