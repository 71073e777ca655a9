"""A driver killed again and again, Python and JVM at once: what it wrote in the end is what there is, each row once.

Kills come a random while after a launch, or just when a random micro-batch leaves one of its traces: the source's note
of the files, the batch's offsets, the state, the sink's list of files, the commit.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin import tumbling
from tests.spark.stream_driver import AGGREGATES, WINDOWS, drawn, launch
from tests.spark.streams import plain, write

if TYPE_CHECKING:
    import subprocess

    from pyspark.sql import SparkSession

    from tests.spark.streams import Event

BATCHES, KILLS, SEED = 24, 30, 20261117
PATIENCE = 300
# Spark waits ten seconds, and no setting changes that, for a Python worker to start: too short on a busy machine. So a
# driver may die without our help, and is started again as after a kill.
STARVED = "Python worker failed to connect back"
# Where each trace of a micro-batch is left, below the folder of a run; "time" is none of them.
TRACES = {
    "source": "checkpoint/sources/0/*",
    "offsets": "checkpoint/offsets/*",
    "state": "checkpoint/state/0/*/*",
    "sink": "out/_spark_metadata/*",
    "commit": "checkpoint/commits/*",
}


class Kill(NamedTuple):
    """When a driver was killed: at which trace of which micro-batch, and the last batch that had left each."""

    point: str
    batch: int
    traces: dict[str, int]


@dataclass(frozen=True)
class Run:
    """The folders of one run, and what happened in it."""

    folder: Path
    kills: list[Kill]

    @property
    def places(self) -> tuple[Path, Path, Path]:
        """Input, output and checkpoint."""
        return self.folder / "in", self.folder / "out", self.folder / "checkpoint"

    def newest(self, trace: str) -> int:
        """Find the last micro-batch that left a trace; -1 before the first."""
        names = (re.match(r"\d+", place.name) for place in self.folder.glob(TRACES[trace]))
        # The state after batch 0 is version 1.
        return max((int(name[0]) for name in names if name), default=-1) - (trace == "state")

    def live(self, life: int, kill: tuple[str, int, float] | None = None) -> bool:
        """Run a driver until it ends by itself, or kill it; tell whether it ended."""
        log, scratch = self.folder / f"{life}.log", self.folder / f"s{life}"
        with log.open("wb") as out:
            process = launch(self.places, scratch, out, "local[1]")
        try:
            if kill is not None and self._reached(process, log, *kill[:2]):
                time.sleep(kill[2])
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    self.kills.append(Kill(*kill[:2], {trace: self.newest(trace) for trace in TRACES}))
                    return False
            ended = process.wait(PATIENCE) == 0
            assert ended or STARVED in (said := log.read_text(errors="replace")), said[-3000:]
            return ended
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            shutil.rmtree(scratch, ignore_errors=True)

    def _reached(self, process: subprocess.Popen[bytes], log: Path, point: str, batch: int) -> bool:
        """Wait for the point at which to kill; tell whether it came before the driver ended."""
        end = time.monotonic() + PATIENCE
        while process.poll() is None:
            assert time.monotonic() < end, log.read_text(errors="replace")[-3000:]
            if point == "time" or self.newest(point) >= batch:
                return True
            time.sleep(0.005)
        return False


def killed(folder: Path, seed: int, kills: int) -> Run:
    """Kill drivers at points drawn from a seed, one after the other, and let the last one end."""
    rng = random.Random(seed)
    run = Run(folder, [])
    write(run.places[0], drawn(seed, BATCHES))
    for life in range(3 * kills):
        kill = None
        if len(run.kills) < kills:
            # Half of them by the clock: while Spark starts, while it recovers, or in the middle of a micro-batch.
            point = rng.choice(["time", rng.choice([*TRACES])])
            # Not always the next one: later micro-batches of a life find the workers, and the state, in memory.
            batch = run.newest("commit" if point == "time" else point) + rng.randint(1, 2)
            kill = point, batch, rng.uniform(4, 20) if point == "time" else rng.choice([0, 0.01, 0.1])
        if run.live(life, kill):
            return run
    pytest.fail(f"seed {seed} did not come to its end")


def batches_of(run: Run) -> list[tuple[int, list[Event]]]:
    """Give each micro-batch as the run had it: its watermark in milliseconds, and its events.

    A driver that dies between the source's note of a file and the batch's offsets takes that file later, together
    with the next; one that dies between the sink's list of files and the commit does not compute the batch again, and
    forgets how far its events had moved the watermark. Spark promises each row once, not the same batches and
    watermarks. And which events are late depends on these.
    """
    noted: dict[int, set[str]] = {}
    for log in (run.places[2] / "sources" / "0").glob("[0-9]*"):
        for line in log.read_text().splitlines()[1:]:
            entry = json.loads(line)
            noted.setdefault(entry["batchId"], set()).add(entry["path"].removeprefix("file://"))
    found: list[tuple[int, list[Event]]] = []
    reached = -1
    for number in range(run.newest("offsets") + 1):
        lines = (run.places[2] / "offsets" / str(number)).read_text().splitlines()
        offset = json.loads(lines[-1])["logOffset"]
        files = sorted(path for batch in range(reached + 1, offset + 1) for path in noted[batch])
        reached = offset
        events = [json.loads(line) for path in files for line in Path(path).read_text().splitlines()]
        found.append((json.loads(lines[1])["batchWatermarkMs"], events))
    return found


def by_hand(spark: SparkSession, batches: list[tuple[int, list[Event]]]) -> list[tuple[Any, ...]]:
    """Compute the windows that have ended, of the events that were not late for them when they came."""
    held: list[Event] = []
    before, last = 0, batches[-1][0] * 1000
    for watermark, events in batches:
        for event in events:
            for window in WINDOWS:
                for interval in window.containing(event["t"]):
                    if before * 1000 < interval.end <= last:
                        held.append(event | {"id": window.id, "start": interval.start, "end": interval.end})
        before = watermark
    columns = ("t", "k", "i", "s", "id", "start", "end")
    # NaN comes as text, as in the files.
    rows = [(*map(each.get, columns), None if each["v"] is None else float(each["v"])) for each in held]
    schema = "t bigint, k string, i int, s string, id string, start bigint, end bigint, v double"
    frame = spark.createDataFrame(rows, schema).withColumn("ts", F.timestamp_micros("t"))
    whole = mt.windows(frame, time="ts", keys=["id", "start", "end", "k"]).over(tumbling("36500d")).agg(**AGGREGATES)
    instants = F.struct(*(F.timestamp_micros(name).alias(name) for name in ("start", "end")))
    found = whole.native().select("id", instants.alias("window"), "k", *AGGREGATES)
    return sorted((plain(row) for row in found.collect()), key=repr)


@pytest.mark.slow
def test_a_killed_driver_loses_no_row_and_writes_none_twice(spark: SparkSession, tmp_path: Path) -> None:
    runs: list[Run] = []
    seeds = count(SEED)
    with ThreadPoolExecutor(2) as two:
        # Two drivers side by side, for as long as it takes: one may come to its end before its kills are through.
        while (left := KILLS - sum(len(run.kills) for run in runs)) > 0:
            pair = [next(seeds), next(seeds)]
            some = [two.submit(killed, tmp_path / str(seed), seed, -(-left // 2)) for seed in pair]
            for seed, run in zip(pair, [each.result() for each in some], strict=True):
                runs.append(run)
                for kill in run.kills:
                    print(seed, kill)
    points = Counter(kill.point for run in runs for kill in run.kills)
    print(points)
    assert set(points) == {"time", *TRACES}
    for number, run in enumerate(runs):
        batches = batches_of(run)
        assert [*chain(*(events for _, events in batches))] == [*chain(*drawn(SEED + number, BATCHES))]
        found = sorted((plain(row) for row in spark.read.parquet(str(run.places[1])).collect()), key=repr)
        assert len(found) > 300
        assert found == by_hand(spark, batches)
