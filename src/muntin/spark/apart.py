"""The rows of one query, out of those that several queries share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from muntin.declare.query import WINDOW, WINDOW_ID
from muntin.spark.execute import shown
from muntin.spark.panes import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from muntin.share.together import Member


def apart(member: Member, rows: DataFrame) -> DataFrame:
    """Take a query's windows and aggregates, under the names that it has for them."""
    query = member.query
    mine = rows.where(F.col(WINDOW_ID).isin(sorted({there for there, _ in member.windows})))
    columns = [
        called(member).alias(WINDOW_ID),
        F.col(WINDOW),
        *(quoted(key) for key in query.keys),
        *(quoted(there).alias(own) for own, there in member.aggregates.items()),
    ]
    return shown(query, mine.select(*columns))


def called(member: Member) -> Column:
    """Give a window the id that it has in a query; a row for each, where it has several."""
    ids: dict[str, list[str]] = {}
    for there, own in member.windows:
        ids.setdefault(there, []).append(own)
    several = max(map(len, ids.values())) > 1
    pairs: list[Column] = []
    for there, names in ids.items():
        pairs += [F.lit(there), F.array(*map(F.lit, names)) if several else F.lit(names[0])]
    found = F.element_at(F.create_map(*pairs), F.col(WINDOW_ID))
    return F.explode(found) if several else found
