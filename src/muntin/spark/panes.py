"""Events to panes: one aggregate in the JVM, over integers and not over structs of timestamps.

What is computed of columns of muntin's own is written as SQL: a text is a handful of messages to the JVM, where each
operation on a column is a dozen, and to build a plan takes as long as its messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import TypeAlias

    from pyspark.sql import Column, DataFrame

    from muntin.spark.bound import Bound
    from muntin.spark.recipes.part import Part

    Parts: TypeAlias = Mapping[str, tuple[str, Part]]

PANE: Final = "_mt_p"
MICROS: Final = "_mt_u"
"""The time of an event in microseconds."""
BUCKET: Final = "_mt_b"


@dataclass(frozen=True, slots=True)
class Grid:
    """Equal panes: pane p begins at `p * width + offset` microseconds."""

    width: int
    offset: int

    def pane(self, micros: str = MICROS) -> str:
        """Find the pane of a time, as SQL.

        >>> Grid(60, 5).pane("t")
        '(((t - 5L) - pmod((t - 5L), 60L)) div 60L)'
        """
        return floor_div(self.since(micros), self.width)

    def since(self, micros: str = MICROS) -> str:
        """Count a time from where pane 0 begins, as SQL."""
        return f"({micros} - {self.offset}L)" if self.offset else micros

    def start(self, pane: str = PANE) -> str:
        """Find where a pane begins, in microseconds, as SQL."""
        return f"({pane} * {self.width}L + {self.offset}L)"


def floor_div(x: str, by: int) -> str:
    """Divide and round down, as SQL: `div` rounds towards zero, so the rest is taken off first."""
    return x if by == 1 else f"(({x} - pmod({x}, {by}L)) div {by}L)"


def timed(bound: Bound) -> DataFrame:
    """Give events their time in microseconds."""
    return bound.events.withColumn(MICROS, bound.micros)


def parts_of(bound: Bound, names: Collection[str]) -> Parts:
    """Gather the partials of some aggregates, each once: by name, its column and itself."""
    parts = {part.name: part for name in names for part in bound.recipes[name].parts}
    return {name: (f"_mt_x{place}", part) for place, (name, part) in enumerate(parts.items())}


def finished(bound: Bound, name: str, merged: Mapping[str, Column]) -> Column:
    """Make an aggregate's result of its merged partials."""
    finish = bound.recipes[name].finish
    assert finish is not None, f"{name} has no partials"
    return finish(merged)


def grouped(rows: DataFrame, group: Sequence[Column], made: Sequence[Column]) -> DataFrame:
    """Group rows; without aggregates it still matters which groups there are."""
    return rows.groupBy(*group).agg(*made) if made else rows.select(*group).distinct()


def merged(parts: Parts) -> list[Column]:
    """Merge partials of a group, each into its own column."""
    return [part.merge(F.col(column)).alias(column) for column, part in parts.values()]


def key_columns(bound: Bound) -> list[Column]:
    """Take the keys by name, from a frame that came after the events."""
    return [quoted(name) for name in bound.query.keys]


def quoted(name: str) -> Column:
    """Take a column by its name, whatever letters it has."""
    # Not as SQL, where a name with ${...} would be taken for a variable's.
    return F.col("`" + name.replace("`", "``") + "`")


def panes(bound: Bound, grid: Grid, parts: Parts) -> DataFrame:
    """Aggregate the events of each key and pane: keys, pane number, partials."""
    made = [part.make().alias(column) for column, part in parts.values()]
    if not made:
        # Nothing to compute, but which panes there are still matters.
        return timed(bound).select(*bound.keys, F.expr(grid.pane()).alias(PANE)).distinct()
    return timed(bound).groupBy(*bound.keys, F.expr(grid.pane()).alias(PANE)).agg(*made)
