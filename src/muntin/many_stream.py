"""Several queries over one stream: one stateful operator for all, and rows that say which query they are of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

from muntin.errors import QueryError
from muntin.many_plan import same_events, whose
from muntin.query import Query
from muntin.share.together import together
from muntin.show.html import to_fragments
from muntin.stream_plan import StreamPlan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from muntin.physical.choose import Strategy
    from muntin.share.together import Together

QUERY: Final = "query"


@dataclass(frozen=True, slots=True, repr=False)
class ManyStreamPlan:
    """Queries over one stream: `stream()` gives the rows of all, `split()` those of each out of a micro-batch."""

    queries: Mapping[str, Query]
    part: Together
    keyed: tuple[tuple[str, ...], ...]
    """The sets of keys that queries group by; where they are several, each event counts once for each."""
    plan: StreamPlan

    def stream(self, *, mode: Literal["append", "update"] = "append", buckets: int | None = None) -> DataFrame:
        """Build the streaming DataFrame of all queries: `query`, `window_id`, `window`, the keys, the aggregates.

        A window that several queries ask for has a row for each. Keys and aggregates that a query did not ask for are
        null in its rows. An aggregate's column has the query's name before its own where two queries call different
        ones alike. `mode` and `buckets` are those of a single query's `stream()`.
        """
        from muntin.spark.marked import marked

        if mode not in ("append", "update"):
            msg = f"mode must be 'append' or 'update' where several queries are planned together, got {mode!r}"
            raise QueryError(msg)
        return marked(self.part, self.keyed, self.plan.stream(mode=mode, buckets=buckets))

    def run(self, *, keep: bool = True) -> NoReturn:
        """Refuse: a stream has no end."""
        msg = "the queries are over a stream, which run() cannot wait for: use stream(), and split() in foreachBatch"
        raise QueryError(msg)

    def split(self, rows: DataFrame) -> dict[str, DataFrame]:
        """Give the rows of each query, with its own columns, out of a micro-batch in `foreachBatch`."""
        from muntin.spark.marked import parted

        return parted(self.part, rows)

    def explain(self) -> str:
        """Say what the queries share, and how the one operator puts windows together."""
        lines = [
            f"{len(self.queries)} queries by one stateful operator: {len(self.part.windows)} windows, "
            f"{len(self.part.aggregates)} aggregates"
        ]
        if len(self.keyed) > 1:
            sets = "; ".join(", ".join(keys) or "no keys" for keys in self.keyed)
            lines.append(f"events count once for each set of keys: {sets}")
        lines += [f"  {member.name}: {whose(member)}" for member in self.part.members]
        return "\n".join([*lines, "", self.plan.explain()])

    def _repr_html_(self) -> str:
        return to_fragments(self.explain(), {"all windows": self.plan.logical})

    def to_dict(self) -> dict[str, Any]:
        """Give the plan as values that JSON can hold."""
        return {"queries": list(self.queries), "keys": [list(keys) for keys in self.keyed], "plan": self.plan.to_dict()}

    def __repr__(self) -> str:
        return f"<stream plan of {len(self.queries)} queries>"

    def __str__(self) -> str:
        return self.explain()


def check_keys(keys: Sequence[str]) -> None:
    """Refuse a key that is named like the column which says whose a row is.

    >>> check_keys(["device", "Query"])
    Traceback (most recent call last):
    ...
    muntin.errors.QueryError: the key 'Query' is named like the column that says which query a row is of: ...
    """
    for key in keys:
        if key.lower() == QUERY:
            msg = f"the key {key!r} is named like the column that says which query a row is of: rename it first"
            raise QueryError(msg)


def plan_streams(named: Mapping[str, Query], strategy: Strategy) -> ManyStreamPlan:
    """Plan queries over one stream as one query."""
    from muntin.spark.marked import keyed_events

    first_name, first = next(iter(named.items()))
    for name, query in named.items():
        check_keys(query.keys)
        for what, here, other in (
            ("time column", first.time, query.time),
            ("watermark, in microseconds,", first.watermark, query.watermark),
        ):
            if here != other:
                msg = f"queries over one stream have one {what}: {first_name} has {here!r} and {name} {other!r}"
                raise QueryError(msg)
        if not same_events(query, first):
            msg = (
                f"{first_name} and {name} are over different streams. Plan them apart, or begin all with one "
                "DataFrame: what tells queries apart goes into the aggregates, as in agg.count(filter='temp > 30')"
            )
            raise QueryError(msg)
    part = together(named)
    keyed = tuple(dict.fromkeys(query.keys for query in named.values()))
    if len(keyed) == 1:
        source, keys = first.source, first.keys
    else:
        source, keys = keyed_events(first.source, keyed)
    one = Query(source, first.time, keys, part.windows, part.aggregates, first.watermark)
    found = one.plan(strategy=strategy)
    assert isinstance(found, StreamPlan)
    return ManyStreamPlan(dict(named), part, keyed, found)
