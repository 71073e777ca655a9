"""Queries on Spark as users write them: `windows(df, ...).over(...).agg(...)`, planned and run."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from muntin.api import optimize
from muntin.declare.query import WindowQuery, named_aggregates
from muntin.duration import parse_duration
from muntin.errors import QueryError
from muntin.logical.cost import read_unit
from muntin.logical.optimize import check_optimizer
from muntin.physical.choose import Strategy, check_strategy, choose
from muntin.physical.constants import load_constants
from muntin.physical.statistics import Statistics
from muntin.physical.ways import Group
from muntin.steps import left_out
from muntin.stream_plan import plan_stream
from muntin.table_plan import TablePlan
from muntin.window.slices import common_measure
from muntin.window.spec import window_set

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from pyspark.sql import Column, DataFrame

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.api import LogicalPlan
    from muntin.logical.forest import Forest
    from muntin.logical.optimize import Optimizer
    from muntin.planned import Plan
    from muntin.spark.bound import Bound
    from muntin.window.spec import Window


_LOG: Final = logging.getLogger(__name__)


class Covered(NamedTuple):
    """Events as they were given, and the expressions that are keys and perhaps the time, by their names."""

    frame: DataFrame
    made: dict[str, Column]
    """The keys, and the time where it is such an expression too."""
    timed: bool


@dataclass(frozen=True, slots=True)
class Events:
    """Events with a time and keys, ready for windows."""

    source: Any
    time: str
    keys: tuple[str, ...]
    watermark: int | None = None
    covered: Covered | None = None
    """Where a key took the name of a column that aggregates may read: the events without it."""

    def over(self, *windows: Window) -> WindowedEvents:
        """Choose the windows: `tumbling("20m")`, `hopping("1h", slide="10m")`."""
        one: Any = windows[0] if len(windows) == 1 else None
        # Text is no list of windows, and a Spark column says that it is iterable only to refuse it.
        several = isinstance(one, Iterable) and not isinstance(one, str) and not hasattr(one, "cast")
        return WindowedEvents(self, window_set(one if several else windows))

    if not TYPE_CHECKING:  # a type checker tells of what is missing by itself

        def __getattr__(self, name: str) -> Any:
            return left_out(self, name, 0)


@dataclass(frozen=True, slots=True)
class WindowedEvents:
    """Events and the windows over them, ready for aggregates."""

    events: Events
    windows: tuple[Window, ...]

    def agg(self, *unnamed: NoReturn, **aggregates: object) -> Query:
        """Choose the aggregates, each by the name of its column: `low=agg.min("temp")`."""
        if unnamed:
            whole = isinstance(unnamed[0], dict)
            write = ".agg(**{'low': agg.min('temp')})" if whole else ".agg(low=agg.min('temp'))"
            msg = f"each aggregate needs the name of its column, got {unnamed[0]!r} without one: write {write}"
            raise QueryError(msg)
        of, found = self.events, named_aggregates(aggregates)
        if of.covered is None:
            return Query(of.source, of.time, of.keys, self.windows, found, of.watermark)
        from muntin.spark.beside import HIDDEN_TIME, with_inputs

        source, found = with_inputs(*of.covered, of.time, found)
        # What stands in the events' files under a key's name is something else.
        origins = ((HIDDEN_TIME, of.time), *((name, None) for name in of.covered.made))
        return Query(source, HIDDEN_TIME, of.keys, self.windows, found, of.watermark, origins=origins)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return left_out(self, name, 1)


def windows(
    df: DataFrame,
    *,
    time: str | Column,
    keys: str | Column | Sequence[str | Column] = (),
    watermark: str | timedelta | None = None,
) -> Events:
    """Begin a query over the events of a DataFrame: their time column, and the keys to group by.

    Both take names, or Spark expressions with an alias. `watermark` is how late an event of a stream may be.
    """
    if not hasattr(df, "groupBy"):
        msg = f"the events must be a Spark DataFrame, got {_kind(df)}"
        raise QueryError(msg)
    several = [keys] if isinstance(keys, str) or hasattr(keys, "cast") else keys
    if not isinstance(several, (list, tuple)):
        msg = f"keys are a column's name, a Spark expression, or a list of them, got {keys!r}"
        raise QueryError(msg)
    frame, found, covered = named(df, [time, *several], "a key or the time")
    late = None if watermark is None else parse_duration(watermark)
    return Events(frame, found[0], tuple(found[1:]), late, covered)


def named(df: DataFrame, columns: list[str | Column], what: str) -> tuple[DataFrame, list[str], Covered | None]:
    """Give expressions, the first of them the time, a column of their own.

    The time hides where a column has its name already; any other takes that column's place, and what was `Covered` is
    told. An expression that is that column, as `F.col("device")` is, needs none.
    """
    from muntin.spark.beside import HIDDEN_TIME
    from muntin.spark.reason import REFUSALS, reason

    there = {name.lower() for name in df.columns}
    names, made, timed = [], {}, False
    for place, column in enumerate(columns):
        if isinstance(column, str):
            names.append(column)
            continue
        if not hasattr(column, "cast"):
            msg = f"{what} is a column's name or a Spark expression, got {column!r}"
            raise QueryError(msg)
        try:
            taken = df.select(column)
            several = taken.columns
            if len(several) == 1 and several[0].lower() in there and _is_column(df, taken, several[0]):
                names += several
                continue
            name = HIDDEN_TIME if place == 0 and several[0].lower() in there else several[0]
            if len(several) == 1:
                _ = df.withColumns({name: column}).schema
        except REFUSALS as error:
            msg = f"{what} cannot be taken from the DataFrame: {reason(error)}"
            raise QueryError(msg) from error
        if len(several) != 1:
            msg = f"{what} is one column, and {column!r} gives {len(several)}: {', '.join(several)}"
            raise QueryError(msg)
        if name in made:
            msg = f"{what}: two are called {name!r}. Give one of them another name with .alias(...)"
            raise QueryError(msg)
        names.append(name)
        made[name] = column
        timed |= not place
    covers = any(name.lower() in there for name in made)
    # All at once: one may take the place of a column that another reads.
    return df.withColumns(made) if made else df, names, Covered(df, made, timed) if covers else None


def _kind(given: object) -> str:
    """Name a type with its library, since many call theirs DataFrame, and say how Spark takes what it can take."""
    kind = type(given)
    library = kind.__module__.partition(".")[0]
    name = kind.__qualname__ if library == "builtins" else f"{library}.{kind.__qualname__}"
    makes = ": make it one with spark.createDataFrame(df)" if library in ("pandas", "pyarrow") else ""
    return f"{name}{makes}"


def _is_column(df: DataFrame, taken: DataFrame, name: str) -> bool:
    """Tell whether what was taken is the frame's column of its name, and the only one."""
    return sum(other.lower() == name.lower() for other in df.columns) == 1 and bool(
        df.select("`" + name.replace("`", "``") + "`").sameSemantics(taken)
    )


