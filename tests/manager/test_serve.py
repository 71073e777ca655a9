"""`muntin serve` and the commands that talk to it: a real process and files, and what is refused before Spark runs."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from rich.console import Console

from muntin.cli import main
from muntin.commands import serve_place
from muntin.commands.serve import table
from muntin.manager.control_file import NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FIRST = datetime(2026, 1, 5, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
Event = tuple[datetime, str, int]


def events_of(first: int, last: int) -> list[Event]:
    """Make three events a minute, of two devices."""
    return [
        (FIRST + minute * MINUTE + timedelta(seconds=20 * third), "ab"[(minute + third) % 2], 7 * minute % 11 - third)
        for minute in range(first, last)
        for third in range(3)
    ]


class Place:
    """A folder with an input, and a manager that may run on it."""

    def __init__(self, root: Path) -> None:
        self.root, self.input, self.out, self.checkpoint = root, root / "in", root / "out", root / "ck"
        self.input.mkdir()
        self.files = 0

    def add(self, events: list[Event]) -> None:
        times, devices, temps = zip(*events, strict=True)
        kind = pa.timestamp("us", tz="UTC")
        table = pa.table({"ts": pa.array(times, kind), "device": devices, "temp": pa.array(temps, pa.int64())})
        hidden = self.input / f".{self.files}"
        pq.write_table(table, hidden)
        hidden.rename(self.input / f"{self.files:03}.parquet")
        self.files += 1

    def arguments(self, **changed: object) -> list[str]:
        given: dict[str, object] = {
            "input": self.input,
            "time": "ts",
            "key": "device",
            "watermark": "10s",
            "checkpoint": self.checkpoint,
            "output": self.out,
            "retain": "1h",
            "trigger": "200ms",
            "master": "local[2]",
        } | changed
        options = [(f"--{name.replace('_', '-')}", str(value)) for name, value in given.items() if value is not None]
        return ["serve", *(part for option in options for part in option)]

    def refused(self, **changed: object) -> str:
        """Start a manager that must be refused, in this process and before Spark starts."""
        result = CliRunner().invoke(main, self.arguments(**changed), prog_name="muntin")
        assert result.exit_code == 2, (result.output, result.exception)
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1
        return result.stderr.removeprefix("muntin: error: ").removesuffix("\n")

    def start(self, *more: str) -> subprocess.Popen[str]:
        """Start a manager, and wait until it listens."""
        command = [sys.executable, "-m", "muntin", *self.arguments(), *more]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until(lambda: (self.checkpoint / NAME).exists() or process.poll() is not None, "the manager to listen")
        assert process.poll() is None, process.communicate()
        return process

    def ask(self, *arguments: str) -> Any:
        command = [sys.executable, "-m", "muntin", *arguments, "--json"]
        environment = os.environ | {"MUNTIN_CONTROL": str(self.checkpoint)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=330, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Read what a query gave in micro-batches that are whole: device, window's id and start, aggregates."""
        found: list[tuple[Any, ...]] = []
        for done in (self.out / query).glob("batch=*/_SUCCESS"):
            for path in done.parent.glob("*.parquet"):
                for row in pq.read_table(path, partitioning=None).to_pylist():
                    start = row.pop("window")["start"]
                    start = start if start.tzinfo else start.replace(tzinfo=UTC)
                    found.append((row.pop("device"), row.pop("window_id"), start, *row.values()))
        return sorted(found)


def until(done: Callable[[], bool], what: str, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.2)


