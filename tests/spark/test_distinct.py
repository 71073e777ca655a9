"""Distinct items over windows, and how many: those of Spark's own `distinct()` of each window, and by definition."""

from __future__ import annotations

import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

import muntin as mt
from muntin import Statistics, agg, hopping, tumbling
from muntin.errors import QueryError, WindowError
from muntin.table_plan import TablePlan
from tests.spark.equal import EPOCH, SCHEMA, SECOND, check_equal, draw_events, frame_of, plain, together
from tests.spark.streams import read, write
from tests.spark.test_equal import FILTERS, KEYS, few_examples, interpreted, window_sets

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from muntin import Window

__all__ = ["interpreted"]

# Few values that come again and again, among them nulls, NaN and both zeros; and every type that there is.
REPEATED = ("k_string", "k_int", "k_double", "k_bool", "k_struct", "v_wild")
ITEMS = tuple(name for name in SCHEMA.names if name.startswith(("k_", "v_")))
SHAPES = ((60, 0.15), (90, 0.15), (90, 0.8), (1, 0.0), (0, 0.0))
WINDOWS = [tumbling("20s"), hopping("50s", slide="20s", offset="3s", id="uneven"), hopping("1m", slide="5s")]
HOUR = 3_600 * SECOND
# Many events, so that what reads them once is chosen.
MANY = Statistics(rows=1e8, keys=3, span=300 * HOUR, items=1e5)


def natively(
    df: DataFrame, time: str, keys: Sequence[str], items: Sequence[str], windows: Sequence[Window]
) -> DataFrame:
    """List the items of each window as one writes it by hand."""
    frames = []
    for window in windows:
        times = [f"{length} microseconds" for length in (window.range, window.slide, window.offset)]
        held = F.window(F.col(time), *times).alias("window")
        frames.append(df.select(F.lit(window.id).alias("window_id"), held, *keys, *items).distinct())
    return reduce(lambda x, y: x.unionAll(y), frames)


def by_definition(
    events: list[dict[str, Any]], keys: Sequence[str], items: Sequence[str], windows: Sequence[Window]
) -> dict[str, dict[str, Any]]:
    """Put every event into every interval that holds it; a row once, as its own text tells."""
    found = {}
    for event in events:
        if event["us"] is None:
            continue
        for window in windows:
            start = event["us"] - (event["us"] - window.offset) % window.slide
            while start > event["us"] - window.range:
                values = {name: plain(event[name]) for name in (*keys, *items)}
                row = {"window_id": window.id, "start": start, "end": start + window.range, **values}
                found[repr(row)] = row
                start -= window.slide
    return found


