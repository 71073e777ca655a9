"""A planned query over a table: which aggregates go which way, and their rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from muntin.declare.query import WINDOW_ID
from muntin.errors import QueryError
from muntin.planned import Plan
from muntin.show.physical import physical_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from muntin.physical.plan import PhysicalPlan, Step
    from muntin.stream.layout import Mode
    from muntin.window.spec import Window


_UNFOLLOWED: Final = "On Spark nothing follows this tree: that is cheaper here"


@dataclass(frozen=True, slots=True, repr=False)
class TablePlan(Plan):
    """A planned query over a table: `run()` gives its rows, `explain()` says how and why."""

    physical: PhysicalPlan

    def run(self, *, split: bool = False, wide: bool = False) -> Any:
        """Build the DataFrame: window_id, window, the keys, the aggregates; its rows are computed when asked for.

        `split` gives a dict of one DataFrame for each window id. `wide` gives one row for each key and instant, with
        a column for each aggregate and window that ends then, as feature tables want it.
        """
        from muntin.spark.execute import execute, shown
        from muntin.spark.wide import wide as widened

        if split and wide:
            msg = "split=True gives a frame for each window and wide=True one for all: ask for one of the two"
            raise QueryError(msg)
        if wide:
            return widened(self.bound, self.physical)
        if not split:
            return shown(self.query, execute(self.bound, self.physical))
        from pyspark.sql import functions as F

        frames, whole = {}, None
        for window in self.query.windows:
            steps = self._alone(window)
            if steps != self.physical.steps:
                rows = shown(self.query, execute(self.bound, replace(self.physical, steps=steps)))
            else:
                # Built once: by hand that takes as long for each window as for all.
                rows = whole = whole or shown(self.query, execute(self.bound, self.physical))
            if WINDOW_ID not in rows.columns:
                msg = "split=True tells windows apart by window_id, and the query does not show it: select it too"
                raise QueryError(msg)
            frames[window.id] = rows.where(F.col(WINDOW_ID) == window.id)
        return frames

    def _alone(self, window: Window) -> tuple[Step, ...]:
        """Plan one window without the others: each frame is computed anew, so that nothing is shared."""
        return tuple(_only(step, window) for step in self.physical.steps if window in step.windows)

    def stream(self, *, mode: Mode = "append", buckets: int | None = None) -> DataFrame:
        """Refuse: a table is there as a whole."""
        msg = "the events are a table, not a stream: use run(). stream() takes what spark.readStream gives"
        raise QueryError(msg)

    def explain(self) -> str:
        """Say how the query runs: the logical plan, the way of each aggregate, what was weighed, the figures."""
        note = "" if self._followed else f"\n\n{_UNFOLLOWED}, see below."
        return f"{self.logical.explain()}{note}\n\n{physical_text(self.physical)}"

    def to_dict(self) -> dict[str, Any]:
        """Give the plan as values that JSON can hold."""
        plan = self.physical
        return self.logical.to_dict() | {
            "physical": {
                "steps": [
                    {
                        "strategy": step.way,
                        "aggregates": list(step.aggregates),
                        "windows": [window.id for window in step.windows],
                        "pane": None if step.pane is None else {"width_us": step.pane[0], "offset_us": step.pane[1]},
                        "coarse": step.coarse,
                        "pack": step.pack,
                        "runs": step.runs,
                        "seconds": step.estimate.seconds,
                        "reason": step.reason,
                    }
                    for step in plan.steps
                ],
                "candidates": [
                    {
                        "strategy": c.name,
                        "aggregates": list(c.aggregates),
                        "seconds": None if math.isinf(c.seconds) else c.seconds,
                        "chosen": c.chosen,
                        "note": c.note,
                    }
                    for c in plan.candidates
                ],
                "seconds": plan.seconds,
                "native_seconds": plan.native_seconds,
                "statistics": {
                    "rows": plan.statistics.rows,
                    "keys": plan.statistics.keys,
                    "span_us": plan.statistics.span,
                    "items": plan.statistics.items,
                    "how": plan.statistics.how,
                },
                "constants": plan.constants,
            }
        }

    def _said(self) -> dict[str, str]:
        note = "" if self._followed else f"{_UNFOLLOWED}.\n\n"
        return {"How it runs": f"{note}{physical_text(self.physical)}"}

    @property
    def _followed(self) -> bool:
        """Whether windows read each other in Spark as the logical plan has it."""
        return any(step.way == "jvm" for step in self.physical.steps)

    def __repr__(self) -> str:
        ways = ", ".join(dict.fromkeys(step.way for step in self.physical.steps))
        return f"<plan by {ways}: {len(self.query.windows)} windows, {len(self.query.aggregates)} aggregates>"


def _only(step: Step, window: Window) -> Step:
    """Leave one window to a step; branches of others Spark leaves out by their ids, where each window has one.

    From panes an event would be grouped twice. That pays where it is in many intervals, and not where it is in one.
    """
    if step.way in ("native", "jvm"):
        return step
    if step.way in ("arrow", "spread") and window.tumbling:
        return replace(step, way="spread", windows=(window,), pane=None)
    return replace(step, windows=(window,))
