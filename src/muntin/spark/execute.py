"""A physical plan as DataFrames: each step by its way, windows in a union, aggregates side by side."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from muntin.declare.query import WINDOW, WINDOW_ID
from muntin.spark.distincts import counted
from muntin.spark.native import native
from muntin.spark.panes import Grid, quoted
from muntin.spark.recipes.coding import joins
from muntin.spark.spread import spread
from muntin.spark.sweep import sweep
from muntin.spark.tree import tree

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from muntin.declare.query import WindowQuery
    from muntin.physical.plan import PhysicalPlan, Step
    from muntin.spark.bound import Bound


def execute(bound: Bound, plan: PhysicalPlan) -> DataFrame:
    """Build the DataFrame of a plan: nothing runs until the user asks for its rows."""
    groups: dict[tuple[str, ...], list[Step]] = {}
    for step in plan.steps:
        groups.setdefault(step.aggregates, []).append(step)
    frames = [reduce(lambda x, y: x.unionAll(y), (_step(bound, step) for step in steps)) for steps in groups.values()]
    if list(groups) == [tuple(name for name, _ in bound.query.aggregates)]:
        # Each way gives window_id, window, the keys and its aggregates: already in the query's order.
        return frames[0]
    return _beside(bound, frames).select(*(quoted(name) for name in bound.query.columns))


def shown(query: WindowQuery, result: DataFrame) -> DataFrame:
    """Apply what the query says of its result: which rows to keep, and what to show of them."""
    if query.having is not None:
        result = result.where(query.having)
    if query.outputs is not None:
        result = result.select(*(F.expr(text).alias(name) for name, text in query.outputs))
    return result


def _step(bound: Bound, step: Step) -> DataFrame:
    if step.way == "native":
        return native(bound, step.aggregates)
    if step.way == "jvm":
        assert step.forest is not None
        return tree(bound, step.aggregates, step.windows, step.forest)
    if step.way == "spread":
        return spread(bound, step.aggregates, step.windows, None if step.pane is None else Grid(*step.pane))
    assert step.pane is not None
    if step.way == "distinct":
        return counted(bound, step.aggregates, step.windows, Grid(*step.pane))
    if step.way == "python":
        from muntin.spark.custom import custom

        return custom(bound, step.aggregates, step.windows, Grid(*step.pane), step.coarse)
    grid = Grid(*step.pane)
    return sweep(bound, step.aggregates, step.windows, grid, step.coarse, pack=step.pack, runs=step.runs)


def _beside(bound: Bound, frames: list[DataFrame]) -> DataFrame:
    """Put parts that were computed apart together: each has a row for every window and key with an event."""
    marks = [WINDOW_ID, WINDOW, *bound.query.keys]
    if not all(joins(field.dataType) for field in bound.schema.fields):
        return _grouped(bound, frames, marks)
    found = frames[0]
    for place, frame in enumerate(frames[1:]):
        renamed = frame.withColumnsRenamed({mark: f"_mt_{place}_{mark}" for mark in marks})
        # Keys may be null: a null is a group like others, so it joins with itself.
        same = [quoted(mark).eqNullSafe(quoted(f"_mt_{place}_{mark}")) for mark in marks]
        found = found.join(renamed, reduce(lambda x, y: x & y, same)).drop(*(f"_mt_{place}_{mark}" for mark in marks))
    return found


def _grouped(bound: Bound, frames: list[DataFrame], marks: list[str]) -> DataFrame:
    """Put parts together by keys that Spark groups, but does not join."""
    rows = reduce(lambda x, y: x.unionByName(y, allowMissingColumns=True), frames)
    # A part has no value for what the others computed, and first passes over nulls.
    results = [F.first(quoted(name), ignorenulls=True).alias(name) for name, _ in bound.query.aggregates]
    return rows.groupBy(*map(quoted, marks)).agg(*results)
