"""A table of PostgreSQL that holds the current rows of a stream, in a real server."""

from __future__ import annotations

import datetime as dt
import math
import re
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin import agg, hopping, tumbling
from muntin.errors import SinkError
from muntin.postgres import upsert
from tests.sources.postgresql import server
from tests.spark.stream_driver import drawn
from tests.spark.streams import PARTITIONS, plain, read, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

NOWHERE = "host=/nowhere dbname=none connect_timeout=2"


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with server() as found:
        yield found


def ask(database: str, text: str) -> list[tuple[Any, ...]]:
    """Run statements of the test's own; rows of the last one."""
    with psycopg.connect(database) as connection:
        found = connection.execute(text)
        return found.fetchall() if found.description else []


def features(spark: SparkSession, folder: Path) -> DataFrame:
    """The latest windows of each key; a null key has a name, because a primary key takes none."""
    key = F.coalesce("k", F.lit("none")).alias("k")
    query = mt.windows(read(spark, folder), time="ts", keys=key, watermark="20s")
    windows = (tumbling("10s"), tumbling("1m"), hopping("40s", slide="10s"))
    return query.over(*windows).agg(n=agg.count(), mean=agg.avg("v"), text=agg.last("s")).plan().stream(mode="latest")


def started(frame: DataFrame, each: Callable[..., None], checkpoint: Path) -> StreamingQuery:
    spark = frame.sparkSession
    before = spark.conf.get(PARTITIONS) or "4"
    spark.conf.set(PARTITIONS, "1")
    try:
        return (
            frame.writeStream.foreachBatch(each)
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
    finally:
        spark.conf.set(PARTITIONS, before)


def finish(query: StreamingQuery) -> None:
    try:
        assert query.awaitTermination(120), "the stream did not end"
    finally:
        query.stop()


def proposed(frame: DataFrame, database: str, table: str, keys: str | list[str]) -> str:
    """Take the statement that makes the table out of the refusal to write where there is none."""
    with pytest.raises(SinkError, match="does not exist") as caught:
        upsert(frame, database, table, keys=keys)
    return str(caught.value).split("Make one: ")[1]


@pytest.mark.slow
def test_a_micro_batch_is_there_whole_or_not_at_all_and_written_twice_changes_nothing(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    frame = features(spark, write(tmp_path / "in", drawn(7, 6)))
    ask(database, proposed(frame, database, "latest", "k"))
    into = upsert(frame, database, "latest", keys="k")
    wanted: dict[str, tuple[Any, ...]] = {}
    versions: list[Any] = []
    happened: list[str] = []

    def each(rows: DataFrame, batch: int) -> None:
        rows = rows.persist()
        fresh = {row[0]: _row(row) for row in rows.collect()}
        if {"a", "none"} <= fresh.keys() and wanted and "refused" not in happened:
            # Of the rows of this micro-batch the table refuses the last.
            at = fresh["none"][1].isoformat()
            ask(database, f"ALTER TABLE latest ADD CONSTRAINT early CHECK (k <> 'none' OR at < '{at}')")
            happened.append("refused")
        into(rows, batch)
        wanted.update(fresh)
        assert _table(database) == wanted
        now = ask(database, "SELECT k, xmin, ctid FROM latest ORDER BY k")
        if "refused" in happened and len(fresh) > 1 and "killed" not in happened:
            versions[:] = now
            happened.append("killed")
            msg = "killed between the table and the checkpoint"
            raise RuntimeError(msg)
        if happened[-1:] == ["killed"]:
            assert len(fresh) > 1
            assert now == versions
            happened.append("repeated")

    with pytest.raises(Exception, match=r'cannot write to table latest of PostgreSQL: .*"early"'):
        finish(started(frame, each, tmp_path / "checkpoint"))
    assert _table(database) == wanted
    ask(database, "ALTER TABLE latest DROP CONSTRAINT early")
    with pytest.raises(Exception, match="killed between"):
        finish(started(frame, each, tmp_path / "checkpoint"))
    finish(started(frame, each, tmp_path / "checkpoint"))
    assert happened == ["refused", "killed", "repeated"]
    assert len(wanted) == 4


def _row(cells: Iterable[Any]) -> tuple[Any, ...]:
    """Spark gives times in the zone of this process, without saying so."""
    return plain([cell.astimezone(dt.UTC) if isinstance(cell, dt.datetime) else cell for cell in cells])


def _table(database: str) -> dict[str, tuple[Any, ...]]:
    return {row[0]: _row(row) for row in ask(database, "SELECT * FROM latest")}


def test_windows_that_change_are_kept_up_to_date_by_their_start(spark: SparkSession, database: str) -> None:
    events = spark.range(600).select(F.timestamp_seconds("id").alias("ts"), (F.col("id") % 3).alias("device"))
    query = mt.windows(events, time="ts", keys="device").over(tumbling("1m"), hopping("4m", slide="2m"))
    rows = query.agg(n=agg.count()).plan().run()
    keys = ["window_id", "window_start", "device"]
    statement = proposed(rows, database, "public.by_window", keys)
    assert statement == (
        'CREATE TABLE "public"."by_window" ("window_id" text, "window_start" timestamptz, "window_end" timestamptz, '
        '"device" bigint, "n" bigint, PRIMARY KEY ("window_id", "window_start", "device"))'
    )
    ask(database, statement)
    into = upsert(rows, database, "public.by_window", keys=keys)
    into(rows.where("window_id = 'tumbling_1m'").withColumn("n", F.lit(-1).cast("bigint")))
    into(rows)
    found = ask(database, "SELECT * FROM by_window")
    assert sorted(found) == sorted(
        (row[0], *(end.astimezone(dt.UTC) for end in row[1]), *row[2:]) for row in rows.collect()
    )
    assert len(found) > 40
    versions = ask(database, "SELECT xmin, ctid FROM by_window")
    into(rows)
    assert ask(database, "SELECT xmin, ctid FROM by_window") == versions


def test_values_of_every_type_and_names_of_any_kind_arrive_as_they_are(spark: SparkSession, database: str) -> None:
    when = dt.datetime(1969, 7, 20, 20, 17, 40, 123456, dt.UTC)
    values = {
        'Key"; DROP TABLE x; --': ("string", "a\\b\tc\nd'"),
        "select": ("tinyint", -128),
        "b`c": ("smallint", 7),
        "Ä": ("int", 1),
        "e e": ("bigint", 2**62),
        "%s {f}": ("float", 0.5),
        "g": ("double", math.inf),
        "h": ("boolean", True),
        "i": ("date", dt.date(2024, 2, 29)),
        "j": ("timestamp", when),
        "k": ("timestamp_ntz", when.replace(tzinfo=None)),
        "l": ("decimal(38,3)", Decimal("12345678901234567890123456789012345.678")),
        "m": ("binary", b"\x00\xff"),
    }
    schema = ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, (kind, _) in values.items())
    key, row = next(iter(values)), tuple(value for _, value in values.values())
    empty = (*row[:1], *(None for _ in row[1:]))
    full, none = (spark.createDataFrame([bytes_for(each)], schema) for each in (row, empty))
    ask(database, proposed(full, database, "Tab le", key))
    into = upsert(full, database, "Tab le", keys=key)
    for frame, wanted in ((full, row), (none, empty), (full, row)):
        into(frame)
        assert ask(database, 'SELECT * FROM "Tab le"') == [wanted]


def bytes_for(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(bytearray(value) if isinstance(value, bytes) else value for value in row)


def test_rows_without_values_beside_their_keys_are_there_once(spark: SparkSession, database: str) -> None:
    ask(database, "CREATE TABLE only_keys (id bigint PRIMARY KEY, more text NOT NULL DEFAULT 'x')")
    into = upsert(spark.range(0), database, "only_keys", keys="id")
    for last in (3, 5, 0):
        into(spark.range(last))
    assert ask(database, "SELECT * FROM only_keys ORDER BY id") == [(number, "x") for number in range(5)]


def test_what_is_wrong_is_said_before_a_stream_starts(
    spark: SparkSession, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, reader = spark.range(1).selectExpr("id", "'a' AS name"), database.replace("user=muntin", "user=reader")
    ask(database, "CREATE TABLE loose (id bigint, name text); CREATE TABLE narrow (id bigint PRIMARY KEY)")
    ask(database, "CREATE ROLE reader LOGIN; CREATE TABLE closed (id bigint PRIMARY KEY, name text)")
    ask(database, "GRANT SELECT ON closed TO reader")
    for change, words in (
        ({"table": "nope"}, 'Make one: CREATE TABLE "nope" ("id" bigint, "name" text, PRIMARY KEY ("id"))'),
        ({"table": "loose"}, 'The keys must be its own: ALTER TABLE "loose" ADD PRIMARY KEY ("id")'),
        ({"table": "narrow"}, 'column "name" does not exist. The rows have these columns: "id" bigint, "name" text'),
        (
            {"table": "closed", "to": reader},
            "permission denied for table closed",
        ),
        ({"keys": "ids"}, "there is no column 'ids': name those of id, name by which rows are told apart"),
        ({"keys": []}, "there are no keys: name those of id, name"),
        ({"rows": frame.selectExpr("id", "array(1) AS many")}, "column 'many' is of type array<int>"),
        ({"to": NOWHERE}, "cannot write to table loose of PostgreSQL: connection is bad: "),
        ({"to": "no dsn"}, "cannot write to table loose of PostgreSQL: missing "),
    ):
        given: dict[str, Any] = {"rows": frame, "to": database, "table": "loose", "keys": "id"} | change
        with pytest.raises(SinkError, match=re.escape(words)):
            upsert(**given)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SinkError, match=re.escape("pip install 'muntin[postgres]'")):
        upsert(frame, database, "loose", keys="id")


def test_what_cannot_be_told_apart_is_refused_and_leaves_the_table_alone(spark: SparkSession, database: str) -> None:
    ask(database, "CREATE TABLE apart (id bigint UNIQUE, name text); INSERT INTO apart VALUES (0, 'before')")
    into = upsert(spark.range(1).selectExpr("id", "'a' AS name"), database, "apart", keys="id")
    for values, words in (
        ("(0, 'a'), (NULL, 'b')", "has no id, and PostgreSQL takes two nulls for two keys"),
        ("(0, 'a'), (0, 'b')", "cannot affect row a second time"),
    ):
        with pytest.raises(SinkError, match=words):
            into(spark.sql(f"SELECT CAST(id AS bigint) AS id, name FROM VALUES {values} AS t(id, name)"))
    assert ask(database, "SELECT * FROM apart") == [(0, "before")]


def test_a_password_is_not_shown(spark: SparkSession, database: str) -> None:
    ask(database, "CREATE TABLE secret (id bigint PRIMARY KEY)")
    assert "hunter2" not in repr(upsert(spark.range(1), f"{database} password=hunter2", "secret", keys="id"))
