"""A driver killed again and again, Python and JVM at once: what it wrote in the end is what an undisturbed one writes.

Kills come a random while after a start, or just when a random micro-batch leaves one of its traces: the source's note
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
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.spark.stream_driver import STARTED, drawn, launch
from tests.spark.streams import plain, write

if TYPE_CHECKING:
    import subprocess

    from pyspark.sql import SparkSession

    from tests.spark.streams import Event

BATCHES, KILLS, SEED = 40, 30, 20261117
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
            if STARTED in log.read_text(errors="replace") if point == "time" else self.newest(point) >= batch:
                return True
            time.sleep(0.02 if point == "time" else 0.005)
        return False


def killed(folder: Path, seed: int, kills: int) -> Run:
    """Kill drivers at points drawn from a seed, one after the other, and let the last one end."""
    rng = random.Random(seed)
    run = Run(folder, [])
    write(run.places[0], drawn(seed, BATCHES))
    for life in range(3 * kills):
        kill = None
        if len(run.kills) < kills:
            point = rng.choice(["time", *TRACES])
            # Not always the next one: later micro-batches of a life find the workers, and the state, in memory.
            batch = run.newest("commit" if point == "time" else point) + rng.randint(1, 4)
            kill = point, batch, rng.uniform(0, 4) if point == "time" else rng.choice([0, 0.01, 0.1])
        if run.live(life, kill):
            return run
    pytest.fail(f"seed {seed} did not come to its end")


def batches_of(run: Run) -> list[list[Event]]:
    """Give the events of each micro-batch as the run took them.

    A driver that dies between the source's note of a file and the batch's offsets takes that file later, together
    with the next: Spark promises each row once, not the same batches. And which events are late depends on these.
    """
    noted: dict[int, set[str]] = {}
    for log in (run.places[2] / "sources" / "0").glob("[0-9]*"):
        for line in log.read_text().splitlines()[1:]:
            entry = json.loads(line)
            noted.setdefault(entry["batchId"], set()).add(entry["path"].removeprefix("file://"))
    found: list[list[Event]] = []
    reached = -1
    for number in range(run.newest("offsets") + 1):
        offset = json.loads((run.places[2] / "offsets" / str(number)).read_text().splitlines()[-1])["logOffset"]
        files = sorted(path for batch in range(reached + 1, offset + 1) for path in noted[batch])
        reached = offset
        if files:
            found.append([json.loads(line) for path in files for line in Path(path).read_text().splitlines()])
    return found


def undisturbed(run: Run) -> Run:
    """Run a driver to its end over the same micro-batches."""
    again = Run(run.folder / "undisturbed", [])
    write(again.places[0], batches_of(run))
    assert again.live(0)
    return again


@pytest.mark.slow
def test_what_a_killed_driver_wrote_is_what_an_undisturbed_one_writes(spark: SparkSession, tmp_path: Path) -> None:
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
        oracles = list(two.map(undisturbed, runs))
    points = Counter(kill.point for run in runs for kill in run.kills)
    print(points)
    assert set(points) == {"time", *TRACES}
    for number, (run, oracle) in enumerate(zip(runs, oracles, strict=True)):
        assert [*chain(*batches_of(run))] == [*chain(*drawn(SEED + number, BATCHES))]
        found, wanted = (
            sorted((plain(row) for row in spark.read.parquet(str(each.places[1])).collect()), key=repr)
            for each in (run, oracle)
        )
        assert len(wanted) > 1000
        assert found == wanted
