"""A physical plan as text: what runs which way, what was weighed, and on what figures."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin.physical.plan import Candidate, PhysicalPlan, Step

_WAYS = {
    "native": "native: Spark's own groupBy(window(...)), one by one",
    "spread": "spread: every row copied to all its windows, one groupBy for all of them",
    "jvm": "jvm: a tree of windows in Spark",
    "arrow": "arrow: panes in Spark, windows in NumPy kernels",
    "python": "python: your functions, partials shared between windows",
    "distinct": "distinct: first appearances of values in Spark, counted for all windows at once",
}


def physical_text(plan: PhysicalPlan) -> str:
    """Write the steps and the candidates of a plan in 100 columns."""
    lines = [f"statistics: {plan.statistics!r}, found in {plan.statistics.seconds:.2f} s"]
    lines.append(f"expected: {_seconds(plan.seconds)} where native takes {_seconds(plan.native_seconds)}{_ratio(plan)}")
    for number, step in enumerate(plan.steps, 1):
        lines += ["", *_step(number, step)]
    lines += ["", "what was weighed:", *_candidates(plan.candidates), f"constants: {plan.constants}"]
    return "\n".join(lines)


def _step(number: int, step: Step) -> Iterator[str]:
    yield f"{number}. {_WAYS[step.way]}"
    yield from _wrapped("aggregates: ", ", ".join(step.aggregates))
    yield from _wrapped("windows: ", ", ".join(window.id for window in step.windows))
    yield from _wrapped("why: ", step.reason)
    figures = [f"{step.estimate.panes:,.0f} panes"] if step.estimate.panes else []
    figures += [f"{step.estimate.windows:,.0f} rows", _seconds(step.estimate.seconds)]
    yield f"   expected: {', '.join(figures)}"
    if step.coarse is not None and step.pane is not None:
        bucket = step.windows[0].text(step.coarse * step.pane[0])
        yield f"   few keys: work is shared by time too, in buckets of {bucket}"


def _candidates(candidates: tuple[Candidate, ...]) -> Iterator[str]:
    for candidate in candidates:
        mark = "*" if candidate.chosen else " "
        names = ", ".join(candidate.aggregates)
        names = names if len(names) <= 40 else names[:37] + "..."
        price = "not possible" if math.isinf(candidate.seconds) else _seconds(candidate.seconds)
        note = f": {candidate.note}" if candidate.note else ""
        yield f" {mark} {candidate.name:<8}{price:>9}  {names}{note}"


def _wrapped(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, 96, initial_indent=f"   {label}", subsequent_indent=" " * (3 + len(label)))


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds < 100 else f"{seconds:,.0f} s"


def _ratio(plan: PhysicalPlan) -> str:
    if not plan.seconds or plan.seconds >= plan.native_seconds:
        return ""
    return f" ({plan.native_seconds / plan.seconds:.1f}x)"
