"""Bad input: an error of muntin's own that says what, why and what to do, before any job starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin import Statistics, Window, agg, hopping, tumbling
from muntin.errors import AggregateError, DurationError, OptimizeError, QueryError, SqlError, WindowError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

GIVEN = Statistics(rows=1e6, keys=1, span=1_000_000)


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    return spark.sql(
        "select timestamp_seconds(id) ts, string(id) k, id v, string(id) s, date '2024-01-01' d, map(id, id) m, "
        "id % 2 = 0 o, id / 2 x, struct(id a) st, id window from range(3)"
    )


@pytest.fixture(autouse=True)
def no_job(spark: SparkSession) -> Iterator[None]:
    """Fail where a job started: the events are never read."""
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup(None))
    yield
    assert set(tracker.getJobIdsForGroup(None)) == before


def planned(df: DataFrame, time: Any = "ts", keys: Any = "k", **aggregates: Any) -> object:
    q = mt.windows(df, time=time, keys=keys).over(tumbling("10s")).agg(**(aggregates or {"n": agg.count()}))
    return q.plan(statistics=GIVEN)


def over(df: DataFrame, *windows: Any) -> object:
    return mt.windows(df, time="ts").over(*windows)


def begun(events: Any) -> object:
    return mt.windows(events, time="ts")


WRONG: list[tuple[str, Any, type[Exception], str]] = [
    (
        "time unknown",
        lambda df: planned(df, time="tss"),
        QueryError,
        r"time column 'tss'.*did you mean 'ts'\?.*has ts, k",
    ),
    ("key unknown", lambda df: planned(df, keys=["k", "kk"]), QueryError, r"the key 'kk': there is no such column"),
    ("input unknown", lambda df: planned(df, n=agg.sum("vv")), QueryError, r"`n` reads 'vv'.*did you mean 'v'\?"),
    ("field unknown", lambda df: planned(df, n=agg.sum("st.b")), QueryError, r"`n`: st.b cannot be taken.*`b`"),
    ("in expression", lambda df: planned(df, n=agg.sum(F.col("w") + 1)), QueryError, r"`n`: .*cannot be taken.*`w`"),
    ("in key", lambda df: planned(df, keys=F.col("w") + 1), QueryError, r"key or the time cannot be taken.*`w`"),
    ("in filter", lambda df: planned(df, n=agg.count(filter="w > 1")), QueryError, r"filter 'w > 1' cannot be.*`w`"),
    ("time text", lambda df: planned(df, time="s"), QueryError, r"'s' is of type string.*to_timestamp"),
    ("time number", lambda df: planned(df, time="v"), QueryError, r"'v' is of type bigint.*timestamp_millis"),
    ("time date", lambda df: planned(df, time="d"), QueryError, r"'d' is of type date.*[Cc]ast it to timestamp"),
    ("time none", lambda df: planned(df, time=None), QueryError, r"column's name or a Spark expression, got None"),
    ("keys none", lambda df: planned(df, keys=None), QueryError, r"a list of them, got None"),
    ("key a number", lambda df: planned(df, keys=[1]), QueryError, r"column's name or a Spark expression, got 1"),
    ("key a map", lambda df: planned(df, keys="m"), QueryError, r"'m' is of type map.*cannot group by"),
    ("key twice", lambda df: planned(df, keys=["k", "K"]), QueryError, r"key 'K' is named like key 'k'"),
    ("key the time", lambda df: planned(df, keys="ts"), QueryError, r"'ts' is the time of the events"),
    ("key THE TIME", lambda df: planned(df, keys="TS"), QueryError, r"is the time of the events"),
    (
        "key window",
        lambda df: planned(df, keys="window"),
        QueryError,
        r"'window' is named like the result's own.*rename",
    ),
    (
        "key Window_Id",
        lambda df: planned(df, keys=F.col("v").alias("Window_Id")),
        QueryError,
        r"own column 'window_id'",
    ),
    ("key n", lambda df: planned(df, keys="k", K=agg.count()), QueryError, r"aggregate 'K' is named like key 'k'"),
    ("n and N", lambda df: planned(df, n=agg.count(), N=agg.min("v")), QueryError, r"'N' is named like aggregate 'n'"),
    ("named window", lambda df: planned(df, WINDOW=agg.count()), QueryError, r"'WINDOW' is named like.*another name"),
    (
        "reserved",
        lambda df: planned(df, _mt_n=agg.count()),
        QueryError,
        r"'_mt_n' begins with '_mt_', which is reserved",
    ),
    ("reserved key", lambda df: planned(df.withColumnRenamed("k", "_mt_k"), keys="_mt_k"), QueryError, r"reserved"),
    ("reserved column", lambda df: planned(df.withColumn("_MT_s", F.lit(1))), QueryError, r"column '_MT_s'.*reserved"),
    ("no aggregate", lambda df: mt.windows(df, time="ts").over(tumbling("1s")).agg(), QueryError, r"computes nothing"),
    ("no windows", lambda df: mt.windows(df, time="ts").over(), WindowError, r"window set is empty"),
    ("no window", lambda df: over(df, "10s"), WindowError, r"expected a window.*got '10s'"),
    (
        "plain",
        lambda df: mt.windows(df, time="ts").over(Window(20, 20)).agg(n=agg.count()),
        QueryError,
        r"tumbling\('20s'\)",
    ),
    (
        "same id",
        lambda df: mt.windows(df, time="ts").over(tumbling("1s", id="a"), tumbling("2s", id="a")),
        WindowError,
        r"id 'a' stands twice",
    ),
    ("slide", lambda df: hopping("1s", slide="2s"), WindowError, r"slide 2s is longer than range 1s"),
    ("watermark", lambda df: mt.windows(df, time="ts", watermark="soon"), DurationError, r"soon"),
    ("no frame", lambda df: begun([1]), QueryError, r"Spark DataFrame, got list"),
    ("no aggregate function", lambda df: planned(df, n="count"), QueryError, r"`n` must be an aggregate.*got 'count'"),
    ("columns", lambda df: planned(df, n=agg.arg_max("v")), AggregateError, r"takes 2 columns, got 1"),
    ("filter number", lambda df: planned(df, n=agg.count(filter="v + 1")), QueryError, r"type bigint, not a condition"),
    (
        "filter column",
        lambda df: planned(df, n=agg.count(filter=F.col("s"))),
        QueryError,
        r"type string, not a condition",
    ),
    ("filter value", lambda df: planned(df, n=agg.count(filter=True)), QueryError, r"SQL text or a Spark.*got True"),
    ("filter text", lambda df: planned(df, n=agg.count(filter="v >")), QueryError, r"`n`: the filter 'v >' cannot be"),
    (
        "sum of text",
        lambda df: planned(df, n=agg.sum("s")),
        QueryError,
        r"`n`: sum takes numbers, and s is of type string. .*TRY_CAST\(s AS float\) in SQL",
    ),
    (
        "avg of dates",
        lambda df: planned(df, n=agg.avg("d")),
        QueryError,
        r"`n`: avg takes numbers, and d is of type date",
    ),
    ("any of numbers", lambda df: planned(df, n=agg.any("v")), QueryError, r"`n`: any takes booleans.*> 0"),
    (
        "concat of numbers",
        lambda df: planned(df, n=agg.concat("v")),
        QueryError,
        r"concat joins strings.*Cast it to string",
    ),
    ("max of map", lambda df: planned(df, n=agg.max("m")), QueryError, r"max cannot order m, of type map"),
    (
        "sketch of map",
        lambda df: planned(df, n=agg.approx_distinct("m")),
        QueryError,
        r"`n` cannot be computed.*MAP",
    ),
    (
        "sketch size",
        lambda df: planned(df, n=agg.approx_distinct("v", lg_k=99)),
        mt.MuntinError,
        r"lg_k must be a whole number from 4 to 21, got 99",
    ),
    (
        "quantile",
        lambda df: planned(df, n=agg.approx_quantile("v", q=1.5)),
        mt.MuntinError,
        r"q must be a number from 0.0 to 1.0, got 1\.5",
    ),
]


@pytest.mark.parametrize(("what", "error", "words"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_what_is_wrong_is_said_before_anything_runs(
    events: DataFrame, what: Callable[[DataFrame], object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        what(events)


def test_the_native_plan_refuses_the_same(events: DataFrame) -> None:
    with pytest.raises(QueryError, match="`n` reads 'vv'"):
        mt.windows(events, time="ts").over(tumbling("1s")).agg(n=agg.sum("vv")).native()


def test_options_that_do_not_exist(events: DataFrame) -> None:
    q = mt.windows(events, time="ts", keys="k").over(tumbling("10s"), tumbling("20s", id="n_1")).agg(n=agg.count())
    with pytest.raises(QueryError, match="no strategy 'fast': choose one of auto, native, spread, jvm, arrow"):
        q.plan(strategy="fast")  # type: ignore[arg-type]
    with pytest.raises(OptimizeError, match=r"optimizer must be one of .*got 'best'"):
        q.plan(optimizer="best")  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="rows must be a number of 0 or more, got -1"):
        Statistics(rows=-1)
    with pytest.raises(QueryError, match="ask for one of the two"):
        q.plan(statistics=GIVEN).run(split=True, wide=True)


def test_columns_of_the_wide_form_that_would_meet(events: DataFrame) -> None:
    at = mt.windows(events.withColumnRenamed("k", "At"), time="ts", keys="At").over(tumbling("10s")).agg(n=agg.count())
    for build in (lambda: at.native(wide=True), lambda: at.plan(statistics=GIVEN).run(wide=True)):
        with pytest.raises(QueryError, match=r"two columns 'at'.*rename"):
            build()
    twice = (
        mt.windows(events, time="ts")
        .over(tumbling("10s", id="b_c"), tumbling("20s", id="C"))
        .agg(a=agg.count(), a_b=agg.count())
    )
    with pytest.raises(QueryError, match=r"two columns 'a_b_C'"):
        twice.native(wide=True)


SELECT = "SELECT k, COUNT(*) AS n FROM Input TIMESTAMP BY ts GROUP BY k, TumblingWindow(second, 10)"
QUERIES: list[tuple[str, str, str]] = [
    ("input", SELECT.replace("Input", "Other"), r"reads 'Other', and the inputs given are: Input. Pass Other=df"),
    ("where", SELECT.replace("GROUP", "WHERE nope > 1 GROUP"), r"WHERE: nope > 1 cannot be computed.*`nope`"),
    ("condition", SELECT.replace("GROUP", "WHERE v + 1 GROUP"), r"WHERE v \+ 1 is of type bigint, not a condition"),
    ("no time", SELECT.replace("TIMESTAMP BY ts", ""), r"which column is the time: add TIMESTAMP BY"),
    ("time", SELECT.replace("BY ts", "BY tss"), r"TIMESTAMP BY: tss cannot be computed.*`tss`"),
    ("time's type", SELECT.replace("BY ts", "BY v"), r"TIMESTAMP BY v is of type bigint: windows need a timestamp"),
    ("key", SELECT.replace("k,", "kk,"), r"the key kk: kk cannot be computed.*`kk`"),
    ("syntax", SELECT.replace("GROUP BY", "GROUP"), r"line 1"),
]


@pytest.mark.parametrize(("text", "words"), [q[1:] for q in QUERIES], ids=[q[0] for q in QUERIES])
def test_sql_that_does_not_fit_its_input(events: DataFrame, text: str, words: str) -> None:
    with pytest.raises(SqlError, match=words):
        mt.sql(text, Input=events)


def test_sql_over_reserved_names_and_unknown_arguments(events: DataFrame) -> None:
    with pytest.raises(SqlError, match=r"the input has a column '_mt_x'.*reserved"):
        mt.sql(SELECT, Input=events.withColumn("_mt_x", F.lit(1)))
    with pytest.raises(QueryError, match=r"`n`.*cannot be taken.*`nope`"):
        mt.sql(SELECT.replace("COUNT(*)", "SUM(nope)"), Input=events).plan(statistics=GIVEN)


def test_split_of_sql_that_does_not_show_the_window(events: DataFrame) -> None:
    with pytest.raises(QueryError, match="select it too"):
        mt.sql(SELECT, Input=events).plan(statistics=GIVEN).run(split=True)
    with pytest.raises(QueryError, match="cannot go with a SELECT list"):
        mt.sql(SELECT, Input=events).plan(statistics=GIVEN).run(wide=True)
