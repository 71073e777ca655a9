"""Two results of one query compared inside Spark: as many rows for each window, and each row equal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.declare.query import WINDOW, WINDOW_ID
from muntin.errors import QueryError
from muntin.spark.panes import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

TOLERANCE: Final = 1e-9
EXAMPLES: Final = 5
_OURS, _THEIRS, _SCALE = "_mt_ours", "_mt_theirs", "_mt_scale"


@dataclass(frozen=True, slots=True)
class Difference:
    """A window and key for which two results differ; None stands for a row that one of them does not have."""

    where: dict[str, Any]
    ours: dict[str, Any] | None
    theirs: dict[str, Any] | None

    def __str__(self) -> str:
        place = ", ".join(f"{name} {value}" for name, value in self.where.items())
        if self.ours is None or self.theirs is None:
            return f"{place}: only in the {'native' if self.ours is None else 'shared'} plan"
        values = "; ".join(f"{name} {self.ours[name]!r}, native {self.theirs[name]!r}" for name in self.ours)
        return f"{place}: {values}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the comparison found: rows by window id on either side, how many rows differ, and the first of them."""

    rows: tuple[tuple[str, int, int], ...]
    differing: int
    examples: tuple[Difference, ...]

    @property
    def equal(self) -> bool:
        """Tell whether the results agree."""
        return not self.differing and all(ours == theirs for _, ours, theirs in self.rows)


def compare(ours: DataFrame, theirs: DataFrame, keys: Sequence[str]) -> Comparison:
    """Compare rows of window_id, window, the keys and aggregates.

    Floating-point numbers may differ by 1e-9 of their magnitude, or of what is usual in their column and window: other
    orders of addition. All else must be the same. Where no row is missing on either side and the counts agree, no row
    is there twice.
    """
    if ours.schema.simpleString() != theirs.schema.simpleString():
        msg = f"the results differ in their columns: {ours.schema.simpleString()} and {theirs.schema.simpleString()}"
        raise QueryError(msg)
    marks = [WINDOW_ID, WINDOW, *keys]
    names = [name for name in ours.columns if name not in marks]
    usual = [name for name in names if _inexact(ours, name)]
    joined = _joined(ours, theirs, marks, names, usual)
    same = {name: _same(name, name in usual) for name in names}
    agree = reduce(lambda x, y: x & y, same.values(), F.col(_OURS).isNotNull() & F.col(_THEIRS).isNotNull())
    # A row that is there twice in one result meets its partner twice, so rows are counted before they meet.
    own, others = _counts(ours), _counts(theirs)
    rows = tuple((window, own.get(window, 0), others.get(window, 0)) for window in sorted(own.keys() | others.keys()))
    differing = joined.where(~agree).count()
    if not differing:
        return Comparison(rows, 0, ())
    shown = joined.where(~agree).select(
        *map(quoted, marks), _OURS, _THEIRS, F.array(*(F.coalesce(test, F.lit(False)) for test in same.values()))
    )
    return Comparison(rows, differing, tuple(_difference(row, marks, names) for row in shown.limit(EXAMPLES).collect()))


def _joined(
    ours: DataFrame, theirs: DataFrame, marks: Sequence[str], names: Sequence[str], usual: Sequence[str]
) -> DataFrame:
    """Put rows of the same window and keys side by side; a null or NaN is a key like others."""
    left = ours.select(*map(quoted, marks), F.struct(*map(quoted, names)).alias(_OURS))
    renamed = [f"_mt_{place}" for place in range(len(marks))]
    right = theirs.select(
        *(quoted(mark).alias(name) for mark, name in zip(marks, renamed, strict=True)),
        F.struct(*map(quoted, names)).alias(_THEIRS),
    )
    on = [quoted(mark).eqNullSafe(F.col(name)) for mark, name in zip(marks, renamed, strict=True)]
    both = left.join(right, reduce(lambda x, y: x & y, on), "full_outer")
    either = [
        F.when(F.col(_OURS).isNotNull(), quoted(mark)).otherwise(F.col(name)).alias(mark)
        for mark, name in zip(marks, renamed, strict=True)
    ]
    both = both.select(*either, _OURS, _THEIRS)
    if not usual:
        return both
    sizes = [F.avg(F.when(_finite(quoted(name)), F.abs(quoted(name)))).cast("double").alias(name) for name in usual]
    scale = theirs.groupBy(F.col(WINDOW_ID).alias("_mt_id")).agg(*sizes)
    scale = scale.select("_mt_id", F.struct(*map(quoted, usual)).alias(_SCALE))
    return both.join(F.broadcast(scale), F.col(WINDOW_ID) == F.col("_mt_id"), "left").drop("_mt_id")


def _same(name: str, inexact: bool) -> Column:
    one, other = (F.col(side).getField(name) for side in (_OURS, _THEIRS))
    if not inexact:
        return one.eqNullSafe(other)
    size = F.greatest(F.abs(one), F.abs(other), F.col(_SCALE).getField(name))
    near = _finite(one) & _finite(other) & (F.abs(one - other) <= TOLERANCE * size)
    return one.eqNullSafe(other) | F.coalesce(near, F.lit(False))


def _finite(column: Column) -> Column:
    return ~F.isnan(column) & (F.abs(column) < float("inf"))


def _inexact(frame: DataFrame, name: str) -> bool:
    return isinstance(frame.schema[name].dataType, (T.FloatType, T.DoubleType))


def _counts(frame: DataFrame) -> dict[str, int]:
    return {row[0]: row[1] for row in frame.groupBy(WINDOW_ID).count().collect()}


def _difference(row: Any, marks: Sequence[str], names: Sequence[str]) -> Difference:
    window = row[WINDOW]
    where = {"window": f"{row[WINDOW_ID]} {window['start']} to {window['end']}"} | {
        mark: row[mark] for mark in marks if mark not in (WINDOW_ID, WINDOW)
    }
    ours, theirs = row[_OURS], row[_THEIRS]
    if ours is None or theirs is None:
        return Difference(where, None if ours is None else ours.asDict(), None if theirs is None else theirs.asDict())
    differ = [name for name, same in zip(names, row[-1], strict=True) if not same]
    return Difference(where, {n: ours[n] for n in differ}, {n: theirs[n] for n in differ})
