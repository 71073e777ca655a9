"""Panes through Arrow: long keys, many keys and few, in partitions larger than what a worker holds at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin import Statistics, agg, hopping, tumbling
from muntin.kernels.sweep import CHUNK
from muntin.spark.crossing import last_buckets
from muntin.table_plan import TablePlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from muntin import Query

LONG = CHUNK + 20_000
WINDOWS = (tumbling("2s"), hopping("1m", slide="30s", offset="1s"), hopping("25s", slide="10s"))
FEW_KEYS = Statistics(rows=1e8, keys=1, span=LONG * 1_000_000)
MANY_KEYS = Statistics(rows=1e8, keys=1e6, span=LONG * 1_000_000)


def unpaired(x: DataFrame, y: DataFrame) -> int:
    """Count the rows that do not stand once in each of two frames, inside Spark."""
    both = x.select("*", F.lit(1).alias("_side")).unionAll(y.select("*", F.lit(2).alias("_side")))
    sides = both.groupBy(*(name for name in both.columns if name != "_side")).agg(
        F.sum("_side").alias("sides"), F.count("*").alias("rows")
    )
    return sides.where("sides != 3 or rows != 2").count()


def query(events: DataFrame, keys: str | tuple[str, ...] = ()) -> Query:
    return (
        mt.windows(events, time="ts", keys=keys)
        .over(*WINDOWS)
        .agg(total=agg.sum("v"), n=agg.count(), low=agg.min("v"), last=agg.last("s"))
    )


@pytest.fixture(scope="module")
def long_key(spark: SparkSession) -> DataFrame:
    """One key, with a pane for every second of two days, most of them before 1970."""
    return spark.range(0, LONG, 1, 3).select(
        F.timestamp_seconds(F.col("id") - LONG + 1000).alias("ts"),
        F.lit("k").alias("k"),
        (F.hash("id") % 1000).alias("v"),
        (F.col("id") % 7).cast("string").alias("s"),
    )


@pytest.mark.slow
@pytest.mark.parametrize("statistics", [FEW_KEYS, MANY_KEYS], ids=["coarse buckets", "keys alone"])
def test_a_key_longer_than_a_chunk(long_key: DataFrame, statistics: Statistics) -> None:
    q = query(long_key, "k")
    plan = q.plan(strategy="arrow", statistics=statistics)
    assert isinstance(plan, TablePlan)
    assert [step.way for step in plan.physical.steps] == ["arrow"]
    assert (plan.physical.steps[0].coarse is None) is (statistics is MANY_KEYS)
    assert unpaired(plan.run(), q.native()) == 0


@pytest.mark.slow
def test_a_long_partition_without_key_in_the_wide_form(long_key: DataFrame) -> None:
    q = query(long_key)
    assert unpaired(q.plan(strategy="arrow", statistics=MANY_KEYS).run(wide=True), q.native(wide=True)) == 0


def test_many_keys_with_skew(spark: SparkSession) -> None:
    """Most events are of one key, and 5,000 keys have one each."""
    key = F.when(F.col("id") % 4 > 0, F.lit(-1)).otherwise(F.col("id"))
    events = spark.range(0, 20_000, 1, 3).select(
        F.timestamp_millis(F.abs(F.hash("id")) % 600_000 - 300_000).alias("ts"),
        key.alias("k"),
        (F.hash("id", F.lit(1)) % 1000).alias("v"),
        # Of one time and key there is one value, so that the last is what it is in any order.
        F.lit("s").alias("s"),
    )
    q = query(events, "k")
    # Looked at, the events of one key are too many for one task, which shares them by time; keys alone do without.
    for known, shared in ((None, True), (MANY_KEYS, False)):
        plan = q.plan(strategy="arrow", statistics=known)
        assert isinstance(plan, TablePlan)
        assert (plan.physical.steps[0].coarse is not None) == shared
        assert unpaired(plan.run(), q.native()) == 0


def test_panes_go_to_every_bucket_where_a_window_of_theirs_ends(spark: SparkSession) -> None:
    cases = [(pane, coarse, reach) for pane in range(-12, 12) for coarse, reach in ((5, 1), (5, 3), (5, 6), (1, 4))]
    for coarse, reach in {case[1:] for case in cases}:
        rows = spark.range(-12, 12).select("id", last_buckets("id", coarse, reach).alias("b")).collect()
        for row in rows:
            # The window that ends last of those that hold the pane ends reach - 1 panes after it.
            assert row.b == list(range(row.id // coarse, (row.id + reach - 1) // coarse + 1))
