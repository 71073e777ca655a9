"""What `muntin run` did, as text and as JSON."""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin.spark.compare import Comparison
    from muntin.spark.files import Source
    from muntin.table_plan import TablePlan


@dataclass(frozen=True, slots=True)
class Target:
    """Where a result goes, in which format, and whether over what is there."""

    path: str
    format: Any
    overwrite: bool


@dataclass(frozen=True, slots=True)
class Run:
    """A query that ran: its plan, rows read, rows written (by window id too, where that is shown), times."""

    plan: TablePlan
    source: Source
    target: Target
    events: int
    rows: int
    by_window: dict[str, int]
    seconds: dict[str, float]
    comparison: Comparison | None = None


def as_text(run: Run) -> str:
    """Write a summary, wrapped to the terminal."""
    width = min(100, shutil.get_terminal_size().columns)
    # Paths stay whole, so that they can be copied.
    wrapper = textwrap.TextWrapper(width, subsequent_indent=" " * 9, break_long_words=False, break_on_hyphens=False)
    lines: list[str] = []
    for label, text in _said(run):
        wrapper.initial_indent = f"{label:<9}"
        lines += wrapper.wrap(text)
    return "\n".join(lines)


def _said(run: Run) -> Iterator[tuple[str, str]]:
    yield "rows in", f"{run.events:,} from {run.source.path} ({run.source.format})"
    yield "rows out", f"{run.rows:,} to {run.target.path} ({run.target.format})"
    ids = [window.id for window in run.plan.query.windows]
    yield "windows", ", ".join(f"{name}: {run.by_window[name]:,}" if name in run.by_window else name for name in ids)
    for step in run.plan.physical.steps:
        yield "plan", f"{step.way}: {', '.join(step.aggregates)} over {_windows(len(step.windows))}; {step.reason}"
    times = run.seconds
    yield "time", f"{times['running']:.2f} s, and {times['planning']:.2f} s for planning"
    if run.comparison is None:
        return
    if any(step.way != "native" for step in run.plan.physical.steps):
        # One run of each tells no ratio: the first has Spark compile what the second finds ready.
        note = "it ran second, with Spark warm"
        yield "native", f"{times['native']:.2f} s where the shared plan took {times['shared']:.2f} s; {note}"
    yield "verify", verdict(run.comparison)
    yield from (("", f"- {example}") for example in run.comparison.examples)


def verdict(comparison: Comparison) -> str:
    """Say whether two results agree, and where not."""
    total = sum(theirs for _, _, theirs in comparison.rows)
    if comparison.equal:
        return f"all {total:,} rows agree with the plan written by hand, in each of {_windows(len(comparison.rows))}"
    uneven = [f"{name} has {ours:,} of {theirs:,}" for name, ours, theirs in comparison.rows if ours != theirs]
    counts = f"; rows: {', '.join(uneven)}" if uneven else ""
    return f"THE ROWS DIFFER from the plan written by hand, in {comparison.differing:,} rows{counts}"


def as_dict(run: Run) -> dict[str, Any]:
    """Give a summary as values that JSON can hold."""
    found: dict[str, Any] = {
        "input": {"name": run.source.name, "path": run.source.path, "format": run.source.format, "rows": run.events},
        "output": {"path": run.target.path, "format": run.target.format, "rows": run.rows},
        "windows": [{"id": w.id, "rows": run.by_window.get(w.id)} for w in run.plan.query.windows],
        "plan": run.plan.to_dict()["physical"],
        "seconds": run.seconds,
    }
    if run.comparison is not None:
        found["verify"] = {
            "equal": run.comparison.equal,
            "differing": run.comparison.differing,
            "windows": [{"id": n, "rows": ours, "native": theirs} for n, ours, theirs in run.comparison.rows],
            "examples": [str(example) for example in run.comparison.examples],
        }
    return found


def _windows(number: int) -> str:
    return "1 window" if number == 1 else f"{number} windows"
