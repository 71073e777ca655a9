"""A plan's rows are those of the plan written by hand, whatever the windows, aggregates, keys and types."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.errors import ArithmeticException
from pyspark.sql import functions as F

import muntin as mt
from muntin import Statistics, agg, hopping, optimize, tumbling
from muntin.errors import AggregateError
from muntin.spark.spread import LISTED
from muntin.table_plan import TablePlan
from tests.spark.equal import SCHEMA, SECOND, SIZE, check_equal, draw_events, frame_of, together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from muntin import Query, Window
    from muntin.api import LogicalPlan

INTEGERS = ("v_byte", "v_short", "v_int", "v_long")
FLOATS = ("v_float", "v_double")
DECIMALS = ("v_money", "v_decimal")
NUMBERS = (*INTEGERS, *FLOATS, "v_wild", *DECIMALS)
VALUES = tuple(name for name in SCHEMA.names if name.startswith("v_"))
TIMES = ("v_date", "v_time", "v_ntz")
# Which columns each aggregate is tried on.
TAKES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("count", "min", "max", "min_count", "max_count", "first", "last"), VALUES),
    **dict.fromkeys(("collect", "collect_distinct", "count_distinct", "approx_distinct", "theta"), VALUES),
    **dict.fromkeys(("sum", "avg", "variance", "var_pop", "stddev", "stddev_pop", "median"), NUMBERS),
    **dict.fromkeys(("any", "all"), ("v_bool",)),
    # From the smallest 32-bit integer to the largest is more than one holds: see the test of that below.
    "range": (*(name for name in NUMBERS if name != "v_int"), *TIMES),
    "geometric_mean": ("v_byte", "v_double", "v_wild"),
    "concat": ("v_string",),
    "approx_quantile": ("v_byte", "v_double", "v_money"),
}
KEYS = (
    (),
    ("k_string",),
    ("k_int",),
    ("k_string", "k_int"),
    ("k_double",),
    ("k_bool", "k_date"),
    ("k_struct",),
    ("k_time",),
)
FILTERS: tuple[str | None, ...] = (None, None, "v_int > 0", "v_bool", "v_string < 'b' or v_byte is null", "v_byte > 99")
ADDED = ("sum", "avg", "stddev", "stddev_pop", "variance", "var_pop")
OPTIMIZERS = ("none", "mincost", "factor", "exact", "auto")
# Few keys go by coarse buckets, many do not; many rows go by kernels, few natively.
FEW = Statistics(rows=1e8, keys=1, span=300 * SECOND)
MANY = Statistics(rows=1e8, keys=1e3, span=300 * SECOND)
TINY = Statistics(rows=10, keys=2, span=SECOND)
WINDOWS = (
    tumbling("20s"),
    tumbling("30s", offset="10s"),
    hopping("1m", slide="20s"),
    hopping("50s", slide="20s", offset="3s", id="uneven"),
    hopping("1m", slide="20s", id="twin"),
)

WIDE = (
    ("count", "v_int"),
    ("sum", "v_long"),
    ("avg", "v_double"),
    ("max", "v_time"),
    ("first", "v_string"),
    ("stddev", "v_byte"),
    ("max_count", "v_bool"),
    ("geometric_mean", "v_double"),
)

few_examples = settings(
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
    # A smaller example would take minutes to find: the draws are printed as they are.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Compile no Java for each small plan: that takes ten times as long as its rows."""
    names = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    for name, value in names.items():
        spark.conf.set(name, value)
    yield
    for name in names:
        spark.conf.unset(name)


def applied(function: str, column: str, kept: str | None = None) -> dict[str, Any]:
    """Apply an aggregate; for one that adds floats, say also how large they are, for rounding goes by that."""
    name = f"{function}_{column}"
    found = {name: getattr(agg, function)(column, filter=kept)}
    if (function in ADDED and column not in DECIMALS) or function.startswith(("var", "std")):
        size: Column = F.abs(F.col(column).cast("double"))
        # What is squared is rounded by its square.
        size = size * size if function.startswith("var") else size
        found[SIZE + name] = agg.sum(size, filter=kept)
    return found


def planned(q: Query, plans: Sequence[tuple[str, str, Statistics]], *, wide: bool = False) -> dict[str, DataFrame]:
    frames = {"by hand": q.native(wide=wide)}
    for strategy, optimizer, statistics in plans:
        plan = q.plan(strategy=strategy, optimizer=optimizer, statistics=statistics)  # type: ignore[arg-type]
        frames[f"{strategy} {optimizer} {statistics} {plan!r} of {q.aggregates}"] = plan.run(wide=wide)
    for name, frame in frames.items():
        assert frame.dtypes == frames["by hand"].dtypes, name
    return frames


