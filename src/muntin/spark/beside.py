"""Keys that are named like a column of the events: what aggregates read of that column is kept beside the key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.aggregate.algebra import written
from muntin.declare.query import RESERVED
from muntin.errors import QueryError
from muntin.spark.bound import bind, condition, field, find_columns
from muntin.spark.reason import reason

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import TypeAlias

    from pyspark.sql import Column, DataFrame

    from muntin.aggregate.algebra import Aggregate
    from muntin.spark.bound import Bound

    Call: TypeAlias = tuple[list[Column], Column | None]

HIDDEN_TIME = f"{RESERVED}time"


def beside(calls: Sequence[Call]) -> tuple[dict[str, Column], list[Call]]:
    """Give what aggregates read columns of their own: these, and the arguments and filters by their names."""
    made: dict[str, Column] = {}
    found: list[Call] = []
    for place, (arguments, kept) in enumerate(calls):
        names = [f"{RESERVED}a{place}_{i}" for i in range(len(arguments))]
        made |= dict(zip(names, arguments, strict=True))
        if kept is not None:
            made[f"{RESERVED}f{place}"] = kept
        found.append(([F.col(name) for name in names], None if kept is None else F.col(f"{RESERVED}f{place}")))
    return made, found


def with_inputs(
    frame: DataFrame, made: Mapping[str, Column], timed: bool, time: str, aggregates: Sequence[tuple[str, Aggregate]]
) -> tuple[DataFrame, tuple[tuple[str, Aggregate], ...]]:
    """Give a frame its keys and, under its hidden name, the time; and aggregates what they read of it as it was.

    `timed` tells whether the time is one of those that are `made`: a key may be called like the time's column.
    """
    read = [(f"`{n}` reads", c) for n, aggregate in aggregates for c in aggregate.columns if isinstance(c, str)]
    find_columns(read if timed else [("the time column", time), *read], frame)
    when = made[time] if timed else field(frame, time)
    calls: list[Call] = [
        (
            [field(frame, column) if isinstance(column, str) else column for column in aggregate.columns],
            None if aggregate.filter is None else condition(aggregate.filter, name),
        )
        for name, aggregate in aggregates
    ]
    inputs, calls = beside(calls)
    try:
        # All at once, and under names of their own: a key may have the name of a column that another key or an
        # aggregate reads, or of two columns of a join, which must be gone before there is a third.
        hidden = {f"{RESERVED}n{place}": name for place, name in enumerate(made)}
        keys = {there: made[name] for there, name in hidden.items()}
        result = frame.withColumns({**keys, HIDDEN_TIME: when, **inputs}).drop(*made).withColumnsRenamed(hidden)
        _ = result.schema
    except (AnalysisException, ParseException) as error:
        msg = f"what the aggregates read, a key or the time cannot be taken from the DataFrame: {reason(error)}"
        raise QueryError(msg) from error
    return result, tuple(
        (name, replace(aggregate, columns=tuple(arguments), filter=kept))
        for (name, aggregate), (arguments, kept) in zip(aggregates, calls, strict=True)
    )


def computed(bound: Bound, names: Sequence[str]) -> Bound:
    """Give what some aggregates read columns of its own, if any of it is more than a column that holds one value."""
    query = bound.query
    if bound.partials:
        return bound
    nested = {
        f.name for f in query.source.schema.fields if isinstance(f.dataType, (T.StructType, T.ArrayType, T.MapType))
    }
    aggregates = [(name, aggregate) for name, aggregate in query.aggregates if name in names]
    plain = {name for name in query.source.columns if name not in nested}
    if all(_is_plain(aggregate, plain, nested) for _, aggregate in aggregates):
        return bound
    source, found = with_inputs(query.source, {}, False, query.time, aggregates)
    return bind(replace(query, source=source, time=HIDDEN_TIME, aggregates=found))


def _is_plain(aggregate: Aggregate, plain: Collection[str], nested: Collection[str]) -> bool:
    """Tell whether an aggregate reads columns as they are, and asks of them no more than to compare them."""
    kept = aggregate.filter
    if kept is not None and (nested or not isinstance(kept, str) or "(" in kept):
        return False
    return all(written(column) in plain for column in aggregate.columns)
