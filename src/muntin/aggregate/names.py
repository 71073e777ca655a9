"""The built-in aggregates by name, and the names that other systems give them."""

from __future__ import annotations

import difflib
import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from muntin.aggregate import extrema, holistic, moments, sequence, sketches, totals
from muntin.aggregate.algebra import Aggregate, AggregateFunction
from muntin.errors import AggregateError

if TYPE_CHECKING:
    from collections.abc import Mapping

_FUNCTIONS: tuple[AggregateFunction, ...] = (
    totals.COUNT,
    totals.SUM,
    extrema.MIN,
    extrema.MAX,
    totals.AVG,
    totals.GEOMETRIC_MEAN,
    moments.VARIANCE,
    moments.VAR_POP,
    moments.STDDEV,
    moments.STDDEV_POP,
    extrema.RANGE,
    extrema.MIN_COUNT,
    extrema.MAX_COUNT,
    extrema.ARG_MIN,
    extrema.ARG_MAX,
    extrema.ANY,
    extrema.ALL,
    sequence.FIRST,
    sequence.LAST,
    sequence.COLLECT,
    sequence.COLLECT_DISTINCT,
    sequence.CONCAT,
    holistic.MEDIAN,
    holistic.COUNT_DISTINCT,
    sketches.APPROX_DISTINCT,
    sketches.THETA,
    sketches.APPROX_QUANTILE,
)

BUILT_IN: Mapping[str, AggregateFunction] = MappingProxyType({f.name: f for f in _FUNCTIONS})
"""Every built-in aggregate by its own name."""

# From SQL, Spark, Azure Stream Analytics and Table 1; case, spaces, `-` and `_` do not count.
# Spark's max_by and min_by are left out: they take the two columns the other way round.
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "arithmetic mean": "avg",
        "average": "avg",
        "mean": "avg",
        "geomean": "geometric_mean",
        "minimum": "min",
        "maximum": "max",
        "total": "sum",
        "var": "variance",
        "var samp": "variance",
        "sample variance": "variance",
        "varp": "var_pop",
        "variance pop": "var_pop",
        "population variance": "var_pop",
        "std": "stddev",
        "stdev": "stddev",
        "stddev samp": "stddev",
        "sample stddev": "stddev",
        "stdevp": "stddev_pop",
        "population stddev": "stddev_pop",
        "some": "any",
        "bool or": "any",
        "every": "all",
        "bool and": "all",
        "first value": "first",
        "last value": "last",
        "collect list": "collect",
        "array agg": "collect",
        "collect set": "collect_distinct",
        "string agg": "concat",
        "list agg": "concat",
        "percentile 50": "median",
        "distinct count": "count_distinct",
        "approx count distinct": "approx_distinct",
        "hll": "approx_distinct",
        "theta sketch": "theta",
        "approx percentile": "approx_quantile",
        "percentile approx": "approx_quantile",
        "kll": "approx_quantile",
    }
)


def resolve(what: str | AggregateFunction | Aggregate) -> AggregateFunction:
    """Find the function that a name or an applied aggregate stands for.

    >>> resolve("Mean"), resolve("STDDEV_SAMP"), resolve("ArgMax"), resolve(totals.SUM("x"))
    (<aggregate avg>, <aggregate stddev>, <aggregate arg_max>, <aggregate sum>)
    >>> resolve("medain")
    Traceback (most recent call last):
    ...
    muntin.errors.AggregateError: unknown aggregate 'medain'. Did you mean `median`? Known are ...
    """
    if isinstance(what, AggregateFunction):
        return what
    if isinstance(what, Aggregate):
        return what.function
    if not isinstance(what, str):
        twin = find(getattr(what, "__name__", ""))
        hint = f"agg.{twin.name}" if twin else "agg.min, agg.sum('x') or 'avg'"
        msg = f"expected an aggregate or the name of one, got {what!r}. Write {hint}"
        raise AggregateError(msg)
    found = find(what)
    if found is None:
        close = difflib.get_close_matches(_key(what), _BY_KEY, n=1, cutoff=0.6)
        guess = f" Did you mean `{_BY_KEY[close[0]].name}`?" if close else ""
        msg = f"unknown aggregate {what!r}.{guess} Known are {', '.join(sorted(BUILT_IN))}"
        raise AggregateError(msg)
    return found


def find(name: str) -> AggregateFunction | None:
    """Find a built-in aggregate by its name or an alias; None if there is none.

    >>> find("collect-list"), find("mode")
    (<aggregate collect>, None)
    """
    return _BY_KEY.get(_key(name))


def no_such(name: str) -> AttributeError:
    """Say which aggregate to take for a name that the catalogue does not have.

    >>> no_such("mean"), no_such("medain")
    (AttributeError('there is no agg.mean: take agg.avg'), AttributeError('there is no agg.medain: take agg.median'))
    """
    if name.startswith("_"):
        # Tools look these up, and nobody reads what they are told.
        return AttributeError(f"module 'muntin.aggregate.catalog' has no attribute {name!r}")
    key = _key(name)
    close = difflib.get_close_matches(key, [*_ELSEWHERE, *_BY_KEY], n=1, cutoff=0.6)
    known = key if key in _ELSEWHERE or key in _BY_KEY else close[0] if close else None
    if known is None:
        take = f"known are {', '.join(sorted(BUILT_IN))}, and agg.define makes one of your own"
    else:
        take = f"take {_ELSEWHERE[known] if known in _ELSEWHERE else f'agg.{_BY_KEY[known].name}'}"
    return AttributeError(f"there is no agg.{name}: {take}")


def _key(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()


_BY_KEY = {_key(name): function for name, function in BUILT_IN.items()} | {
    _key(alias): BUILT_IN[name] for alias, name in ALIASES.items()
}

# What goes by these names elsewhere takes other arguments here, so that they are no aliases.
_ELSEWHERE = {
    "maxby": "agg.arg_max, with the columns the other way round: max_by(x, y) is agg.arg_max('y', 'x')",
    "minby": "agg.arg_min, with the columns the other way round: min_by(x, y) is agg.arg_min('y', 'x')",
    "percentile": "agg.approx_quantile('x', q=0.9), or agg.median, which is exact",
    "quantile": "agg.approx_quantile('x', q=0.9), or agg.median, which is exact",
}
