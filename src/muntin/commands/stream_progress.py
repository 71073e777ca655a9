"""What a stream's own progress comes to: counted batch by batch, shown while it runs, and told at the end."""

from __future__ import annotations

import shutil
import sys
import textwrap
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from muntin.declare.query import WINDOW_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import Column
    from pyspark.sql.streaming.query import StreamingQuery
    from rich.table import Table

    from muntin.commands.summary import Target
    from muntin.spark.files import Source
    from muntin.stream_plan import StreamPlan

COUNTED: Final = "muntin"
"""Under this name the progress has the counts of the rows that leave."""
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")


def counts(columns: list[str], outputs: tuple[tuple[str, str], ...] | None, ids: list[str]) -> list[Column]:
    """Count the rows of a result: all, and those of each window where the result says which."""
    from pyspark.sql import functions as F

    shown = WINDOW_ID if outputs is None else next((name for name, text in outputs if text == WINDOW_ID), None)
    found = [F.count(F.lit(1)).alias("_0")]
    if shown in columns:
        named = F.col("`" + shown.replace("`", "``") + "`")
        found += [F.count_if(named == window).alias(f"_{number}") for number, window in enumerate(ids, 1)]
    return found


@dataclass(frozen=True, slots=True)
class Totals:
    """What the micro-batches since the start come to; `reads` is how often each reads the source."""

    reads: int = 1
    batches: int = 0
    last: int = -1
    """The number of the last micro-batch, which counts on from start to start."""
    events: int = 0
    rows: int = 0
    by_window: tuple[int, ...] = ()
    rate: float = 0.0
    """Rows a second, in the last micro-batch with any."""
    watermark: str | None = None
    slices: int | None = None
    nodes: int | None = None
    kept_at: int = -1
    """The micro-batch that told of slices and nodes: the last one with data."""
    state_rows: int = 0
    state_bytes: int = 0

    def after(self, progress: Any) -> Totals:
        """Take in what Spark says of a micro-batch, once."""
        from muntin.spark.streaming import KEPT

        if progress["batchId"] <= self.last or "addBatch" not in progress["durationMs"]:
            return self
        observed = {name: row.asDict() for name, row in progress["observedMetrics"].items()}
        rows, *several = (count or 0 for count in observed.get(COUNTED, {"_0": 0}).values())
        by_window = self.by_window or (0,) * len(several)
        found = replace(
            self,
            batches=self.batches + 1,
            last=progress["batchId"],
            events=self.events + progress.numInputRows // self.reads,
            rows=self.rows + rows,
            by_window=tuple(x + y for x, y in zip(by_window, several, strict=False)) or by_window,
            rate=(progress.processedRowsPerSecond / self.reads) if progress.numInputRows else self.rate,
            watermark=progress["eventTime"].get("watermark", self.watermark),
            state_rows=sum(each["numRowsTotal"] for each in progress["stateOperators"]),
            state_bytes=sum(each["memoryUsedBytes"] for each in progress["stateOperators"]),
        )
        kept = observed.get(KEPT, {})
        if kept.get("slices") is None:
            return found
        return replace(found, slices=kept["slices"], nodes=kept["nodes"], kept_at=found.last)

    def catch_up(self, query: StreamingQuery) -> Totals:
        """Take in the micro-batches of a query that ended since."""
        last = query.lastProgress
        if last is None or last["batchId"] <= self.last:
            return self
        found = self
        # Spark keeps the last hundred, and nobody sleeps that long between two looks.
        for progress in [last] if last["batchId"] == self.last + 1 else query.recentProgress:
            found = found.after(progress)
        return found


