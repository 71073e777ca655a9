"""Frames that users bring: windows over windows, keys named like the time, nested columns, files of several makers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin import Statistics, agg, hopping, tumbling
from muntin.errors import QueryError
from muntin.table_plan import TablePlan

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from muntin import Query
    from muntin.physical.choose import Strategy

STRATEGIES: Final[tuple[Strategy, ...]] = ("spread", "jvm", "arrow")
# Few keys go by coarse buckets.
MANY: Final = Statistics(rows=1e8, keys=1, span=300_000_000)
FEW: Final = Statistics(rows=10, keys=2, span=1_000_000)
MINUTES: Final = (tumbling("10m"), hopping("1h", slide="20m"))


def rows(frame: DataFrame) -> list[str]:
    return sorted(map(str, frame.collect()))


def strategies_agree(query: Query, *strategies: Strategy, statistics: Statistics = MANY) -> list[str]:
    expected = rows(query.native())
    for strategy in strategies or STRATEGIES:
        assert rows(query.plan(strategy=strategy, statistics=statistics).run()) == expected, strategy
    return expected


def planned(query: Query) -> TablePlan:
    plan = query.plan()
    assert isinstance(plan, TablePlan)
    return plan


@pytest.fixture
def readings(spark: SparkSession) -> DataFrame:
    return spark.sql("select timestamp_seconds(id * 37) ts, id % 3 k, id v from range(200)")


def test_windows_over_windows_as_in_spark(readings: DataFrame) -> None:
    query = mt.windows(readings, time="ts", keys="k").over(tumbling("1m"), tumbling("2m")).agg(n=agg.count())
    longer = F.window("window", "5 minutes"), F.window(F.window_time("window"), "5 minutes")
    native = query.native()
    for strategy in STRATEGIES:
        found = query.plan(strategy=strategy, statistics=MANY).run()
        assert found.schema["window"].metadata == native.schema["window"].metadata
        for window in longer:
            ours, theirs = (rows(each.groupBy(window).agg(F.sum("n"))) for each in (found, native))
            assert ours == theirs
            assert len(ours) == 25


@pytest.mark.parametrize("text", ["date_trunc('hour', ts) as ts", "cast(ts as date)"])
def test_a_key_that_is_called_like_the_time_is_not_the_time(readings: DataFrame, text: str) -> None:
    key = F.expr(text)
    events = mt.windows(readings, time="ts", keys=key).over(tumbling("10m"), tumbling("20m"))
    query = events.agg(n=agg.count(), last=agg.max("ts"))
    ten = readings.groupBy(F.window("ts", "10 minutes"), key).count().count()
    strategies_agree(query)
    assert query.native().where("window_id = 'tumbling_10m'").count() == ten == 13
    with pytest.raises(QueryError, match="called like the time column 'ts'"):
        mt.distinct(readings, time="ts", keys=key, items="v", windows=[tumbling("1h")])


def test_two_expressions_of_one_name_are_refused(readings: DataFrame) -> None:
    twice = [F.upper(F.lit("a")).alias("x"), F.lower(F.lit("b")).alias("x")]
    with pytest.raises(QueryError, match=r"two are called 'x'. Give one of them another name"):
        mt.windows(readings, time="ts", keys=twice)


def test_categories_of_pandas_are_looked_at(spark: SparkSession, tmp_path: Path) -> None:
    times = pd.date_range("2024-01-01", periods=30_000, freq="s").astype("datetime64[us]")
    frame = pd.DataFrame({"ts": times, "device": pd.Categorical(["a", "b", "c"] * 10_000)})
    frame.to_parquet(tmp_path / "events.parquet")
    of = mt.windows(spark.read.parquet(str(tmp_path)), time="ts", keys="device").over(*MINUTES)
    plan = planned(of.agg(n=agg.count(), kinds=agg.count_distinct("device")))
    assert (plan.physical.statistics.rows, plan.physical.statistics.keys) == (30_000, 3)
    assert rows(plan.run()) == rows(of.agg(n=agg.count(), kinds=agg.count_distinct("device")).native())


def test_files_of_several_schemas(spark: SparkSession, tmp_path: Path) -> None:
    times = pa.array([1_700_000_000_000_000 + i * 1_000_000 for i in range(12_000)], pa.timestamp("us", "UTC"))
    old = pa.table({"ts": times})
    new = pa.table({"ts": times, "device": pa.array(["a", "b"] * 6_000)})
    for number in range(8):
        pq.write_table(old if number in (0, 7) else new, tmp_path / f"part-{number}.parquet")
    frame = spark.read.option("mergeSchema", "true").parquet(str(tmp_path))
    query = mt.windows(frame, time="ts", keys="device").over(*MINUTES).agg(n=agg.count())
    assert rows(planned(query).run()) == rows(query.native())


def test_fields_of_nested_columns_survive_the_copies(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "nested")
    spark.sql(
        """select struct(timestamp_seconds(id * 37) as ts, id % 3 as k, struct(id as x, id * 2 as Y) as deep) p,
        array(struct(id as a, id + 1 as b), struct(id * 3 as a, null as b)) items, map('a', id) m,
        if(id % 4 = 0, null, struct(id as e, id as f)) n from range(300)"""
    ).write.parquet(path)
    of = mt.windows(spark.read.parquet(path), time="p.ts").over(*MINUTES)
    query = of.agg(a=agg.sum("p.deep.Y"), b=agg.sum("n.e"), e=agg.collect("items"), g=agg.sum("n.f", filter="n.e > 9"))
    assert len(strategies_agree(query, "spread", statistics=FEW)) > 20


def test_what_is_dear_to_compute_is_computed_once_for_each_event(spark: SparkSession, readings: DataFrame) -> None:
    calls = spark.sparkContext.accumulator(0)
    dear = F.udf(lambda value: (calls.add(1), value)[1], "bigint")("v")  # type: ignore[func-returns-value]
    query = (
        mt.windows(readings, time="ts", keys="k").over(*MINUTES).agg(mean=agg.avg(dear), n=agg.count(filter=dear > 5))
    )
    found = rows(query.plan(strategy="spread", statistics=FEW).run())
    # Once as the value, once in the filter; by hand for each of the four copies.
    assert 200 <= calls.value <= 400
    assert found == rows(query.native())


CHANGED: Final[dict[str, Any]] = {
    "filter": lambda frame: frame.where("k = 1 and v % 1000 = 1"),
    "limit": lambda frame: frame.limit(20_000),
    "sample": lambda frame: frame.sample(0.01, seed=1),
    "distinct": lambda frame: frame.distinct(),
}


@pytest.mark.parametrize("changed", [*CHANGED])
def test_how_many_rows_are_left_of_the_files_is_not_guessed(spark: SparkSession, tmp_path: Path, changed: str) -> None:
    path = str(tmp_path / "events")
    spark.range(0, 200_000, 1, 2).selectExpr("timestamp_seconds(id) ts", "id % 5 k", "id v").write.parquet(path)
    whole = spark.read.parquet(path)

    def of(frame: DataFrame) -> Query:
        return (
            mt.windows(frame, time="ts", keys="k").over(*(tumbling(f"{n}m") for n in range(5, 25))).agg(n=agg.count())
        )

    assert not planned(of(whole.where("ts is not null").select("ts", "k"))).physical.statistics.at_most
    plan = planned(of(CHANGED[changed](whole)))
    seen = plan.physical.statistics
    # How many a limit leaves Spark tells itself.
    assert seen.at_most is (changed != "limit")
    assert ("at most" in plan.explain()) is seen.at_most
    assert seen.rows == (20_000 if changed == "limit" else 200_000)
