"""The SELECT list: what each column is called, and its text over internal names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from muntin.declare.query import RESERVED
from muntin.declare.sql.aggregates import is_aggregate
from muntin.declare.sql.expression import is_timestamp, is_window_id, spark_text
from muntin.declare.sql.grouping import unique
from muntin.declare.sql.query import OWN_NAMES, Output

if TYPE_CHECKING:
    from muntin.declare.sql.grouped import Groups


def read_outputs(items: list[exp.Expr], groups: Groups) -> tuple[Output, ...]:
    """Name and rewrite the SELECT list."""
    source = groups.source
    given = [_given(item) for item in items]
    texts = [
        spark_text(groups.rewrite(item.unalias().unnest(), alias), source)
        for item, alias in zip(items, given, strict=True)
    ]
    taken: set[str] = set()
    for item, name, text in zip(items, given, texts, strict=True):
        at = item.args["alias"] if isinstance(item, exp.Alias) else item
        if name.lower() in OWN_NAMES and text != name.lower():
            source.fail_on(f"{name!r} is the name of the window's own column: give this one another with AS", at)
        if name.lower().startswith(RESERVED):
            source.fail_on(f"names that begin with {RESERVED!r} are reserved: choose another with AS", at)
        if name and name.lower() in taken:
            source.fail_on(f"the result has two columns {name!r} (case does not count): name one of them with AS", at)
        taken |= {name.lower()} - {""}
    numbered = enumerate(zip(items, given, texts, strict=True), start=1)
    return tuple(
        Output(name or unique(_default(item, place, groups), taken), text) for place, (item, name, text) in numbered
    )


def _given(item: exp.Expr) -> str:
    if isinstance(item, exp.Alias):
        return item.alias
    if isinstance(item, exp.Column) and not is_timestamp(item) and not isinstance(item.this, exp.Star):
        return item.name
    return ""


def _default(item: exp.Expr, place: int, groups: Groups) -> str:
    if isinstance(item, exp.Dot) and not is_window_id(item) and not is_timestamp(item):
        return str(item.expression.name)
    if not groups.azure:
        return item.sql("spark", comments=False, normalize_functions="lower")
    if is_window_id(item):
        return "window_id"
    if is_timestamp(item):
        return "window_end"
    call = item.this if isinstance(item, (exp.Window, exp.Filter)) else item
    if is_aggregate(call) and "start" in call.meta:  # sqlglot knows no place of some, STRING_AGG is one
        return groups.source.text[call.meta["start"] : call.meta["end"] + 1].lower()
    return f"column_{place}"
