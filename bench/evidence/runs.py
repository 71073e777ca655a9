"""The benchmarks one after another, each in a process of its own, and none twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from bench.evidence.reports import read
from bench.evidence.steps import PATIENCE, Step
from bench.stamp import CHECKOUT, code, named, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from bench.report import Cell

Status: TypeAlias = Literal["done", "kept", "failed", "left out"]
# The command line of this very interpreter, whatever `muntin` is on PATH.
COMMAND: Final = (sys.executable, "-c", "from muntin.cli import main; main(prog_name='muntin')", "bench")
_LOOK: Final = 0.25
_GRACE: Final = 10.0


@dataclass(frozen=True, slots=True)
class Asked:
    """How a whole run is to go: where reports lie, how much is measured, and with which readings."""

    out: Path
    quick: bool
    again: bool = False
    data: Path | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a benchmark: the seconds it took, then or before, and why there is no report."""

    name: str
    status: Status
    seconds: float | None = None
    message: str = ""


def outcome(step: Step, asked: Asked, waiting: Callable[[float], None]) -> Outcome:
    """Run a benchmark, unless its report is there already; `waiting` hears of the seconds now and then."""
    left_out = step.left_out(asked.quick)
    if left_out:
        return Outcome(step.name, "left out", None, left_out)
    try:
        data = _data(step, asked)
    except FileNotFoundError as missing:
        return Outcome(step.name, "failed", None, f"it reads {missing}, which is not there: {step.reads} has no report")
    kept = None if asked.again else seconds_kept(step, asked, data)
    if kept is not None:
        return Outcome(step.name, "kept", kept)
    return _run(step, asked, data, waiting)


def seconds_kept(step: Step, asked: Asked, data: Path | None) -> float | None:
    """Look for a report of the same settings, code and versions; give the seconds that it took, None without one."""
    found = read(asked.out, step.name)
    if found is None or found.stamp is None:
        return None
    options: dict[str, Cell] = {} if data is None else {"data": named(data)}
    if asked.quick:
        options |= step.fewer
    stamp = found.stamp
    wanted = (asked.quick, options, code(CHECKOUT), versions())
    return stamp.seconds if (stamp.quick, stamp.options, stamp.code, stamp.versions) == wanted else None


def _data(step: Step, asked: Asked) -> Path | None:
    if step.reads == "readings":
        return asked.data
    if step.reads is None:
        return None
    path = asked.out / f"{step.reads}.csv"
    if not path.is_file():
        raise FileNotFoundError(path.name)
    return path


def _run(step: Step, asked: Asked, data: Path | None, waiting: Callable[[float], None]) -> Outcome:
    asked.out.mkdir(parents=True, exist_ok=True)
    log = asked.out / f"{step.name}.log"
    command = [*COMMAND, step.name, "--out", str(asked.out)]
    command += ["--quick"] if asked.quick else []
    if asked.quick:
        command += [word for name, fewer in step.fewer.items() for word in (f"--{name}", str(fewer))]
    command += ["--data", str(data)] if data else []
    limit = PATIENCE * step.budget if asked.quick else None
    start = time.monotonic()
    with log.open("wb") as file, _process(command, file.fileno()) as process:
        ended = _waited(process, limit, waiting)
    seconds = time.monotonic() - start
    if ended is None:
        return Outcome(step.name, "failed", seconds, f"it was stopped after {seconds:.0f} s: {log.name} has its output")
    if ended != 0:
        return Outcome(step.name, "failed", seconds, f"{reason(log)} (exit code {ended}; more in {log.name})")
    if read(asked.out, step.name) is None:
        return Outcome(step.name, "failed", seconds, f"it ended without a report: {log.name} has its output")
    log.unlink()
    return Outcome(step.name, "done", seconds)


@contextmanager
def _process(command: Sequence[str], output: int) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process with a group of its own, and leave none of that group behind: Spark is a process of it."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        yield process
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                break
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                continue
        process.wait()


def _waited(process: subprocess.Popen[bytes], limit: float | None, waiting: Callable[[float], None]) -> int | None:
    """Wait for a process to end; None where it had not by the limit."""
    start = time.monotonic()
    while True:
        try:
            return process.wait(_LOOK)
        except subprocess.TimeoutExpired:
            taken = time.monotonic() - start
            waiting(taken)
            if limit is not None and taken > limit:
                return None


def reason(log: Path) -> str:
    """Find the line that says why a benchmark failed: that of an error on purpose, or else the last."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    told = [line.removeprefix("muntin: error: ") for line in lines if line.startswith("muntin: error: ")]
    return next(reversed(told or lines), "it said nothing")
