"""How to measure fairly: runs in turn, what their times say, and the machine they ran on."""

from __future__ import annotations

import gc
import math
import os
import platform
import statistics
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

import muntin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

T = TypeVar("T")
PROVISIONAL: Final = "Provisional:"
"""How the warning starts that a machine was busy."""


class Track(Protocol):
    """Go through jobs one by one and show how far it is: `for job in track(jobs, "label")`."""

    def __call__(self, jobs: Sequence[T], label: str, /) -> Iterable[T]:
        """Yield the jobs in order."""


@dataclass(frozen=True, slots=True)
class Timed(Generic[T]):
    """The seconds that each run of one task took, in order, those of them on a processor, and the last result.

    The processor's time leaves out what other processes took, and what this one slept or waited.
    """

    seconds: tuple[float, ...]
    processor: tuple[float, ...]
    result: T


def interleave(
    tasks: Mapping[str, Callable[[], T]],
    *,
    repeats: int | Mapping[str, int],
    seconds: float = math.inf,
    warm_up: bool = True,
    before: Callable[[], object] | None = None,
) -> dict[str, Timed[T]]:
    """Run tasks in turn, round after round, so that a slow spell of the machine hits all of them alike.

    Every other round goes backwards: no task always runs right after the same neighbour. A task that has used
    up `seconds` sits out the rounds that are left, but each task runs once at least; one with fewer `repeats` than
    others takes part in the last rounds. The warm-up is a run of every task that is not counted; `before` runs ahead
    of every run, and its time is not counted either.

    >>> timed = interleave({"short": lambda: 1, "long": lambda: 2}, repeats=3)
    >>> len(timed["short"].seconds), timed["long"].result
    (3, 2)
    """
    wanted = dict.fromkeys(tasks, repeats) if isinstance(repeats, int) else dict(repeats)
    rounds = max(wanted.values(), default=1)
    if min(wanted.values(), default=1) < 1:
        msg = f"a task must run once at least, got repeats={repeats}"
        raise ValueError(msg)
    taken: dict[str, list[float]] = {name: [] for name in tasks}
    computed: dict[str, list[float]] = {name: [] for name in tasks}
    results: dict[str, T] = {}
    # A collection of garbage would be charged to whichever task happens to run, so there is one before each run,
    # kept quick by leaving out all that was there already.
    collecting = gc.isenabled()
    gc.disable()
    gc.freeze()
    try:
        for task in tasks.values() if warm_up else ():
            task()
        for turn in range(rounds):
            for name, task in list(tasks.items())[:: -1 if turn % 2 else 1]:
                if turn < rounds - wanted[name] or sum(taken[name]) >= seconds:
                    continue
                if before is not None:
                    before()
                gc.collect()
                start, used = time.perf_counter(), time.process_time()
                results[name] = task()
                computed[name].append(time.process_time() - used)
                taken[name].append(time.perf_counter() - start)
    finally:
        gc.unfreeze()
        if collecting:
            gc.enable()
    return {name: Timed(tuple(taken[name]), tuple(computed[name]), results[name]) for name in tasks}


@dataclass(frozen=True, slots=True)
class Spread:
    """Several readings in four figures; p90 is by nearest rank, so that it is one of the readings."""

    median: float
    p90: float
    largest: float
    mean: float


def spread(readings: Iterable[float]) -> Spread:
    """Sum up readings.

    >>> spread([4, 1, 2, 3])
    Spread(median=2.5, p90=4, largest=4, mean=2.5)
    """
    ordered = sorted(readings)
    if not ordered:
        msg = "there is nothing to sum up: no readings were taken"
        raise ValueError(msg)
    rank = math.ceil(0.9 * len(ordered)) - 1
    return Spread(statistics.median(ordered), ordered[rank], ordered[-1], statistics.fmean(ordered))


@dataclass(frozen=True, slots=True)
class Machine:
    """Where and when figures were taken: without this they mean nothing."""

    cpu: str
    cores: int
    memory_gib: float | None
    load: float | None
    os: str
    python: str
    muntin: str
    numpy: str
    date: str

    @property
    def busy(self) -> str:
        """A warning where more wanted to run than a benchmark alone: a task on each core, and the JVM beside them."""
        if self.load is None or self.load <= self.cores + 1:
            return ""
        return f"{PROVISIONAL} the machine was busy with other work (load {self.load} on {self.cores} cores)."

    def __str__(self) -> str:
        memory = "" if self.memory_gib is None else f", {self.memory_gib} GiB"
        return (
            f"{self.cpu}, {self.cores} cores{memory}, {self.os}, Python {self.python}, muntin {self.muntin}, "
            f"NumPy {self.numpy}, {self.date}"
        )


def machine() -> Machine:
    """Look at the machine; `load` is the number of processes that were ready to run over the last minute.

    >>> machine().cores > 0
    True
    """
    return Machine(
        cpu=_cpu(),
        cores=_cores(),
        memory_gib=_memory(),
        load=round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        os=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        muntin=muntin.__version__,
        numpy=version("numpy"),
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _cpu() -> str:
    # platform.processor() is empty or only "x86_64" on most Linux systems.
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _cores() -> int:
    # What this process may use, which in a container is less than what the machine has.
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None
