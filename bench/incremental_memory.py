"""The memory of a process that keeps one window, against the window's size (Tangwongsan et al., Figure 12).

Each figure is of a process of its own, `python -m bench.incremental_memory ALGORITHM AGGREGATE SIZE`, so that nothing
that an earlier window left behind is counted.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.chart import Chart, Panel, Series
from bench.incremental_slides import size_name, size_places
from bench.incremental_structures import AGGREGATES, TREES, contenders
from bench.measure import spread
from bench.report import Report, Table, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.measure import Track
    from bench.report import Cell

STATUS: Final = Path("/proc/self/status")
AGGREGATE: Final = "stddev"
DRAWN: Final = (TREES[0], "TwoStacks", "DABA", *TREES[-2:])
# The window slides by a part of itself, in so many firings, before its memory is read.
PART: Final = 16
FIRINGS: Final = 16


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure: algorithms, window sizes, runs, and the seconds after which a point is not run again."""

    sizes: tuple[int, ...] = tuple(1 << power for power in range(10, 21, 2))
    repeats: int = 2
    seconds: float = 1.0
    algorithms: tuple[str, ...] = tuple(contenders(AGGREGATES[AGGREGATE]))


@dataclass(frozen=True, slots=True)
class Reading:
    """Bytes that were resident before the window was there, with it, and at most, in one process."""

    algorithm: str
    window: int
    run: int
    before: int
    resident: int
    peak: int


def measure(scale: Scale, track: Track) -> list[Reading]:
    """Start a process for each algorithm and size; nothing where the system does not tell a process its memory."""
    if not STATUS.exists():
        return []
    jobs = [(name, size) for name in scale.algorithms for size in scale.sizes]
    return [reading for name, size in track(jobs, "memory") for reading in _runs(name, size, scale)]


def _runs(algorithm: str, size: int, scale: Scale) -> Iterator[Reading]:
    start = time.perf_counter()
    for run in range(scale.repeats):
        if run and time.perf_counter() - start >= scale.seconds:
            return
        told = subprocess.run(
            [sys.executable, "-m", "bench.incremental_memory", algorithm, AGGREGATE, str(size)],
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
            check=True,
        )
        found = json.loads(told.stdout)
        yield Reading(algorithm, size, run, found["before"], found["resident"], found["peak"])


def occupy(algorithm: str, aggregate: str, size: int) -> dict[str, int]:
    """Keep a window of new partials, slide it, and tell the memory of this process in bytes.

    >>> occupy("DABA", "max", 8).keys() if STATUS.exists() else None
    dict_keys(['before', 'resident', 'peak'])
    """
    function, chance = AGGREGATES[aggregate], random.Random(0)
    before = _memory("VmRSS")
    window = contenders(function)[algorithm]()
    for _ in range(size):
        window.insert(function.lift(chance.getrandbits(31)))
    window.query()
    for _ in range(FIRINGS):
        for _ in range(max(1, size // PART // FIRINGS)):
            window.evict()
            window.insert(function.lift(chance.getrandbits(31)))
        window.query()
    return {"before": before, "resident": _memory("VmRSS"), "peak": _memory("VmHWM")}


def _memory(field: str) -> int:
    lines = STATUS.read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))


def report(scale: Scale, readings: Sequence[Reading]) -> Report:
    """Show what each structure adds to a process, and what the process takes."""
    names = tuple(dict.fromkeys(r.algorithm for r in readings))
    tables = tuple(
        Table(
            f"{AGGREGATE}: {what}",
            ("window", *names),
            tuple((size_name(size), *(_median(readings, name, size, kind) for name in names)) for size in scale.sizes),
        )
        for what, kind in (("resident set, MB", "resident"), ("MB more than before the window", "added"))
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (r.algorithm, AGGREGATE, r.window, r.run, r.before, r.resident, r.peak) for r in readings
    )
    columns = ("algorithm", "aggregate", "window", "run", "before_bytes", "resident_bytes", "peak_bytes")
    panels = tuple(
        Panel(
            title,
            size_places(scale.sizes),
            tuple(
                # Memory comes in pages: a small window may add none, which a scale of powers cannot show.
                Series(name, tuple(_median(readings, name, size, kind) or None for size in scale.sizes))
                for name in DRAWN
                if name in names
            ),
            lines=True,
        )
        for title, kind in ((f"{AGGREGATE}: the process", "resident"), (f"{AGGREGATE}: what the window adds", "added"))
    )
    title = "Resident set of a process with one window"
    return Report(
        "incremental-memory",
        title,
        {
            "aggregate": AGGREGATE,
            "processes per point": f"{scale.repeats}, fewer where they take long",
            "slides before the reading": f"1/{PART} of the window, at least {FIRINGS}",
            "read from": str(STATUS),
        },
        tables,
        Table("measurements", columns, rows),
        Chart(title, "MB (10⁶ bytes), median", panels, log=True),
        (
            "The partials are counted: three numbers in a named tuple each, which the window shares with nobody. "
            "The resident set is that of Python, NumPy and muntin with a window in it.",
            *sentences(readings),
        ),
    )


def sentences(readings: Sequence[Reading]) -> tuple[str, ...]:
    """Say what a tuple takes at the largest window, most thrifty first."""
    if not readings:
        return (f"Memory was not measured: there is no {STATUS} on this system.",)
    largest = max(r.window for r in readings)
    sizes = {
        name: 1e6 * (_median(readings, name, largest, "added") or 0) / largest
        for name in dict.fromkeys(r.algorithm for r in readings)
    }
    told = ", ".join(f"{name} {shown(size)}" for name, size in sorted(sizes.items(), key=lambda each: each[1]))
    return (f"Bytes per tuple that a window of {largest:,} adds to the process ({AGGREGATE}): {told}.",)


def _median(readings: Sequence[Reading], algorithm: str, size: int, kind: str) -> float | None:
    found = [
        {"resident": r.resident, "peak": r.peak, "added": r.resident - r.before}[kind] / 1e6
        for r in readings
        if (r.algorithm, r.window) == (algorithm, size)
    ]
    return spread(found).median if found else None


if __name__ == "__main__":
    print(json.dumps(occupy(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
