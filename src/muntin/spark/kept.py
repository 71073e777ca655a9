"""Panes that are kept for several queries, which read them in place of the events.

Panes by device and site hold all that panes by site do: partials merge over devices as they merge over time. So the
events are read and grouped once, whatever queries group by.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.spark.panes import panes, parts_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyspark.sql import DataFrame

    from muntin.declare.query import WindowQuery
    from muntin.spark.bound import Bound
    from muntin.spark.panes import Grid, Parts
    from muntin.spark.recipes.part import Part, Recipe


@dataclass(frozen=True, slots=True)
class KeptPanes:
    """Panes by all keys: `rows` has the keys, the pane's number and the partials; `bound` is the query they are of."""

    bound: Bound
    grid: Grid
    parts: Parts
    rows: DataFrame

    def read_by(self, query: WindowQuery) -> Bound:
        """Bind a query of some of the keys, windows and aggregates to the panes: what was an event is a pane."""
        whole = self.bound
        return replace(
            whole,
            query=query,
            events=self.rows,
            time=whole.instant(F.expr(self.grid.start())),
            schema=T.StructType([whole.schema[name] for name in query.keys]),
            recipes={name: self._from_partials(whole.recipes[name]) for name, _ in query.aggregates},
            types={name: whole.types[name] for name, _ in query.aggregates},
            partials=True,
        )

    def _from_partials(self, recipe: Recipe) -> Recipe:
        assert recipe.finish is not None
        parts = tuple(self._read(part) for part in recipe.parts)
        return replace(recipe, native=recipe.finish({part.name: part.make() for part in parts}), parts=parts, item=None)

    def _read(self, part: Part) -> Part:
        column, _ = self.parts[part.name]
        single = None if part.single is None else lambda: F.col(column)
        return replace(part, make=lambda: part.merge(F.col(column)), single=single)


def kept_panes(bound: Bound, names: Collection[str], grid: Grid) -> KeptPanes:
    """Aggregate the events by all keys of a query and by panes, for some of its aggregates."""
    parts = parts_of(bound, names)
    return KeptPanes(bound, grid, parts, panes(bound, grid, parts))
