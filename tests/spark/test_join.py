"""Joins over windows: the pairs of a join for each window, and of the definition, over tables and over streams."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin import hopping, tumbling
from muntin.errors import DurationError, QueryError, WindowError
from tests.spark.streams import emitted, read, write

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from muntin import Window

SECOND = 1_000_000
NESTED = [tumbling("10s"), tumbling("30s"), tumbling("1m")]
MIXED = [tumbling("10s", offset="3s"), hopping("25s", slide="10s"), hopping("40s", slide="7s", id="long")]


def drawn(seed: int, count: int) -> list[tuple[int | None, str | None, int]]:
    rng = random.Random(seed)
    return [
        (None if rng.random() < 0.05 else rng.randrange(-60 * SECOND, 60 * SECOND), rng.choice(["a", "b", None]), n)
        for n in range(count)
    ]


def table(spark: SparkSession, rows: list[tuple[int | None, str | None, int]], ntz: bool = False) -> DataFrame:
    frame = spark.createDataFrame(rows, "t bigint, k string, n int").withColumn("ts", F.timestamp_micros("t"))
    return frame.withColumn("ts", F.col("ts").cast("timestamp_ntz")) if ntz else frame


def by_definition(left: list[Any], right: list[Any], windows: list[Window]) -> Counter[tuple[Any, ...]]:
    """Look at every pair, and at every interval that holds both."""
    found: Counter[tuple[Any, ...]] = Counter()
    for one, key, x in left:
        for two, other, y in right:
            if one is None or two is None or key is None or key != other:
                continue
            for window in windows:
                start = one - (one - window.offset) % window.slide
                while start > one - window.range:
                    if start <= two < start + window.range:
                        found[window.id, start, key, x, y] += 1
                    start -= window.slide
    return found


def pairs(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    start = F.unix_micros(F.col("window.start").cast("timestamp"))
    length = F.unix_micros(F.col("window.end").cast("timestamp")) - start
    rows = frame.select("window_id", start, "k", "left.n", "right.n", length).collect()
    return Counter(tuple(row[:5]) for row in rows)


@pytest.mark.parametrize("windows", [NESTED, MIXED], ids=["nested", "mixed"])
@pytest.mark.parametrize("ntz", [False, True], ids=["zoned", "ntz"])
def test_pairs_are_those_of_a_join_for_each_window(spark: SparkSession, windows: list[Window], ntz: bool) -> None:
    left, right = drawn(1, 60), drawn(2, 50)
    asked = mt.join(table(spark, left, ntz), table(spark, right, ntz), on="k", windows=windows)
    assert asked.nested == (windows is NESTED)
    wanted = by_definition(left, right, windows)
    assert len(wanted) > 300
    assert pairs(asked.run()) == wanted
    assert pairs(asked.native()) == wanted
    assert asked.run().columns == ["window_id", "window", "k", "left", "right"]
    assert asked.run().schema.simpleString() == asked.native().schema.simpleString()
    assert asked.run().select("left.*").columns == ["t", "n", "ts"]


def test_one_join_whatever_the_windows(spark: SparkSession) -> None:
    asked = mt.join(table(spark, drawn(1, 5)), table(spark, drawn(2, 5)), on="k", windows=MIXED)
    plan = asked.run()._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count("Join Inner") == 1
    assert asked.native()._jdf.queryExecution().optimizedPlan().toString().count("Join Inner") == 3
    assert "one join instead of 3: events meet by key if less than 40s lie between them" in asked.explain()
    nested = mt.join(table(spark, []), table(spark, []), on="k", windows=NESTED)
    assert "the windows nest" in nested.explain()


def test_two_streams(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(5)
    written: dict[str, list[list[dict[str, Any]]]] = {
        name: [
            [
                {"t": (1_700_000_000 + 30 * batch - rng.randint(0, 90)) * SECOND, "k": rng.choice("ab"), "i": first + n}
                for n in range(8 * batch, 8 * batch + 8)
            ]
            for batch in range(4)
        ]
        for name, first in (("left", 0), ("right", 100))
    }
    left, right = (read(spark, write(tmp_path / name, batches)) for name, batches in written.items())
    asked = mt.join(left, right, on=["k"], windows=MIXED, watermark="5s")
    # Streams may have their watermarks already, which Spark does not let be set a second time.
    tagged = [stream.withWatermark("ts", "5 minutes") for stream in (left, right)]
    own = mt.join(*tagged, on=["k"], windows=MIXED)
    with pytest.raises(QueryError, match="has a watermark of 5m on 'ts' already, and 1m is asked for"):
        mt.join(*tagged, on=["k"], windows=MIXED, watermark="1m")
    assert mt.join(tagged[0], right, on=["k"], windows=MIXED, watermark="5m").run().isStreaming
    found = emitted({"ours": asked.run(), "native": asked.native(), "own": own.run()}, tmp_path)
    operators = {name: {len(each["stateOperators"]) for each in told.progress} for name, told in found.items()}
    assert operators == {"ours": {1}, "native": {3}, "own": {1}}
    rows = {
        name: Counter((row[1], row[2], row[3], row[4][0], row[5][0]) for row in each.rows)
        for name, each in found.items()
    }
    one, two = (
        [(each["t"], each["k"], each["i"]) for batch in several for each in batch] for several in written.values()
    )
    every = by_definition(one, two, MIXED)
    # No event is late by five minutes.
    assert _unplaced(rows["own"]) == _unplaced(every)
    # By five seconds some are, for one window and not for another: no pair that native has is lost, none made up.
    assert not rows["native"] - rows["ours"]
    assert not rows["ours"] - rows["own"]
    assert rows["native"].total() < every.total()


def _unplaced(found: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter(row[:1] + row[2:] for row in found.elements())


def test_what_cannot_be_joined(spark: SparkSession, tmp_path: Path) -> None:
    frame = table(spark, [])
    stream = read(spark, write(tmp_path / "in", []))
    good: dict[str, Any] = {"left": frame, "right": frame, "on": "k", "windows": NESTED}
    for changes, error, words in (
        ({"left": [1]}, QueryError, "a join takes two Spark DataFrames, got list"),
        ({"on": []}, QueryError, "needs at least one key"),
        ({"on": "device"}, QueryError, "the left DataFrame has no column 'device': it has t, k, n, ts"),
        ({"time": ("ts", "when")}, QueryError, "the right DataFrame has no column 'when'"),
        ({"time": ("ts", "ts", "ts")}, QueryError, "time is one column's name or two"),
        ({"time": "t"}, QueryError, "time column 't' of the left DataFrame is of type bigint"),
        ({"right": table(spark, [], ntz=True)}, QueryError, "of type timestamp and timestamp_ntz: cast one"),
        ({"right": frame.withColumnRenamed("k", "left"), "on": "left"}, QueryError, "the key 'left' is named like"),
        ({"windows": []}, WindowError, "the window set is empty"),
        ({"windows": [mt.Window(5, 5)]}, QueryError, "counts a plain unit"),
        ({"right": stream}, QueryError, "one side is a stream and the other a table"),
        ({"left": stream, "right": stream}, QueryError, "pass watermark='10s'"),
        ({"watermark": "soon"}, DurationError, "soon"),
    ):
        with pytest.raises(error, match=words):
            mt.join(**(good | changes))