class Query(WindowQuery):
    """A query that can be planned, run, and run as one would have written it by hand."""

    __slots__ = ()

    def native(self, *, wide: bool = False) -> DataFrame:
        """Build the plan written by hand: one `groupBy(window(...))` per window. The baseline, and the oracle."""
        from muntin.spark.bound import bind
        from muntin.spark.execute import shown
        from muntin.spark.native import native
        from muntin.spark.wide import pivoted

        result = native(bind(self))
        return pivoted(self, result) if wide else shown(self, result)

    def plan(
        self,
        *,
        optimizer: Optimizer = "auto",
        strategy: Strategy = "auto",
        statistics: Statistics | None = None,
    ) -> Plan:
        """Plan the query.

        `optimizer` decides which windows read which, see `optimize`. `strategy` is "native" (as written by hand),
        "spread" (one group by of all windows), "jvm" (a tree of windows in Spark), "arrow" (panes in Spark, windows in
        NumPy kernels), or "auto": for each aggregate the cheapest by calibrated cost, native where nothing is expected
        to be faster. The cost rests
        on `statistics`; not given, files' footers and the first rows are looked at. Over a stream "arrow" is one
        stateful operator for all windows, "native" one for each.
        """
        from muntin.spark.bound import bind
        from muntin.spark.statistics import left
        from muntin.spark.statistics import statistics as look

        check_optimizer(optimizer)
        check_strategy(strategy)
        if not isinstance(statistics, Statistics | None):
            msg = (
                f"statistics must be a muntin.Statistics, got {type(statistics).__name__}: "
                "write for example Statistics(rows=1e6, keys=100, span=3_600_000_000), the span in microseconds"
            )
            raise QueryError(msg)
        bound = bind(self)
        if self.source.isStreaming:
            logical = optimize(self.windows, self.functions, optimizer=optimizer, period="steady")
            return plan_stream(self, bound, lambda: logical, strategy)
        if statistics is not None:
            return plan_table(self, bound, statistics, optimizer, strategy)
        plan = plan_table(self, bound, found := look(bound), optimizer, strategy)
        if strategy == "auto" and any(step.shares for step in plan.physical.steps):
            # What shares has its price before the first row: it must be worth it whatever is left of the rows.
            known = left(bound, found)
            if known.at_most or known.rows < found.rows:
                plan = plan_table(self, bound, known, optimizer, strategy)
        return plan

    def explain(self) -> str:
        """Plan the query and explain the plan."""
        return self.plan().explain()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return left_out(self, name, 2)


