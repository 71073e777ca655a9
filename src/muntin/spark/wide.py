"""The wide form: one row for each key and instant, a column for each aggregate and window that ends then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from muntin.declare.query import WINDOW, WINDOW_ID
from muntin.errors import QueryError
from muntin.spark.execute import execute
from muntin.spark.panes import Grid, quoted
from muntin.spark.sweep import sweep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from muntin.declare.query import WindowQuery
    from muntin.physical.plan import PhysicalPlan
    from muntin.spark.bound import Bound

AT: Final = "at"


def wide(bound: Bound, plan: PhysicalPlan) -> DataFrame:
    """Build the wide form; where one pass of kernels computes everything, they put the columns side by side too."""
    query = bound.query
    _check(query)
    if len(plan.steps) == 1 and plan.steps[0].way == "arrow":
        step = plan.steps[0]
        assert step.pane is not None
        grid = Grid(*step.pane)
        frame = sweep(bound, step.aggregates, step.windows, grid, step.coarse, pack=step.pack, wide=True)
        return frame.select(*(quoted(name) for name in _columns(query)))
    return pivoted(query, execute(bound, plan))


def pivoted(query: WindowQuery, result: DataFrame) -> DataFrame:
    """Turn rows of windows into columns, for windows that end at one instant."""
    _check(query)
    names = [name for name, _ in query.aggregates]
    values = [
        F.first(F.when(F.col(WINDOW_ID) == window.id, F.struct(quoted(name).alias("v"))), ignorenulls=True)["v"].alias(
            column(name, window.id)
        )
        for name in names
        for window in query.windows
    ]
    keys = [quoted(key) for key in query.keys]
    return result.groupBy(*keys, F.col("window.end").alias(AT)).agg(*values)


def column(aggregate: str, window_id: str) -> str:
    """Name the column of an aggregate over a window."""
    return f"{aggregate}_{window_id}"


def selected(query: WindowQuery, frame: DataFrame) -> DataFrame:
    """Choose the columns of wide rows as a SELECT list names them, where it names keys and aggregates only."""
    if query.outputs is None and query.having is None:
        _check(query)
        return frame.select(*(quoted(name) for name in _columns(query)))
    named = dict(query.aggregates)
    keys, columns = [], []
    for name, text in query.outputs or ():
        if text in query.keys:
            keys.append(quoted(text).alias(name))
        elif text in named:
            columns += [quoted(column(text, window.id)).alias(column(name, window.id)) for window in query.windows]
        elif text.partition(".")[0] not in (WINDOW_ID, WINDOW):
            msg = f"wide rows hold keys and aggregates, and {name} is {text}: select those alone, and compute after"
            raise QueryError(msg)
    if query.having is not None:
        msg = (
            f"wide rows hold every window, and HAVING {query.having} chooses among them: leave it out, and filter after"
        )
        raise QueryError(msg)
    return frame.select(*keys, quoted(AT), *columns)


def _columns(query: WindowQuery) -> list[str]:
    results = [column(name, window.id) for name, _ in query.aggregates for window in query.windows]
    return [*query.keys, AT, *results]


def _check(query: WindowQuery) -> None:
    if query.outputs is not None or query.having is not None:
        msg = "the wide form shows every aggregate of every window: it cannot go with a SELECT list or HAVING"
        raise QueryError(msg)
    seen: set[str] = set()
    for name in _columns(query):
        if name.lower() in seen:
            msg = f"the wide form would have two columns {name!r}: rename the key, the aggregate or the window's id"
            raise QueryError(msg)
        seen.add(name.lower())
