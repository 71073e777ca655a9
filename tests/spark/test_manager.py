"""Queries that come and go on a running stream: each gives what it would have given alone, from where it came in."""

from __future__ import annotations

import shutil
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin import agg, hopping, tumbling
from muntin.errors import ManagerError, MuntinError
from muntin.manager.manager import Manager
from tests.spark.streams import PARTITIONS, plain, read, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from muntin import Window
    from muntin.aggregate.algebra import Aggregate
    from tests.spark.streams import Event

START = 1_700_000_000
Wanted = tuple[tuple["Window", ...], "Mapping[str, Aggregate]"]
SHORT: Wanted = ((tumbling("10s"), hopping("40s", "20s")), {"n": agg.count(), "total": agg.sum("i")})
ODD: Wanted = ((tumbling("7s"),), {"n": agg.count(), "low": agg.min("v"), "last": agg.last("s")})
LONG: Wanted = ((hopping("2m", "10s"),), {"total": agg.sum("i"), "mean": agg.avg("v")})


def minute(number: int) -> list[Event]:
    """Give the events of a minute, in three keys; the last of them closes what is ten seconds older."""
    return [
        {
            "t": (START + 60 * number + s) * 1_000_000 + 5 * s,
            "k": "abc"[s % 3],
            "i": s % 11 - 3,
            "v": s / 7,
            "s": f"s{s}",
        }
        for s in range(0, 60, 2)
    ]


def minutes(first: int, last: int) -> list[list[Event]]:
    return [minute(number) for number in range(first, last)]


@pytest.fixture
def manage(spark: SparkSession, tmp_path: Path) -> Iterator[Any]:
    """Make managers over the files of one folder, and stop them."""
    before, made = spark.conf.get(PARTITIONS) or "4", []
    spark.conf.set(PARTITIONS, "2")

    def make(**given: Any) -> Manager:
        found: dict[str, Any] = {"time": "ts", "keys": "k", "watermark": "5s", "trigger": "50ms"}
        found |= {"checkpoint": tmp_path / "checkpoint", "sink": tmp_path / "out"} | given
        made.append(Manager(read(spark, tmp_path / "in"), **found))
        return made[-1]

    (tmp_path / "in").mkdir()
    yield make
    for manager in made:
        manager.stop()
    spark.conf.set(PARTITIONS, before)


def rows(manager: Manager, name: str) -> list[tuple[Any, ...]]:
    return sorted((plain(row) for row in manager.read(name).collect()), key=repr)


def by_hand(
    spark: SparkSession, folder: Path, wanted: Wanted, starts: Sequence[Any], until: int
) -> list[tuple[Any, ...]]:
    """Evaluate windows natively over all events: those from their start on, that end by a second."""
    table = spark.read.schema("t bigint, k string, i int, v double, s string").json(str(folder))
    events = table.withColumn("ts", F.timestamp_micros("t")).drop("t")
    native = mt.windows(events, time="ts", keys="k").over(*wanted[0]).agg(**wanted[1]).native()
    kept = F.unix_micros("window.end") <= until * 1_000_000
    for window, start in zip(wanted[0], starts, strict=True):
        if start.at is not None:
            kept &= (F.col("window_id") != window.id) | (F.unix_micros("window.start") >= start.at)
    return sorted((plain(row) for row in native.where(kept).collect()), key=repr)


@pytest.mark.slow
def test_queries_come_and_go_and_each_gives_what_it_would_have_given(
    spark: SparkSession, tmp_path: Path, manage: Any
) -> None:
    events = tmp_path / "in"
    write(events, minutes(0, 2))
    manager = manage()
    assert manager.status().state == "idle"
    # Others look on while changes are made: to them the stream is never one that failed.
    seen, over = set[str](), threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            seen.add(manager.status().state)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        first = _come_and_go(spark, events, manager)
    finally:
        over.set()
        looking.join()
    assert seen <= {"idle", "running"}
    assert first > 0


def _come_and_go(spark: SparkSession, events: Path, manager: Manager) -> float:
    first = manager.register("short", *SHORT)
    assert [start.at for start in first.query.starts] == [None, None]
    assert first.pause is None
    manager.process_available()
    # Slices end each 10 s and hold sums: a window on these edges begins in the past, one on others after the present.
    long = manager.register("long", *LONG).query.starts
    odd = manager.register("odd", *ODD).query.starts
    last = START + 60 + 58
    assert not odd[0].retained
    assert odd[0].at == (last + 7) // 7 * 7 * 1_000_000
    # The average needs a count of values that nobody kept.
    assert not long[0].retained
    write(events, minutes(2, 4), first=2)
    manager.process_available()
    suspended = manager.suspend("short")
    assert suspended.pause is not None
    assert rows(manager, "short") == by_hand(spark, events, SHORT, first.query.starts, START + 4 * 60 - 2 - 5)
    write(events, minutes(4, 6), first=4)
    manager.process_available()
    again = manager.resume("short").query.starts
    # The long window holds two minutes of slices each 10 s, with the sum, and the odd one has them count rows.
    assert all(start.retained and (start.at or 0) < (START + 6 * 60 - 5) * 1_000_000 for start in again)
    manager.drop("odd")
    write(events, minutes(6, 8), first=6)
    manager.process_available()
    assert rows(manager, "long") == by_hand(spark, events, LONG, long, START + 8 * 60 - 2 - 5)
    assert rows(manager, "odd") == by_hand(spark, events, ODD, odd, START + 6 * 60 - 2 - 5)
    early = by_hand(spark, events, SHORT, first.query.starts, START + 4 * 60 - 2 - 5)
    assert rows(manager, "short") == sorted(
        early + by_hand(spark, events, SHORT, again, START + 8 * 60 - 2 - 5), key=repr
    )
    status = manager.status()
    assert status.state == "running"
    assert {query.name: query.activity for query in status.queries} == {"short": "running", "long": "running"}
    assert "2 queries by one stateful operator: 3 windows" in manager.explain()
    return status.first_rows["short"]


