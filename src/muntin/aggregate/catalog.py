"""Every aggregate by the name that users write: `agg.min("temp")`, `agg.count()`, or `agg.min` itself.

>>> from muntin import agg
>>> agg.avg("temp"), agg.count(), agg.arg_max("len", "caller")
(avg(temp), count(), arg_max(len, caller))
"""

# Names of Python's own functions (min, max, sum, any, all, range) are taken here on purpose, and here alone:
# read them as `agg.min`, and keep code that needs Python's out of this file.

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin.aggregate import extrema, holistic, moments, sequence, sketches, totals
from muntin.aggregate.define import define
from muntin.aggregate.names import no_such

count = totals.COUNT
sum = totals.SUM
avg = totals.AVG
geometric_mean = totals.GEOMETRIC_MEAN

min = extrema.MIN
max = extrema.MAX
range = extrema.RANGE
min_count = extrema.MIN_COUNT
max_count = extrema.MAX_COUNT
arg_min = extrema.ARG_MIN
arg_max = extrema.ARG_MAX
any = extrema.ANY
all = extrema.ALL

variance = moments.VARIANCE
var_pop = moments.VAR_POP
stddev = moments.STDDEV
stddev_pop = moments.STDDEV_POP

first = sequence.FIRST
last = sequence.LAST
collect = sequence.COLLECT
collect_distinct = sequence.COLLECT_DISTINCT
concat = sequence.CONCAT

median = holistic.MEDIAN
count_distinct = holistic.COUNT_DISTINCT

approx_distinct = sketches.APPROX_DISTINCT
theta = sketches.THETA
approx_quantile = sketches.APPROX_QUANTILE

if not TYPE_CHECKING:  # a type checker tells of what is missing by itself

    def __getattr__(name: str) -> object:
        raise no_such(name)


__all__ = [
    "all",
    "any",
    "approx_distinct",
    "approx_quantile",
    "arg_max",
    "arg_min",
    "avg",
    "collect",
    "collect_distinct",
    "concat",
    "count",
    "count_distinct",
    "define",
    "first",
    "geometric_mean",
    "last",
    "max",
    "max_count",
    "median",
    "min",
    "min_count",
    "range",
    "stddev",
    "stddev_pop",
    "sum",
    "theta",
    "var_pop",
    "variance",
]
