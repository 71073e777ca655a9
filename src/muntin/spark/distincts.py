"""Distinct items of many windows in one pass: an appearance that knows the one before it knows where it is the first.

An item that appears in pane p, and before that in pane q, is the first of its kind in the windows that start after q,
not after p, and reach p. So each window has each of its items once, whatever the windows and however they overlap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window as Over
from pyspark.sql import functions as F

from muntin.errors import QueryError
from muntin.spark.bound import clock_of, field, find_columns, group_type
from muntin.spark.crossing import NUMBER, START, identified, in_panes, key_names, keys_back
from muntin.spark.panes import MICROS, PANE, Grid, floor_div, timed
from muntin.spark.recipes.coding import sorts
from muntin.window.slices import common_measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from muntin.spark.bound import Bound
    from muntin.window.spec import Window

_BEFORE: Final = "_mt_q"
_WHICH: Final = "_mt_i"
_EACH: Final = "_mt_c"
_CHANGE: Final = "_mt_d"
_EVENTS: Final = "_mt_n"


def listed(
    source: DataFrame, time: str, keys: Sequence[str], items: Sequence[str], windows: Sequence[Window]
) -> DataFrame:
    """List the distinct items of each window and key."""
    roles = [*(("the key", name) for name in keys), *(("the item", name) for name in items)]
    find_columns([("the time column", time), *roles], source)
    clock = clock_of(source, time)
    for role, name in roles:
        kind = group_type(source, name, f"{role} {name!r}")
        if not sorts(kind):
            msg = (
                f"{role} {name!r} is of type {kind.simpleString()}, which Spark cannot sort by. Cast it to string first"
            )
            raise QueryError(msg)
    width, of = common_measure(windows), len(windows)
    grid = Grid(width, windows[0].offset % width)
    marks = {f"_mt_x{place}": name for place, (_, name) in enumerate(roles)}
    taken = [field(source, name).alias(mark) for mark, name in marks.items()]
    rows = source.where(clock.time.isNotNull()).select(*taken, clock.micros.alias(MICROS))
    rows = rows.select(*marks, F.expr(grid.pane()).alias(PANE))
    back = F.concat(*(_back(window, number, of) for number, window in enumerate(in_panes(windows, grid))))
    found = _appearances(rows, list(marks)).select(*marks, PANE, F.explode(back).alias(_EACH))
    number = F.pmod(F.col(_EACH), F.lit(of)).cast("int")
    start = F.expr(f"{PANE} - {floor_div(_EACH, of)}")
    return found.select(*marks, number.alias(NUMBER), start.alias(START)).select(
        *identified(clock, windows, grid), *(F.col(mark).alias(name) for mark, name in marks.items())
    )


def counted(bound: Bound, names: Sequence[str], windows: Sequence[Window], grid: Grid) -> DataFrame:
    """Count the distinct values of aggregates that do so, over some windows: native's rows and columns.

    Of no window are the values listed: an appearance is the first in all starts of a stretch, so the count of a window
    rises where the stretch begins and falls where it ends, and a running total is the count of every start.
    """
    keys, values = key_names(bound), [f"_mt_v{place}" for place in range(len(names))]
    rows = _values(bound, dict(zip(values, names, strict=True)), grid)
    marks = [*keys, *values, _WHICH] if len(values) > 1 else [*keys, *values]
    changed = _changes(_appearances(rows, marks), marks, in_panes(windows, grid))
    change, none = F.col(_CHANGE), F.lit(0)
    # Nulls are no values, but they are events: a window that has nothing else counts none of them, and is there.
    there = change if len(values) == 1 else F.when(F.col(_WHICH) == 0, change).otherwise(none)
    sums = [F.sum(there).alias(_EVENTS)]
    sums += [F.sum(F.when(F.col(value).isNotNull(), change).otherwise(none)).alias(value) for value in values]
    starts = changed.groupBy(*keys, NUMBER, START).agg(*sums)
    over = Over.partitionBy(*keys, NUMBER).orderBy(START)
    so_far = over.rowsBetween(Over.unboundedPreceding, Over.currentRow)
    totals = [F.sum(name).over(so_far).alias(name) for name in (_EVENTS, *values)]
    until = F.lead(START).over(over).alias(_EACH)
    slide = F.get(F.array(*(F.lit(window.slide).cast("bigint") for window in in_panes(windows, grid))), F.col(NUMBER))
    # Between two changes every start has the same count.
    same = F.explode(F.sequence(F.col(START), F.col(_EACH) - slide, slide)).alias(START)
    found = starts.select(*keys, NUMBER, START, until, *totals).where(F.col(_EVENTS) > 0)
    return found.select(*keys, NUMBER, *values, same).select(
        *identified(bound, windows, grid),
        *keys_back(bound),
        *(F.col(value).alias(name) for name, value in zip(names, values, strict=True)),
    )


def _values(bound: Bound, values: Mapping[str, str], grid: Grid) -> DataFrame:
    """Take the values that some aggregates count, each in a column of its own, with their keys and panes."""
    keys = [field(bound.events, n).alias(key) for key, n in zip(key_names(bound), bound.query.keys, strict=True)]
    items = []
    for value, name in values.items():
        item = bound.recipes[name].item
        assert item is not None, f"{name} does not count distinct values"
        items.append(item.alias(value))
    rows = timed(bound).select(*keys, *items, F.expr(grid.pane()).alias(PANE))
    if len(values) == 1:
        return rows
    # A row for each value, which the others do not tell apart.
    several = rows.withColumn(_WHICH, F.explode(F.array(*map(F.lit, range(len(values))))))
    own = [F.when(F.col(_WHICH) == place, F.col(value)).alias(value) for place, value in enumerate(values)]
    return several.select(*key_names(bound), *own, _WHICH, PANE)


def _appearances(rows: DataFrame, marks: Sequence[str]) -> DataFrame:
    """Find the panes in which each item appears, and of each the one before, null where there is none."""
    over = Over.partitionBy(*marks).orderBy(PANE)
    return rows.distinct().withColumn(_BEFORE, F.lag(PANE).over(over))


def _back(window: Window, number: int, of: int) -> Column:
    """List how many panes before an appearance the windows start in which it is the first.

    The window's number goes along as the rest modulo `of`: a list of plain numbers is made without an object for each.
    """
    pane = F.col(PANE)
    nearest = F.pmod(pane - window.offset, F.lit(window.slide).cast("bigint"))
    # Of nulls and numbers the least is a number: an item that did not appear before goes back as far as the window.
    farthest = F.least(F.lit(window.range - 1).cast("bigint"), pane - F.col(_BEFORE) - 1)
    if window.tumbling:
        several = F.array(nearest * of + number)
    else:
        step = F.lit(window.slide * of).cast("bigint")
        several = F.sequence(nearest * of + number, farthest * of + number, step)
    return F.when(nearest <= farthest, several).otherwise(F.array().cast("array<bigint>"))


def _changes(found: DataFrame, marks: Sequence[str], windows: Sequence[Window]) -> DataFrame:
    """Tell, for each appearance and window, the start from which on it is the first, and that from which on no more."""
    pane, before = F.col(PANE), F.col(_BEFORE)
    stretches = F.array(
        *(
            F.struct(
                F.lit(number).alias("w"),
                # Of nulls and numbers the greatest is a number.
                _after(F.greatest(before, pane - window.range), window).alias("rise"),
                _after(pane, window).alias("fall"),
            )
            for number, window in enumerate(windows)
        )
    )
    each = F.col(_EACH)
    # Nowhere the first: no start of this window lies between the two appearances.
    some = found.select(*marks, F.explode(stretches).alias(_EACH)).where(each["rise"] < each["fall"])
    ends = F.array(*(F.struct(each[n].alias("s"), F.lit(d).alias("d")) for n, d in (("rise", 1), ("fall", -1))))
    both = some.select(*marks, each["w"].alias(NUMBER), F.explode(ends).alias(_EACH))
    return both.select(*marks, NUMBER, each["s"].alias(START), each["d"].alias(_CHANGE))


def _after(pane: Column, window: Window) -> Column:
    """Find the first start of a window after a pane."""
    return pane + window.slide - F.pmod(pane - window.offset, F.lit(window.slide))
