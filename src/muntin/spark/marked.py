"""Rows of several queries in one stream: events for each set of keys, and rows marked with the query they are of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from muntin.declare.query import WINDOW, WINDOW_ID
from muntin.many_stream import QUERY
from muntin.spark.bound import field
from muntin.spark.execute import shown
from muntin.spark.panes import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from muntin.share.together import Member, Together

_KEYED: Final = "keyed_by"


def keyed_events(events: DataFrame, keyed: Sequence[tuple[str, ...]]) -> tuple[DataFrame, tuple[str, ...]]:
    """Give each event once for each set of keys: under the set's number the keys of the set, and null for others.

    The columns that are keys stay as they are, since aggregates may read them: the copies to group by have new names.
    """
    mark = _KEYED
    while any(column.lower().startswith(mark) for column in events.columns):
        mark = f"{mark}_"
    names = list(dict.fromkeys(key for keys in keyed for key in keys))
    marked = events.withColumn(mark, F.explode(F.array(*map(F.lit, range(len(keyed))))))
    copies = {
        f"{mark}_{place}": F.when(
            F.col(mark).isin([number for number, keys in enumerate(keyed) if name in keys]), field(events, name)
        )
        for place, name in enumerate(names)
    }
    return marked.withColumns(copies), (mark, *copies)


def marked(
    part: Together,
    keyed: Sequence[tuple[str, ...]],
    rows: DataFrame,
    since: Mapping[tuple[str, str], int] | None = None,
    instant: Callable[[Column], Column] = F.timestamp_micros,
) -> DataFrame:
    """Say of each row whose it is, and call what it holds as the queries do.

    `since` says, by query and id, where a window first starts, in microseconds: rows from before are not the query's.
    """
    names = list(dict.fromkeys(key for keys in keyed for key in keys))
    # With one set of keys they have their own names already; with several there is a mark, and then copies.
    there = rows.columns[2 : 2 + len(names) + (len(keyed) > 1)]
    mark, copies = (there[0], there[1:]) if len(keyed) > 1 else (None, there)
    # As text, and looked up by number: a thousand queries as nested expressions are more than Spark's stack can take.
    place = F.substring(WINDOW_ID, 2, 9).cast("int") * len(keyed)
    place = place if mark is None else place + F.col(mark)
    kind = f"array<array<struct<{QUERY}:string,{WINDOW_ID}:string,since:bigint>>>"
    whose = F.from_json(F.lit(json.dumps(_whose(part, keyed, since or {}))), kind)
    exploded = rows.withColumn("_mt_of", F.explode(F.get(whose, place)))
    if since:
        first = F.col("_mt_of")["since"]
        exploded = exploded.where(first.isNull() | (F.col(WINDOW)["start"] >= instant(first)))
    values = []
    for own, members in _called(part).items():
        (id_there,) = {there for _, there in members}
        mine = F.col("_mt_of")[QUERY].isin([member.name for member, _ in members])
        values.append(F.when(mine, quoted(id_there)).alias(own))
    return exploded.select(
        F.col("_mt_of")[QUERY].alias(QUERY),
        F.col("_mt_of")[WINDOW_ID].alias(WINDOW_ID),
        F.col(WINDOW),
        *(quoted(copy).alias(name) for copy, name in zip(copies, names, strict=True)),
        *values,
    )


def parted(part: Together, rows: DataFrame, wanted: Collection[str] | None = None) -> dict[str, DataFrame]:
    """Give the rows of each query, or of those that are wanted, with its own columns."""
    names = {(member.name, there): own for own, several in _called(part).items() for member, there in several}
    found = {}
    for member in part.members:
        if wanted is not None and member.name not in wanted:
            continue
        query = member.query
        columns: list[Column] = [F.col(WINDOW_ID), F.col(WINDOW), *(quoted(key) for key in query.keys)]
        columns += [quoted(names[member.name, there]).alias(own) for own, there in member.aggregates.items()]
        found[member.name] = shown(query, rows.where(F.col(QUERY) == member.name).select(*columns))
    return found


def _whose(
    part: Together, keyed: Sequence[tuple[str, ...]], since: Mapping[tuple[str, str], int]
) -> list[list[dict[str, str | int | None]]]:
    """List, by the number of the window and then of the keys, who asks for a row, and what they call its window.

    The windows of queries taken together are called w0, w1, ...
    """
    numbers = [int(window.id[1:]) for window in part.windows]
    found: list[list[dict[str, str | int | None]]] = [[] for _ in range((max(numbers) + 1) * len(keyed))]
    for member in part.members:
        for there, own in member.windows:
            row = {QUERY: member.name, WINDOW_ID: own, "since": since.get((member.name, own))}
            found[int(there[1:]) * len(keyed) + keyed.index(member.query.keys)].append(row)
    return found


def _called(part: Together) -> dict[str, list[tuple[Member, str]]]:
    """Name the columns of aggregates: as the queries do, with the query's name before it where they disagree."""
    by_name: dict[str, list[tuple[Member, str]]] = {}
    for member in part.members:
        for own, there in member.aggregates.items():
            by_name.setdefault(own.lower(), []).append((member, there))
    keys = {key.lower() for member in part.members for key in member.query.keys} | {QUERY}
    found: dict[str, list[tuple[Member, str]]] = {}
    spelled: dict[str, tuple[str, str]] = {}
    for member in part.members:
        for own, there in member.aggregates.items():
            several = by_name[own.lower()]
            alike = len({id_there for _, id_there in several}) == 1 and own.lower() not in keys
            name = own if alike else f"{member.name}_{own}"
            # Two names put together may give the same as two others; Spark does not tell upper from lower case.
            while name.lower() in keys or spelled.get(name.lower(), (name, there))[1] != there:
                name += "_"
            name, _ = spelled.setdefault(name.lower(), (name, there))
            found.setdefault(name, []).append((member, there))
    return found