def check_plans(q: Query, plans: Sequence[tuple[str, str, Statistics]]) -> int:
    found = together(planned(q, plans))
    wanted = found.pop("by hand")
    for name, rows in found.items():
        check_equal(rows, wanted, ["window_id", "window", *q.keys], name)
    return len(wanted)


@st.composite
def window_sets(draw: st.DrawFn) -> list[Window]:
    found: list[Window] = []
    for place in range(draw(st.integers(1, 3))):
        slide = draw(st.sampled_from([5, 7, 10, 15, 20]))
        size = slide * draw(st.sampled_from([1, 1, 2, 3, 6])) + draw(st.sampled_from([0, 0, 3]))
        offset = draw(st.sampled_from(["0s", "3s", "5s", "250ms"]))
        found.append(hopping(f"{size}s", f"{slide}s", offset=offset, id=f"w{place}"))
    if draw(st.booleans()):
        last = found[-1]
        found.append(mt.Window(last.range, last.slide, last.offset, id="twin", timed=True))
    return found


@st.composite
def aggregate_sets(draw: st.DrawFn) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for place in range(draw(st.integers(1, 4))):
        function = draw(st.sampled_from([*TAKES, "arg_min", "arg_max"]))
        kept = draw(st.sampled_from(FILTERS))
        if function in TAKES:
            found |= applied(function, draw(st.sampled_from(TAKES[function])), kept)
        else:
            by, value = draw(st.sampled_from(VALUES)), draw(st.sampled_from(VALUES))
            found[f"{function}_{place}"] = getattr(agg, function)(by, value, filter=kept)
    return found


@given(
    seed=st.integers(0, 2**32),
    windows=window_sets(),
    aggregates=aggregate_sets(),
    keys=st.sampled_from(KEYS),
    shape=st.sampled_from([(40, 0.15), (80, 0.15), (80, 0.0), (80, 0.8), (1, 0.0), (0, 0.0)]),
    time=st.sampled_from(["ts", "ts", "ntz"]),
    optimizers=st.tuples(st.sampled_from(OPTIMIZERS), st.sampled_from(OPTIMIZERS)),
    statistics=st.sampled_from([FEW, MANY, TINY]),
)
@settings(few_examples, max_examples=12)
def test_any_query_has_the_rows_of_the_plan_written_by_hand(
    spark: SparkSession,
    interpreted: None,
    seed: int,
    windows: list[Window],
    aggregates: dict[str, Any],
    keys: tuple[str, ...],
    shape: tuple[int, float],
    time: str,
    optimizers: tuple[Any, Any],
    statistics: Statistics,
) -> None:
    frame = frame_of(spark, draw_events(seed, *shape), 2)
    q = mt.windows(frame, time=time, keys=keys).over(*windows).agg(**aggregates)
    shares = any(aggregate.function.shareable for _, aggregate in q.aggregates)
    jvm, arrow = optimizers if shares else ("auto", "none")
    check_plans(q, [("jvm", jvm, statistics), ("arrow", arrow, statistics), ("spread", "auto", statistics)])


@pytest.mark.slow
@pytest.mark.parametrize("functions", [sorted(TAKES)[:9], sorted(TAKES)[9:18], sorted(TAKES)[18:]], ids=lambda f: f[0])
def test_every_aggregate_over_every_type(spark: SparkSession, interpreted: None, functions: list[str]) -> None:
    """All of them at once, of all kinds: each goes the way that its algebra allows."""
    aggregates: dict[str, Any] = {}
    for function in functions:
        for place, column in enumerate(TAKES[function]):
            aggregates |= applied(function, column, FILTERS[place % len(FILTERS)])
    frame = frame_of(spark, draw_events(7, 60), 2)
    q = mt.windows(frame, time="ts", keys="k_bool").over(hopping("1m", slide="20s"), tumbling("30s")).agg(**aggregates)
    assert check_plans(q, [("jvm", "auto", FEW), ("arrow", "auto", FEW), ("spread", "auto", TINY)]) > 20


def test_what_stands_beside_the_extreme_of_every_type(spark: SparkSession, interpreted: None) -> None:
    draw = random.Random(3)
    aggregates = {
        f"{name}_{by}": getattr(agg, name)(by, draw.choice(VALUES), filter=draw.choice(FILTERS))
        for name in ("arg_min", "arg_max")
        for by in VALUES
    }
    q = mt.windows(frame_of(spark, draw_events(8, 90)), time="ts").over(*WINDOWS[2:4]).agg(**aggregates)
    assert check_plans(q, [("jvm", "auto", FEW), ("arrow", "auto", FEW)]) > 20