def by_hand(events: list[Event], size: int, slide: int) -> dict[tuple[str, datetime], list[int]]:
    """Gather the values of each window of so many minutes."""
    found: dict[tuple[str, datetime], list[int]] = defaultdict(list)
    for when, device, temp in events:
        last = FIRST + (when - FIRST) // (slide * MINUTE) * slide * MINUTE
        for step in range(size // slide):
            found[device, last - step * slide * MINUTE].append(temp)
    return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    yield Place(tmp_path)


# --- the real thing


@pytest.mark.slow
def test_queries_come_and_go_while_files_do(place: Place) -> None:
    early, late, end = events_of(0, 12), events_of(12, 30), events_of(60, 61)
    place.add(early)
    process = place.start()
    try:
        load = place.ask("register", "load", "--window", "5m", "--agg", "n=count()", "--agg", "low=min(temp)")
        assert load["query"]["windows"][0] | {"id": "tumbling_5m", "since": None} == load["query"]["windows"][0]
        # Its first windows have left: the second query comes to a stream that runs.
        until(lambda: len(place.rows("load")) >= 4, "the first windows")
        wide = place.ask("register", "wide", "--window", "roll=10m/5m", "--agg", "total=sum(temp, filter=temp > 0)")
        place.add(late)
        place.add(end)
        expected = by_hand(early + late, 5, 5)
        until(lambda: len(place.rows("load")) >= len(expected), "all windows of 5 minutes")
        assert place.rows("load") == sorted(
            (device, "tumbling_5m", start, len(temps), min(temps)) for (device, start), temps in expected.items()
        )
        since = datetime.fromisoformat(wide["query"]["windows"][0]["since"])
        assert FIRST - 10 * MINUTE <= since < FIRST + 30 * MINUTE
        rolling = {
            (device, "roll", start, sum(temp for temp in temps if temp > 0))
            for (device, start), temps in by_hand(early + late, 10, 5).items()
            if start >= since
        }
        until(lambda: len(place.rows("wide")) >= len(rolling), "all rolling windows")
        assert set(place.rows("wide")) == rolling

        place.ask("suspend", "load")
        before = place.rows("load")
        place.add(events_of(61, 75))
        place.add(events_of(120, 121))
        until(lambda: max(row[2] for row in place.rows("wide")) >= FIRST + 65 * MINUTE, "later rolling windows")
        assert place.rows("load") == before
        status = place.ask("status")
        assert {query["name"]: query["activity"] for query in status["queries"]} == {
            "load": "suspended",
            "wide": "running",
        }
        assert status["state"] == "running"
        assert status["watermark"].startswith("2026-01-05T0")
        assert "another manager" in place.refused() or "answers for" in place.refused()
        assert place.ask("status")["state"] == "running"

        process.send_signal(signal.SIGTERM)
        out, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
        assert out.splitlines()[0].startswith("listening  on 127.0.0.1:")
        assert out.splitlines()[-1] == "stopped by SIGTERM; the same command goes on with 2 queries"
        assert said == "stopping after the batch that runs; again Ctrl-C stops at once\n"
        assert not (place.checkpoint / NAME).exists()

        process = place.start("--json", "-v")
        again = place.ask("status")
        assert [(query["name"], query["activity"]) for query in again["queries"]] == [
            ("load", "suspended"),
            ("wide", "running"),
        ]
        assert place.ask("stop") == {"stopping": True}
        out, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
        listening, stopped = map(json.loads, out.splitlines())
        assert listening["listening"].startswith("127.0.0.1:")
        assert [query["name"] for query in listening["status"]["queries"]] == ["load", "wide"]
        assert (stopped["stopped"], stopped["status"]["state"]) == ("muntin stop", "stopped")
        logged = [line.partition(" ")[2] for line in said.splitlines()]
        assert logged[0].endswith(": version 3, 2 queries, 1 of them running")
        assert all(line.startswith("muntin.") for line in logged), logged
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def test_the_line_of_a_status_says_how_far_it_is() -> None:
    told = {"state": "running", "batch": 1234, "rows_per_second": 5678.9, "watermark": "2026-01-05T00:10:00+00:00"}
    queries = [{"activity": "running"}, {"activity": "suspended"}]
    words = "running 2, 1 suspended 1,234 5,679 2026-01-05 00:10:00 40"
    assert _line(told | {"slices": 40, "queries": queries}) == words
    untold = dict.fromkeys(("rows_per_second", "watermark", "slices")) | {"batch": -1, "queries": []}
    assert _line({"state": "idle"} | untold) == "idle 0"


def _line(status: dict[str, Any]) -> str:
    written = io.StringIO()
    Console(file=written, width=100).print(table(status))
    return " ".join(written.getvalue().splitlines()[1].split())


# --- what is refused before Spark starts


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"watermark": "soon"}, "cannot read --watermark 'soon': give a duration, for example 10s or 1h30m"),
        ({"trigger": "available-now"}, "cannot read --trigger 'available-now': give a duration"),
        ({"retain": "1 month"}, "cannot read --retain '1 month'"),
        ({"host": "0.0.0.0"}, "0.0.0.0 can be reached from other machines"),
        ({"port": "70000"}, "Invalid value for '--port'"),
        ({"checkpoint": "s3a://bucket/ck"}, "checkpoint='s3a://bucket/ck': a manager keeps its registry"),
        ({"output": "s3a://bucket/out"}, "output='s3a://bucket/out': a manager keeps its registry"),
        ({"time": None}, "Missing option '--time'"),
    ],
)
def test_options_that_cannot_be_are_refused(place: Place, changed: dict[str, object], words: str) -> None:
    place.add(events_of(0, 1))
    assert place.refused(**changed).startswith(words)
    assert not place.checkpoint.exists()


def test_folders_that_do_not_go_together_are_refused(place: Place) -> None:
    assert "has no files yet, so its columns are not known" in place.refused()
    place.add(events_of(0, 1))
    assert "is a file, and a stream reads a folder" in place.refused(input=place.input / "000.parquet")
    assert "there is no" in place.refused(input=place.root / "nowhere")
    assert "lie in one another" in place.refused(checkpoint=place.input / "ck")
    assert "lie in one another" in place.refused(output=place.input)
    assert "lie in one another" in place.refused(checkpoint=place.out / "ck")
    (place.root / "file").write_text("")
    assert "is a file: give a folder" in place.refused(checkpoint=place.root / "file")


def test_a_checkpoint_or_an_output_of_something_else_is_left_alone(place: Place) -> None:
    place.add(events_of(0, 1))
    place.out.mkdir()
    (place.out / "precious.parquet").write_text("rows")
    assert "is there already, and the checkpoint" in place.refused()
    (place.out / "precious.parquet").unlink()
    place.checkpoint.mkdir()
    (place.checkpoint / "offsets").mkdir()
    assert "is not a manager's: offsets in it is of something else" in place.refused()
    assert sorted(os.listdir(place.checkpoint)) == ["offsets"]


def test_another_input_or_output_than_before_is_refused(place: Place) -> None:
    place.add(events_of(0, 1))
    place.checkpoint.mkdir()
    said = {"input": f"{place.input} (parquet)", "output": str(place.out)}
    serve_place.Place(place.checkpoint, place.out, said).keep({"type": "struct", "fields": []})
    told = place.refused(output=place.root / "elsewhere")
    assert told.startswith("the checkpoint is of another stream: the output was ")
    assert "start with a new checkpoint and a new output" in told
    (place.checkpoint / serve_place.NAME).write_text("{ torn")
    assert "which says what the checkpoint belongs to, is damaged" in place.refused()
    (place.checkpoint / serve_place.NAME).write_text('{"version": 9}')
    assert "has version 9, and this muntin reads 1" in place.refused()
