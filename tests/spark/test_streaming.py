"""Windows over a stream: the rows of N native streaming aggregates, each in the same micro-batch."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin import agg, hopping, tumbling
from muntin.errors import QueryError
from muntin.stream.labels import spark_hash
from tests.spark.streams import Event, emitted, read, write

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

BASE = 1_700_000_000
SECOND = 1_000_000
ALL = {
    "n": agg.count(),
    "known": agg.count("v"),
    "total": agg.sum("i"),
    "mean": agg.avg("v"),
    "low": agg.min("v"),
    "high": agg.max("i"),
    "spread": agg.stddev("v"),
    "often": agg.max_count("i"),
    "early": agg.first("s"),
    "late": agg.last("s"),
    "whose": agg.arg_max("i", "s"),
    "positive": agg.sum("i", filter="v > 0"),
}


def event(random: random.Random, time: int) -> Event:
    value = random.choice([None, float("nan"), -0.0, *(random.uniform(-9, 9) for _ in range(6))])
    # JSON has no NaN; Spark reads the text.
    shown = "NaN" if value is not None and value != value else value
    return {
        "t": time,
        "k": random.choice([None, "a", "b", "c"]),
        "i": random.randint(-5, 5),
        "v": shown,
        "s": random.choice([None, "x", "y", "z"]),
    }


def events_of(number: int, count: int, *, every: int = 20, behind: int = 40) -> list[list[Event]]:
    rng = random.Random(number)
    return [
        [event(rng, (BASE + every * batch - rng.randint(0, behind)) * SECOND) for _ in range(count)]
        for batch in range(6)
    ]


def test_update_gives_the_windows_that_native_update_gives(spark: SparkSession, tmp_path: Path) -> None:
    source = read(spark, write(tmp_path / "in", events_of(1, 30)))
    windows = [tumbling("20s"), tumbling("1m"), hopping("40s", slide="10s")]
    q = mt.windows(source, time="ts", keys="k", watermark="15s").over(*windows).agg(n=agg.count(), t=agg.sum("i"))
    frames = {"ours": q.plan().stream(mode="update"), "native": q.native()}
    found = emitted({"ours": frames["ours"]}, tmp_path) | emitted({"native": frames["native"]}, tmp_path, "update")
    assert found["ours"].rows == found["native"].rows
    assert len(found["ours"].rows) > 100


def test_latest_is_the_last_complete_window_of_each_kind(spark: SparkSession, tmp_path: Path) -> None:
    source = read(spark, write(tmp_path / "in", events_of(2, 30)))
    windows = [tumbling("20s", id="short"), hopping("1m", slide="10s", id="long")]
    q = mt.windows(source, time="ts", keys="k", watermark="15s").over(*windows).agg(n=agg.count(), t=agg.sum("i"))
    plan = q.plan()
    found = emitted({"wide": plan.stream(mode="latest"), "long": plan.stream()}, tmp_path)
    columns = ["k", "at", "n_short", "n_long", "t_short", "t_long"]
    assert plan.stream(mode="latest").columns == columns
    # Follow what left window by window, and see after each micro-batch that the wide rows say the same.
    shown: dict[Any, tuple[Any, ...]] = {}
    last: dict[tuple[str, Any], tuple[Any, ...]] = {}
    newest: dict[str, Any] = {}
    newest_ids = ("short", "long")
    for number in sorted({row[0] for row in found["long"].rows}):
        for _, key, _, *cells in (row for row in found["wide"].rows if row[0] == number):
            shown[key] = tuple(cells)
        for _, window_id, window, key, *cells in (row for row in found["long"].rows if row[0] == number):
            last[window_id, key] = (window[1], *cells)
            newest[window_id] = max(newest.get(window_id, window[1]), window[1])
        for key, wide in shown.items():
            now = [last.get((window_id, key), (None,)) for window_id in ("short", "long")]
            complete = [row[0] is not None and row[0] == newest[id] for row, id in zip(now, newest_ids, strict=True)]
            expected = [row[place] if ok else None for place in (1, 2) for row, ok in zip(now, complete, strict=True)]
            assert wide == tuple(expected), (number, key)
    assert len(shown) == 4


def test_a_stream_emits_what_a_table_gives(spark: SparkSession, tmp_path: Path) -> None:
    batches = events_of(3, 40, behind=10)
    end = [{"t": (BASE + 10_000) * SECOND, "k": "end", "i": 0, "v": 0.0, "s": "s"}]
    folder = write(tmp_path / "in", [*batches, end])
    windows = [tumbling("20s"), hopping("1m", slide="15s"), hopping("7m", slide="5s")]

    def ask(frame: DataFrame) -> Any:
        return mt.windows(frame, time="ts", keys="k", watermark="10s").over(*windows).agg(**ALL)

    stream = emitted({"ours": ask(read(spark, folder)).plan().stream()}, tmp_path)["ours"]
    table = spark.read.schema("t bigint, k string, i int, v double, s string").json(str(folder))
    frame = table.withColumn("ts", F.timestamp_micros("t")).where("k is null or k != 'end'")
    from tests.spark.streams import plain

    expected = sorted((plain(row) for row in ask(frame).plan(strategy="jvm").run().collect()), key=repr)
    assert stream.unnumbered == expected


def test_a_watermark_of_the_users_own_and_batches_without_a_row(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that a filter drops move the watermark all the same, and so do batches of which nothing is left."""
    batches = events_of(5, 20)
    for number in (1, 3):
        batches[number] = [each | {"s": "drop"} for each in batches[number]]
    source = (
        read(spark, write(tmp_path / "in", batches)).withWatermark("ts", "5 seconds").where("s is null or s != 'drop'")
    )
    q = mt.windows(source, time="ts", keys="k").over(tumbling("10s"), hopping("1m", slide="10s")).agg(n=agg.count())
    found = emitted({"ours": q.plan().stream(), "native": q.native()}, tmp_path)
    assert found["ours"].rows == found["native"].rows


