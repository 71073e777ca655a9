"""The plan written by hand: one `groupBy(window(...))` per window, and their union. The oracle and the baseline."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from muntin.declare.query import WINDOW, WINDOW_ID
from muntin.spark.custom import native_custom
from muntin.spark.panes import quoted

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyspark.sql import DataFrame

    from muntin.spark.bound import Bound
    from muntin.window.spec import Window


def native(bound: Bound, only: Collection[str] | None = None) -> DataFrame:
    """Compute every window by itself, as Spark's own functions do it; `only` some of the aggregates."""
    frames = [_window(bound, window, only) for window in bound.query.windows]
    return reduce(lambda x, y: x.unionAll(y), frames)


def _window(bound: Bound, window: Window, only: Collection[str] | None) -> DataFrame:
    times = [f"{length} microseconds" for length in (window.range, window.slide, window.offset)]
    names = [name for name, _ in bound.query.aggregates if only is None or name in only]
    results = [
        (native_custom(bound, name) if name in bound.custom else bound.recipes[name].native).alias(name)
        for name in names
    ]
    grouped = bound.events.groupBy(F.window(bound.time, *times).alias(WINDOW), *bound.keys).agg(*results)
    kept = [quoted(name) for name in (*bound.query.keys, *names)]
    return grouped.select(F.lit(window.id).alias(WINDOW_ID), WINDOW, *kept)
