"""From where a partial begins to the starts of the windows that it is part of, as SQL."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F

from muntin.spark.panes import floor_div

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from muntin.window.spec import Window


class Run(NamedTuple):
    """Offsets an equal step apart: `first, first + step, ...`, `length` of them."""

    first: int
    step: int
    length: int


def runs(offsets: Sequence[int]) -> list[Run]:
    """Cut increasing offsets into runs of equal steps: a cover is one, or one and its last interval.

    >>> runs((0, 4, 8, 10))
    [Run(first=0, step=4, length=3), Run(first=10, step=1, length=1)]
    """
    if isinstance(offsets, range):
        return [Run(offsets.start, offsets.step, len(offsets))]
    found: list[Run] = []
    place = 0
    while place < len(offsets):
        count, step = 1, 1
        if place + 1 < len(offsets):
            step = offsets[place + 1] - offsets[place]
            while place + count < len(offsets) and offsets[place + count] == offsets[place] + count * step:
                count += 1
        found.append(Run(offsets[place], step if count > 1 else 1, count))
        place += count
    return found


def with_starts(
    rows: DataFrame, begin: str, window: Window, offsets: Sequence[int], every: int, name: str
) -> DataFrame:
    """Give each row, as column `name`, the start of each interval of `window` that its partial is part of.

    A partial that begins at s, the column `begin`, serves the intervals that start at `s - o`, for those offsets o that
    lead to a start. Partials begin `every` so many microseconds. A row that serves several intervals becomes several
    rows, one that serves none goes.
    """
    found = [_Solved(run, window, every) for run in runs(offsets)]
    if len(found) == 1 and found[0].at_most_one:
        solved = found[0]
        if solved.always:
            return rows.withColumn(name, F.expr(solved.latest(begin)))
        return rows.where(in_place(solved.some(begin))).withColumn(name, F.expr(solved.latest(begin)))
    lists = [solved.all(begin) for solved in found]
    every_one = lists[0] if len(lists) == 1 else f"concat({', '.join(lists)})"
    # explode leaves out a row whose list is null or empty.
    return rows.withColumn(name, F.expr(f"explode({every_one})"))


def in_place(condition: str) -> str:
    """Keep a filter where it stands.

    Spark moves filters below a repartition. Branches that read one would then each have their own, with the aggregate
    below it; only what is not deterministic stays, and nothing of that kind is cheaper than a partition's number.
    """
    return f"CASE WHEN spark_partition_id() >= 0 THEN {condition} END"


class _Solved:
    """For which i of a run `s - (first + i * step)` is a start: i = i0(s), i0 + n, i0 + 2n, ...

    It is one where `i * step` and the rest r of `s - first - offset` agree modulo the slide. With g the gcd of step and
    slide, that needs g to divide r; then i0 = r/g times the inverse of step/g, modulo n = slide/g.
    """

    def __init__(self, run: Run, window: Window, every: int) -> None:
        self.run, self.window = run, window
        self.shared = math.gcd(run.step, window.slide)
        self.turn = window.slide // self.shared
        self.inverse = pow(run.step // self.shared, -1, self.turn) if self.turn > 1 else 0
        # Starts of a child are starts of its parent, so r is a multiple of the distance between partials: any of them.
        self.divides = every % self.shared == 0
        self.at_most_one = run.length <= self.turn
        self.always = self.divides and run.length >= self.turn

    def _rest(self, begin: str) -> str:
        return f"pmod({_before(begin, self.run.first + self.window.offset)}, {self.window.slide}L)"

    def latest(self, begin: str) -> str:
        """Find the start that i0 leads to."""
        first = _before(begin, self.run.first)
        if self.turn == 1:
            return first
        rest = self._rest(begin)
        if self.inverse == 1 and self.run.step == self.shared:
            # i0 * step is the rest itself: round down to a start.
            return f"({first} - {rest})"
        index = f"pmod({floor_div(rest, self.shared)} * {self.inverse}L, {self.turn}L)"
        return f"({first} - {index} * {self.run.step}L)"

    def _last(self, begin: str) -> str:
        return _before(begin, self.run.first + (self.run.length - 1) * self.run.step)

    def some(self, begin: str) -> str:
        """Tell whether there is any: i0 within the run."""
        there = f"({self.latest(begin)} >= {self._last(begin)})"
        return there if self.divides else f"(pmod({self._rest(begin)}, {self.shared}L) = 0 AND {there})"

    def all(self, begin: str) -> str:
        """List the starts; an empty list where there are none."""
        found = f"array({self.latest(begin)})"
        if not self.at_most_one:
            found = f"sequence({self.latest(begin)}, {self._last(begin)}, {-self.turn * self.run.step}L)"
        return found if self.always else f"IF({self.some(begin)}, {found}, CAST(array() AS ARRAY<BIGINT>))"


def _before(begin: str, by: int) -> str:
    return f"({begin} - {by}L)" if by else begin