def test_compiled_plans_of_mixed_kinds(spark: SparkSession) -> None:
    """As users run them, with generated code; and what the query itself looks up decides."""
    frame = frame_of(spark, draw_events(11, 150))
    q = (
        mt.windows(frame, time="ts", keys=["k_string", "k_double"])
        .over(*WINDOWS)
        .agg(
            n=agg.count(),
            low=agg.min("v_wild"),
            total=agg.sum("v_long"),
            money=agg.sum("v_money"),
            mean=agg.avg("v_money"),
            wide=agg.avg(F.col("v_int").cast("bigint") * 2 + 1, filter=F.col("v_bool")),
            deviation=agg.stddev("v_double"),
            size_deviation=agg.sum(F.abs("v_double")),
            top=agg.arg_max("v_double", "v_string"),
            middle=agg.median("v_double"),
            distinct=agg.approx_distinct("v_string"),
        )
    )
    auto = q.plan().run()
    spread = [("spread", "auto", FEW), ("spread", "auto", TINY)]
    frames = planned(q, [("jvm", "factor", FEW), ("arrow", "auto", MANY), *spread])
    assert auto.dtypes == frames["by hand"].dtypes
    found = together({**frames, "auto": auto})
    wanted = found.pop("by hand")
    assert len(wanted) > 300
    for name, rows in found.items():
        check_equal(rows, wanted, ["window_id", "window", "k_string", "k_double"], name)


@pytest.mark.parametrize(("precision", "scale"), [(10, 2), (23, 6), (38, 6), (20, 10)])
def test_means_of_decimals_are_rounded_once(spark: SparkSession, interpreted: None, precision: int, scale: int) -> None:
    value = (F.col("v_money") / 7).cast(f"decimal({precision},{scale})")
    frame = frame_of(spark, draw_events(13, 80)).withColumn("m", value)
    q = mt.windows(frame, time="ts").over(*WINDOWS[:3]).agg(mean=agg.avg("m"), total=agg.sum("m"), span=agg.range("m"))
    check_plans(q, [("jvm", "auto", FEW), ("spread", "auto", FEW)])


@pytest.mark.parametrize("kind", ["int", "bigint"])
def test_a_range_that_its_type_cannot_hold_is_an_error_in_every_plan(
    spark: SparkSession, interpreted: None, kind: str
) -> None:
    most = 2**31 - 1 if kind == "int" else 2**63 - 1
    rows = [(0, -most - 1), (11, most), (12, 5), (21, -3), (22, 4)]
    frame = spark.createDataFrame(rows, f"t bigint, v {kind}").select(F.timestamp_seconds("t").alias("ts"), "v")
    apart = mt.windows(frame, time="ts").over(tumbling("10s"), tumbling("5s")).agg(span=agg.range("v"))
    plans = [("jvm", "auto", FEW), ("arrow", "auto", FEW), ("spread", "auto", FEW), ("spread", "auto", TINY)]
    assert check_plans(apart, plans) == 6
    met = mt.windows(frame, time="ts").over(tumbling("20s"), tumbling("10s")).agg(span=agg.range("v"))
    for way in planned(met, plans).values():
        with pytest.raises(ArithmeticException, match="ARITHMETIC_OVERFLOW"):
            way.collect()


def test_windows_finer_than_a_second(spark: SparkSession, interpreted: None) -> None:
    frame = spark.range(0, 400).select(F.timestamp_micros(F.hash("id") % 1_000_000).alias("ts"), F.col("id").alias("v"))
    windows = (tumbling("7us", offset="3us"), hopping("250ms", slide="100ms"), hopping("1.5s", slide="1s"))
    q = mt.windows(frame, time="ts").over(*windows).agg(n=agg.count(), low=agg.min("v"), last=agg.last("v"))
    plans = [("jvm", "factor", FEW), ("arrow", "auto", FEW), ("spread", "auto", FEW), ("spread", "auto", TINY)]
    assert check_plans(q, plans) > 300


def test_ids_of_any_signs(spark: SparkSession, interpreted: None) -> None:
    names = ["it's", 'a "b"', "back\\slash", "${spark.app.name}", "line\nline", "ä, ö; /*", "-- no"]
    windows = [tumbling(f"{10 + place}s", id=name) for place, name in enumerate(names)]
    q = mt.windows(frame_of(spark, draw_events(53, 20)), time="ts").over(*windows).agg(n=agg.count())
    plans = [("spread", "auto", TINY), ("arrow", "auto", FEW)]
    assert check_plans(q, plans) > len(names)
    plain = mt.windows(q.source, time="ts").over(*windows[-2:]).agg(n=agg.count())
    assert check_plans(plain, plans) > 2


