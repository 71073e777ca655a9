"""A planned query over a table: which aggregates go which way, and their rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from muntin.declare.query import WINDOW_ID
from muntin.errors import QueryError
from muntin.planned import Plan
from muntin.show.physical import physical_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from muntin.physical.plan import PhysicalPlan
    from muntin.stream.layout import Mode
    from muntin.window.spec import Window


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
        result = shown(self.query, execute(self.bound, self.physical))
        if not split:
            return result
        if WINDOW_ID not in result.columns:
            msg = "split=True tells windows apart by window_id, and the query does not show it: select it too"
            raise QueryError(msg)
        from pyspark.sql import functions as F

        frames = {}
        for window in self.query.windows:
            # Spark leaves out branches of other windows by their ids, but copies that are grouped at once it does not.
            one = self._alone(window)
            rows = result if one is None else shown(self.query, execute(self.bound, one))
            frames[window.id] = rows.where(F.col(WINDOW_ID) == window.id)
        return frames

    def _alone(self, window: Window) -> PhysicalPlan | None:
        """Plan one window without the others, where all that is spread needs no panes: nothing is shared then."""
        if any(step.way != "spread" or step.pane is not None for step in self.physical.steps):
            return None
        return replace(self.physical, steps=tuple(replace(step, windows=(window,)) for step in self.physical.steps))

    def stream(self, *, mode: Mode = "append", buckets: int | None = None) -> DataFrame:
        """Refuse: a table is there as a whole."""
        msg = "the events are a table, not a stream: use run(). stream() takes what spark.readStream gives"
        raise QueryError(msg)

    def explain(self) -> str:
        """Say how the query runs: the logical plan, the way of each aggregate, what was weighed, the figures."""
        followed = any(step.way == "jvm" for step in self.physical.steps)
        note = "" if followed else "\n\nOn Spark nothing follows this tree: that is cheaper here, see below."
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
        return {"How it runs": physical_text(self.physical)}

    def __repr__(self) -> str:
        ways = ", ".join(dict.fromkeys(step.way for step in self.physical.steps))
        return f"<plan by {ways}: {len(self.query.windows)} windows, {len(self.query.aggregates)} aggregates>"