def test_times_before_1970_and_none_and_no_keys(spark: SparkSession, tmp_path: Path) -> None:
    """The first watermark is 1970: Spark drops what is before it, and so do we. An event without time is no event."""
    rng = random.Random(6)
    batches = [[event(rng, second * SECOND) for second in range(-50 + 40 * b, 40 * b)] for b in range(4)]
    for events in batches:
        events.append(event(rng, 0) | {"t": None})
    source = read(spark, write(tmp_path / "in", batches))
    q = (
        mt.windows(source, time="ts", watermark="1s")
        .over(tumbling("7s"), hopping("30s", slide="10s"))
        .agg(n=agg.count())
    )
    found = emitted({"ours": q.plan().stream(), "native": q.native()}, tmp_path)
    assert found["ours"].rows == found["native"].rows
    assert found["ours"].rows


def test_an_aggregate_written_in_python(spark: SparkSession, tmp_path: Path) -> None:
    source = read(spark, write(tmp_path / "in", events_of(7, 25)))
    trail = agg.define(
        "trail", lift=lambda v: (v,), combine=lambda x, y: x + y, identity=(), lower=str, returns="string"
    )
    windows = [tumbling("20s"), hopping("1m", slide="20s")]
    q = (
        mt.windows(source, time="ts", keys="k", watermark="15s")
        .over(*windows)
        .agg(trail=trail("i", filter="v > 0"), n=agg.count(), mean=agg.avg("v"))
    )
    plan = q.plan()
    assert "one stateful operator" in plan.explain()
    found = emitted({"ours": plan.stream(), "native": q.native()}, tmp_path)
    assert found["ours"].rows == found["native"].rows


def test_what_only_spark_can_compute_runs_natively(spark: SparkSession, tmp_path: Path) -> None:
    source = read(spark, write(tmp_path / "in", events_of(8, 20)))
    q = mt.windows(source, time="ts", keys="k", watermark="15s").over(tumbling("20s")).agg(middle=agg.median("i"))
    plan = q.plan()
    assert plan.explain().startswith("natively: one stateful operator")
    found = emitted({"ours": plan.stream(), "native": q.native()}, tmp_path)
    assert found["ours"].rows == found["native"].rows
    assert found["ours"].rows
    with pytest.raises(
        QueryError, match="mode='latest' needs the shared plan, and this query runs by Spark's own aggregates: `middle`"
    ):
        plan.stream(mode="latest")


def test_one_stateful_operator_whatever_the_windows(spark: SparkSession, tmp_path: Path) -> None:
    source = read(spark, write(tmp_path / "in", events_of(4, 10)))
    windows = [tumbling(f"{10 * n}s") for n in range(1, 11)]
    q = mt.windows(source, time="ts", keys="k", watermark="5s").over(*windows).agg(n=agg.count())
    found = emitted({"ours": q.plan().stream()}, tmp_path)["ours"]
    assert {len(each["stateOperators"]) for each in found.progress} == {1}


def test_buckets_are_dealt_out_as_spark_hashes(spark: SparkSession) -> None:
    numbers = [0, 1, 7, 2**31 - 1, -1, -(2**31), 123456789]
    frame = spark.createDataFrame([(n,) for n in numbers], "n int").select("n", F.hash("n"))
    assert {n: h for n, h in frame.collect()} == {n: spark_hash(n) for n in numbers}


