"""`muntin bench all`: all benchmarks one after another, and one page with what they found beside the papers."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from muntin.errors import MuntinError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import FrameType

PAGE = "index.html"
SUMMARY = "all.json"


def bench_all(
    out: Path, *, quick: bool, only: Sequence[str], skip: Sequence[str], again: bool, data: Path | None, as_json: bool
) -> None:
    """Run the benchmarks that were chosen, write the page, and say where there is no report."""
    # The page's modules too: what keeps them from loading is better known before the first benchmark is run.
    steps, runs, *_ = (importlib.import_module(f"bench.evidence.{name}") for name in ("steps", "runs", "page", "html"))
    chosen = steps.chosen(only, skip)
    asked = runs.Asked(out, quick, again, data)
    writable(out)
    found: list[Any] = []
    try:
        with _ended_in_order(), _progress(sum(map(_weight, chosen))) as show:
            for step in chosen:
                show(step, None, None)
                outcome = runs.outcome(step, asked, lambda taken, step=step: show(step, taken, None))
                found.append(outcome)
                show(step, None, outcome)
    finally:
        # Also where it is broken off: what is there so far is on the page, and need not be measured again.
        page = _written(out, found, quick)
    if as_json:
        click.echo(json.dumps({"page": str(out / PAGE), **page}, indent=2, ensure_ascii=False))
    else:
        click.echo(_told(page))
    failed = [each for each in found if each.status == "failed"]
    if failed:
        click.echo(
            f"muntin: {len(failed)} of {len(found)} benchmarks failed: {', '.join(e.name for e in failed)}", err=True
        )
        raise click.exceptions.Exit(1)


def _weight(step: Any) -> int:
    return max(1, int(step.budget))


def writable(out: Path) -> None:
    """See to the folder first, because it would be a pity to find out afterwards."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"cannot write reports into {out}: {error.strerror}. Give --out a folder that may be written to"
        raise MuntinError(msg) from error
    if not os.access(out, os.W_OK | os.X_OK):
        msg = f"cannot write reports into {out}: no permission. Give --out a folder that may be written to"
        raise MuntinError(msg)


def _written(out: Path, found: Sequence[Any], quick: bool) -> dict[str, Any]:
    """Write the page and its summary, each in one go."""
    pages, html = (importlib.import_module(f"bench.evidence.{name}") for name in ("page", "html"))
    page = pages.assemble(out, found, quick=quick)
    summary: dict[str, Any] = pages.summary(page)
    texts = {SUMMARY: json.dumps(summary, indent=2, ensure_ascii=False) + "\n", PAGE: html.to_html(page)}
    for name, text in texts.items():
        part = out / f".{name}.part"
        part.write_text(text, encoding="utf-8")
        part.replace(out / name)
    click.echo(f"wrote {out / PAGE}", err=True)
    return summary


def _told(page: dict[str, Any]) -> str:
    lines = []
    for each in page["benchmarks"]:
        seconds = "" if each["seconds"] is None else f"{each['seconds']:.0f} s"
        lines.append(f"{each['name']:<14}{each['status']:<12}{seconds:>8}  {each['message']}".rstrip())
    lines.append("")
    for each in page["exhibits"]:
        if each["benchmark"]:
            lines.append(f"{each['paper']}, {each['exhibit']}: {each['says'] or 'side by side'}")
    return "\n".join([*lines, *([""] if page["warnings"] else []), *page["warnings"]])


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Take SIGTERM as Ctrl-C, because a benchmark that runs must be ended with this process, and the page written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt(signal.Signals(number))

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[Any, float | None, Any], None]]:
    """Show how far it is on standard error: a bar on a terminal, else a line for each benchmark that ended."""
    if not sys.stderr.isatty():

        def line(step: Any, taken: float | None, outcome: Any) -> None:
            if outcome is not None:
                seconds = "" if outcome.seconds is None else f", {outcome.seconds:.0f} s"
                told = f": {outcome.message}" if outcome.message else ""
                click.echo(f"{step.name}: {outcome.status}{seconds}{told}", err=True)

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("benchmarks", total=total)
        before = 0

        def move(step: Any, taken: float | None, outcome: Any) -> None:
            nonlocal before
            weight = _weight(step)
            if outcome is not None:
                before += weight
                bar.update(task, completed=before)
                bar.console.print(f"{step.name}: {outcome.status} {outcome.message}".rstrip(), markup=False)
                return
            # One that takes longer than its budget stands just before its end.
            bar.update(task, completed=before + min(taken or 0.0, 0.95 * weight), description=step.name)

        yield move
