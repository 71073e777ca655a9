"""Streams that stop and start: another query, other settings, an older checkpoint, sinks and states that fail."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

import muntin as mt
from muntin import agg, hopping, tumbling
from muntin.spark.stateful import Windows
from tests.fixtures.make_checkpoint import BUCKETS, HERE, STORED, move
from tests.fixtures.make_checkpoint import asked as asked_then
from tests.spark.stream_driver import drawn
from tests.spark.streams import PARTITIONS, Emitted, emitted, plain, read, write

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from muntin.query import Query

NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"


def asked(frame: DataFrame, **changes: Any) -> Query:
    how: dict[str, Any] = {
        "keys": "k",
        "windows": [tumbling("20s"), hopping("1m", slide="10s")],
        "aggregates": {"n": agg.count(), "total": agg.sum("i"), "late": agg.last("s")},
    }
    how |= changes
    return (
        mt.windows(frame, time="ts", keys=how["keys"], watermark="15s").over(*how["windows"]).agg(**how["aggregates"])
    )


def refusal(frame: DataFrame, checkpoint: Path) -> str:
    """Start a query that must not go on, and give what its user reads first, before all that Spark tells of it."""
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    started = writer.trigger(availableNow=True).start()
    with pytest.raises(StreamingQueryException) as caught:
        started.awaitTermination()
    first, told, _ = str(caught.value).partition("=== Streaming Query ===")
    assert told
    assert "\n\tat " not in first
    return first


def both(query: Query, checkpoints: Path, **how: Any) -> dict[str, Emitted]:
    return emitted({"ours": query.plan().stream(**how), "native": query.native()}, checkpoints)


def test_a_changed_query_is_refused_and_the_first_one_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    batches = drawn(27, 6)
    source = read(spark, write(tmp_path / "in", batches[:3]))
    query = asked(source)
    first = both(query, tmp_path)
    write(tmp_path / "in", batches[3:], 3)
    more = {"n": agg.count(), "total": agg.sum("i", filter="v > 0"), "late": agg.last("s"), "low": agg.min("v")}
    changed = {
        "the windows changed (without tumbling_20s: 20s and with tumbling_2m: 2m)": asked(
            source, windows=[tumbling("2m"), hopping("1m", slide="10s")]
        ),
        "the aggregates changed (without total=sum(i) and with total=sum(i, filter=v > 0), low=min(v))": asked(
            source, aggregates=more
        ),
        "the keys were ['k string'] and are ['k int']; what aggregates read changed (without late of string and with "
        "late of int)": asked(source.withColumns({"k": F.length("k"), "s": F.col("i")})),
    }
    for words, other in changed.items():
        said = refusal(other.plan().stream(), tmp_path / "ours")
        assert "StateError: the checkpoint belongs to another query: " in said
        assert words in said
        assert "start this one with a new checkpoint" in said
    said = refusal(query.plan().stream(mode="update"), tmp_path / "ours")
    assert "the output mode was append and is update" in said
    # Another number of shuffle partitions: Spark keeps the checkpoint's, the buckets follow the session's.
    before = spark.conf.get(PARTITIONS)
    assert before == "4"
    spark.conf.set(PARTITIONS, "7")
    try:
        said = refusal(query.plan().stream(), tmp_path / "ours")
        then = both(query, tmp_path, buckets=4)
    finally:
        spark.conf.set(PARTITIONS, before)
    assert "the number of buckets (stream(buckets=...), by default from spark.sql.shuffle.partitions) was 4" in said
    assert "and is 8" in said
    assert {each["stateOperators"][0]["numShufflePartitions"] for each in then["ours"].progress} == {2}
    assert then["ours"].rows == then["native"].rows
    assert first["ours"].rows == first["native"].rows
    assert len(then["ours"].rows) > 50


def test_a_checkpoint_of_the_first_version_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    shutil.copytree(STORED, tmp_path, dirs_exist_ok=True)
    # A checkpoint holds whole paths, of the files read and of the state's schema: it is told that it has moved.
    move(tmp_path / "checkpoint", HERE, str(tmp_path))
    old = sorted((tmp_path / "in").iterdir())
    for number, place in enumerate(old, 1):
        os.utime(place, (number, number))
    fresh = drawn(13, 4, start=1_700_000_120)
    query = asked_then(spark, write(tmp_path / "in", fresh, len(old)))
    found = emitted({"checkpoint": query.plan().stream(buckets=BUCKETS), "native": query.native()}, tmp_path)
    ours = found["checkpoint"]
    # Nothing has read the old files again.
    assert sum(each["numInputRows"] for each in ours.progress) == sum(map(len, fresh))
    wanted = [row for row in found["native"].rows if row[0] >= len(old)]
    assert ours.rows == wanted
    assert {row[1] for row in wanted} == {"tumbling_20s", "hopping_1m_15s", "hopping_5m_5s"}


def test_a_sink_that_fails_is_heard_and_started_again(spark: SparkSession, tmp_path: Path) -> None:
    query = asked(read(spark, write(tmp_path / "in", drawn(28, 5))))
    failing, msg = {2: "before", 3: "after"}, "the disk is full"

    def deliver(batch: DataFrame, number: int) -> None:
        if failing.get(number) == "before":
            raise OSError(msg)
        batch.write.mode("overwrite").parquet(str(tmp_path / "out" / f"batch={number}"))
        if failing.get(number) == "after":
            raise OSError(msg)

    def run() -> None:
        writer = query.plan().stream().writeStream.foreachBatch(deliver).trigger(availableNow=True)
        started = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        try:
            started.awaitTermination()
        finally:
            started.stop()

    while failing:
        with pytest.raises(StreamingQueryException, match="OSError: the disk is full"):
            run()
        failing.pop(min(failing))
    run()
    native = emitted({"native": query.native()}, tmp_path)["native"].rows
    kept = spark.read.parquet(str(tmp_path / "out")).select("batch", *query.native().columns).collect()
    assert sorted(map(plain, kept), key=repr) == native
    assert len(native) > 50


def test_null_times_are_dropped_and_null_keys_are_a_group(spark: SparkSession, tmp_path: Path) -> None:
    batches = [
        [event | ({"t": None} if number % 3 == 0 else {}) for number, event in enumerate(batch)]
        for batch in drawn(15, 4)
    ]
    query = asked(read(spark, write(tmp_path / "in", batches)), keys=["k", "s"])
    found = both(query, tmp_path)
    assert found["ours"].rows == found["native"].rows
    assert {row[3] for row in found["ours"].rows} == {None, "a", "b", "c"}


def test_damaged_state_is_refused_in_words(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Torn:
        """State that keeps half of what it is given."""

        def __init__(self, state: Any) -> None:
            self._state = state

        def getValue(self, place: Any) -> Any:
            return self._state.getValue(place)

        def updateValue(self, place: Any, value: Any) -> None:
            self._state.updateValue(place, (value[0][: len(value[0]) // 2],))

    class Careless(Windows):
        """Windows over such state."""

        def init(self, handle: Any) -> None:
            super().init(handle)
            self._slices = Torn(self._slices)  # type: ignore[assignment]

    batches = drawn(22, 2)
    query = asked(read(spark, write(tmp_path / "in", batches[:1])))
    monkeypatch.setattr("muntin.spark.streaming.Windows", Careless)
    spark.conf.set(NO_DATA, "false")
    try:
        emitted({"ours": query.plan().stream()}, tmp_path)
    finally:
        spark.conf.unset(NO_DATA)
    monkeypatch.undo()
    write(tmp_path / "in", batches[1:], 1)
    said = refusal(query.plan().stream(), tmp_path / "ours")
    assert re.search(r"StateError: state of \d+ bytes is damaged, or was written for other columns: ", said)
