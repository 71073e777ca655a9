"""Several queries over a table as they were planned: which share, what was weighed, and the rows of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from muntin.errors import QueryError
from muntin.show.html import to_fragments

if TYPE_CHECKING:
    from types import TracebackType

    from pyspark.sql import DataFrame

    from muntin.physical.plan import Estimate
    from muntin.query import Query
    from muntin.share.together import Member, Together
    from muntin.table_plan import TablePlan
    from muntin.window.spec import Window


@dataclass(frozen=True, slots=True)
class Tree:
    """Queries that are computed as one, and how."""

    part: Together
    plan: TablePlan


@dataclass(frozen=True, slots=True)
class Base:
    """Panes by the keys of several queries, kept for these to read in place of the events."""

    keys: tuple[str, ...]
    pane: Window
    names: tuple[str, ...]
    """The queries."""
    estimate: Estimate
    rows: DataFrame

    @property
    def by(self) -> str:
        """The keys, as text."""
        return ", ".join(self.keys) or "no key"


@dataclass(frozen=True, slots=True)
class Weighed:
    """A way to share that was weighed: how many trees it has, and the seconds that it would take."""

    way: str
    trees: int
    seconds: float


class Results(Mapping[str, "DataFrame"]):
    """The rows of each query, by its name. What queries share is computed once and kept until `unpersist()`."""

    def __init__(self, frames: Mapping[str, DataFrame], kept: list[DataFrame]) -> None:
        self._frames, self._kept = dict(frames), kept

    def __getitem__(self, name: str) -> DataFrame:
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)

    def unpersist(self) -> None:
        """Let go of what was kept: frames that are asked again are computed again."""
        for frame in self._kept:
            frame.unpersist()

    def __enter__(self) -> Results:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.unpersist()

    def __repr__(self) -> str:
        return f"<rows of {', '.join(self._frames)}>"


@dataclass(frozen=True, slots=True, repr=False)
class ManyPlan:
    """Queries over a table, planned together: `run()` gives the rows of each, `explain()` says who shares and why."""

    queries: Mapping[str, Query]
    optimizer: str
    trees: tuple[Tree, ...]
    candidates: tuple[Weighed, ...]
    bases: tuple[Base, ...] = ()

    @property
    def seconds(self) -> float:
        """What the plan is expected to take."""
        return sum(tree.plan.physical.seconds for tree in self.trees) + sum(b.estimate.seconds for b in self.bases)

    def run(self, *, keep: bool = True) -> Results:
        """Build a DataFrame for each query, by its name; rows are computed when first asked for.

        Queries that share are computed in one job when the first of them is asked for, and kept for the others: use the
        results in a `with`, or call `unpersist()` when done. With `keep=False` nothing is kept, and each frame
        computes what it shares by itself.
        """
        from muntin.spark.apart import apart

        frames: dict[str, DataFrame] = {}
        # Before the trees that read them are built: Spark looks for what is kept when a frame is made.
        kept: list[DataFrame] = [base.rows.persist() for base in self.bases] if keep else []
        for tree in self.trees:
            rows = tree.plan.run()
            if tree.plan.query is tree.part.members[0].query:
                frames[tree.part.members[0].name] = rows
                continue
            if keep and len(tree.part.members) > 1:
                rows = rows.persist()
                kept.append(rows)
            frames |= {member.name: apart(member, rows) for member in tree.part.members}
        return Results({name: frames[name] for name in self.queries}, kept)

    def stream(self, *, mode: str = "append", buckets: int | None = None) -> NoReturn:
        """Refuse: a table is there as a whole."""
        msg = "the queries are over a table, not a stream: use run()"
        raise QueryError(msg)

    def native(self) -> dict[str, DataFrame]:
        """Build the plans written by hand, one for each query: the baseline, and the oracle."""
        return {name: query.native() for name, query in self.queries.items()}

    def explain(self) -> str:
        """Say which queries share, what was weighed, and how each tree runs."""
        lines = self._weighed()
        for base in self.bases:
            lines += [
                "",
                f"panes of {base.pane.text(base.pane.range)} by {base.by}, kept for {', '.join(base.names)}: "
                f"{base.estimate.panes:,.0f} rows, {base.estimate.seconds:.3g} s",
            ]
        for number, tree in enumerate(self.trees, 1):
            part = tree.part
            lines += [
                "",
                f"tree {number}: {', '.join(part.names)}: {counted(len(part.windows), 'window', 'windows')}, "
                f"{counted(len(part.aggregates), 'aggregate', 'aggregates')}",
                *(f"  {member.name}: {whose(member)}" for member in part.members if len(part.members) > 1),
                "",
                tree.plan.explain(),
            ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Give the plan as values that JSON can hold."""
        return {
            "optimizer": self.optimizer,
            "seconds": self.seconds,
            "candidates": [{"optimizer": c.way, "trees": c.trees, "seconds": c.seconds} for c in self.candidates],
            "panes": [
                {
                    "keys": list(base.keys),
                    "width_us": base.pane.range,
                    "queries": list(base.names),
                    "rows": base.estimate.panes,
                    "seconds": base.estimate.seconds,
                }
                for base in self.bases
            ],
            "trees": [{"queries": list(tree.part.names), "plan": tree.plan.to_dict()} for tree in self.trees],
        }

    def _weighed(self) -> list[str]:
        return [
            f"{counted(len(self.queries), 'query', 'queries')} in {counted(len(self.trees), 'tree', 'trees')} "
            f"({self.optimizer}), expected to take {self.seconds:.3g} s",
            *(
                f"  {each.way:<8}{counted(each.trees, 'tree', 'trees'):>11} {each.seconds:>10.3g} s"
                f"{'  chosen' if each.way == self.optimizer else ''}"
                for each in self.candidates
            ),
        ]

    def _repr_html_(self) -> str:
        named = {
            f"tree {number}: {', '.join(tree.part.names)}": tree.plan.logical
            for number, tree in enumerate(self.trees, 1)
        }
        return to_fragments("\n".join(self._weighed()), named)

    def __repr__(self) -> str:
        queries, trees = counted(len(self.queries), "query", "queries"), counted(len(self.trees), "tree", "trees")
        return f"<plan of {queries} in {trees}>"

    def __str__(self) -> str:
        return self.explain()


def same_events(x: Query, y: Query) -> bool:
    """Tell whether two queries read the same DataFrame, whose columns have the same names.

    Spark calls frames the same that differ in their columns' names alone, and queries go by names.
    """
    one, two = x.source, y.source
    return one is two or (one.columns == two.columns and bool(one.sameSemantics(two)))


def whose(member: Member) -> str:
    """Say what a query's windows and aggregates are called where it is computed."""
    windows = ", ".join(f"{own}={there}" for there, own in member.windows)
    return f"{windows}; {', '.join(f'{own}={there}' for own, there in member.aggregates.items())}"


def counted(number: int, one: str, several: str) -> str:
    """Write a number with what it counts.

    >>> counted(1, "tree", "trees"), counted(1200, "query", "queries")
    ('1 tree', '1,200 queries')
    """
    return f"{number:,} {one if number == 1 else several}"