def by_micros(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Give rows of Spark's the form of the definition's; none may stand there twice."""
    found = {}
    for row in rows:
        values = {name: plain(value) for name, value in row.items() if name not in ("window_id", "window")}
        moved = {"window_id": row["window_id"], **{name: micros(row["window"][name]) for name in ("start", "end")}}
        found[repr(moved | values)] = moved | values
    assert len(found) == len(rows), f"{len(rows) - len(found)} rows stand there twice"
    return found


def micros(moment: datetime.datetime) -> int:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)
    return (aware - EPOCH) // datetime.timedelta(microseconds=1)


@given(
    seed=st.integers(0, 2**32),
    windows=window_sets(),
    keys=st.sampled_from(KEYS),
    items=st.one_of(
        st.lists(st.sampled_from(REPEATED), min_size=1, max_size=2, unique=True),
        st.lists(st.sampled_from(ITEMS), min_size=1, max_size=2, unique=True),
    ),
    shape=st.sampled_from(SHAPES),
    time=st.sampled_from(["ts", "ts", "ntz"]),
)
@example(1, WINDOWS, ("k_int",), ["k_double"], (90, 0.15), "ts")
@settings(few_examples, max_examples=6)
def test_any_windows_have_the_items_of_the_definition(
    spark: SparkSession,
    interpreted: None,
    seed: int,
    windows: list[Window],
    keys: tuple[str, ...],
    items: list[str],
    shape: tuple[int, float],
    time: str,
) -> None:
    items = [name for name in items if name not in keys] or ["v_byte"]
    events = draw_events(seed, *shape)
    frame = frame_of(spark, events, 2)
    ours = mt.distinct(frame, time=time, keys=keys, items=items, windows=windows)
    by_hand = natively(frame, time, keys, items, windows)
    assert ours.dtypes == by_hand.dtypes
    found = together({"ours": ours, "by hand": by_hand})
    check_equal(found["ours"], found["by hand"], ours.columns)
    assert by_micros(found["ours"]) == by_definition(events.to_pylist(), keys, items, windows)


@st.composite
def counts(draw: st.DrawFn) -> dict[str, tuple[str, str | None]]:
    """Draw what to count: columns, with a filter or without."""
    columns = st.one_of(st.sampled_from(REPEATED), st.sampled_from(ITEMS))
    return {f"n{place}": (draw(columns), draw(st.sampled_from(FILTERS))) for place in range(draw(st.integers(1, 3)))}


@given(
    seed=st.integers(0, 2**32),
    windows=window_sets(),
    counted=counts(),
    keys=st.sampled_from(KEYS),
    shape=st.sampled_from(SHAPES),
    time=st.sampled_from(["ts", "ts", "ntz"]),
    strategy=st.sampled_from(["auto", "jvm", "arrow"]),
)
@example(2, WINDOWS, {"n": ("k_double", None), "m": ("k_string", "v_byte > 99")}, ("k_int",), (90, 0.15), "ts", "auto")
@settings(few_examples, max_examples=6)
def test_any_windows_have_the_counts_of_the_plan_written_by_hand(
    spark: SparkSession,
    interpreted: None,
    seed: int,
    windows: list[Window],
    counted: dict[str, tuple[str, str | None]],
    keys: tuple[str, ...],
    shape: tuple[int, float],
    time: str,
    strategy: Any,
) -> None:
    events = draw_events(seed, *shape)
    named = {name: agg.count_distinct(column, filter=kept) for name, (column, kept) in counted.items()}
    q = mt.windows(frame_of(spark, events, 2), time=time, keys=keys).over(*windows).agg(**named)
    plan = q.plan(strategy=strategy, statistics=MANY)
    if strategy != "auto":
        assert ways(plan) == ["distinct"]
    assert plan.run().dtypes == q.native().dtypes
    found = together({"ours": plan.run(), "by hand": q.native()})
    check_equal(found["ours"], found["by hand"], ["window_id", "window", *keys], repr(plan))
    if {kept for _, kept in counted.values()} == {None}:
        assert by_micros(found["ours"]) == counted_by_definition(events.to_pylist(), keys, counted, windows)


def counted_by_definition(
    events: list[dict[str, Any]],
    keys: Sequence[str],
    counted: dict[str, tuple[str, str | None]],
    windows: Sequence[Window],
) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for name, (column, _) in counted.items():
        events = [event | {"_item": event[column]} for event in events]
        for row in by_definition(events, keys, ["_item"], windows).values():
            item = row.pop("_item")
            place = rows.setdefault(repr(row), row | dict.fromkeys(counted, 0))
            place[name] += item is not None
    return {repr(row): row for row in rows.values()}


def ways(plan: object) -> list[str]:
    assert isinstance(plan, TablePlan)
    return [step.way for step in plan.physical.steps]


@pytest.mark.slow
def test_compiled_and_by_cost(spark: SparkSession) -> None:
    """As users run them, with generated code, beside other aggregates, in long and in wide form."""
    frame = frame_of(spark, draw_events(3, 150))
    q = (
        mt.windows(frame, time="ts", keys="k_string")
        .over(*WINDOWS)
        .agg(
            n=agg.count_distinct("k_int"),
            m=agg.count_distinct("v_wild"),
            low=agg.min("v_int"),
            mid=agg.median("v_byte"),
        )
    )
    plan = q.plan(statistics=MANY)
    assert isinstance(plan, TablePlan)
    assert {step.way: step.aggregates for step in plan.physical.steps}["distinct"] == ("n", "m")
    assert "first appearances of values" in plan.explain()
    found = together({"ours": plan.run(), "by hand": q.native()})
    check_equal(found["ours"], found["by hand"], ["window_id", "window", "k_string"])
    wide = together({"ours": plan.run(wide=True), "by hand": q.native(wide=True)})
    check_equal(wide["ours"], wide["by hand"], ["k_string", "at"])
    listed = mt.distinct(frame, time="ts", keys="k_string", items=["k_int", "v_wild"], windows=WINDOWS)
    by_hand = natively(frame, "ts", ["k_string"], ["k_int", "v_wild"], WINDOWS)
    rows = together({"ours": listed, "by hand": by_hand})
    assert len(rows["ours"]) > 300
    check_equal(rows["ours"], rows["by hand"], listed.columns)


def test_how_many_values_there_are_is_looked_up(spark: SparkSession, tmp_path: Path) -> None:
    made = "select timestamp_seconds(id) ts, string(id % 5) k, id % 30 few, id many from range(40000)"
    spark.sql(made).coalesce(1).write.parquet(str(tmp_path / "events"))
    files = spark.read.parquet(str(tmp_path / "events"))

    def items(frame: DataFrame, **counted: Any) -> float | None:
        plan = mt.windows(frame, time="ts", keys="k").over(*WINDOWS).agg(**counted).plan()
        assert isinstance(plan, TablePlan)
        return plan.physical.statistics.items

    for frame in (files, spark.sql(made)):
        assert items(frame, n=agg.count()) is None
        # Thirty values, each of one key.
        assert items(frame, n=agg.count_distinct("few")) == 30
        assert (items(frame, n=agg.count_distinct("few"), m=agg.count_distinct("many")) or 0) > 40_000
    # A file says nothing of expressions.
    assert items(files, n=agg.count_distinct("few", filter="many > 3")) is None
    assert items(files, n=agg.count_distinct(F.col("few") % 2)) is None
    assert items(spark.sql(made), n=agg.count_distinct(F.col("few") % 2)) == 10


def test_items_counted_are_the_distinct_count(spark: SparkSession, interpreted: None) -> None:
    frame = frame_of(spark, draw_events(4, 120)).where("v_byte is not null")
    items = mt.distinct(frame, time="ts", keys="k_int", items="v_byte", windows=WINDOWS)
    counted = items.groupBy("window_id", "window", "k_int").count().withColumnRenamed("count", "n")
    asked = mt.windows(frame, time="ts", keys="k_int").over(*WINDOWS).agg(n=agg.count_distinct("v_byte"))
    found = together({"ours": counted, "by hand": asked.native()})
    assert len(found["ours"]) > 100
    check_equal(found["ours"], found["by hand"], ["window_id", "window", "k_int"])


def test_one_scan_and_as_many_exchanges_whatever_the_windows(spark: SparkSession, tmp_path: Path) -> None:
    frame_of(spark, draw_events(5, 20)).write.parquet(str(tmp_path / "events"))
    frame = spark.read.parquet(str(tmp_path / "events"))

    def plan(found: DataFrame) -> list[int]:
        text = found._jdf.queryExecution().executedPlan().toString()
        return [text.count(word) for word in ("FileScan", "Exchange hashpartitioning", "Expand")]

    several = [hopping("1m", slide=f"{n}s") for n in (5, 10, 15, 20, 30)]
    for windows in (several[:1], several):
        # One exchange for the panes of each item, one for the items; two more for the counts of windows.
        assert plan(mt.distinct(frame, time="ts", keys="k_int", items="v_int", windows=windows)) == [1, 2, 0]
        q = mt.windows(frame, time="ts", keys="k_int").over(*windows).agg(n=agg.count_distinct("v_int"))
        assert plan(q.plan(strategy="jvm", statistics=MANY).run()) == [1, 4, 0]
        assert plan(q.native()) == [len(windows), 2 * len(windows), len(windows)]


def test_a_day_by_the_minute_lists_each_item_in_each_window(spark: SparkSession, interpreted: None) -> None:
    rows = [(0, "a"), (60 * SECOND, "a"), (-90 * SECOND, "b"), (40 * HOUR, "a"), (40 * HOUR, None), (None, "c")]
    frame = spark.createDataFrame(rows, "t bigint, x string").withColumn("ts", F.timestamp_micros("t"))
    windows = [hopping("24h", slide="1m", id="day"), tumbling("24h", id="calendar")]
    counted = mt.distinct(frame, time="ts", items="x", windows=windows).groupBy("window_id", "x").count()
    found = {(row["window_id"], row["x"]): row["count"] for row in counted.collect()}
    # The second "a" is in one window more than the first, the one a day and more later in all of its own.
    day = {("day", "a"): 1440 + 1 + 1440, ("day", "b"): 1440, ("day", None): 1440}
    assert found == {**day, ("calendar", "a"): 2, ("calendar", "b"): 1, ("calendar", None): 1}
    q = mt.windows(frame, time="ts").over(*windows).agg(n=agg.count_distinct("x"))
    ours = q.plan(strategy="jvm", statistics=MANY).run().groupBy("window_id", "n").count().collect()
    # Both where "b" is in pane -2 and "a" from pane 0 on; nulls count nothing, and make no window here of their own.
    both = 1440 - 2
    assert {(row["window_id"], row["n"]): row["count"] for row in ours} == {
        ("day", 1): 1440 - both + 1441 - both + 1440,
        ("day", 2): both,
        ("calendar", 1): 3,
    }


def test_nothing_but_nulls_counts_nothing_and_is_there(spark: SparkSession, interpreted: None) -> None:
    frame = spark.sql("select timestamp_seconds(id) ts, cast(null as string) x, id % 2 k from range(4)")
    q = (
        mt.windows(frame, time="ts", keys="k")
        .over(tumbling("2s"), hopping("3s", slide="1s"))
        .agg(n=agg.count_distinct("x"), m=agg.count_distinct("k", filter="k = 1"))
    )
    found = together({"ours": q.plan(strategy="jvm", statistics=MANY).run(), "by hand": q.native()})
    check_equal(found["ours"], found["by hand"], ["window_id", "window", "k"])
    assert {row["n"] for row in found["ours"]} == {0}
    assert {row["m"] for row in found["ours"]} == {0, 1}


def test_windows_finer_than_a_second(spark: SparkSession, interpreted: None) -> None:
    windows = [tumbling("7us", offset="3us"), hopping("250ms", slide="100ms"), hopping("1.5s", slide="1s")]
    events = [{"us": int(row[0])} for row in spark.range(300).select(F.hash("id") % 1_000_000).collect()]
    events = [event | {"x": place % 7} for place, event in enumerate(events)]
    frame = spark.createDataFrame([(e["us"], e["x"]) for e in events], "us bigint, x bigint")
    ours = mt.distinct(frame, time=F.timestamp_micros("us").alias("at"), items="x", windows=windows)
    assert by_micros(together({"ours": ours})["ours"]) == by_definition(events, [], ["x"], windows)


def test_the_sessions_zone_moves_nothing(spark: SparkSession, interpreted: None) -> None:
    """Times without zone in the hour that New York skips, and times with one."""
    gap = 1_710_037_800 * SECOND  # 2024-03-10 02:30, read without zone
    frame = frame_of(spark, draw_events(6, 80, start=gap))
    windows = [tumbling("1d"), hopping("2h", slide="30m", offset="5m"), hopping("20s", slide="7s")]
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        for time in ("ts", "ntz"):
            ours = mt.distinct(frame, time=time, items=["k_int", "k_time"], windows=windows)
            by_hand = natively(frame, time, [], ["k_int", "k_time"], windows)
            found = together({"ours": ours, "by hand": by_hand})
            assert len(found["ours"]) > 100
            check_equal(found["ours"], found["by hand"], ours.columns)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_odd_names_and_expressions(spark: SparkSession, interpreted: None) -> None:
    frame = frame_of(spark, draw_events(7, 60)).withColumn("a.b`c", F.col("k_int")).withColumn("_mt_p", F.lit(1))
    ours = mt.distinct(
        frame,
        time=F.col("ts") + F.expr("INTERVAL 1 SECOND"),
        keys=["a.b`c", F.upper("k_string").alias("k_string")],
        items=["k_struct.b", F.lower("k_string").alias("low")],
        windows=WINDOWS,
    )
    assert ours.columns == ["window_id", "window", "a.b`c", "k_string", "k_struct.b", "low"]
    moved = frame.select(
        (F.col("ts") + F.expr("INTERVAL 1 SECOND")).alias("ts"),
        F.col("k_int").alias("k"),
        F.upper("k_string").alias("up"),
        F.col("k_struct.b").alias("b"),
        F.lower("k_string").alias("low"),
    )
    by_hand = natively(moved, "ts", ["k", "up"], ["b", "low"], WINDOWS)
    found = together({"ours": ours.toDF(*by_hand.columns), "by hand": by_hand})
    check_equal(found["ours"], found["by hand"], by_hand.columns)


def test_equal_by_collation_is_one_item(spark: SparkSession, interpreted: None) -> None:
    frame = spark.sql(
        "select timestamp_seconds(id * 7) ts, id % 2 k, collate(substr('aAbBB', int(id % 5) + 1, 1), 'UTF8_LCASE') x, "
        "make_interval(0, 0, 0, int(id % 3)) days from range(40)"
    )
    ours = mt.distinct(frame, time="ts", keys="x", items="k", windows=WINDOWS)
    found = together({"ours": ours, "by hand": natively(frame, "ts", ["x"], ["k"], WINDOWS)})
    # Which of the equal ones is shown is Spark's own choice.
    for rows in found.values():
        for row in rows:
            row["x"] = row["x"].lower()
    check_equal(found["ours"], found["by hand"], ours.columns)
    q = mt.windows(frame, time="ts", keys="k").over(*WINDOWS).agg(n=agg.count_distinct("x"))
    plan = q.plan(strategy="jvm", statistics=MANY)
    assert ways(plan) == ["distinct"]
    counted = together({"ours": plan.run(), "by hand": q.native()})
    check_equal(counted["ours"], counted["by hand"], ["window_id", "window", "k"])
    # Values that Spark counts but cannot sort stay on its own plan.
    unsorted = mt.windows(frame, time="ts").over(*WINDOWS).agg(n=agg.count_distinct("days"))
    assert ways(unsorted.plan(strategy="jvm", statistics=MANY)) == ["native"]
    with pytest.raises(QueryError, match="the item 'days' is of type interval, which Spark cannot sort by"):
        mt.distinct(frame, time="ts", items="days", windows=WINDOWS)


def test_what_cannot_be_listed(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql("select now() ts, id k, string(id) x, map(id, id) m, id window, id t from range(1)")
    stream = read(spark, write(tmp_path / "in", []))
    good: dict[str, Any] = {"df": frame, "time": "ts", "keys": "k", "items": "x", "windows": [tumbling("10s")]}
    for changes, error, words in (
        ({"df": [1]}, QueryError, "must be a Spark DataFrame, got list"),
        ({"items": []}, QueryError, "nothing to list: .* items="),
        ({"items": "y"}, QueryError, r"the item 'y': there is no such column\. The DataFrame has ts, k, x"),
        ({"keys": ["k", "kk"]}, QueryError, "the key 'kk': there is no such column; did you mean 'k'"),
        ({"time": "when"}, QueryError, "the time column 'when': there is no such column"),
        ({"time": "t"}, QueryError, "time column 't' is of type bigint: .* timestamp_seconds"),
        ({"items": "m"}, QueryError, "the item 'm' is of type map.*cannot group by"),
        ({"keys": "m"}, QueryError, "the key 'm' is of type map.*cannot group by"),
        ({"items": "x.y"}, QueryError, "the item 'x.y' cannot be taken from the DataFrame"),
        ({"items": F.col("y") + 1}, QueryError, "a key, an item or the time cannot be taken .*`y`"),
        ({"items": [1]}, QueryError, "a key, an item or the time is a column's name or a Spark expression, got 1"),
        ({"items": None}, QueryError, "items are a column's name, .* got None"),
        ({"keys": 3}, QueryError, "keys are a column's name, .* got 3"),
        ({"items": "window"}, QueryError, "the item 'window' is named like the result's own column: rename"),
        ({"keys": F.col("k").alias("Window_Id")}, QueryError, "the key 'Window_Id' is named like the result's own"),
        ({"items": ["x", "K"]}, QueryError, "the item 'K' is named like the key 'k'"),
        ({"items": F.col("x").alias("_mt_x")}, QueryError, "the item '_mt_x' needs another name"),
        ({"windows": []}, WindowError, "the window set is empty"),
        ({"windows": tumbling("10s")}, WindowError, "expected several windows"),
        ({"windows": [mt.Window(5, 5)]}, QueryError, "counts a plain unit"),
        ({"df": stream, "items": "i"}, QueryError, "are a stream, .*agg.collect_distinct .*agg.approx_distinct"),
    ):
        with pytest.raises(error, match=words):
            mt.distinct(**(good | changes))
