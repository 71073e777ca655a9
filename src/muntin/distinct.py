"""Distinct items over windows: `distinct(df, time=, items=, windows=)`, all windows from one pass over the events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin.declare.query import RESERVED, WINDOW, WINDOW_ID
from muntin.errors import QueryError
from muntin.query import named
from muntin.window.spec import window_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import Column, DataFrame

    from muntin.window.spec import Window


def distinct(
    df: DataFrame,
    *,
    time: str | Column,
    keys: str | Column | Sequence[str | Column] = (),
    items: str | Column | Sequence[str | Column],
    windows: Iterable[Window],
) -> DataFrame:
    """List the distinct items of each window and key: window_id, window, the keys, the items.

    `items` are one or several columns, whose values together make an item; a null is a value like others, as in
    `DataFrame.distinct()`. Keys, items and the time are names, or Spark expressions with an alias. An item is there
    once for each interval of each window that holds an event with it. The events are read once, whatever the windows.
    """
    if not hasattr(df, "groupBy"):
        msg = f"the events must be a Spark DataFrame, got {type(df).__name__}"
        raise QueryError(msg)
    several = window_set(windows)
    if not several[0].timed:
        msg = f"{several[0]!r} counts a plain unit, and events have times: declare it with durations"
        raise QueryError(msg)
    of, what = _columns("keys", keys), _columns("items", items)
    if not what:
        msg = "there is nothing to list: name the column whose distinct values you want with items="
        raise QueryError(msg)
    if df.isStreaming:
        msg = (
            "the events are a stream, and an item's first appearance in a window is known once all events are there. "
            "Take agg.collect_distinct for the items, or agg.approx_distinct for their number: "
            "windows(df, ..., watermark='10s').over(...).agg(...).plan().stream(). Or write the events to a table first"
        )
        raise QueryError(msg)
    frame, names, covered = named(df, [time, *of, *what], "a key, an item or the time")
    if covered and not covered.timed and names[0] in covered.made:
        msg = f"a key or an item is called like the time column {names[0]!r}: give it another name with .alias(...)"
        raise QueryError(msg)
    key_names, item_names = names[1 : 1 + len(of)], names[1 + len(of) :]
    _check_names(key_names, item_names)
    from muntin.spark.distincts import listed

    return listed(frame, names[0], key_names, item_names, several)


def _columns(what: str, given: str | Column | Sequence[str | Column]) -> list[str | Column]:
    several = [given] if isinstance(given, str) or hasattr(given, "cast") else given
    if not isinstance(several, (list, tuple)):
        msg = f"{what} are a column's name, a Spark expression, or a list of them, got {given!r}"
        raise QueryError(msg)
    return list(several)


def _check_names(keys: Sequence[str], items: Sequence[str]) -> None:
    """Refuse names that the result would have twice, or that are muntin's own."""
    seen = {WINDOW_ID: "the result's own column", WINDOW: "the result's own column"}
    for role, names in (("key", keys), ("item", items)):
        for name in names:
            if not name or name.lower().startswith(RESERVED):
                msg = f"the {role} {name!r} needs another name: it must have one, not beginning with {RESERVED!r}"
                raise QueryError(msg)
            # Spark's names do not tell upper from lower case unless it is told to.
            if name.lower() in seen:
                msg = f"the {role} {name!r} is named like {seen[name.lower()]}: rename it first, or name it once"
                raise QueryError(msg)
            seen[name.lower()] = f"the {role} {name!r}"
