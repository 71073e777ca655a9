"""A set of queries made ready for planning: each distinct one once, with what it costs alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from muntin.errors import WindowError
from muntin.share.bundle import bundles_of, merged, settled
from muntin.share.omega import load
from muntin.window.spec import Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from muntin.share.bundle import Bundle
    from muntin.share.combs import Cut
    from muntin.share.omega import Floats, Load


@dataclass(frozen=True, slots=True, eq=False)
class QuerySet:
    """Queries as they were given, the distinct ones of them, and these in bundles of the same edges.

    `often` counts how often each distinct query was given, `edges` are the edges that each has alone, `whole` is all
    of them in one tree.
    """

    given: tuple[Window, ...]
    distinct: tuple[Window, ...]
    often: tuple[int, ...]
    cut: Cut
    bundles: tuple[Bundle, ...]
    whole: Bundle
    ranges: Floats
    slides: Floats
    edges: Floats

    def alone(self) -> Iterator[Load]:
        """Yield the load of a tree for each distinct query."""
        for i in range(len(self.distinct)):
            yield load(self.ranges[i : i + 1], self.slides[i : i + 1], float(self.edges[i]))


def query_set(queries: Iterable[Window], cut: Cut = "pairs") -> QuerySet:
    """Check queries, and make them ready; identical ones are welcome, and so are ids that stand twice.

    >>> found = query_set([Window(6, 2), Window(8, 4), Window(6, 2, id="again")])
    >>> found.distinct, found.often, found.edges
    ((Window(6, 2), Window(8, 4)), (2, 1), array([0.5 , 0.25]))
    """
    given = (queries,) if isinstance(queries, (Window, str)) else tuple(queries)
    if not given:
        msg = "there are no queries: give at least one window, for example hopping('1h', slide='10m')"
        raise WindowError(msg)
    for query in given:
        if not isinstance(query, Window):
            msg = f"a query is a window such as hopping('1h', slide='10m') or Window(20, 10), got {query!r}"
            raise WindowError(msg)
        if query.timed != given[0].timed:
            msg = (
                f"{given[0]!r} and {query!r} cannot be planned together: one counts microseconds, the other a plain "
                "unit. Declare all of them with durations, or none"
            )
            raise WindowError(msg)
    counts = Counter(given)
    distinct = tuple(counts)
    bundles = tuple(bundles_of(distinct, cut))
    edges = np.empty(len(distinct))
    for bundle in bundles:
        edges[list(bundle.places)] = bundle.load.rate
    ranges = np.array([query.range for query in distinct], float)
    slides = np.array([query.slide for query in distinct], float)
    whole = settled(reduce(merged, bundles))
    return QuerySet(given, distinct, tuple(counts.values()), cut, bundles, whole, ranges, slides, edges)
