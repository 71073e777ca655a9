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


def native(bound: Bound, only: Collection[str] | None = None) -> DataFrame:
    """Compute every window by itself, as Spark's own functions do it; `only` some of the aggregates."""
    names = [name for name, _ in bound.query.aggregates if only is None or name in only]
    # Every column takes a dozen messages to the JVM: those that are the same for all windows are made once.
    keys = bound.keys
    results = [
        (native_custom(bound, name) if name in bound.custom else bound.recipes[name].native).alias(name)
        for name in names
    ]
    kept = [quoted(name) for name in (WINDOW, *bound.query.keys, *names)]
    frames = []
    for window in bound.query.windows:
        times = [f"{length} microseconds" for length in (window.range, window.slide, window.offset)]
        grouped = bound.events.groupBy(F.window(bound.time, *times).alias(WINDOW), *keys).agg(*results)
        frames.append(grouped.select(F.lit(window.id).alias(WINDOW_ID), *kept))
    return reduce(lambda x, y: x.unionAll(y), frames)
