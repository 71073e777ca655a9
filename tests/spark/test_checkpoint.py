"""A checkpoint read by its owner: the slices in it are the events that no window is done with."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin import agg, hopping, tumbling
from muntin.errors import StateError
from muntin.spark.checkpoint import read_clocks, read_plan, read_state
from tests.spark.streams import Emitted, Event, emitted, read, write

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

BASE = 1_700_000_040
SECOND = 1_000_000
BATCHES = 6


def events_of(batch: int) -> list[Event]:
    """Make events of half a minute, in time; keys that come and go, and one that is null."""
    rng = random.Random(batch)
    return [
        {
            "t": (BASE + 30 * batch + rng.randrange(30)) * SECOND,
            "k": rng.choice([None, "a", "b", f"only {batch}"]),
            "i": rng.randrange(100),
            "v": rng.randrange(-8, 8) / 2,
            "s": rng.choice("xyz"),
        }
        for _ in range(50)
    ]


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Emitted]:
    folder = tmp_path_factory.mktemp("checkpoint")
    source = read(spark, write(folder / "in", [events_of(batch) for batch in range(BATCHES)]))
    plan = (
        mt.windows(source, time="ts", keys="k", watermark="10s")
        .over(tumbling("30s"), hopping("2m", slide="30s"))
        .agg(n=agg.count(), total=agg.sum("i"), high=agg.max("i"), spread=agg.stddev("v"), late=agg.last("s"))
        .plan()
    )
    found = emitted({"ours": plan.stream(buckets=2)}, folder)["ours"]
    return str(folder / "ours"), found


def in_state(spark: SparkSession, checkpoint: str, batch: int | None = None) -> dict[tuple[Any, int], tuple[Any, ...]]:
    """Sum up the slices by key and start."""
    slices = read_state(spark, checkpoint, batch).where("level = 0")
    rows = slices.groupBy("k", F.unix_seconds("slice_start")).agg(
        F.sum("`count((1))`"), F.sum("`sum(i)`"), F.max("`max(i)`"), F.sum("`moments(v).n`")
    )
    return {(row[0], row[1]): tuple(row[2:]) for row in rows.collect()}


def by_hand(watermark: int) -> dict[tuple[Any, int], tuple[Any, ...]]:
    """Sum up the events of the slices of which a window ends after the watermark."""
    found: dict[tuple[Any, int], list[Event]] = {}
    for event in (event for batch in range(BATCHES) for event in events_of(batch)):
        start = event["t"] // (30 * SECOND) * 30
        # The last window that holds a slice is the one of two minutes that begins with it.
        if start + 120 > watermark:
            found.setdefault((event["k"], start), []).append(event)
    return {
        place: (len(several), sum(e["i"] for e in several), max(e["i"] for e in several), len(several))
        for place, several in found.items()
    }


def test_the_partials_in_the_state_are_those_of_the_events_not_yet_evicted(
    spark: SparkSession, ran: tuple[str, Emitted]
) -> None:
    checkpoint, _ = ran
    last = max(event["t"] for event in events_of(BATCHES - 1)) // SECOND
    expected = by_hand(last - 10)
    assert len({start for _, start in expected}) < BATCHES
    assert in_state(spark, checkpoint) == expected


def test_columns_have_their_names_and_types(spark: SparkSession, ran: tuple[str, Emitted]) -> None:
    checkpoint, _ = ran
    found = read_state(spark, checkpoint)
    assert [(field.name, field.dataType.simpleString()) for field in found.schema.fields] == [
        ("bucket", "int"),
        ("level", "int"),
        ("slice_start", "timestamp"),
        ("k", "string"),
        ("count((1))", "bigint"),
        ("sum(i)", "bigint"),
        ("max(i)", "bigint"),
        ("moments(v).n", "bigint"),
        ("moments(v).mean", "double"),
        ("moments(v).m2", "double"),
        ("last(s).t", "bigint"),
        ("last(s).v", "string"),
    ]
    # A key is in one bucket.
    assert Counter(row[0] for row in found.select("k", "bucket").distinct().collect()).most_common(1)[0][1] == 1
    assert {row[0] for row in found.select("bucket").distinct().collect()} == {0, 1}
    plan = read_plan(spark, checkpoint)
    assert plan["keys"] == ["k string"]
    assert (plan["buckets"], plan["mode"]) == (2, "append")


def test_an_earlier_batch_and_what_progress_said_of_it(spark: SparkSession, ran: tuple[str, Emitted]) -> None:
    checkpoint, found = ran
    for progress in found.progress:
        said = progress["observedMetrics"]["muntin_state"].asDict()
        if not progress["numInputRows"]:
            assert said == {"slices": None, "nodes": None}
            continue
        batch = progress["batchId"]
        if batch not in (1, BATCHES - 1):
            continue
        clocks = read_clocks(spark, checkpoint, batch).collect()
        assert sum(row["slices"] for row in clocks) == said["slices"]
        assert sum(row["nodes"] for row in clocks) == said["nodes"] == 0
        assert {row["batch"] for row in clocks} == {batch}
        kept = read_state(spark, checkpoint, batch).select("bucket", "slice_start").distinct().count()
        assert kept == said["slices"]
    assert {progress["numInputRows"] for progress in found.progress} == {50, 0}


def test_nodes_of_a_tree_hold_what_is_below_them(spark: SparkSession, tmp_path: Path) -> None:
    # Many windows that end at once are not worth a tree; then it goes on second by second.
    first = [
        event | {"t": (BASE + second) * SECOND} for second, event in zip(range(100), events_of(0) * 2, strict=True)
    ]
    later = [[events_of(1)[0] | {"t": (BASE + second) * SECOND}] for second in (101, 102, 104)]
    source = read(spark, write(tmp_path / "in", [first, *later]))
    plan = mt.windows(source, time="ts", watermark="0s").over(hopping("100s", slide="1s")).agg(n=agg.count()).plan()
    assert plan.to_dict()["stream"]["windows"][0]["tree"]
    emitted({"ours": plan.stream()}, tmp_path)
    rows = read_state(spark, str(tmp_path / "ours")).select("level", F.unix_seconds("slice_start"), "`count((1))`")
    found = [tuple(row) for row in rows.collect()]
    slices = {start: n for level, start, n in found if not level}
    nodes = [row for row in found if row[0]]
    assert nodes
    for level, start, n in nodes:
        # Slices below may have gone already: a node stays as long as it is asked for.
        below = sum(count for at, count in slices.items() if start <= at < start + (1 << level))
        assert below <= n if min(slices) > start else below == n


def test_what_is_no_checkpoint_of_ours(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"none cannot be read as the checkpoint of windows over a stream: "):
        read_state(spark, str(tmp_path / "none"))