def test_what_cannot_be(spark: SparkSession, tmp_path: Path) -> None:
    source = read(spark, write(tmp_path / "in", []))
    table = spark.createDataFrame([], "ts timestamp, k string, i int")

    def asked(frame: DataFrame, **how: Any) -> Any:
        return mt.windows(frame, time="ts", keys="k", **how).over(tumbling("1m")).agg(n=agg.count()).plan()

    with pytest.raises(QueryError, match=r"no watermark on 'ts'.*watermark='10 minutes'"):
        asked(source).stream()
    with pytest.raises(QueryError, match=r"a table, not a stream: use run\(\)"):
        asked(table).stream()
    with pytest.raises(QueryError, match=r"stream, which run\(\) cannot wait for: use stream\(\)"):
        asked(source, watermark="1m").run()
    distinct = mt.windows(source, time="ts", watermark="10s").over(tumbling("1m"))
    with pytest.raises(QueryError, match=r"`n` is an exact distinct count, .* not have over a stream.*approx_distinct"):
        distinct.agg(n=agg.count_distinct("k")).plan()
    with pytest.raises(QueryError, match="unknown mode 'complete'"):
        asked(source, watermark="1m").stream(mode="complete")
    with pytest.raises(QueryError, match="buckets must be a power of two from 1 to 1024, got 3"):
        asked(source, watermark="1m").stream(buckets=3)


@pytest.mark.parametrize("mode", ["append", "update"])
def test_what_only_spark_can_merge_goes_by_one_operator_of_its_own(
    spark: SparkSession, tmp_path: Path, mode: Any
) -> None:
    """Strings, lists and medians: native's rows, late ones too, in native's micro-batches, from as large a state."""
    source = read(spark, write(tmp_path / "in", events_of(4, 40, behind=150)))
    windows = (tumbling("30s"), hopping("1m", slide="20s"), hopping("50s", slide="20s", id="uneven"), tumbling("17s"))
    q = (
        mt.windows(source, time="ts", keys="k", watermark="15s")
        .over(*windows)
        .agg(low=agg.min("s"), all_of=agg.collect("i"), middle=agg.median("v"), last=agg.last("s"))
    )
    plan = q.plan()
    assert repr(plan) == "<stream plan by one operator of Spark's own: 4 windows, 4 aggregates>"
    assert "one stateful operator of Spark's own for all windows" in plan.explain()
    assert (plan.to_dict()["stream"]["operators"], q.plan(strategy="native").to_dict()["stream"]["operators"]) == (1, 4)
    found = emitted({"ours": plan.stream(mode=mode), "native": q.native()}, tmp_path, mode)
    assert found["ours"].rows == found["native"].rows
    assert {row[1] for row in found["ours"].rows} == {window.id for window in windows}
    states = {name: each.progress[-1]["stateOperators"] for name, each in found.items()}
    assert (len(states["ours"]), len(states["native"])) == (1, 4)
    assert states["ours"][0]["numRowsTotal"] == sum(state["numRowsTotal"] for state in states["native"])
    dropped = {name: sum(sum(o["numRowsDroppedByWatermark"] for o in p["stateOperators"]) for p in each.progress)
               for name, each in found.items()}  # fmt: skip
    assert dropped["ours"] == dropped["native"] > 0


def test_functions_of_ones_own_are_not_spread_over_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    source = read(spark, write(tmp_path / "in", events_of(4, 2)))
    mine = agg.define("mine", lift=lambda v: v, combine=lambda x, y: x + y, lower=lambda x: x, returns="bigint")
    q = mt.windows(source, time="ts", watermark="15s").over(tumbling("20s"), tumbling("30s")).agg(m=mine("i"))
    with pytest.raises(QueryError, match="strategy='spread' has no functions of your own, as 'm': take 'auto'"):
        q.plan(strategy="spread")


def test_one_window_that_hardly_overlaps_runs_natively_unless_asked_otherwise(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = read(spark, write(tmp_path / "in", events_of(9, 20)))
    q = mt.windows(source, time="ts", keys="k", watermark="15s").over(hopping("40s", slide="20s")).agg(n=agg.count())
    auto, shared = q.plan(), q.plan(strategy="arrow")
    assert "expected to cost 1.25, and the shared operator 2" in auto.explain()
    assert "one stateful operator -> windows" in shared.explain()
    assert "strategy='native' was asked for" in q.plan(strategy="native").explain()
    found = emitted({"auto": auto.stream(), "shared": shared.stream()}, tmp_path)
    assert found["auto"].rows == found["shared"].rows
    assert found["auto"].rows
    kept = {name: each.progress[0]["stateOperators"][0]["operatorName"] for name, each in found.items()}
    assert kept == {"auto": "stateStoreSave", "shared": "transformWithStateInPySparkExec"}
    # Rows of other modes leave Spark's own operators in another way, and are never chosen for the cost.
    assert "transformWithState" in auto.stream(mode="update")._jdf.queryExecution().analyzed().toString()
    with pytest.raises(QueryError, match="strategy='jvm' is a tree of windows over a table: a stream takes 'arrow'"):
        q.plan(strategy="jvm")
    middle = mt.windows(source, time="ts", watermark="15s").over(tumbling("20s")).agg(middle=agg.median("i"))
    with pytest.raises(QueryError, match=r"strategy='arrow' cannot serve this query: `middle` \(median\)"):
        middle.plan(strategy="arrow")