def plan_table(
    query: Query,
    bound: Bound,
    statistics: Statistics,
    optimizer: Optimizer = "auto",
    strategy: Strategy = "auto",
    *,
    partials: bool = False,
) -> TablePlan:
    """Plan a query over a table of which all is known that planning needs; its rows are events, or `partials`."""
    _LOG.info("statistics: %r, found in %.2f s", statistics, statistics.seconds)
    # By the second, as users read it, unless the windows are finer than that.
    unit = 1_000_000 if common_measure(query.windows) % 1_000_000 == 0 else read_unit(query.windows, None)
    rate = max(statistics.rate * unit, 1e-9)

    def optimized(functions: Sequence[AggregateFunction]) -> LogicalPlan:
        return optimize(query.windows, functions, optimizer=optimizer, rate=rate, unit=unit, period="steady")

    # `auto` refuses nothing, and its search takes longer than a query over few events: only when it is asked for.
    logical = cache(lambda: optimized(query.functions))
    if optimizer != "auto":
        logical()
    forests: dict[tuple[str, ...], Forest] = {}

    def forest(group: Group) -> Forest:
        named = dict(query.aggregates)
        functions = tuple(dict.fromkeys(named[name].function for name in group.names))
        if group.names not in forests:
            same = next((g for g in logical().groups if set(g.functions) == set(functions)), None)
            forests[group.names] = (same or optimized(functions).groups[0]).forest
        return forests[group.names]

    physical = choose(query.windows, _groups(bound, partials), forest, strategy, statistics, load_constants())
    for candidate in physical.candidates:
        _LOG.debug("weighed %s for %s: %.3g s%s", candidate.name, ", ".join(candidate.aggregates),
                   candidate.seconds, f" ({candidate.note})" if candidate.note else "")  # fmt: skip
    for step in physical.steps:
        _LOG.info("%s computes %s over %d windows: %s", step.way, ", ".join(step.aggregates),
                  len(step.windows), step.reason)  # fmt: skip
    return TablePlan(query, bound, logical, physical)


def _groups(bound: Bound, partials: bool) -> list[Group]:
    """Part the aggregates by what they allow: kernels, the JVM only, functions in Python, or no partials at all."""
    found: dict[tuple[bool, bool, bool, bool], list[str]] = {}
    functions = dict(bound.query.aggregates)
    for name, _ in bound.query.aggregates:
        recipe = bound.recipes.get(name)
        # A worker takes a user's function to each run of equal keys, as Spark sorts them.
        kind = (False, bound.crosses and bound.sorts, True, False)
        if recipe is not None:
            kind = (recipe.shareable, recipe.columnar and bound.crosses, False, recipe.item is not None and bound.sorts)
        found.setdefault(kind, []).append(name)
    groups = []
    for (shareable, columnar, custom, distinct), names in found.items():
        parts = {part.name: part for name in names if name in bound.recipes for part in bound.recipes[name].parts}
        heavy = sum(part.heavy for part in parts.values())
        why = "" if shareable or custom else "no bounded partial: it needs all values of a window at once"
        counts = len(names) if distinct else 0
        packable = columnar and bool(parts) and all(part.packable for part in parts.values())
        listable = columnar and bool(parts) and all(part.listable for part in parts.values())
        size = max(len(parts), 1)
        sorts = any(part.sorts for part in parts.values())
        holds = sum(part.holds for part in parts.values())
        if not (shareable or custom or distinct):
            holds += len(names)
        folds = heavy if partials else 0
        grows = any(not functions[name].function.bounded for name in names)
        groups.append(
            Group(
                tuple(names), size, shareable, columnar, custom, why, heavy, counts, packable, listable, sorts, holds,
                folds, grows,
            )
        )  # fmt: skip
    return groups


__all__ = ["Events", "Query", "WindowedEvents", "windows"]