@contextmanager
def live() -> Iterator[Callable[[Totals], None]]:
    """Show totals in place while this lasts; nothing where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield lambda totals: None
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), transient=True) as shown:
        shown.update("the first batch is on its way")
        yield lambda totals: shown.update(table(totals)) if totals.batches else None


def table(totals: Totals) -> Table:
    """Lay totals out as one line under its headings."""
    from rich.table import Table

    cells = {
        "batch": f"{totals.last:,}",
        "rows/s": f"{totals.rate:,.0f}",
        "watermark": "" if totals.watermark is None else instant(totals.watermark),
        "open slices": "" if totals.slices is None else f"{totals.slices:,}",
        "state": f"{totals.state_rows:,} rows, {size(totals.state_bytes)}",
        "windows out": f"{totals.rows:,}",
    }
    found = Table(*cells, box=None, header_style="dim", padding=(0, 2, 0, 0))
    found.add_row(*cells.values())
    return found


def size(count: int) -> str:
    """Write a number of bytes with the unit that suits it.

    >>> size(512), size(1_234_567)
    ('512 B', '1.2 MB')
    """
    amount, unit = float(count), 0
    while amount >= 1000 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.0f} {_UNITS[unit]}" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"


def instant(text: str) -> str:
    """Write a time of Spark's progress as people do, whole seconds without a fraction.

    >>> instant("2026-01-05T00:10:00.000Z"), instant("2026-01-05T00:10:00.250Z")
    ('2026-01-05 00:10:00', '2026-01-05 00:10:00.250')
    """
    return text.replace("T", " ").removesuffix("Z").removesuffix(".000")


@dataclass(frozen=True, slots=True)
class Streamed:
    """A stream that ended: its plan, where it read and wrote, and what it came to."""

    plan: StreamPlan
    source: Source
    target: Target
    checkpoint: str
    totals: Totals
    seconds: float
    stopped: str
    """By which signal it was stopped; empty where it came to its end."""

    @property
    def by_window(self) -> dict[str, int]:
        """The rows of each window, where the result says which."""
        return dict(zip((window.id for window in self.plan.query.windows), self.totals.by_window, strict=False))


def as_text(run: Streamed) -> str:
    """Write a summary, wrapped to the terminal."""
    width = min(100, shutil.get_terminal_size().columns)
    # Paths stay whole, so that they can be copied.
    wrapper = textwrap.TextWrapper(width, subsequent_indent=" " * 9, break_long_words=False, break_on_hyphens=False)
    lines: list[str] = []
    for label, text in _said(run):
        wrapper.initial_indent = f"{label:<9}"
        lines += wrapper.wrap(text)
    return "\n".join(lines)


def _said(run: Streamed) -> Iterator[tuple[str, str]]:
    totals = run.totals
    number = "1 batch" if totals.batches == 1 else f"{totals.batches:,} batches"
    up_to = f", the last number {totals.last:,}" if totals.batches else ""
    yield "batches", f"{number} in {run.seconds:.1f} s{up_to}"
    yield "rows in", f"{totals.events:,} from {run.source.path} ({run.source.format})"
    yield "rows out", f"{totals.rows:,} to {run.target.path} ({run.target.format})"
    ids = [window.id for window in run.plan.query.windows]
    yield "windows", ", ".join(f"{name}: {run.by_window[name]:,}" if name in run.by_window else name for name in ids)
    if totals.batches:
        kept = ""
        if totals.slices is not None:
            nodes = f" and {totals.nodes:,} nodes above them" if totals.nodes else ""
            when = "" if totals.kept_at == totals.last else f" after batch {totals.kept_at:,}, the last with events"
            kept = f"{totals.slices:,} open slices{nodes}{when}; "
        yield "state", f"{kept}{totals.state_rows:,} rows, {size(totals.state_bytes)}"
    if totals.watermark is not None:
        yield "so far", f"windows that end by {instant(totals.watermark)} UTC, the watermark, are complete"
    why = f"stopped by {run.stopped}; " if run.stopped else ""
    yield "go on", f"{why}the same command goes on from the checkpoint {run.checkpoint}"


def as_dict(run: Streamed) -> dict[str, Any]:
    """Give a summary as values that JSON can hold."""
    totals = run.totals
    return {
        "input": {"name": run.source.name, "path": run.source.path, "format": run.source.format, "rows": totals.events},
        "output": {"path": run.target.path, "format": run.target.format, "rows": totals.rows},
        "windows": [{"id": w.id, "rows": run.by_window.get(w.id)} for w in run.plan.query.windows],
        "plan": run.plan.to_dict()["stream"],
        "checkpoint": run.checkpoint,
        "batches": totals.batches,
        "last_batch": totals.last if totals.batches else None,
        "watermark": totals.watermark,
        "state": {
            "slices": totals.slices,
            "nodes": totals.nodes,
            "as_of_batch": totals.kept_at if totals.slices is not None else None,
            "rows": totals.state_rows,
            "bytes": totals.state_bytes,
        },
        "seconds": run.seconds,
        "stopped": bool(run.stopped),
    }
