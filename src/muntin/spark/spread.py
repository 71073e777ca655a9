"""Each row copied to all intervals of all windows that it is in, and all copies grouped at once, by integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from muntin.declare.query import WINDOW
from muntin.spark.beside import computed
from muntin.spark.bound import WATERMARK
from muntin.spark.crossing import NUMBER, START, identified, key_names, keys_back
from muntin.spark.panes import MICROS, Grid, finished, grouped, key_columns, merged, panes, parts_of, quoted, timed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame

    from muntin.spark.bound import Bound
    from muntin.window.spec import Window

# The last starts of so many windows stand in one list. A longer one would be a method that the JVM does not compile:
# for a hundred windows that took five times as long as to look each window's lengths up.
LISTED: Final = 40
_WINDOW: Final = "_mt_win"


def spread(bound: Bound, names: Sequence[str], windows: Sequence[Window], grid: Grid | None = None) -> DataFrame:
    """Compute some aggregates over some windows without a branch for each: native's rows and columns.

    Straight from the events it makes as many copies as the plan written by hand, and groups them by the same
    aggregates: that is for aggregates without partials too, and what it saves is all that native does once for each
    window. With a `grid` the events are aggregated to panes first, and partials are copied.
    """
    if grid is None:
        # What is more than a column is computed before the copies, once for each event. A field of a struct must be:
        # below two explodes Spark 4.3 prunes it away where it is spelled in another case, or where others are read too.
        bound = computed(bound, names)
        keys = dict(zip(key_names(bound), bound.keys, strict=True))
        rows = _copied(bound.events.withColumns({MICROS: bound.micros, **keys}), windows)
        results = [bound.recipes[name].native.alias(name) for name in names]
        found = rows.groupBy(NUMBER, START, *keys).agg(*results)
        shown, back = [quoted(name) for name in names], keys_back(bound)
    else:
        parts = parts_of(bound, names)
        rows = _copied(panes(bound, grid, parts).withColumn(MICROS, F.expr(grid.start())), windows)
        found = grouped(rows, [F.col(NUMBER), F.col(START), *key_columns(bound)], merged(parts))
        partials = {part: F.col(column) for part, (column, _) in parts.items()}
        shown, back = [finished(bound, name, partials).alias(name) for name in names], key_columns(bound)
    return found.select(*identified(bound, windows, Grid(1, 0)), *back, *shown)


def spread_stream(bound: Bound, delay: int) -> DataFrame:
    """Compute all windows of a stream by one operator of Spark's own: native's rows, in native's micro-batches.

    Events are copied before the operator, and so each copy is late or not by its own window. `delay` is the
    watermark's, in microseconds: the window's column says that it tells an event's time, as that of `window()` does.
    """
    query = bound.query
    called, window = identified(bound, query.windows, Grid(1, 0))
    rows = _copied(timed(bound), query.windows)
    rows = rows.withColumn(_WINDOW, window).withMetadata(_WINDOW, {WATERMARK: delay // 1000})
    results = [bound.recipes[name].native.alias(name) for name, _ in query.aggregates]
    found = rows.groupBy(NUMBER, _WINDOW, *bound.keys).agg(*results)
    names = [*query.keys, *(name for name, _ in query.aggregates)]
    return found.select(called, F.col(_WINDOW).alias(WINDOW), *(quoted(name) for name in names))


def _copied(rows: DataFrame, windows: Sequence[Window]) -> DataFrame:
    """Copy each row to the intervals that hold its time: their windows' numbers and their starts.

    As text, because a column takes a dozen messages to the JVM, and there are several for each window.
    """
    slide, size, offset = (
        f"get({_listed(f'{length}L' for length in lengths)}, {NUMBER})"
        for lengths in zip(*((window.slide, window.range, window.offset) for window in windows), strict=True)
    )
    # The start of the last interval with the row's time: pmod rounds down before 1970 too.
    if len(windows) <= LISTED:
        latest = _listed(_latest(f"{window.slide}L", f"{window.offset}L") for window in windows)
        found = rows.select("*", F.expr(f"posexplode({latest})").alias(NUMBER, START))
    else:
        found = rows.select("*", F.expr(f"explode(sequence(0, {len(windows) - 1}))").alias(NUMBER))
        found = found.withColumn(START, F.expr(_latest(slide, offset)))
    if all(window.tumbling for window in windows):
        return found
    # From there back, slide by slide, as long as the interval still holds it.
    return found.withColumn(START, F.expr(f"explode(sequence({START}, {MICROS} - {size} + 1L, -{slide}))"))


def _latest(slide: str, offset: str) -> str:
    return f"{MICROS} - pmod({MICROS} - {offset}, {slide})"


def _listed(texts: Iterable[str]) -> str:
    return f"array({', '.join(texts)})"