@pytest.mark.slow
def test_a_manager_comes_back_with_its_queries_and_retained_slices(
    spark: SparkSession, tmp_path: Path, manage: Any
) -> None:
    events = tmp_path / "in"
    write(events, minutes(0, 4))
    manager = manage(retain="3m")
    starts = manager.register("short", *SHORT).query.starts
    manager.process_available()
    with pytest.raises(ManagerError, match="another manager"):
        manage(retain="3m")
    manager.suspend("short")
    manager.register("n", [tumbling("30s")], {"n": agg.count()})
    write(events, minutes(4, 5), first=4)
    manager.process_available()
    manager.stop()
    with pytest.raises(ManagerError, match="was stopped"):
        manager.suspend("n")
    with pytest.raises(ManagerError, match="the watermark was 5s and is 6s"):
        manage(watermark="6s")
    again = manage(retain="3m")
    assert [(query.name, query.activity) for query in again.status().queries] == [
        ("short", "suspended"),
        ("n", "running"),
    ]
    # Suspended, its slices were cut and filled all the same, and those of three minutes are there.
    resumed = again.resume("short").query.starts
    assert all(start.retained for start in resumed)
    wanted: Wanted = ((hopping("150s", "10s"),), {"total": agg.sum("i")})
    wide = again.register("wide", *wanted).query.starts
    assert wide[0].retained
    assert 0 < (wide[0].at or 0) < (START + 3 * 60) * 1_000_000
    write(events, minutes(5, 7), first=5)
    again.process_available()
    end = START + 7 * 60 - 2 - 5
    assert rows(again, "wide") == by_hand(
        spark, events, ((hopping("150s", "10s"),), {"total": agg.sum("i")}), wide, end
    )
    early = by_hand(spark, events, SHORT, starts, START + 4 * 60 - 2 - 5)
    late = by_hand(spark, events, SHORT, resumed, end)
    assert rows(again, "short") == sorted(early + late, key=repr)
    assert not set(early) & set(late)


@pytest.mark.slow
def test_a_manager_that_comes_back_and_retains_less_counts_on_no_slice_that_is_gone(
    spark: SparkSession, tmp_path: Path, manage: Any
) -> None:
    events = tmp_path / "in"
    write(events, minutes(0, 4))
    manager = manage(retain="3m")
    manager.register("n", [tumbling("30s")], {"n": agg.count()})
    # Suspended, it has slices only where some are retained.
    manager.register("short", *SHORT)
    manager.suspend("short")
    manager.process_available()
    manager.stop()
    write(events, minutes(4, 5), first=4)
    again = manage()
    assert again.status().version == 4
    again.process_available()
    wanted: Wanted = ((hopping("150s", "30s"),), {"n": agg.count()})
    starts = again.register("wide", *wanted).query.starts
    write(events, minutes(5, 8), first=5)
    again.process_available()
    found = rows(again, "wide")
    assert found == by_hand(spark, events, wanted, starts, START + 8 * 60 - 2 - 5)
    assert found
    again.stop()
    # As it was: nothing is written anew.
    last = manage()
    assert last.status().version == 5
    last.stop()
    # Spark's part of the checkpoint is gone: nothing that was given is touched.
    shutil.move(tmp_path / "checkpoint" / "spark", tmp_path / "elsewhere")
    with pytest.raises(ManagerError, match=r"written after micro-batch \d+, and Spark's own checkpoint .* come to -1"):
        manage()
    shutil.rmtree(tmp_path / "checkpoint" / "registry")
    with pytest.raises(ManagerError, match="has rows already, and the checkpoint is new"):
        manage()
    assert rows(again, "wide") == found


