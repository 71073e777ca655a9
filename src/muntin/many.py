"""Several queries over the same events, planned together: `plan([q1, q2])`, and each gets rows of its own."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from muntin.errors import QueryError
from muntin.many_panes import over_panes
from muntin.many_plan import ManyPlan, Tree, Weighed, same_events
from muntin.many_stream import ManyStreamPlan, plan_streams
from muntin.physical.choose import MARGIN
from muntin.query import Query
from muntin.share.together import Together, merged, together
from muntin.table_plan import TablePlan

if TYPE_CHECKING:
    from muntin.many_panes import OverPanes
    from muntin.many_plan import Base
    from muntin.physical.choose import Strategy
    from muntin.physical.statistics import Statistics

_LOG: Final = logging.getLogger(__name__)
ManyOptimizer: TypeAlias = Literal["auto", "none", "full", "weave", "finest", "triweave"]
# So many groups of queries are woven pair by pair; of more, only all together and each alone are weighed.
_WOVEN: Final = 6


def plan(
    queries: Sequence[Query] | Mapping[str, Query],
    *,
    optimizer: ManyOptimizer = "auto",
    strategy: Strategy = "auto",
    statistics: Statistics | None = None,
) -> ManyPlan | ManyStreamPlan:
    """Plan several queries over one table or one stream together, so that they share what they can.

    Queries come in a list (and are called q1, q2, ...) or by name. Those with the same keys may share: one scan, one
    aggregate of panes with the partials of all, windows and aggregates that are the same once. `optimizer` says which
    do: "none" plans each by itself, "full" all in one, "weave" merges two by two as long as that is expected to gain
    (WeaveShare's greedy, with the cost of Spark's plans). Queries with other keys share too where panes of all windows
    by all keys are kept and read in place of the events: "finest" then computes all queries of the same keys as one,
    and "triweave" merges them two by two (TriWeave: one partial aggregator, several trees). "auto" takes the cheapest.
    """
    named = _named(queries)
    if optimizer not in get_args(ManyOptimizer):
        msg = f"optimizer must be one of {', '.join(map(repr, get_args(ManyOptimizer)))}, got {optimizer!r}"
        raise QueryError(msg)
    streams = {query.source.isStreaming for query in named.values()}
    if len(streams) > 1:
        msg = "some of the queries are over a stream and some over a table: plan them apart"
        raise QueryError(msg)
    if streams == {True}:
        if optimizer not in ("auto", "full"):
            msg = f"over a stream all queries share one operator: optimizer must be 'auto' or 'full', got {optimizer!r}"
            raise QueryError(msg)
        return plan_streams(named, strategy)
    return _plan_tables(named, optimizer, strategy, statistics)


def _named(queries: Sequence[Query] | Mapping[str, Query]) -> dict[str, Query]:
    if isinstance(queries, Query):
        queries = [queries]
    if isinstance(queries, Mapping):
        named = dict(queries)
    elif isinstance(queries, Sequence) and not isinstance(queries, str):
        named = {f"q{number}": query for number, query in enumerate(queries, 1)}
    else:
        msg = f"queries are a list of them or a dict by name, got {type(queries).__name__}"
        raise QueryError(msg)
    if not named:
        msg = "there are no queries to plan: give at least one, such as windows(df, ...).over(...).agg(...)"
        raise QueryError(msg)
    for name, query in named.items():
        if not isinstance(name, str) or not name:
            msg = f"a query's name is text, got {name!r}"
            raise QueryError(msg)
        if not isinstance(query, Query):
            msg = f"{name}: a query is what windows(df, ...).over(...).agg(...) gives, got {type(query).__name__}"
            raise QueryError(msg)
    return named


class _Planner:
    """Plans of queries taken together, each made once, with the statistics of its keys looked up once."""

    def __init__(self, strategy: Strategy, statistics: Statistics | None) -> None:
        self.strategy, self._given = strategy, statistics
        self._known: dict[tuple[int, tuple[str, ...]], Statistics] = {}
        self._plans: dict[tuple[str, ...], TablePlan] = {}

    def plan(self, part: Together) -> TablePlan:
        """Plan what is taken together; a query that is alone as it is."""
        if part.names not in self._plans:
            first = part.members[0].query
            assert isinstance(first, Query)
            one = first
            if len(part.members) > 1:
                one = Query(first.source, first.time, first.keys, part.windows, part.aggregates, first.watermark)
            place = (id(one.source), one.keys)
            found = one.plan(strategy=self.strategy, statistics=self._given or self._known.get(place))
            assert isinstance(found, TablePlan)
            self._known[place] = found.physical.statistics
            self._plans[part.names] = found
        return self._plans[part.names]

    def statistics(self, query: Query) -> Statistics:
        """Look at the events of a query, by its keys."""
        from muntin.spark.bound import bind
        from muntin.spark.statistics import left
        from muntin.spark.statistics import statistics as look

        if self._given is not None:
            return self._given
        place = (id(query.source), query.keys)
        if place not in self._known:
            bound = bind(query)
            self._known[place] = left(bound, look(bound))
        return self._known[place]

    def seconds(self, parts: Sequence[Together]) -> float:
        """Add up what parts are expected to take."""
        return sum(self.plan(part).physical.seconds for part in parts)


def _plan_tables(
    named: dict[str, Query], optimizer: ManyOptimizer, strategy: Strategy, statistics: Statistics | None
) -> ManyPlan:
    planner = _Planner(strategy, statistics)
    clusters = _clusters(named)
    ways = {
        "full": [together(cluster) for cluster in clusters],
        "none": [together({name: query}) for cluster in clusters for name, query in cluster.items()],
    }
    if optimizer in ("auto", "weave"):
        ways["weave"] = [part for cluster in clusters for part in _woven(cluster, planner)]
    plans = {
        way: ManyPlan(named, way, tuple(Tree(part, planner.plan(part)) for part in parts), ())
        for way, parts in ways.items()
        if optimizer in ("auto", way)
    }
    if optimizer in ("auto", "finest", "triweave"):
        plans |= _over_panes(named, planner, optimizer)
    # Of equal costs the first: the fewest jobs. Panes to be kept must be worth it, by more than estimates are off.
    best = min(plans.values(), key=lambda found: found.seconds / (MARGIN if found.bases else 1))
    _LOG.info("%d queries in %d trees (%s): %s", len(named), len(best.trees), best.optimizer,
              ", ".join(f"{way} {found.seconds:.3g} s" for way, found in plans.items()))  # fmt: skip
    weighed = tuple(Weighed(way, len(found.trees), found.seconds) for way, found in plans.items())
    return replace(best, candidates=weighed)


def _over_panes(named: dict[str, Query], planner: _Planner, optimizer: ManyOptimizer) -> dict[str, ManyPlan]:
    """Plan queries over the same events by panes that are kept for all, and what cannot read these as in "full"."""
    trees: dict[str, list[Tree]] = {way: [] for way in ("finest", "triweave") if optimizer in ("auto", way)}
    bases: list[Base] = []
    for same in _clusters(named, keys=False):
        over = over_panes(same, planner.strategy, planner.statistics) if len(same) > 1 else None
        readers = () if over is None else over.base.names
        apart = [Tree(part, planner.plan(part)) for part in map(together, _clusters(_without(same, readers)))]
        for found in trees.values():
            found += apart
        if over is None:
            continue
        bases.append(over.base)
        for cluster in _clusters({name: same[name] for name in readers}):
            ways = {"finest": [together(cluster)]}
            if "triweave" in trees:
                ways["triweave"] = _woven(cluster, over)
            for way, found in trees.items():
                found += [Tree(over.part(part), over.plan(part)) for part in ways[way]]
    if not bases and optimizer == "auto":
        return {}
    # With one tree there is nothing to keep panes for: that is "full".
    return {
        way: ManyPlan(named, way, tuple(found), (), tuple(bases))
        for way, found in trees.items()
        if len(found) > 1 or optimizer != "auto"
    }


def _without(named: Mapping[str, Query], names: Collection[str]) -> dict[str, Query]:
    return {name: query for name, query in named.items() if name not in names}


def _clusters(named: Mapping[str, Query], *, keys: bool = True) -> list[dict[str, Query]]:
    """Part queries by what must be the same to share: the events, their time and, unless told else, the keys."""
    clusters: list[dict[str, Query]] = []
    for name, query in named.items():
        for cluster in clusters:
            other = next(iter(cluster.values()))
            alike = query.time == other.time and (not keys or query.keys == other.keys)
            if alike and same_events(query, other):
                cluster[name] = query
                break
        else:
            clusters.append({name: query})
    return clusters


def _woven(cluster: Mapping[str, Query], planner: _Planner | OverPanes) -> list[Together]:
    """Merge two by two, the pair that gains most first, as long as a merge gains."""
    parts: list[Together] = []
    for name, query in cluster.items():
        # The same aggregates over more windows: nothing is computed that nobody asked for.
        single = together({name: query})
        for place, part in enumerate(parts):
            both = merged([part, single])
            if len(both.aggregates) == len(part.aggregates) == len(single.aggregates):
                parts[place] = both
                break
        else:
            parts.append(single)
    if len(parts) > _WOVEN:
        return parts
    while len(parts) > 1:
        gains = {
            pair: planner.seconds([parts[i] for i in pair]) - planner.seconds([merged(parts[i] for i in pair)])
            for pair in combinations(range(len(parts)), 2)
        }
        best = max(gains, key=lambda pair: gains[pair])
        if gains[best] <= 0:
            break
        both = merged(parts[i] for i in best)
        parts = [both, *(part for i, part in enumerate(parts) if i not in best)]
    return parts
