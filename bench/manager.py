"""Queries that come and go while a stream runs: how long it stands still, and whether kills change what is given."""

from __future__ import annotations

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench import manager_run
from bench.chart import Chart, Panel, Series
from bench.manager_run import DELAY, POOL, RETAIN, lines
from bench.report import Report, Table
from muntin.duration import parse_duration
from muntin.manager.asked import Asked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.measure import Track
    from bench.report import Cell
    from muntin.window.spec import Window

ROOT: Final = Path(__file__).parents[1]
_START: Final = 1_700_000_000
_SECONDS: Final = 3
_KEYS: Final = 20
Events = list[tuple[str, int, int]]
"""The key, the time in microseconds, the value."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How many changes, how many kills among them, and how many files of how many events."""

    changes: int = 50
    kills: int = 6
    files: int = 400
    events: int = 300
    seed: int = 7
    patience: float = 1800.0


QUICK: Final = Scale(changes=8, kills=1, files=60, events=60, patience=1200.0)


def run(*, quick: bool, track: Track) -> Report:
    """Change the queries 50 times and kill the program now and then, or 8 times with one kill."""
    return measure(QUICK if quick else Scale(), track)


def measure(scale: Scale, track: Track) -> Report:
    """Run, kill, run again, and compare all rows with those of windows evaluated one by one."""
    with tempfile.TemporaryDirectory(prefix="muntin-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        events = write_events(folder / "in", scale)
        kills = 0
        for _ in track(range(1), "changes"):
            kills = _run(folder, scale)
        log = lines(folder / "log.jsonl")
        rows = given(folder / "out")
        wanted = expected(log, events, folder / "checkpoint" / "spark")
    if rows != wanted:
        lost, more = wanted - rows, rows - wanted
        msg = f"{lost.total()} rows lost ({list(lost)[:3]}), {more.total()} too many ({list(more)[:3]})"
        raise AssertionError(msg)
    return _report(scale, log, kills, rows.total())


def write_events(folder: Path, scale: Scale) -> Events:
    """Write files of events, a few seconds each, out of order by less than the watermark allows."""
    rng = random.Random(scale.seed)
    folder.mkdir(parents=True)
    found: Events = []
    for number in range(scale.files):
        low = (_START + number * _SECONDS) * 1_000_000
        part = [
            (f"k{rng.randrange(_KEYS)}", low + rng.randrange(-4_000_000, _SECONDS * 1_000_000), rng.randint(-99, 99))
            for _ in range(scale.events)
        ]
        path = folder / f"{number:05}.json"
        path.write_text("".join(json.dumps({"k": k, "t": t, "i": i}) + "\n" for k, t, i in part))
        os.utime(path, (number + 1, number + 1))
        found += part
    return found


def _run(folder: Path, scale: Scale) -> int:
    """Start the program until it comes to its end, and kill it at random moments; say how often."""
    rng, kills, until = random.Random(scale.seed), 0, time.monotonic() + scale.patience
    at = sorted(rng.sample(range(1, scale.changes), scale.kills))
    log = folder / "log.jsonl"
    while True:
        (folder / "scratch").mkdir(exist_ok=True)
        with (folder / "program.log").open("ab") as output:
            command = [sys.executable, "-m", manager_run.__name__, str(folder), str(scale.changes), str(scale.seed)]
            environment = dict(os.environ, PYSPARK_PYTHON=sys.executable, TMPDIR=str(folder / "scratch"))
            environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
            program = subprocess.Popen(
                command, stdout=output, stderr=output, env=environment, cwd=ROOT, start_new_session=True
            )
            try:
                while program.poll() is None:
                    if time.monotonic() > until:
                        msg = f"the program did not end: {(folder / 'program.log').read_text()[-2000:]}"
                        raise AssertionError(msg)
                    done = sum(line["kind"] == "change" for line in lines(log))
                    if at and done >= at[0]:
                        # In the middle of whatever comes next: a change, a micro-batch, a start.
                        time.sleep(rng.uniform(0, 6))
                        at.pop(0)
                        kills += 1
                        break
                    time.sleep(0.1)
            finally:
                if program.poll() is None:
                    os.killpg(program.pid, signal.SIGKILL)
                program.wait()
        if any(line["kind"] == "end" for line in lines(log)):
            return kills
        if program.returncode not in (0, -signal.SIGKILL):
            msg = f"the program failed: {(folder / 'program.log').read_text()[-3000:]}"
            raise AssertionError(msg)


def given(folder: Path) -> Counter[tuple[Any, ...]]:
    """Read all rows: the query, the window, its start in microseconds, the key, the values."""
    import pyarrow.parquet as pq

    found: Counter[tuple[Any, ...]] = Counter()
    for mark in folder.glob("*/batch=*/_SUCCESS"):
        for path in mark.parent.glob("*.parquet"):
            name = mark.parent.parent.name
            for row in pq.ParquetFile(path).read().to_pylist():
                start = round(row["window"]["start"].timestamp() * 1_000_000)
                values = tuple(row[column] for column in POOL[name][1])
                found[name, row["window_id"], start, row["k"], values] += 1
    return found


def expected(log: Sequence[dict[str, Any]], events: Events, checkpoint: Path) -> Counter[tuple[Any, ...]]:
    """Evaluate every window of every query while it ran, event by event."""
    versions = {line["version"]["version"]: line["version"] for line in log if "version" in line}
    last = max(int(path.name) for path in (checkpoint / "commits").glob("[0-9]*"))
    computed: dict[Window, dict[tuple[int, str], list[int]]] = {}
    found: Counter[tuple[Any, ...]] = Counter()
    for query, low, batch in _runs(versions, last):
        high = _watermark(checkpoint, batch)
        for window, start in zip(query.windows, query.starts, strict=True):
            if window not in computed:
                computed[window] = _evaluated(window, events)
            for (at, key), values in computed[window].items():
                end = at + window.range
                if end <= high and (low is None or end > low) and (start.at is None or at >= start.at):
                    row = tuple(
                        aggregate.function.evaluate(_inputs(aggregate, values)) for _, aggregate in query.aggregates
                    )
                    found[query.name, window.id, at, key, row] += 1
    return found


def _inputs(aggregate: Any, values: list[int]) -> list[Any]:
    return values if aggregate.columns else [()] * len(values)


def _runs(versions: dict[int, dict[str, Any]], last: int) -> Iterator[tuple[Asked, int | None, int]]:
    """List when each query ran: the watermark from which on, and the last micro-batch."""
    numbers = sorted(versions)
    assert numbers == list(range(numbers[0], numbers[-1] + 1)), f"versions are missing: {numbers}"
    ran: dict[str, tuple[Asked, int | None]] = {}
    for number in numbers:
        _, watermark, _ = versions[number]["now"]
        there = {said["name"]: Asked.from_dict(said) for said in versions[number]["queries"]}
        for name, (query, low) in list(ran.items()):
            if there.get(name) != query:
                yield query, low, versions[number]["now"][0]
                del ran[name]
        for name, query in there.items():
            if query.running and name not in ran:
                ran[name] = (query, watermark)
    for query, low in ran.values():
        yield query, low, last


def _watermark(checkpoint: Path, batch: int) -> int:
    """Find the watermark of a micro-batch, in microseconds."""
    if batch < 0:
        return 0
    text = (checkpoint / "offsets" / str(batch)).read_text()
    return int(json.loads(text.splitlines()[1])["batchWatermarkMs"]) * 1000


def _evaluated(window: Window, events: Events) -> dict[tuple[int, str], list[int]]:
    found: dict[tuple[int, str], list[int]] = {}
    for key, moment, value in events:
        for interval in window.containing(moment):
            found.setdefault((interval.start, key), []).append(value)
    return found


def _report(scale: Scale, log: Sequence[dict[str, Any]], kills: int, rows: int) -> Report:
    changes = [line for line in log if line["kind"] == "change"]
    pauses = {line["version"]["version"]: line["pause"] for line in changes if line["pause"] is not None}
    firsts = sorted({round(s, 3) for line in log for s in line.get("first_rows", {}).values()})
    table: list[tuple[Cell, ...]] = []
    for what in ("register", "suspend", "resume", "drop"):
        part = [line["pause"] for line in changes if line["what"] == what and line["pause"] is not None]
        if part:
            table.append((what, len(part), statistics.median(part), max(part)))
    every = sorted(pauses.values())
    table.append(("all", len(every), statistics.median(every), every[-1]))
    title = f"{scale.changes} changes of the queries on a running stream, {kills} kills"
    took = [line["took"] for line in changes]
    return Report(
        "manager",
        title,
        {
            "events": scale.files * scale.events,
            "micro-batches": scale.files,
            "watermark": DELAY,
            "retained": f"{parse_duration(RETAIN) // 1_000_000} s",
            "queries": len(POOL),
            "seed": scale.seed,
            "rows compared": rows,
        },
        (
            Table("How long the stream stands still", ("change", "times", "median s", "longest s"), tuple(table)),
            Table(
                "From the call to its return, and from registration to the first row",
                ("what", "times", "median s", "longest s"),
                (
                    ("call", len(took), statistics.median(took), max(took)),
                    *(((("first row"), len(firsts), statistics.median(firsts), firsts[-1]),) if firsts else ()),
                ),
            ),
        ),
        Table("pauses", ("version", "seconds"), tuple(sorted(pauses.items()))),
        Chart(
            title,
            "seconds that the stream stood still, by change",
            (
                Panel(
                    "Pauses",
                    tuple(map(str, sorted(pauses))),
                    (Series("pause", tuple(pauses[n] for n in sorted(pauses))),),
                ),
            ),
        ),
        (
            f"All {rows:,} rows are what windows that are evaluated event by event give, for each query from where it "
            "was registered or resumed until it was suspended or dropped; none is lost and none doubled by changes or "
            "kills. A pause is the time from the end of a micro-batch, or the moment of the call where none ran, until "
            "the next one begins.",
        ),
    )
