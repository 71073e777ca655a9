"""The coverage tree inside the JVM: roots from events, all other windows from rows of partials."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from muntin.declare.query import WINDOW_ID
from muntin.spark.panes import BUCKET, MICROS, finished, floor_div, grouped, key_columns, merged, parts_of, timed
from muntin.spark.routes import routes
from muntin.spark.starts import in_place, with_starts
from muntin.window.spec import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from muntin.logical.forest import Forest
    from muntin.spark.bound import Bound
    from muntin.spark.panes import Parts
    from muntin.spark.routes import Route

_START: Final = "_mt_s"
# A bucket is so many times as long as the way that rows reach beyond it: one row in so many is there twice.
BUCKET_LENGTHS: Final = 16
# From this overlap on, a window that reads events does so through panes of its own.
_OVERLAP: Final = 4


@dataclass(frozen=True, slots=True)
class _Rows:
    """Partials by key and start; where `coarse` is given, by bucket too, each bucket with all that its windows need.

    `reach` is how far beyond its end a bucket's rows go.
    """

    frame: DataFrame
    coarse: int | None = None
    reach: int = 0


def tree(bound: Bound, names: Sequence[str], windows: Sequence[Window], forest: Forest) -> DataFrame:
    """Compute some aggregates over some windows along a forest: native's rows and columns."""
    parts = parts_of(bound, names)
    ids: dict[Window, list[str]] = {}
    for window in windows:
        ids.setdefault(window, []).append(window.id)
    found: dict[Window, _Rows] = {}
    frames = []
    for route in routes(forest, ids):
        window = route.window
        if route.source is None:
            rows = _Rows(_root(bound, window, parts))
        else:
            rows = _child(bound, route, found[route.source], parts)
        if route.station:
            rows = _stationed(bound, route, rows)
        found[window] = rows
        if window in ids:
            frames.append(_shown(bound, names, window, ids[window], rows, parts))
    return reduce(lambda x, y: x.unionAll(y), frames)


def _root(bound: Bound, window: Window, parts: Parts) -> DataFrame:
    """Aggregate events; those of a long window by panes first, so that panes and not events are there many times."""
    make = [part.make().alias(column) for column, part in parts.values()]
    if window.range <= _OVERLAP * window.slide:
        events = with_starts(timed(bound), MICROS, window, range(window.range), 1, _START)
        return grouped(events, [*bound.keys, F.col(_START)], make)
    width = math.gcd(window.range, window.slide)
    pane = Window(width, width, window.offset)
    events = with_starts(timed(bound), MICROS, pane, range(width), 1, _START)
    rows = grouped(events, [*bound.keys, F.col(_START)], make)
    rows = with_starts(rows, _START, window, range(0, window.range, width), width, _START)
    return grouped(rows, [*key_columns(bound), F.col(_START)], merged(parts))


def _child(bound: Bound, route: Route, source: _Rows, parts: Parts) -> _Rows:
    """Merge the partials of a source; of each bucket only the windows for which it has all of them."""
    assert route.source is not None
    rows = with_starts(source.frame, _START, route.window, route.starts, route.source.slide, _START)
    group = [*key_columns(bound), F.col(_START)]
    if source.coarse is None:
        return _Rows(grouped(rows, group, merged(parts)))
    reach = 0 if route.station else route.reach
    rows = rows.where(_within(source.coarse, reach))
    return _Rows(grouped(rows, [*group, F.col(BUCKET)], merged(parts)), source.coarse, reach)


def _stationed(bound: Bound, route: Route, rows: _Rows) -> _Rows:
    """Shuffle rows by key and coarse time: the windows of a bucket are those that start there.

    A group by key, bucket and start then needs no shuffle: Spark sees that its rows are together already. Rows near a
    bucket's start are also part of windows of the bucket before.
    """
    coarse = BUCKET_LENGTHS * max(route.reach, route.window.range)
    own, first = floor_div(_START, coarse), floor_div(f"({_START} - {route.reach}L)", coarse)
    buckets = f"explode(IF({own} = {first}, array({own}), array({first}, {own})))"
    frame = rows.frame.withColumn(BUCKET, F.expr(buckets))
    return _Rows(frame.repartition(*key_columns(bound), F.col(BUCKET)), coarse, route.reach)


def _within(coarse: int, reach: int) -> str:
    """Tell whether a window starts in its bucket, or not beyond its reach."""
    into = f"({_START} - {BUCKET} * {coarse}L)"
    return in_place(f"({into} >= 0 AND {into} < {coarse + reach}L)")


def _shown(
    bound: Bound,
    names: Sequence[str],
    window: Window,
    ids: Sequence[str],
    rows: _Rows,
    parts: Parts,
) -> DataFrame:
    """Give a window's rows its ids and times, and finish the aggregates."""
    frame = rows.frame.where(_within(rows.coarse, 0)) if rows.coarse and rows.reach else rows.frame
    called = F.lit(ids[0]) if len(ids) == 1 else F.explode(F.array(*(F.lit(one) for one in ids)))
    partials = {part: F.col(column) for part, (column, _) in parts.items()}
    results = [finished(bound, name, partials).alias(name) for name in names]
    return frame.select(
        called.alias(WINDOW_ID),
        bound.window(_START, f"{_START} + {window.range}L"),
        # Named anew: else Spark keeps other aliases in the first branch of a union than in the rest, and then does not
        # see that their exchanges are the same.
        *(key.alias(name) for key, name in zip(key_columns(bound), bound.query.keys, strict=True)),
        *results,
    )
