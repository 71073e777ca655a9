"""The coverage tree inside the JVM gives native's rows, whatever the forest looks like."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import pytest

import muntin as mt
from muntin import Window, agg, hopping, tumbling
from muntin.declare.query import WindowQuery, named_aggregates
from muntin.logical.relation import Relation
from muntin.spark.bound import bind
from muntin.spark.native import native
from muntin.spark.routes import routes
from muntin.spark.starts import runs, with_starts
from muntin.spark.tree import tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

    from muntin.logical.forest import Forest

SECOND = 1_000_000
COVERED = {
    "low": agg.min("v"),
    "word": agg.min("s"),
    "first": agg.first("v"),
    "at": agg.arg_max("x", "s"),
    "about": agg.approx_distinct("v"),
}
PARTITIONED = {
    "n": agg.count(),
    "total": agg.sum("v"),
    "exact": agg.sum("d"),
    "mean": agg.avg("v"),
    "exact_mean": agg.avg("d"),
    "spread": agg.stddev("x"),
    "all": agg.collect("v"),
    "word": agg.max("s", filter="v > 0"),
}


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    """Events around 1970, keys and values with nulls, some times twice, some missing."""
    draw = random.Random(7)
    rows = []
    for _ in range(400):
        micros = draw.choice([draw.randrange(-900, 900) * SECOND, draw.randrange(-900 * SECOND, 900 * SECOND)])
        rows.append(
            (
                None if draw.random() < 0.03 else micros,
                draw.choice(["a", "b", None]),
                draw.choice([1, 2, None]),
                draw.choice([None, *range(-20, 20)]),
                draw.gauss(1e6, 10),
                draw.choice("klmnop"),
                draw.randrange(10**12),
            )
        )
    schema = "t bigint, k string, j int, v bigint, x double, s string, c bigint"
    frame = spark.createDataFrame(rows, schema)
    return frame.selectExpr(
        "timestamp_micros(t) ts", "k", "j", "v", "x", "s", "CAST(c / 1000 AS decimal(18, 4)) d"
    ).cache()


def random_windows(seed: int) -> tuple[Window, ...]:
    draw = random.Random(seed)
    shapes: list[Callable[[], Window]] = [
        lambda: tumbling(f"{draw.choice([10, 20, 30, 40, 60, 70])}s"),
        lambda: tumbling(f"{draw.choice([20, 40])}s", offset="10s"),
        lambda: hopping(f"{draw.choice([60, 120, 240])}s", slide=f"{draw.choice([10, 20, 60])}s"),
        lambda: hopping(f"{draw.choice([50, 70, 250])}s", slide=f"{draw.choice([20, 30])}s"),
        lambda: hopping("2m", slide="20s", offset="10s"),
    ]
    drawn = dict.fromkeys(shape() for shape in (shapes[0], *draw.sample(shapes[1:], 3)))
    twice = draw.choice(list(drawn))
    return (*drawn, Window(twice.range, twice.slide, twice.offset, "again", timed=True))


def planned(windows: Sequence[Window], named: dict[str, Any], optimizer: Any) -> Forest:
    functions = [aggregate.function for aggregate in named.values()]
    return mt.optimize(windows, functions, optimizer=optimizer, period="steady", rate=5, seconds=1).groups[0].forest


def both(
    events: DataFrame, keys: tuple[str, ...], windows: tuple[Window, ...], named: dict[str, Any], optimizer: str
) -> tuple[DataFrame, DataFrame]:
    bound = bind(WindowQuery(events, "ts", keys, windows, named_aggregates(named)))
    return native(bound), tree(bound, list(named), windows, planned(windows, named, optimizer))


def in_order(rows: Iterable[Row], keys: int) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in rows), key=lambda row: repr(row[: 2 + keys]))


def check(frames: tuple[DataFrame, DataFrame], keys: int, known: list[Row] | None = None) -> None:
    wanted, got = frames
    assert [(f.name, f.dataType) for f in got.schema] == [(f.name, f.dataType) for f in wanted.schema]
    want, have = in_order(wanted.collect() if known is None else known, keys), in_order(got.collect(), keys)
    assert [row[: 2 + keys] for row in have] == [row[: 2 + keys] for row in want]
    for expected, found in zip(want, have, strict=True):
        for name, x, y in zip(wanted.columns, expected, found, strict=True):
            same = math.isclose(x, y, rel_tol=1e-9) if isinstance(x, float) and isinstance(y, float) else x == y
            assert same, f"{name} of {expected[: 2 + keys]}: {y!r}, native has {x!r}"


@pytest.mark.parametrize(
    ("seed", "optimizers"), [(1, ("none", "mincost", "factor")), (2, ("exact", "auto"))], ids=["paper", "beyond"]
)
@pytest.mark.parametrize(("keys", "named"), [(("k", "j"), COVERED), (("k",), PARTITIONED)], ids=["overlap", "once"])
def test_as_native(
    events: DataFrame, seed: int, optimizers: tuple[str, ...], keys: tuple[str, ...], named: dict[str, Any]
) -> None:
    windows = random_windows(seed + 10 * len(keys))
    known = None
    for optimizer in optimizers:
        frames = both(events, keys, windows, named, optimizer)
        known = known or frames[0].collect()
        check(frames, len(keys), known)


@pytest.mark.parametrize("optimizer", ["factor", "auto"])
def test_no_key_and_a_long_chain(events: DataFrame, optimizer: str) -> None:
    windows = (*(hopping(f"{n}s", slide="10s") for n in (10, 60, 240, 480, 960)), tumbling("960s"))
    check(both(events, (), windows, {"n": agg.count(), "low": agg.min("v")}, optimizer), 0)


def test_time_without_zone_and_odd_names(events: DataFrame) -> None:
    named = {"low": agg.min("v"), "at the end": agg.last("v")}
    frame = events.selectExpr("CAST(ts AS timestamp_ntz) ts", "k AS `a.b`", "v")
    windows = (tumbling("20s"), tumbling("40s"), tumbling("1m", id="minute"))
    check(both(frame, ("a.b",), windows, named, "mincost"), 1)


def test_no_events(events: DataFrame) -> None:
    frames = both(events.where("false"), ("k",), (tumbling("20s"), tumbling("40s")), {"n": agg.count()}, "mincost")
    assert frames[1].schema.names == frames[0].schema.names
    assert frames[1].collect() == []


def test_events_are_scanned_once(
    spark: SparkSession, events: DataFrame, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path_factory.mktemp("scan") / "events")
    events.write.parquet(path)
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        windows = (*(tumbling(f"{n}s") for n in (20, 30, 40, 50, 60, 70)), hopping("90s", slide="30s"))
        both(spark.read.parquet(path), ("k",), windows, {"low": agg.min("v")}, "factor")[1].explain()
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    shown = capsys.readouterr().out
    assert shown.count("FileScan") == 1
    # The panes are shuffled to be made, and once more for all that read them.
    exchanges = shown.count(" Exchange hashpartitioning") - shown.count("ReusedExchange")
    assert shown.count("ReusedExchange") >= 6
    assert exchanges == 2


def test_starts_by_definition(spark: SparkSession) -> None:
    draw = random.Random(3)
    begins = spark.range(-60, 60)
    tried = 0
    while tried < 10:
        slide = draw.choice([1, 2, 3, 4, 6])
        parent = Window(slide * draw.randint(1, 4), slide, draw.randrange(slide))
        coarse = slide * draw.randint(1, 6)
        child = Window(max(coarse, slide * draw.randint(1, 20)), coarse, parent.offset + slide * draw.randrange(6))
        relation = Relation(draw.choice(["covered", "partitioned"]), draw.choice(["sparse", "dense"]))
        if relation.count(child, parent) is None:
            continue
        tried += 1
        offsets = relation.starts(child, parent)
        on_grid = begins.where(f"pmod(id - {parent.offset}, {parent.slide}) = 0")
        found = with_starts(on_grid, "id", child, offsets, parent.slide, "start").collect()
        assert sorted(tuple(row) for row in found) == sorted(
            (s, s - o)
            for s in range(-60, 60)
            if (s - parent.offset) % parent.slide == 0
            for o in offsets
            if (s - o - child.offset) % child.slide == 0
        ), (child, parent, relation)


def test_starts_from_a_step_prime_to_the_slide(spark: SparkSession) -> None:
    begins = spark.range(-40, 40)
    for offsets, window in [((0, 3, 6, 9, 12), Window(14, 5, 2)), (tuple(range(1, 40, 4)), Window(40, 6, 1))]:
        found = with_starts(begins, "id", window, offsets, 1, "start").collect()
        assert sorted(tuple(row) for row in found) == sorted(
            (s, s - o) for s in range(-40, 40) for o in offsets if (s - o - window.offset) % window.slide == 0
        )


def test_runs() -> None:
    for offsets in [(0,), (0, 5), (0, 4, 6), (0, 2, 4, 5, 6, 7, 20)]:
        assert [r.first + i * r.step for r in runs(offsets) for i in range(r.length)] == list(offsets)


def test_a_long_chain_keeps_its_stations() -> None:
    windows = [Window(n, 1) for n in (1, 60, 720, 1440)]
    found = routes(mt.optimize(windows, agg.sum, period="steady").groups[0].forest, windows)
    longest = {route.window.range: len(route.starts) for route in found}
    # Read from panes it would take 1,440 rows; by its chain a handful.
    assert longest[1440] <= 12
    assert any(route.station and route.source is not None for route in found)


def test_a_factor_that_all_read_past_is_left_out() -> None:
    windows = [Window(n, n) for n in (10, 40)]
    forest = mt.optimize(windows, agg.min, optimizer="mincost").groups[0].forest
    assert [route.window for route in routes(forest, [Window(40, 40)])] == windows
    assert [route.station for route in routes(forest, [Window(40, 40)])] == [False, False]
