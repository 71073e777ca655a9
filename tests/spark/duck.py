"""An oracle that shares no code with muntin: DuckDB, by the definition of a window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from muntin import Window

# Events of one time are in order of their values, null first: `{v}` is the value, `{by}` what it stands beside.
_SQL = {
    "count": "count({v})",
    "sum": "sum({v})",
    "avg": "avg({v})",
    "min": "min({v})",
    "max": "max({v})",
    "stddev": "stddev_samp({v})",
    "stddev_pop": "stddev_pop({v})",
    "variance": "var_samp({v})",
    "var_pop": "var_pop({v})",
    "any": "bool_or({v})",
    "all": "bool_and({v})",
    "median": "median({v})",
    "count_distinct": "count(DISTINCT {v})",
    "first": "first({v} ORDER BY us, {v} NULLS FIRST)",
    "last": "last({v} ORDER BY us, {v} NULLS FIRST)",
    "arg_max": "first({v} ORDER BY {by} DESC, us, {v} DESC NULLS LAST)",
    "arg_min": "first({v} ORDER BY {by}, us, {v} NULLS FIRST)",
    # How large the values are that a sum adds up: by that it is rounded.
    "size": "sum(abs({v}::DOUBLE))",
    "size of squares": "sum(({v}::DOUBLE) ** 2)",
    "collect": "list({v} ORDER BY us, {v})",
    "collect_distinct": "list(DISTINCT {v} ORDER BY {v})",
}


def by_duckdb(
    events: pa.Table,
    keys: Sequence[str],
    windows: Sequence[Window],
    aggregates: Mapping[str, tuple[str, tuple[str, ...], str | None]],
) -> list[dict[str, Any]]:
    """Evaluate aggregates, each a function, its columns and a filter, over all windows: `us` is an event's time.

    Every event meets every start that is at most a range before it, and is kept where the window holds it.
    """
    shown = [f"{_call(*what)} AS {name}" for name, what in aggregates.items()]
    listed = ", ".join(f"('{w.id}', {w.range}, {w.slide}, {w.offset})" for w in windows)
    # -0.0 and 0.0 are one group in Spark, and its name is 0.0.
    grouped = ", ".join(["id", "start", *keys])
    text = f"""
        WITH windows(id, range, slide, shift) AS (VALUES {listed}),
        kept AS (SELECT * FROM events WHERE us IS NOT NULL),
        hops AS (
            SELECT kept.*, id, range, slide, us - ((us - shift) % slide + slide) % slide AS latest,
                   unnest(generate_series(0, (range - 1) // slide)) AS hop
            FROM kept, windows
        ),
        placed AS (SELECT *, latest - hop * slide AS start FROM hops)
        SELECT id AS window_id, start, start + any_value(range) AS "end"{"".join(f", {key}" for key in keys)},
               {", ".join(shown)}
        FROM placed WHERE us < start + range
        GROUP BY {grouped}
    """
    with duckdb.connect() as connection:
        connection.register("events", events)
        found = connection.sql(text).to_arrow_table()
    # DuckDB adds up integers to 128 bits, for which Arrow has no integer: decimals without a fraction stand for them.
    wide = [field.name for field in found.schema if pa.types.is_decimal(field.type) and field.type.scale == 0]
    return [
        row | {name: int(row[name]) for name in wide if row[name] is not None and name in aggregates}
        for row in found.to_pylist()
    ]


def _call(function: str, columns: tuple[str, ...], kept: str | None) -> str:
    by, value = (columns[0], columns[1]) if len(columns) > 1 else (columns[0] if columns else "1", None)
    called = _SQL[function].format(v=value or by, by=by)
    conditions = [kept] if kept else []
    if function.startswith("arg_"):
        conditions.append(f"{by} IS NOT NULL")
    if function.startswith("collect"):
        conditions.append(f"{by} IS NOT NULL")
    called += f" FILTER (WHERE {' AND '.join(f'({c})' for c in conditions)})" if conditions else ""
    # Spark's list of nothing is empty, DuckDB's is null.
    return f"coalesce({called}, [])" if function.startswith("collect") else called
