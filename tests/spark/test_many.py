"""Several queries planned together: each has the rows that it has alone, over a table and over a stream."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin import agg, hopping, tumbling
from muntin.errors import QueryError
from muntin.many_plan import ManyPlan
from muntin.many_stream import ManyStreamPlan
from tests.spark.equal import check_equal, draw_events, frame_of
from tests.spark.streams import emitted, plain, read, write
from tests.spark.test_streaming import events_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from muntin.query import Query


def asked(frame: DataFrame) -> dict[str, Query]:
    """Ask for windows that two queries share, ids and names that mean different things, and other keys."""
    by_key = mt.windows(frame, time="ts", keys="k_string")
    return {
        "short": by_key.over(tumbling("10s", id="w"), hopping("1m", slide="10s")).agg(
            n=agg.count(), low=agg.min("v_int")
        ),
        "long": by_key.over(tumbling("1m", id="w"), tumbling("10s"), tumbling("10s", id="ten")).agg(
            low=agg.min("v_double"), rows=agg.count()
        ),
        "kept": by_key.over(hopping("40s", slide="20s")).agg(n=agg.count(filter="v_int > 0"), mid=agg.median("v_byte")),
        "other": mt.windows(frame, time="ts", keys=["k_int", "k_bool"]).over(tumbling("10s")).agg(n=agg.count()),
        "all": mt.windows(frame, time="ts").over(tumbling("30s")).agg(top=agg.max("v_string")),
    }


def compare(plan: ManyPlan, queries: Mapping[str, Query]) -> None:
    with plan.run() as found:
        assert list(found) == list(queries)
        for name, query in queries.items():
            native = query.native()
            assert found[name].columns == native.columns
            wanted = native.toArrow().to_pylist()
            assert wanted
            check_equal(found[name].toArrow().to_pylist(), wanted, ["window_id", "window", *query.keys], name)


@pytest.mark.parametrize("optimizer", ["auto", "none", "full", "weave", "finest", "triweave"])
def test_each_query_has_the_rows_that_it_has_alone(spark: SparkSession, optimizer: Any) -> None:
    frame = frame_of(spark, draw_events(31, 300)).cache()
    queries = asked(frame)
    plan = mt.plan(queries, optimizer=optimizer)
    assert isinstance(plan, ManyPlan)
    trees = sorted(sorted(tree.part.names) for tree in plan.trees)
    if optimizer == "none":
        assert len(trees) == 5
    if optimizer == "full":
        assert trees == [["all"], ["kept", "long", "short"], ["other"]]
    if optimizer in ("finest", "triweave"):
        # A median has no partials: its query reads the events.
        assert trees == [["all"], ["kept"], ["long", "short"], ["other"]]
        (base,) = plan.bases
        assert (base.keys, base.pane.range) == (("k_string", "k_int", "k_bool"), 10_000_000)
        assert set(base.names) == {"short", "long", "other", "all"}
    compare(plan, queries)
    frame.unpersist()


def test_what_is_shared_is_computed_once(spark: SparkSession) -> None:
    seen = spark.sparkContext.accumulator(0)

    def count(value: int) -> int:
        seen.add(1)
        return value

    rows = [(f"2026-01-01 00:0{n % 5}:00", n % 3, n) for n in range(100)]
    frame = spark.createDataFrame(rows, "t string, k int, v int").select(
        F.to_timestamp("t").alias("ts"), "k", F.udf(count, "int", useArrow=False)("v").alias("v")
    )
    of = mt.windows(frame, time="ts", keys="k")
    one = of.over(tumbling("1m")).agg(total=agg.sum("v"))
    two = of.over(tumbling("2m"), tumbling("5m")).agg(total=agg.sum("v"))
    known = mt.Statistics(rows=100, keys=3, span=300_000_000, how="as they are")
    plan = mt.plan([one, two], optimizer="full", strategy="arrow", statistics=known)
    seen.value = 0
    with plan.run() as found:
        totals = {name: each.groupBy().sum("total").collect()[0][0] for name, each in found.items()}
    assert totals == {"q1": 4950, "q2": 9900}
    assert seen.value == 100
    assert mt.plan([one, two], optimizer="full", statistics=known).to_dict()["trees"][0]["queries"] == ["q1", "q2"]
    assert plan.explain().startswith("2 queries in 1 tree (full), expected to take")


@pytest.mark.parametrize("strategy", ["spread", "jvm", "arrow"])
def test_every_aggregate_is_found_from_panes_by_more_keys(spark: SparkSession, strategy: Any) -> None:
    frame = frame_of(spark, draw_events(35, 250)).cache()
    asked = {
        "n": agg.count(), "some": agg.count("v_double"), "total": agg.sum("v_int"), "money": agg.sum("v_money"),
        "mean": agg.avg("v_double"), "mean_money": agg.avg("v_money"), "low": agg.min("v_string"),
        "high": agg.max("v_double"), "spread": agg.stddev("v_int"), "one": agg.last("v_string"),
        "at": agg.arg_max("v_string", "v_int"), "about": agg.approx_distinct("v_int"),
        "kept": agg.sum("v_int", filter="v_byte > 0"), "any": agg.any("v_bool"),
    }  # fmt: skip
    windows = [hopping("1m", slide="20s"), tumbling("30s", offset="5s")]
    queries = {
        name: mt.windows(frame, time="ts", keys=keys).over(*windows).agg(**asked)
        for name, keys in (("all", []), ("two", ["k_int", "k_string"]), ("one", ["k_string"]))
    }
    plan = mt.plan(queries, optimizer="finest", strategy=strategy)
    assert isinstance(plan, ManyPlan)
    (base,) = plan.bases
    assert base.pane.range == 5_000_000
    compare(plan, queries)
    frame.unpersist()


def test_events_are_read_once_for_queries_with_different_keys(spark: SparkSession) -> None:
    seen = spark.sparkContext.accumulator(0)

    def count(value: int) -> int:
        seen.add(1)
        return value

    rows = [(f"2026-01-01 00:0{n % 5}:00", n % 3, n % 2, n) for n in range(120)]
    frame = spark.createDataFrame(rows, "t string, device int, site int, v int").select(
        F.to_timestamp("t").alias("ts"), "device", "site", F.udf(count, "int", useArrow=False)("v").alias("v")
    )
    queries = {
        "both": mt.windows(frame, time="ts", keys=["device", "site"]).over(tumbling("1m")).agg(total=agg.sum("v")),
        "site": mt.windows(frame, time="ts", keys="site").over(tumbling("5m")).agg(total=agg.sum("v")),
        "none": mt.windows(frame, time="ts").over(hopping("2m", slide="1m")).agg(total=agg.sum("v")),
    }
    plan = mt.plan(queries, optimizer="finest", strategy="native")
    seen.value = 0
    with plan.run() as found:
        totals = {name: each.groupBy().sum("total").collect()[0][0] for name, each in found.items()}
    assert totals == {"both": 7140, "site": 7140, "none": 14280}
    assert seen.value == 120
    assert "panes of 1m by device, site, kept for both, site, none: " in plan.explain()
    assert plan.to_dict()["panes"][0]["keys"] == ["device", "site"]


def test_panes_by_all_keys_are_taken_where_they_are_expected_to_gain(spark: SparkSession) -> None:
    frame = frame_of(spark, draw_events(36, 20))
    both = mt.windows(frame, time="ts", keys=["k_int", "k_string"]).over(tumbling("10s")).agg(n=agg.count())
    whole = mt.windows(frame, time="ts").over(tumbling("20s")).agg(n=agg.count())
    dense = mt.Statistics(rows=1e8, keys=10, span=10**11)
    sparse = mt.Statistics(rows=1e8, keys=1e8, span=10**11)
    plans = [mt.plan([both, whole], statistics=statistics).to_dict() for statistics in (dense, sparse)]
    assert [plan["optimizer"] == "finest" for plan in plans] == [True, False]
    ways = ["full", "none", "weave", "finest", "triweave"]
    assert [[way["optimizer"] for way in plan["candidates"]] for plan in plans] == [ways, ways]


def test_what_text_holds_is_worth_reading_once(spark: SparkSession, tmp_path: Path) -> None:
    frame_of(spark, draw_events(39, 50)).select("ts", "k_int", "v_int").write.csv(str(tmp_path / "events"))
    frame = spark.read.schema("ts timestamp, k_int int, v_int int").csv(str(tmp_path / "events"))
    query = mt.windows(frame, time="ts", keys="k_int").over(tumbling("10s")).agg(n=agg.count())
    assert "read from text" in query.plan().explain()
    assert (
        "read from text" not in mt.windows(frame.cache(), time="ts").over(tumbling("10s")).agg(n=agg.count()).explain()
    )
    frame.unpersist()


def test_keys_that_share_no_panes(spark: SparkSession) -> None:
    frame = frame_of(spark, draw_events(37, 50))
    upper = mt.windows(frame, time="ts", keys="K_INT").over(tumbling("10s")).agg(n=agg.count())
    lower = mt.windows(frame, time="ts", keys="k_int").over(tumbling("10s")).agg(n=agg.count())
    middle = mt.windows(frame, time="ts").over(tumbling("10s")).agg(n=agg.median("v_int"))
    for queries in ([upper, lower], [lower, middle], [lower]):
        plan = mt.plan(queries, optimizer="finest")
        assert isinstance(plan, ManyPlan)
        assert plan.bases == ()
        compare(plan, plan.queries)


def test_a_key_may_be_called_as_aggregates_are_among_all(spark: SparkSession) -> None:
    frame = frame_of(spark, draw_events(38, 50)).withColumnRenamed("k_int", "A0")
    of = mt.windows(frame, time="ts", keys="A0")
    queries = {
        "x": of.over(tumbling("10s")).agg(n=agg.count()),
        "y": of.over(tumbling("20s")).agg(low=agg.min("v_int")),
    }
    plan = mt.plan(queries, optimizer="full")
    assert isinstance(plan, ManyPlan)
    compare(plan, queries)


def test_a_query_in_sql_keeps_its_having_and_its_columns(spark: SparkSession) -> None:
    frame = frame_of(spark, draw_events(32, 200)).cache()
    text = (
        "SELECT k_int AS device, System.Window().Id AS id, count(*) * 2 AS twice FROM Input TIMESTAMP BY ts "
        "GROUP BY k_int, Windows(Window('a', TumblingWindow(second, 20)), Window('b', TumblingWindow(minute, 1))) "
        "HAVING count(*) > 3"
    )
    one, two = mt.sql(text, Input=frame), mt.sql(text.replace("> 3", "> 5"), Input=frame)
    plan = mt.plan({"three": one, "five": two}, optimizer="full")
    with plan.run() as found:
        for name, query in (("three", one), ("five", two)):
            wanted = sorted(query.native().collect(), key=repr)
            assert wanted
            assert sorted(found[name].collect(), key=repr) == wanted
            assert found[name].columns == ["device", "id", "twice"]
    frame.unpersist()


def test_random_sets_of_queries(spark: SparkSession) -> None:
    frame = frame_of(spark, draw_events(33, 200)).cache()
    rng = random.Random(34)
    columns = ["v_int", "v_double", "v_string", "v_money"]
    queries = {}
    for number in range(8):
        lengths = rng.sample([6, 10, 15, 20, 30, 60], rng.randint(1, 3))
        windows = [hopping(f"{x}s", slide=f"{rng.choice([x, x // 2, x // 3])}s", id=f"w{x}") for x in lengths]
        named = {f"x{n}": getattr(agg, rng.choice(["min", "max", "count", "last"]))(c) for n, c in enumerate(columns)}
        wanted = dict(rng.sample(sorted(named.items()), rng.randint(1, 3)))
        queries[f"query {number}"] = mt.windows(frame, time="ts", keys="k_int").over(*windows).agg(**wanted)
    plan = mt.plan(queries)
    assert isinstance(plan, ManyPlan)
    compare(plan, queries)
    frame.unpersist()


@pytest.mark.parametrize("optimizer", ["auto", "none", "full", "weave", "finest", "triweave"])
def test_frames_that_differ_in_names_alone_are_not_taken_for_one(spark: SparkSession, optimizer: Any) -> None:
    raw = spark.sql("select timestamp_seconds(id) ts, id % 2 k, id low, id * 1000 high from range(20)")
    queries = {}
    for name in ("low", "high"):
        of = mt.windows(
            raw.withColumnRenamed(name, "v").withColumnRenamed("k", f"{name}_k"), time="ts", keys=f"{name}_k"
        )
        queries[name] = of.over(tumbling("10s"), tumbling("20s")).agg(top=agg.max("v"), n=agg.count())
    plan = mt.plan(queries, optimizer=optimizer)
    assert isinstance(plan, ManyPlan)
    compare(plan, queries)
    same = {name: mt.windows(raw.select("*"), time="ts").over(tumbling("10s")).agg(n=agg.count()) for name in "ab"}
    together = mt.plan(same, optimizer="full")
    assert isinstance(together, ManyPlan)
    assert len(together.trees) == 1


def test_streams_that_differ_in_names_alone_are_not_taken_for_one(spark: SparkSession, tmp_path: Path) -> None:
    source = read(spark, write(tmp_path / "in", []))
    queries = {
        name: mt.windows(source.withColumnRenamed(name, "x"), time="ts", watermark="15s")
        .over(tumbling("20s"))
        .agg(top=agg.max("x"))
        for name in ("v", "i")
    }
    with pytest.raises(QueryError, match="v and i are over different streams"):
        mt.plan(queries)


def test_queries_over_one_stream(spark: SparkSession, tmp_path: Path) -> None:
    source = read(spark, write(tmp_path / "in", events_of(41, 30)[:4]))
    of = mt.windows(source, time="ts", keys="k", watermark="15s")
    queries = {
        "one": of.over(tumbling("20s", id="w"), tumbling("1m")).agg(n=agg.count(), low=agg.min("v")),
        "two": of.over(hopping("1m", slide="20s", id="w"), tumbling("20s")).agg(low=agg.min("i"), n=agg.count()),
        "three": mt.windows(source, time="ts", keys=["s", "k"], watermark="15s")
        .over(tumbling("20s"))
        .agg(keyed=agg.count("k")),
        "four": mt.windows(source, time="ts", watermark="15s").over(tumbling("20s")).agg(s=agg.last("s")),
    }
    plan = mt.plan(queries)
    assert isinstance(plan, ManyStreamPlan)
    assert "4 queries by one stateful operator: 3 windows, 5 aggregates" in plan.explain()
    assert "events count once for each set of keys: k; s, k; no keys" in plan.explain()
    stream = plan.stream()
    values = ["n", "one_low", "two_low", "keyed", "four_s"]
    assert stream.columns == ["query", "window_id", "window", "k", "s", *values]
    gathered: dict[str, list[Any]] = {name: [] for name in queries}

    def each(batch: DataFrame, number: int) -> None:
        for name, rows in plan.split(batch).items():
            assert rows.columns == queries[name].native().columns
            gathered[name] += [(number, *plain(row)) for row in rows.collect()]

    running = (
        stream.writeStream.foreachBatch(each)
        .option("checkpointLocation", str(tmp_path / "ck"))
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    assert {len(said["stateOperators"]) for said in running.recentProgress} == {1}
    alone = emitted({name: query.native() for name, query in queries.items()}, tmp_path)
    for name in queries:
        assert alone[name].rows
        assert sorted(gathered[name], key=repr) == alone[name].rows


def test_names_that_meet_over_one_stream(spark: SparkSession, tmp_path: Path) -> None:
    source = read(spark, write(tmp_path / "in", []))
    of = mt.windows(source, time="ts", keys="k", watermark="15s")
    queries = {
        "a": of.over(tumbling("20s")).agg(b_c=agg.min("i"), c=agg.max("i"), N=agg.count()),
        "a_b": of.over(tumbling("20s")).agg(b_c=agg.max("i"), c=agg.min("v"), n=agg.count()),
    }
    plan = mt.plan(queries)
    assert isinstance(plan, ManyStreamPlan)
    stream = plan.stream()
    assert stream.columns == ["query", "window_id", "window", "k", "a_b_c", "a_c", "N", "a_b_b_c", "a_b_c_"]
    split = plan.split(stream)
    assert {name: each.columns[3:] for name, each in split.items()} == {
        "a": ["b_c", "c", "N"],
        "a_b": ["b_c", "c", "n"],
    }
    keyed = mt.windows(source.withColumnRenamed("s", "Query"), time="ts", keys="Query", watermark="15s")
    with pytest.raises(QueryError, match="the key 'Query' is named like the column that says which query a row is of"):
        mt.plan([keyed.over(tumbling("20s")).agg(n=agg.count())])


@pytest.mark.slow
def test_more_than_a_thousand_queries_over_one_stream(spark: SparkSession, tmp_path: Path) -> None:
    source = read(spark, write(tmp_path / "in", []))
    of = mt.windows(source, time="ts", keys="k", watermark="15s")
    queries = {f"q{n}": of.over(tumbling(f"{n}s")).agg(n=agg.count()) for n in range(1, 1201)}
    # As expressions within expressions they were more than Spark's stack could take.
    stream = mt.plan(queries).stream()
    assert stream.columns == ["query", "window_id", "window", "k", "n"]
    assert stream.isStreaming


def test_what_cannot_be_planned_together(spark: SparkSession, tmp_path: Path) -> None:
    table = spark.createDataFrame([], "ts timestamp, k string, i int")
    stream = read(spark, write(tmp_path / "in", []))

    def one(frame: DataFrame, **how: Any) -> Query:
        return mt.windows(frame, time="ts", **how).over(tumbling("1m"), tumbling("2m")).agg(n=agg.count())

    late = {"watermark": "10s"}
    for queries, words in (
        ([], "there are no queries to plan: give at least one"),
        ("query", "queries are a list of them or a dict by name, got str"),
        ([table], r"q1: a query is what windows\(df, ...\).over\(...\).agg\(...\) gives, got DataFrame"),
        ({"": one(table)}, "a query's name is text, got ''"),
        ([one(table), one(stream, **late)], "some of the queries are over a stream and some over a table"),
        ([one(stream, **late), one(stream)], "one watermark, in microseconds,: q1 has 10000000 and q2 None"),
        ([one(stream, **late), one(stream.where("i > 0"), **late)], "q1 and q2 are over different streams"),
    ):
        with pytest.raises(QueryError, match=words):
            mt.plan(queries)  # type: ignore[arg-type]
    with pytest.raises(
        QueryError, match="optimizer must be one of 'auto', 'none', 'full', 'weave', 'finest', 'triweave', got 'best'"
    ):
        mt.plan([one(table)], optimizer="best")  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="over a stream all queries share one operator"):
        mt.plan([one(stream, **late)], optimizer="none")
    both = mt.plan([one(stream, **late), one(stream, **late)])
    with pytest.raises(QueryError, match=r"over a stream, which run\(\) cannot wait for: use stream\(\)"):
        both.run()
    with pytest.raises(QueryError, match=r"over a table, not a stream: use run\(\)"):
        mt.plan([one(table)]).stream()
    with pytest.raises(QueryError, match="mode must be 'append' or 'update'"):
        both.stream(mode="latest")  # type: ignore[arg-type]