@pytest.mark.slow
def test_a_query_that_comes_again_with_other_columns_and_a_registry_that_cannot_be_written(
    spark: SparkSession, tmp_path: Path, manage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = tmp_path / "in"
    write(events, minutes(0, 2))
    manager = manage(trigger="available-now")

    def through() -> None:
        manager.process_available()
        until = time.monotonic() + 60
        # With this trigger the stream ends when all is read: it waits for the next change, and has not failed.
        while manager.status().state != "idle" and time.monotonic() < until:
            time.sleep(0.05)
        assert manager.status().state == "idle"

    manager.register("q", [tumbling("30s")], {"n": agg.count()})
    through()
    count = manager.read("q").count()
    assert count > 0
    full = OSError(28, "No space left on device")

    def fail(*_: Any) -> None:
        raise full

    write(events, minutes(2, 3), first=2)
    with monkeypatch.context() as patch:
        patch.setattr("muntin.manager.registry.write_whole", fail)
        with pytest.raises(ManagerError, match=r"q could not be dropped, and all runs as before: .*No space left"):
            manager.drop("q")
    through()
    before = manager.read("q").count()
    assert before > count
    manager.drop("q")
    manager.register("q", [tumbling("30s")], {"total": agg.sum("i")})
    write(events, minutes(3, 5), first=3)
    through()
    found = manager.read("q")
    assert found.columns == ["window_id", "window", "k", "n", "total"]
    assert found.where("total is null").count() == before
    assert found.where("n is null").count() > 0
    manager.drop("q")
    manager.register("q", [tumbling("30s")], {"total": agg.avg("v")})
    write(events, minutes(5, 7), first=5)
    through()
    with pytest.raises(ManagerError, match="q cannot be read as one table, as it was registered with columns of other"):
        manager.read("q")


@pytest.mark.slow
def test_what_cannot_be_done_is_refused_and_the_stream_goes_on(
    spark: SparkSession, tmp_path: Path, manage: Any
) -> None:
    events = tmp_path / "in"
    write(events, minutes(0, 1))
    got: list[tuple[str, int, int]] = []
    manager = manage(sink=lambda name, frame, batch: got.append((name, batch, frame.count())))
    manager.register("short", *SHORT)
    calls: dict[str, Callable[[], object]] = {
        "there is a query 'Short' already": lambda: manager.register("Short", *SHORT),
        "there is no query 'other': known are short": lambda: manager.suspend("other"),
        "short is running already": lambda: manager.resume("short"),
        "no such column": lambda: manager.register("x", [tumbling("1m")], {"n": agg.sum("nowhere")}),
        "cannot be computed by the manager's one operator": lambda: manager.register(
            "x", [tumbling("1m")], {"n": agg.median("v")}
        ),
        "reads a Spark expression": lambda: manager.register("x", [tumbling("1m")], {"n": agg.sum(F.col("i") + 1)}),
        "the sink is a function": lambda: manager.read("short"),
    }
    for told, call in calls.items():
        with pytest.raises(MuntinError, match=told):
            call()
    manager.process_available()
    assert manager.status().version == 1
    assert {name for name, _, _ in got} == {"short"}


@pytest.mark.slow
def test_a_sink_that_fails_loses_nothing(spark: SparkSession, tmp_path: Path, manage: Any) -> None:
    events = tmp_path / "in"
    write(events, minutes(0, 2))
    broken = [True]
    got: list[tuple[Any, ...]] = []

    def sink(name: str, frame: Any, batch: int) -> None:
        if broken[0]:
            msg = "the cable is out"
            raise OSError(msg)
        got.extend(plain(row) for row in frame.collect())

    manager = manage(sink=sink)
    starts = manager.register("short", *SHORT).query.starts
    until = time.monotonic() + 60
    while manager.status().state != "failed" and time.monotonic() < until:
        time.sleep(0.1)
    assert "the cable is out" in manager.status().failure
    with pytest.raises(ManagerError, match=r"the stream failed: .*the cable is out"):
        manager.suspend("short")
    manager.stop()
    broken[0] = False
    again = manage(sink=sink)
    again.process_available()
    assert sorted(got, key=repr) == by_hand(spark, events, SHORT, starts, START + 2 * 60 - 2 - 5)


def test_a_table_and_a_foreign_path_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = spark.range(3).select(F.timestamp_seconds("id").alias("ts"), "id")
    places: dict[str, Any] = {"checkpoint": tmp_path / "c", "sink": tmp_path / "o", "time": "ts", "watermark": "5s"}
    with pytest.raises(ManagerError, match="this DataFrame is a table"):
        Manager(table, **places)
    stream = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts")
    with pytest.raises(ManagerError, match="a file system that the driver has mounted"):
        Manager(stream, **places | {"checkpoint": "s3://bucket/checkpoint"})
    with pytest.raises(ManagerError, match="a sink is a folder, or a function"):
        Manager(stream, **places | {"sink": 7})
    with pytest.raises(MuntinError, match="no such column"):
        Manager(stream, **places | {"keys": "device"})
    with pytest.raises(MuntinError, match="has a watermark of 1m on 'ts' already, and 5s is asked for"):
        Manager(stream.withWatermark("ts", "1 minute"), **places)
    Manager(stream.withWatermark("ts", "5 seconds"), **places | {"checkpoint": tmp_path / "same"}).stop()
    (tmp_path / "o" / "hourly" / "batch=0000000003").mkdir(parents=True)
    with pytest.raises(ManagerError, match="has rows already, and the checkpoint is new"):
        Manager(stream, **places)
    assert (tmp_path / "o" / "hourly" / "batch=0000000003").is_dir()
