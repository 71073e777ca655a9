"""Spark's own progress as a bar on the terminal: tasks done of all that its jobs have so far."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_SECONDS: Final = 0.25


@contextmanager
def progress(spark: SparkSession, label: str) -> Iterator[None]:
    """Show how far Spark is while this lasts; nothing where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[tasks]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    done = threading.Event()
    with bar:
        shown = bar.add_task(label, total=None, tasks="")
        watcher = threading.Thread(target=_watch, args=(Tasks(spark), bar, shown, done), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()


@contextmanager
def waiting(label: str) -> Iterator[None]:
    """Show that something is under way whose progress nobody knows."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(label):
        yield


class Tasks:
    """Count the tasks of the jobs that begin after this was made; stages join as Spark plans them."""

    def __init__(self, spark: SparkSession) -> None:
        self._tracker: Any = spark.sparkContext.statusTracker()
        self._stages: dict[int, tuple[int, int]] = {}

    def count(self) -> tuple[int, int]:
        """Give how many tasks are done, and how many there are."""
        running = set()
        for job in self._tracker.getActiveJobsIds():
            info = self._tracker.getJobInfo(job)
            running |= set(info.stageIds) if info is not None else set()
        for stage in running:
            found = self._tracker.getStageInfo(stage)
            if found is not None:
                self._stages[stage] = (found.numCompletedTasks, found.numTasks)
        for stage in self._stages.keys() - running:
            # Its job has ended, and its last tasks with it.
            self._stages[stage] = (self._stages[stage][1], self._stages[stage][1])
        return sum(some for some, _ in self._stages.values()), sum(every for _, every in self._stages.values())


def _watch(tasks: Tasks, bar: Any, shown: Any, done: threading.Event) -> None:
    while not done.wait(_SECONDS):
        try:
            some, every = tasks.count()
        except Exception:
            # A session that stops takes its progress with it: that is no error of the work.
            return
        if every:
            bar.update(shown, completed=some, total=every, tasks=f"{some}/{every} tasks")
