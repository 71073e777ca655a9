"""Users' aggregates on Spark: shared over windows, they equal the plan written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import Window as SparkWindow
from pyspark.sql import functions as F

import muntin as mt
from muntin import Statistics, agg, hopping, tumbling
from muntin.declare.query import WindowQuery, named_aggregates
from muntin.errors import QueryError
from muntin.spark.bound import bind
from muntin.spark.custom import custom
from muntin.spark.native import native
from muntin.spark.panes import Grid
from muntin.table_plan import TablePlan
from muntin.window.slices import pane_width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from muntin import Window
    from muntin.spark.bound import Bound

# "Last minus first": the first and the last value in order of time.
SPAN = agg.define(
    "span",
    lift=lambda v: (v, v),
    combine=lambda x, y: (x[0], y[1]),
    lower=lambda ends: ends[1] - ends[0],
    returns="bigint",
)
LONGEST = agg.define(
    "longest",
    lift=lambda s: (len(s), s),
    combine=max,
    lower=lambda x: x[1],
    commutative=True,
    selects=True,
    returns="string",
)
UNION = agg.define(
    "union",
    lift=lambda v: frozenset([v]),
    combine=lambda x, y: x | y,
    lower=sorted,
    identity=frozenset(),
    commutative=True,
    overlap_tolerant=True,
    returns="array<string>",
)
WEIGHTED = agg.define(
    "weighted",
    lift=lambda vw: (vw[0] * vw[1], vw[1]) if None not in vw else (0, 0),
    combine=lambda x, y: (x[0] + y[0], x[1] + y[1]),
    lower=lambda x: x[0] / x[1] if x[1] else None,
    identity=(0, 0),
    commutative=True,
    arity=2,
    returns="double",
)
BITS = agg.define(
    "bits", lift=lambda v: v % 64, combine=lambda x, y: x | y, identity=0, commutative=True, returns="int"
)
TOP = agg.define(
    "top_three",
    lift=lambda v: (v,),
    combine=lambda x, y: tuple(sorted(x + y, reverse=True)[:3]),
    lower=list,
    identity=(),
    commutative=True,
    returns="array<bigint>",
)
# In order, with every value that it saw, nulls too: what no other aggregate would notice, this one shows.
TRACE = agg.define(
    "trace",
    lift=lambda v: (v,),
    combine=lambda x, y: x + y,
    identity=(),
    lower=list,
    ignores_nulls=False,
    returns="array<bigint>",
)
EVENTS = agg.define("events", lift=lambda _: 1, combine=lambda x, y: x + y, identity=0, arity=0, returns="bigint")
PAIRS = agg.define(
    "pairs",
    lift=lambda pair: (pair,),
    combine=lambda x, y: x + y,
    lower=list,
    arity=2,
    ignores_nulls=False,
    returns="array<struct<s:string,v:bigint>>",
)

WINDOWS = (
    tumbling("20s"),
    tumbling("30s", offset="10s"),
    hopping("1m", slide="20s"),
    hopping("50s", slide="20s", offset="10s"),
)
ALL = {
    "span": SPAN("v"),
    "longest": LONGEST("s"),
    "union": UNION("s", filter="v > 0"),
    "weighted": WEIGHTED("v", "w"),
    "bits": BITS("v"),
    "top": TOP("v"),
    "trace": TRACE("v", filter="w > 2"),
    "events": EVENTS(filter="v < 0"),
    "pairs": PAIRS("s", "v"),
}


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    """600 events in whole seconds, so that many share one, on both sides of 1970, with a gap of a year, and nulls."""
    seconds = F.col("id") % 211 - 100 + F.when(F.col("id") % 3 == 0, 31_536_000).otherwise(0)
    v = F.hash("id") % 100
    return spark.range(0, 600, 1, 2).select(
        F.timestamp_seconds(seconds).alias("ts"),
        F.when(F.col("id") % 7 > 0, F.concat(F.lit("k"), F.col("id") % 2)).alias("k"),
        (F.col("id") % 3 / 2).alias("d"),
        # For d = 1 all values are null: such windows leave too.
        F.when((F.col("id") % 3 < 2) & (v % 5 > 0), v.cast("long")).alias("v"),
        F.when(v % 4 > 0, F.col("id") % 6).alias("w"),
        F.when(v % 3 > 0, F.repeat(F.lit("ä"), (F.col("id") % 5).cast("int"))).alias("s"),
    )


def rows(frame: DataFrame) -> list[Any]:
    return sorted((row.asDict(recursive=True) for row in frame.collect()), key=repr)


def bound_to(frame: DataFrame, aggregates: Mapping[str, Any], keys: Sequence[str], windows: Sequence[Window]) -> Bound:
    return bind(WindowQuery(frame, "ts", tuple(keys), tuple(windows), named_aggregates(aggregates)))


def shared_frame(bound: Bound, coarse: int | None = None) -> DataFrame:
    windows = bound.query.windows
    width = pane_width(windows)
    names = [name for name, _ in bound.query.aggregates]
    return custom(bound, names, windows, Grid(width, windows[0].offset % width), coarse)


def shared_rows(frame: DataFrame, aggregates: Mapping[str, Any], keys: Sequence[str], coarse: int) -> list[Any]:
    return rows(shared_frame(bound_to(frame, aggregates, keys, WINDOWS), coarse))


def both(
    frame: DataFrame, aggregates: Mapping[str, Any], keys: Sequence[str] = (), windows: Sequence[Window] = WINDOWS
) -> tuple[list[Any], list[Any]]:
    bound = bound_to(frame, aggregates, keys, windows)
    shared, by_hand = shared_frame(bound), native(bound)
    assert shared.dtypes == by_hand.dtypes
    return rows(shared), rows(by_hand)


@pytest.mark.parametrize("keys", [(), ("k", "d")])
def test_all_windows_equal_the_plan_written_by_hand(events: DataFrame, keys: tuple[str, ...]) -> None:
    shared, by_hand = both(events, ALL, keys)
    assert len(by_hand) >= 90
    assert shared == by_hand
    # In buckets of time, shorter and longer than the widest window.
    assert shared_rows(events, ALL, keys, coarse=4) == by_hand
    assert shared_rows(events, ALL, keys, coarse=40) == by_hand


def test_one_key_and_one_aggregate(events: DataFrame) -> None:
    windows = [hopping("2m", slide="10s"), tumbling("1m")]
    # A dot in a key's name is part of the name.
    shared, by_hand = both(events.withColumnRenamed("k", "k.x"), {"trace": TRACE("v")}, ("k.x",), windows)
    assert shared == by_hand


def test_what_the_plan_written_by_hand_gives(spark: SparkSession) -> None:
    """The oracle itself, on a window that can be read."""
    frame = spark.createDataFrame(
        [(1, 5, "b"), (1, 3, "a"), (1, None, "z"), (0, 9, "c"), (2, None, None)], "t int, v bigint, s string"
    ).select(F.timestamp_seconds("t").alias("ts"), "v", "s")
    aggregates = {
        "trace": TRACE("v"),
        "kept": TRACE("v", filter="s < 'z'"),
        "none": TRACE("v", filter="s = 'no'"),
        "n": EVENTS(),
        "few": EVENTS(filter="v > 4"),
        "span": SPAN("v"),
        "gone": SPAN("v", filter="v > 100"),
        "pairs": PAIRS("s", "v"),
    }
    shared, by_hand = both(frame, aggregates, windows=[tumbling("10s")])
    assert shared == by_hand
    (row,) = by_hand
    assert row["trace"] == [9, None, 3, 5, None]
    assert row["kept"] == [9, 3, 5]
    assert row["none"] == []
    assert (row["n"], row["few"]) == (5, 2)
    assert (row["span"], row["gone"]) == (5 - 9, None)
    assert [(pair["s"], pair["v"]) for pair in row["pairs"]] == [
        ("c", 9),
        ("a", 3),
        ("b", 5),
        ("z", None),
        (None, None),
    ]


def test_values_are_those_that_spark_gives_to_python(spark: SparkSession) -> None:
    frame = spark.sql(
        "select timestamp_seconds(id) ts, timestamp_micros(id * 1234567) t, timestamp_ntz '2024-01-02 03:04:05' n, "
        "date_add(date '2024-01-01', cast(id as int)) d, cast(id / 4 as decimal(10, 2)) m, cast('ab' as binary) b, "
        "array(timestamp_seconds(id), null) a, struct(id x, timestamp_seconds(id) y, array(id) z) st, id % 2 = 0 f, "
        "if(id = 3, double('nan'), id / 2) x from range(0, 8, 1, 1)"
    )
    shown = agg.define(
        "shown", lift=lambda v: (repr(v),), combine=lambda x, y: x + y, lower=list, returns="array<string>"
    )
    aggregates = {f"r_{name}": shown(name) for name in ("t", "n", "d", "m", "b", "a", "st", "f", "x")}
    shared, by_hand = both(frame, aggregates, windows=[hopping("4s", slide="2s")])
    assert shared == by_hand


def test_results_of_every_type(spark: SparkSession) -> None:
    frame = spark.sql(
        "select timestamp_seconds(id) ts, timestamp_micros(id * 1234567) t, timestamp_ntz '2024-01-02 03:04:05' n, "
        "date_add(date '2024-01-01', cast(id as int)) d, cast(id / 4 as decimal(10, 2)) m, cast('ab' as binary) b, "
        "id, id / 2 x, id % 2 = 0 f from range(0, 8, 1, 1)"
    )
    types = {
        "t": "timestamp", "n": "timestamp_ntz", "d": "date", "m": "decimal(12,1)", "b": "binary", "id": "smallint",
        "x": "float", "f": "boolean",
    }  # fmt: skip
    aggregates: dict[str, Any] = {
        f"r_{name}": agg.define("latest", lift=lambda v: v, combine=lambda _, y: y, returns=kind)(name)
        for name, kind in types.items()
    }
    shared, by_hand = both(frame, aggregates, windows=[hopping("4s", slide="2s")])
    assert shared == by_hand
    assert by_hand[0]["r_b"] == b"ab"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (agg.define("mine", lift=lambda v: 1 // v, combine=max, returns="int"), "lift failed on 0: ZeroDivisionError"),
        (agg.define("mine", lift=lambda v: v, combine=lambda x, y: x[y], returns="int"), "combine failed on 0 and 1: "),
        (agg.define("mine", lift=lambda v: v, combine=max, lower=len, returns="int"), "lower failed on 2: TypeError"),
        (agg.define("mine", lift=lambda v: v / 4, combine=max, returns="int"), "the result 0.5 is not whole"),
        (agg.define("mine", lift=str, combine=max, returns="int"), "the result '2' is no int"),
        (agg.define("mine", lift=lambda v: 2**40, combine=max, returns="int"), "is too large for int"),
        (agg.define("mine", lift=lambda v: {v}, combine=set.union, returns="array<bigint>"), "is no array<bigint>"),
    ],
)
def test_a_failing_function_is_named(spark: SparkSession, function: Any, message: str) -> None:
    frame = spark.sql("select timestamp_seconds(id) ts, id v from range(0, 3, 1, 1)")
    bound = bound_to(frame, {"r": function("v")}, (), [tumbling("10s")])
    fails(shared_frame(bound), message)


def test_a_failing_function_is_named_by_the_plan_written_by_hand(spark: SparkSession) -> None:
    frame = spark.sql("select timestamp_seconds(id) ts, id v from range(0, 3, 1, 1)")
    function = agg.define("mine", lift=lambda v: 1 // v, combine=max, returns="int")
    fails(native(bound_to(frame, {"r": function("v")}, (), [tumbling("10s")])), "lift failed on 0: ZeroDivisionError")


def fails(frame: DataFrame, message: str) -> None:
    with pytest.raises(Exception, match="AggregateError") as raised:
        frame.collect()
    assert "`r` (mine): " in str(raised.value)
    assert message in str(raised.value)


def test_no_events_give_no_windows(events: DataFrame) -> None:
    assert both(events.where("false"), {"trace": TRACE("v")}, ("k",)) == ([], [])


def test_keys_that_spark_sorts_by_rules_of_its_own(spark: SparkSession) -> None:
    """For a collation 'a' and 'A' are one key, which a worker would take for two; others it cannot be given at all."""
    frame = spark.sql(
        "select timestamp_seconds(id) ts, id v, collate(if(id % 2 = 0, 'a', 'A'), 'UTF8_LCASE') letter, "
        "struct(collate(if(id % 2 = 0, 'a', 'A'), 'UTF8_LCASE')) nested, "
        "make_ym_interval(0, cast(id % 2 as int)) months, struct(map('a', id % 2)) deep from range(0, 60, 1, 1)"
    )
    for key, groups in (("letter", 1), ("nested", 1), ("months", 2), ("deep", 2)):
        q = mt.windows(frame, time="ts", keys=key).over(tumbling("20s"), tumbling("30s")).agg(top=TOP("v"))
        for plan in (q.plan(), q.plan(statistics=Statistics(rows=1e9, keys=1e6, span=10**15))):
            assert isinstance(plan, TablePlan)
            assert [step.way for step in plan.physical.steps] == ["native"]
            found, wanted = (
                sorted(
                    tuple(row) for row in each.select("window_id", F.col("window.start").cast("long"), "top").collect()
                )
                for each in (plan.run(), q.native())
            )
            assert len(wanted) == 5 * groups
            assert found == wanted


def test_what_is_not_of_one_event_is_refused_when_planned(spark: SparkSession) -> None:
    frame = spark.sql("select timestamp_seconds(id) ts, id v, make_ym_interval(0, 1) m from range(3)")
    asked = {
        "NESTED_AGGREGATE|MISSING_GROUP_BY": TOP(F.sum("v")),
        "aggregate": TOP("v", filter=F.sum("v") > 1),
        "(?i)nondeterministic": TOP(F.rand()),
        "(?i)generator": TOP(F.explode(F.array("v"))),
        "(?i)window function": TOP(F.sum("v").over(SparkWindow.partitionBy("v"))),
        "`r` reads m of type interval year to month, which Arrow cannot": TOP("m"),
        "cannot return map": agg.define("mine", lift=dict, combine=max, returns="map<string,int>")("v"),
    }
    for words, aggregate in asked.items():
        with pytest.raises(QueryError, match=words):
            mt.windows(frame, time="ts").over(tumbling("10s")).agg(r=aggregate).plan(statistics=Statistics(rows=3))


def test_a_column_without_order_is_refused(spark: SparkSession) -> None:
    frame = spark.sql("select timestamp_seconds(id) ts, map('a', id) m from range(3)")
    with pytest.raises(QueryError, match=r"`r` reads m of type map<string,bigint>.*map_entries"):
        both(frame, {"r": agg.define("mine", lift=len, combine=max, returns="int")("m")})


def test_a_map_as_a_result_is_refused(events: DataFrame) -> None:
    with pytest.raises(QueryError, match=r"cannot return map<string,int>.*array<struct<key,value>>"):
        both(events, {"r": agg.define("mine", lift=dict, combine=max, returns="map<string,int>")("v")})
