"""`muntin run --stream`: what it writes, how it goes on, and what it refuses."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from muntin.cli import main
from muntin.commands import run as run_command
from muntin.commands import stream as stream_command
from muntin.commands import stream_progress
from muntin.commands.stream_manifest import NAME, Manifest, find
from muntin.commands.stream_progress import Totals
from muntin.spark.files import parse_input, read

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

QUERY = """\
SELECT device, System.Window().Id AS wid, System.Timestamp() AS t, MIN(temp) AS low, SUM(temp) AS total, COUNT(*) AS n
FROM Input TIMESTAMP BY ts
WHERE temp > -50
GROUP BY device, Windows(
    Window('10 min', TumblingWindow(minute, 10)),
    Window('30 min', HoppingWindow(minute, 30, 10)))
"""
FIRST, STEP = datetime(2026, 1, 5), timedelta(minutes=10)
Event = dict[str, Any]
Row = tuple[str, str, datetime, float, float, int]


def events_of(number: int) -> list[Event]:
    """Make the events of a file: 12 minutes of them, each file a little behind the one before."""
    chance = random.Random(number)
    times = [FIRST + timedelta(minutes=10 * number + 12 * chance.random() - 2) for _ in range(40)]
    return [
        {
            "device": f"d{chance.randrange(3)}",
            "ts": max(when, FIRST).isoformat() + "Z",
            # Halves: sums in any order are the same.
            "temp": chance.randrange(-20, 80) / 2,
        }
        for when in times
    ]


END = [{"device": "end", "ts": (FIRST + timedelta(days=1)).isoformat() + "Z", "temp": 0.5}]


def add(folder: Path, number: int, events: list[Event]) -> None:
    hidden = folder / f".{number}"
    hidden.write_text("".join(json.dumps(event) + "\n" for event in events))
    os.utime(hidden, (number + 1, number + 1))
    hidden.rename(folder / f"{number:03}.json")


def by_hand(events: list[Event]) -> list[Row]:
    """Compute the windows of all events: (start, end], each called by its end."""
    found: dict[tuple[str, str, datetime], list[float]] = {}
    for event in events:
        when = datetime.fromisoformat(event["ts"].removesuffix("Z"))
        # The end of the first window that holds the event.
        end = FIRST - (FIRST - when) // STEP * STEP
        for name, count in (("10 min", 1), ("30 min", 3)):
            for step in range(count):
                place = (event["device"], name, end + step * STEP)
                found.setdefault(place, []).append(event["temp"])
    return sorted((*place, min(temps), sum(temps), len(temps)) for place, temps in found.items())


def written(spark: SparkSession, out: Path) -> list[Row]:
    """Read what a stream wrote, by the list that it keeps of its files."""
    frame = spark.read.parquet(str(out)).selectExpr("device", "wid", "unix_seconds(t)", "low", "total", "n")
    return sorted((r[0], r[1], datetime.fromtimestamp(r[2], UTC).replace(tzinfo=None), *r[3:]) for r in frame.collect())


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["run", *map(str, arguments)], prog_name="muntin")


def refused(*arguments: object, code: int = 2) -> str:
    result = run(*arguments)
    assert result.exit_code == code, (result.output, result.exception)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("muntin: error: ").removesuffix("\n")


def snapshot(*folders: Path) -> dict[Path, bytes]:
    return {place: place.read_bytes() for folder in folders for place in folder.rglob("*") if place.is_file()}


class Place:
    """A folder with a query, an input, and what a stream makes of it."""

    def __init__(self, root: Path, query: str = QUERY) -> None:
        self.root, self.query = root, root / "query.sql"
        self.input, self.out, self.checkpoint = root / "in", root / "out", root / "ck"
        self.query.write_text(query)
        self.input.mkdir()

    def arguments(self, **changed: object) -> list[object]:
        given: dict[str, object] = {
            "input": f"Input={self.input}",
            "output": self.out,
            "checkpoint": self.checkpoint,
            "watermark": "5m",
        } | changed
        options = [part for name, value in given.items() if value for part in (f"--{name.replace('_', '-')}", value)]
        return [self.query, "--stream", *options]

    def run(self, **changed: object) -> dict[str, Any]:
        changed = {"trigger": "available-now", "files_per_batch": 1} | changed
        result = run(*self.arguments(**changed), "--json")
        assert (result.exit_code, result.stderr) == (0, ""), (result.output, result.exception)
        found: dict[str, Any] = json.loads(result.stdout)
        return found


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, list[dict[str, Any]]]:
    """Run over three files, and go on over three more; the last is far ahead."""
    place = Place(tmp_path_factory.mktemp("stream"))
    for number in range(3):
        add(place.input, number, events_of(number))
    said = [place.run()]
    for number in range(3, 5):
        # A column that the query does not read may come.
        add(place.input, number, [event | {"more": 1} for event in events_of(number)])
    add(place.input, 5, END)
    return place, [*said, place.run(buckets=4)]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_stream_keeps_microseconds_in_text(spark: SparkSession, tmp_path: Path, form: str) -> None:
    query = "SELECT device, MAX(at) AS at, window FROM Input GROUP BY device, window(at, '10 minutes')"
    place = Place(tmp_path, query)
    when = [{"device": "a", "at": "2026-01-05T00:01:02.123456Z"}, {"device": "b", "at": "2026-01-05T00:01:02.000007Z"}]
    add(place.input, 0, when)
    add(place.input, 1, [{"device": "end", "at": "2026-01-06T00:00:00Z"}])
    place.run(format=form)
    back = read(spark, parse_input(f"o={place.out}", form))
    found = back.selectExpr("device", "unix_micros(at) % 1000000").orderBy("device").collect()
    assert [tuple(row) for row in found] == [("a", 123456), ("b", 7)]


def test_each_window_is_written_once_by_two_starts(
    spark: SparkSession, ran: tuple[Place, list[dict[str, Any]]]
) -> None:
    place, (first, second) = ran
    everything = [event for number in range(5) for event in events_of(number)]
    # The windows of the event that is far ahead are still open.
    assert written(spark, place.out) == by_hand(everything)
    for said, files in ((first, 3), (second, 3)):
        assert said["input"]["path"] == str(place.input)
        assert said["checkpoint"] == str(place.checkpoint)
        assert said["output"]["rows"] == sum(window["rows"] for window in said["windows"])
        # One batch for each file, and one without data, in which the last watermark lets windows leave.
        assert said["batches"] == files + 1
        assert not said["stopped"]
    assert (first["input"]["rows"], second["input"]["rows"]) == (120, 81)
    assert second["last_batch"] == first["last_batch"] + 4
    counts = Counter(row[1] for row in by_hand(everything))
    assert (
        Counter({w["id"]: w["rows"] + v["rows"] for w, v in zip(first["windows"], second["windows"], strict=True)})
        == counts
    )
    assert first["watermark"].startswith("2026-01-05T00:2")
    assert second["watermark"].startswith("2026-01-05T23:5")
    # Three slices of ten minutes, at least, in four buckets; the last batch with data had all of them and the end's.
    assert first["state"]["slices"] >= 3
    assert second["state"]["slices"] >= 1
    assert second["state"]["as_of_batch"] == second["last_batch"] - 1
    assert second["state"]["rows"] > 0
    assert second["state"]["bytes"] > 0


def test_without_new_files_nothing_happens(ran: tuple[Place, list[dict[str, Any]]]) -> None:
    place, _ = ran
    before = snapshot(place.out)
    result = run(*place.arguments(trigger="available-now"))
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "batches 0 batches in" in said
    assert f"goes on from the checkpoint {place.checkpoint}" in said
    assert snapshot(place.out) == before


def test_ctrl_c_lets_the_batch_end_and_the_next_start_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    place = Place(tmp_path)
    for number in range(3):
        add(place.input, number, events_of(number))

    def interrupt(batch: int) -> None:
        while not (place.checkpoint / "offsets" / str(batch)).exists():
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    threading.Thread(target=interrupt, args=(1,), daemon=True).start()
    result = run(*place.arguments(files_per_batch=1))
    # A stream that has no end of its own was stopped in order.
    assert result.exit_code == 0, (result.output, result.exception)
    assert result.stderr == "stopping after the batch that runs; again Ctrl-C stops at once\n"
    said = " ".join(result.stdout.split())
    assert f"go on stopped by Ctrl-C; the same command goes on from the checkpoint {place.checkpoint}" in said
    assert "open slices" in said
    assert signal.getsignal(signal.SIGINT) is before
    # The second batch had begun.
    assert (place.checkpoint / "commits" / "1").exists()
    # One that would have read all files was broken off.
    add(place.input, 3, events_of(3))
    add(place.input, 4, events_of(4))
    last = max(int(log.name) for log in (place.checkpoint / "offsets").iterdir() if log.name.isdigit())
    threading.Thread(target=interrupt, args=(last + 1,), daemon=True).start()
    result = run(*place.arguments(files_per_batch=1, trigger="available-now"))
    assert result.exit_code == 130, (result.output, result.exception)
    add(place.input, 5, END)
    place.run()
    assert written(spark, place.out) == by_hand([event for number in range(5) for event in events_of(number)])


def test_other_modes_and_formats(spark: SparkSession, tmp_path: Path) -> None:
    place = Place(tmp_path, "SELECT device, window, count(*) AS n FROM Input GROUP BY window(ts, '10 minutes'), device")
    for number in range(2):
        add(place.input, number, events_of(number))
    # A start that was killed as it wrote its first offsets leaves this, which Spark by itself refuses for ever.
    (place.checkpoint / "offsets").mkdir(parents=True)
    (place.checkpoint / "muntin.json").write_text("{}")
    for name in (".0.f0c9b827.tmp", "..0.f0c9b827.tmp.crc"):
        (place.checkpoint / "offsets" / name).touch()
    said = place.run(output_mode="update", format="csv", output=place.root / "out.csv")
    assert said["output"]["format"] == "csv"
    parts = [part for part in (place.root / "out.csv").glob("*.csv") if part.stat().st_size]
    rows = [row for part in parts for row in csv.DictReader(part.read_text().splitlines())]
    assert list(rows[0]) == ["device", "window_start", "window_end", "n"]
    assert len(rows) == said["output"]["rows"]
    # The last that was said of each window is what there is.
    last: dict[tuple[str, str], int] = {}
    for row in rows:
        at = (row["device"], row["window_start"])
        last[at] = max(last.get(at, 0), int(row["n"]))
    assert sum(last.values()) == 80
    assert len(rows) > len(last)
    # The format need not be said again: the checkpoint knows.
    assert place.run(output_mode="update", output=place.root / "out.csv")["output"]["format"] == "csv"


def test_a_query_that_runs_natively(spark: SparkSession, tmp_path: Path) -> None:
    place = Place(tmp_path, QUERY.replace("MIN(temp)", "MIN(device)"))
    add(place.input, 0, events_of(0))
    add(place.input, 1, END)
    said = refused(*place.arguments(output_mode="update"))
    assert said.startswith(
        "--output-mode update needs the shared plan, and this query runs by Spark's own aggregates: `low` (min)"
    )
    assert not place.checkpoint.exists()
    found = place.run()
    assert found["input"]["rows"] == 41
    assert found["state"]["slices"] is None
    assert len(spark.read.parquet(str(place.out)).collect()) == len(by_hand(events_of(0))) == found["output"]["rows"]


def test_a_dry_run_needs_no_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    place = Place(tmp_path)
    add(place.input, 0, events_of(0))
    arguments = place.arguments(checkpoint=None, output=None)
    assert "one stateful operator" in run(*arguments, "--dry-run").stdout
    assert "stream" in json.loads(run(*arguments, "--dry-run", "--json").stdout)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in", "query.sql"]


# --- refused before Spark starts


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: object) -> None:
        pytest.fail("Spark was asked for")

    monkeypatch.setattr(run_command, "session", started)


@pytest.mark.usefixtures("no_spark")
def test_options_are_checked_without_spark(tmp_path: Path) -> None:
    place = Place(tmp_path)
    assert refused(*place.arguments()).endswith("so its columns are not known: start when the first is there")
    add(place.input, 0, events_of(0))
    assert refused(*place.arguments(checkpoint=None)).endswith("pass --checkpoint PATH, which need not exist yet")
    assert refused(*place.arguments(watermark=None)).endswith("pass --watermark 10s")
    assert refused(*place.arguments(output=None)).startswith("there is nowhere to write")
    assert "a stream has no end" in refused(*place.arguments(), "--verify")
    assert "a stream adds to its output" in refused(*place.arguments(mode="overwrite"))
    assert "--strategy arrow is for tables" in refused(*place.arguments(strategy="arrow"))
    assert refused(*place.arguments(trigger="soon")) == (
        "cannot read --trigger 'soon': give available-now, or a duration, for example 10s or 1h30m"
    )
    assert refused(*place.arguments(watermark="late")).startswith("cannot read --watermark 'late'")
    assert "power of two" in refused(*place.arguments(buckets=3))
    assert "complete" in refused(*place.arguments(output_mode="complete"))
    assert "is a file, and a stream reads a folder" in refused(*place.arguments(input=f"Input={place.input}/000.json"))
    assert "writing would destroy what is read" in refused(*place.arguments(output=place.input))
    for inside in (place.out / "ck", place.input / "ck", place.root):
        assert "lie in one another" in refused(*place.arguments(checkpoint=inside))
    for option in ("--checkpoint=ck", "--watermark=1s", "--trigger=1s", "--output-mode=update", "--buckets=4"):
        name = option.partition("=")[0]
        arguments = [place.query, "--input", f"Input={place.input}", "--output", place.out, option]
        assert refused(*arguments) == f"{name} is for streams: add --stream, or leave it out"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in", "query.sql"]


@pytest.mark.usefixtures("no_spark")
def test_an_output_without_its_checkpoint_and_a_checkpoint_of_others(tmp_path: Path) -> None:
    place = Place(tmp_path)
    add(place.input, 0, events_of(0))
    place.out.mkdir()
    (place.out / "part-0.parquet").write_text("rows")
    said = refused(*place.arguments())
    assert said.startswith(f"output {place.out} is there already, and the checkpoint {place.checkpoint} is new")
    (place.checkpoint / "offsets").mkdir(parents=True)
    assert f"is not empty, and has no {NAME}: something else wrote it" in refused(*place.arguments())
    (tmp_path / "file").write_text("")
    assert "is a file: give a folder" in refused(*place.arguments(checkpoint=tmp_path / "file"))


@pytest.mark.usefixtures("no_spark")
def test_another_query_is_refused_and_what_changed_is_said(ran: tuple[Place, list[dict[str, Any]]]) -> None:
    place, _ = ran
    before = snapshot(place.root)
    changes = {
        ("minute, 30, 10", "minute, 20, 10"): (
            "the windows changed (without 30 min: 30m/10m and with 30 min: 20m/10m)"
        ),
        ("MIN(temp)", "MAX(temp)"): "the aggregates changed (without low=min(temp) and with low=max(temp))",
        ("device, Windows", "Windows"): "the keys were ['device'] and are []",
        ("WHERE temp > -50\n", ""): "the WHERE was temp > -50 and is not there",
        ("AS n\n", "AS m\n"): "the columns of the result changed (without n and with m)",
    }
    for (old, new), what in changes.items():
        text = QUERY.replace(old, new)
        place.query.write_text(text.replace("SELECT device, ", "SELECT ") if "keys" in what else text)
        said = refused(*place.arguments())
        assert what in said
        assert said.endswith("or start with a new checkpoint and a new output: all files are read again then")
    # Neither spaces nor comments make another query.
    place.query.write_text("-- the same\n" + QUERY.replace("    Window(", "  Window("))
    options: dict[str, tuple[object, str]] = {
        "watermark": ("6m", "the watermark was 5m and is 6m"),
        "output_mode": ("update", "the output mode was append and is update"),
        "buckets": (
            8,
            "the number of buckets (--buckets, by default from spark.sql.shuffle.partitions) was 4 and is 8",
        ),
        "output": (place.root / "other", f"the output was {place.out} and is {place.root}/other"),
        "format": ("json", "the format of the output was parquet and is json"),
    }
    for option, (value, what) in options.items():
        assert f"another query: {what}. " in refused(*place.arguments(**{option: value}))
    place.query.write_text(QUERY)
    assert snapshot(place.root) == before


@pytest.mark.usefixtures("no_spark")
def test_damage_and_loss_are_told(ran: tuple[Place, list[dict[str, Any]]]) -> None:
    place, (_, last) = ran
    manifest = place.checkpoint / NAME
    whole = manifest.read_text()
    for damaged in (whole[: len(whole) // 2], "", "[]", "{}"):
        manifest.write_text(damaged)
        assert f"{manifest}, which says what the checkpoint belongs to, is damaged" in refused(*place.arguments())
    manifest.write_text(whole.replace('"version": 1,\n  "query"', '"version": 2,\n  "query"'))
    assert f"{manifest} has version 2, and this muntin reads 1" in refused(*place.arguments())
    manifest.write_text(whole)
    for log in (place.checkpoint / "offsets" / str(last["last_batch"]), place.checkpoint / "metadata"):
        text = log.read_text()
        for damaged in (text[:-5], "", "v1\n"):
            log.write_text(damaged)
            assert f"the checkpoint is damaged: {log} was cut short" in refused(*place.arguments())
        log.write_text(text)
    place.out.rename(place.root / "away")
    try:
        assert f"has rows written to {place.out}, and they are gone" in refused(*place.arguments())
    finally:
        (place.root / "away").rename(place.out)


# --- refused by what the data and the state say


def test_an_input_of_other_columns_is_refused(ran: tuple[Place, list[dict[str, Any]]]) -> None:
    place, _ = ran
    before = snapshot(place.out, place.checkpoint)
    extra = place.input / "900.json"
    extra.write_text(json.dumps({"device": "d0", "ts": "2026-01-06T00:00:00Z", "temp": "hot"}))
    said = refused(*place.arguments(trigger="available-now"))
    assert said.startswith("the input changed: column temp was double and is string now. ")
    assert snapshot(place.out, place.checkpoint) == before
    extra.unlink()


def test_what_a_worker_refuses_is_said_without_the_way_through_the_jvm(spark: SparkSession, tmp_path: Path) -> None:
    place = Place(tmp_path)
    add(place.input, 0, events_of(0))
    place.run()
    # As though the manifest had never been there: another query, and a manifest that says so.
    place.query.write_text(QUERY.replace("minute, 30, 10", "minute, 20, 10"))
    manifest = place.checkpoint / NAME
    manifest.write_text(manifest.read_text().replace("30m/10m", "20m/10m"))
    add(place.input, 1, events_of(1))
    # The work had begun: it failed, and was not refused.
    said = refused(*place.arguments(trigger="available-now"), code=1)
    assert said.startswith("the checkpoint belongs to another query: the windows changed (without 30 min: 30m")
    # In the words of the worker, and not of the manifest.
    assert said.endswith("Go on with the query that wrote it, or start this one with a new checkpoint")


# --- its parts


def test_a_manifest_binds_once_its_stream_has_read_something(tmp_path: Path) -> None:
    checkpoint = tmp_path / "ck"
    assert find(checkpoint) is None
    manifest = Manifest("SELECT", {"keys": ["k"], "where": None}, {"type": "struct", "fields": []})
    manifest.write(checkpoint)
    assert [place.name for place in checkpoint.iterdir()] == [NAME]
    assert find(checkpoint) is None
    (checkpoint / "offsets").mkdir()
    (checkpoint / "offsets" / "0").write_text("v1\n{}\n{}")
    assert find(checkpoint) == manifest


def test_a_failure_is_told_by_its_first_words_and_its_root() -> None:
    class Captured(Exception):
        _cause: Exception | None = None

    def told(*texts: str) -> str:
        errors = [Captured(text) for text in texts]
        for error, cause in itertools.pairwise(errors):
            error._cause = cause
        return stream_command._failure(errors[0], "/ck")

    assert told(
        "[X] It broke. SQLSTATE: 1\n=== Streaming Query ===", "a.B: [X] It broke.", "c.DException: No space"
    ) == ("the stream failed: [X] It broke: No space. What is written stands, and the next start goes on from /ck")
    assert told("[CANNOT_LOAD_STATE_STORE] No.", "e.FException: Checksum error: /ck/1.zip").endswith(
        "Checksum error: /ck/1.zip. Put /ck back from a copy, or start with a new checkpoint and a new output"
    )
    assert (
        told(
            "[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted\nx", "muntin.errors.StateError: a\nb"
        )
        == "a"
    )


def test_a_terminal_sees_totals_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with stream_progress.live() as show:
        show(Totals())
        show(
            Totals(
                batches=3, last=7, rate=1234.5, watermark="2026-01-05T00:10:00.000Z", slices=42, rows=9001,
                state_rows=55, state_bytes=2_500_000,
            )
        )  # fmt: skip
    said = " ".join(terminal.getvalue().split())
    for part in ("rows/s", "7", "1,234", "2026-01-05 00:10:00", "42", "55 rows, 2.5 MB", "9,001"):
        assert part in said


def test_help_teaches() -> None:
    said = run("--help").stdout
    example = " ".join(said.replace("\\\n", " ").split())
    assert "muntin run query.sql --stream --input Input=incoming/ --output out/" in example
    assert "--checkpoint ck/ --watermark 10s" in example
    assert "Exit codes:" in said
