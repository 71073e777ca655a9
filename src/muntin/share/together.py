"""Several queries as one: the windows and aggregates of all, each once, and which of them are whose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from muntin.aggregate.algebra import Aggregate
    from muntin.declare.query import WindowQuery
    from muntin.window.spec import Window


@dataclass(frozen=True, slots=True)
class Member:
    """A query's part in what is computed: its name, and what its windows and aggregates are called there."""

    name: str
    query: WindowQuery
    windows: tuple[tuple[str, str], ...]
    """The windows: their ids there, and in the query. A query may call one window by two ids."""
    aggregates: Mapping[str, str]
    """From the aggregates' names in the query to those there."""


@dataclass(frozen=True, slots=True)
class Together:
    """One query in the place of several: `windows` and `aggregates` are those of all, each once."""

    windows: tuple[Window, ...]
    aggregates: tuple[tuple[str, Aggregate], ...]
    members: tuple[Member, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The queries."""
        return tuple(member.name for member in self.members)


def together(queries: Mapping[str, WindowQuery]) -> Together:
    """Take queries together: windows that are the same, and aggregates that are, stand once.

    >>> from muntin import agg, tumbling
    >>> from muntin.declare.query import WindowQuery
    >>> one = WindowQuery(None, "ts", ("k",), (tumbling("5m"), tumbling("1h")), (("n", agg.count()),))
    >>> asked = (("rows", agg.count()), ("low", agg.min("v")))
    >>> two = WindowQuery(None, "ts", ("k",), (tumbling("1h", id="hour"),), asked)
    >>> found = together({"one": one, "two": two})
    >>> [str(window) for window in found.windows], [name for name, _ in found.aggregates]
    (['5m', '1h'], ['a0', 'a1'])
    >>> found.members[1].windows, found.members[1].aggregates
    ((('w1', 'hour'),), {'rows': 'a0', 'low': 'a1'})
    """
    windows: dict[Window, Window] = {}
    aggregates: list[tuple[str, Aggregate]] = []
    members = []
    # A result has the keys beside the aggregates: none may be called like another.
    keys = {key.lower() for query in queries.values() for key in query.keys}
    for name, query in queries.items():
        called = []
        for window in query.windows:
            # Equal windows may have different ids.
            there = windows.setdefault(window, replace(window, id=f"w{len(windows)}"))
            called.append((there.id, window.id))
        known = {}
        for own, aggregate in query.aggregates:
            same = next((there for there, other in aggregates if _same(other, aggregate)), None)
            if same is None:
                same = f"a{len(aggregates)}"
                while same in keys:
                    same += "_"
                aggregates.append((same, aggregate))
            known[own] = same
        members.append(Member(name, query, tuple(called), known))
    return Together(tuple(windows.values()), tuple(aggregates), tuple(members))


def _same(x: Aggregate, y: Aggregate) -> bool:
    """Tell whether two aggregates are the same; of Spark expressions only those that are one object."""
    if x.function != y.function or x.params != y.params or len(x.columns) != len(y.columns):
        return False
    return all(_equal(a, b) for a, b in zip((*x.columns, x.filter), (*y.columns, y.filter), strict=True))


def _equal(x: Any, y: Any) -> bool:
    # Two Spark expressions compared with == are a third one.
    return x is y or (isinstance(x, str) and isinstance(y, str) and x == y)


def merged(parts: Iterable[Together]) -> Together:
    """Take several of them together."""
    return together({member.name: member.query for part in parts for member in part.members})


def taken_out(whole: Together, names: Collection[str]) -> Together:
    """Take some of the queries out again: what they ask for, called as it is among all.

    >>> from muntin import agg, tumbling
    >>> from muntin.declare.query import WindowQuery
    >>> one = WindowQuery(None, "ts", ("k",), (tumbling("5m"), tumbling("1h")), (("n", agg.count()),))
    >>> two = WindowQuery(None, "ts", (), (tumbling("1h"),), (("low", agg.min("v")),))
    >>> found = taken_out(together({"one": one, "two": two}), {"two"})
    >>> [window.id for window in found.windows], found.aggregates, found.names
    (['w1'], (('a1', min(v)),), ('two',))
    """
    members = tuple(member for member in whole.members if member.name in names)
    windows = {there for member in members for there, _ in member.windows}
    aggregates = {there for member in members for there in member.aggregates.values()}
    return Together(
        tuple(window for window in whole.windows if window.id in windows),
        tuple(pair for pair in whole.aggregates if pair[0] in aggregates),
        members,
    )