def test_a_tree_is_searched_for_once_and_only_when_it_is_asked_for(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches: list[str] = []

    def counted(*given: Any, optimizer: Any, **more: Any) -> LogicalPlan:
        searches.append(optimizer)
        return optimize(*given, optimizer=optimizer, **more)

    monkeypatch.setattr("muntin.query.optimize", counted)
    frame = frame_of(spark, draw_events(47, 20))
    q = mt.windows(frame, time="ts").over(*WINDOWS[:3]).agg(n=agg.count(), low=agg.min("v_int"))
    plan = q.plan(statistics=TINY)
    plan.run()
    assert searches == []
    assert plan.logical is plan.logical
    assert searches == ["auto"]
    tree = q.plan(strategy="jvm", optimizer="factor", statistics=TINY)
    assert isinstance(tree, TablePlan)
    assert tree.physical.steps[0].forest is tree.logical.groups[0].forest
    assert searches == ["auto", "factor"]
    # What an optimizer asked for by name refuses, it refuses when the query is planned.
    middle = mt.windows(frame, time="ts").over(*WINDOWS[:2]).agg(middle=agg.median("v_int"))
    with pytest.raises(AggregateError, match="median"):
        middle.plan(optimizer="factor", statistics=TINY)


@pytest.mark.parametrize("tumble", [True, False])
def test_more_windows_than_stand_in_one_list(spark: SparkSession, interpreted: None, tumble: bool) -> None:
    lengths = range(3, LISTED + 5)
    windows = [hopping(f"{n}s", slide=f"{n if tumble else n // 2 + 1}s", offset=f"{n % 5}s") for n in lengths]
    frame = frame_of(spark, draw_events(43, 30))
    q = mt.windows(frame, time="ts").over(*windows).agg(n=agg.count(), low=agg.min("v_int"))
    assert check_plans(q, [("spread", "auto", TINY), ("spread", "auto", FEW)]) > 10 * LISTED


@pytest.mark.parametrize("keys", KEYS[3:5], ids=str)
def test_the_wide_form_is_the_native_one(spark: SparkSession, interpreted: None, keys: tuple[str, ...]) -> None:
    aggregates = {name: value for f, c in WIDE for name, value in applied(f, c).items()}
    frame = frame_of(spark, draw_events(17, 90, 0.3))
    q = mt.windows(frame, time="ts", keys=keys).over(*WINDOWS).agg(**aggregates)
    shared = {"low": agg.min("v_int"), "n": agg.count(), "m": agg.median("v_byte")}
    mixed = mt.windows(frame, time="ntz", keys=keys).over(*WINDOWS).agg(**shared)
    for query, plans in (
        (q, [("arrow", "auto", FEW), ("arrow", "auto", MANY), ("jvm", "auto", FEW)]),
        (mixed, [("arrow", "auto", FEW), ("spread", "auto", TINY)]),
    ):
        found = together(planned(query, plans, wide=True))
        wanted = found.pop("by hand")
        assert wanted and len(wanted[0]) == len(keys) + 1 + len(query.aggregates) * len(WINDOWS)
        for name, rows in found.items():
            check_equal(rows, wanted, [*keys, "at"], name)


def test_split_gives_the_rows_of_each_window(spark: SparkSession, interpreted: None) -> None:
    frame = frame_of(spark, draw_events(19, 60))
    q = mt.windows(frame, time="ts", keys="k_int").over(*WINDOWS).agg(n=agg.count(), low=agg.min("v_string"))
    plans = (q.plan(strategy="arrow", statistics=FEW), *(q.plan(strategy="spread", statistics=s) for s in (FEW, TINY)))
    for plan in plans:
        parts = plan.run(split=True)
        assert list(parts) == [window.id for window in WINDOWS]
        found = together({"by hand": q.native(), **parts})
        wanted = found.pop("by hand")
        for name, rows in found.items():
            assert rows
            check_equal(rows, [row for row in wanted if row["window_id"] == name], ["window", "k_int"], name)


def test_split_computes_no_other_window(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    frame = frame_of(spark, draw_events(19, 60))
    windows = (tumbling("15s"), tumbling("17s"), hopping("1m", slide="1s"))
    q = mt.windows(frame, time="ts", keys="k_int").over(*windows).agg(n=agg.count())
    swept = q.plan(strategy="arrow", statistics=FEW)
    for plan in (swept, *(q.plan(strategy="spread", statistics=s) for s in (MANY, TINY))):
        for name, rows in plan.run(split=True).items():
            rows.explain()
            told = capsys.readouterr().out
            assert [window.id for window in windows if window.id in told] == [name]
            # Panes would be grouped twice, and alone a tumbling window has each event once.
            assert ("MapInArrow" in told) == (plan is swept and name.startswith("hopping"))


@pytest.mark.parametrize("zone", ["America/New_York"])
def test_the_sessions_zone_moves_nothing(spark: SparkSession, interpreted: None, zone: str) -> None:
    """Times without zone in the hour that New York skips, and times with one, as events, keys and values."""
    gap = 1_710_037_800 * SECOND  # 2024-03-10 02:30, read without zone
    frame = frame_of(spark, draw_events(23, 80, start=gap))
    windows = (tumbling("1d"), hopping("2h", slide="30m", offset="5m"), hopping("20s", slide="7s"))
    aggregates = {
        "n": agg.count(),
        "last": agg.last("ntz"),
        "high": agg.max("v_time"),
        "low": agg.min("v_ntz"),
        "day": agg.min("v_date"),
    }
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        for time in ("ntz", "ts"):
            q = mt.windows(frame, time=time, keys="k_time").over(*windows).agg(**aggregates)
            assert check_plans(q, [("jvm", "auto", FEW), ("arrow", "auto", MANY), ("spread", "auto", TINY)]) > 50
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_columns_with_odd_names(spark: SparkSession, interpreted: None) -> None:
    # Whatever is written as SQL must not have ${...}, which Spark takes for a variable's name.
    odd = {"a.b`c": F.col("k_int"), "window": F.col("v_byte"), "${spark.app.name}": F.col("v_byte") % 2}
    frame = frame_of(spark, draw_events(29, 60)).withColumns(odd)
    aggregates = {
        "x.y": agg.count("a.b`c"),
        "s`t": agg.sum("window"),
        "m": agg.median("v_byte"),
        "ä ö": agg.last("k_struct.b"),
    }
    keys = ["a.b`c", "k_struct.b", "${spark.app.name}"]
    q = mt.windows(frame, time="TS", keys=keys).over(*WINDOWS[:3]).agg(**aggregates)
    frames = planned(
        q, [("jvm", "auto", FEW), ("arrow", "auto", FEW), ("spread", "auto", FEW), ("spread", "auto", TINY)]
    )
    names = ["id", "at", "k", "b", "d", "x", "s", "m", "o"]
    found = together({name: frame.toDF(*names) for name, frame in frames.items()})
    wanted = found.pop("by hand")
    for name, rows in found.items():
        check_equal(rows, wanted, names[:5], name)


def test_keys_that_arrow_cannot_carry_stay_in_the_jvm(spark: SparkSession, interpreted: None) -> None:
    """Months have no Arrow type, and for a collation 'a' and 'A' are one key that Arrow would take for two."""
    frame = frame_of(spark, draw_events(31, 60)).select(
        "ts",
        "v_int",
        F.expr("make_ym_interval(0, v_byte % 2)").alias("months"),
        F.expr("collate(if(v_byte % 2 = 0, 'a', 'A'), 'UTF8_LCASE')").alias("letter"),
    )
    for key in ("months", "letter"):
        q = mt.windows(frame, time="ts", keys=key).over(*WINDOWS[:3]).agg(low=agg.min("v_int"), n=agg.count())
        plan = q.plan(strategy="arrow", statistics=FEW)
        assert isinstance(plan, TablePlan)
        assert [step.way for step in plan.physical.steps] == ["jvm"]
        text = F.lower(F.col(key).cast("string")).alias("key")
        found = together(
            {
                name: f.select("window_id", "window", text, "low", "n")
                for name, f in (("jvm", plan.run()), ("by hand", q.native()))
            }
        )
        check_equal(found["jvm"], found["by hand"], ["window_id", "window", "key"])


def test_expressions_that_print_alike_are_told_apart(spark: SparkSession) -> None:
    one, two = F.udf(lambda v: v and v + 1, "long"), F.udf(lambda v: v and v * 3, "long")
    frame = frame_of(spark, draw_events(37, 40))
    q = (
        mt.windows(frame, time="ts")
        .over(*WINDOWS[:2])
        .agg(
            a=agg.sum(one("v_byte")),
            b=agg.sum(two("v_byte")),
            c=agg.count(filter=F.lit("01") == F.lit(1)),
            d=agg.count(filter=F.lit("01") == F.lit("1")),
            e=agg.sum(F.col("v_long") + 1),
            f=agg.avg(F.col("v_long") + 1),
        )
    )
    check_plans(q, [("jvm", "auto", FEW), ("arrow", "auto", FEW), ("spread", "auto", FEW)])
