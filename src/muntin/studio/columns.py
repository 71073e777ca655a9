"""Which columns a query reads, and of what types they may be: enough for an empty table that Spark can plan over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from muntin.aggregate.algebra import Aggregate
from muntin.studio.snippets import TIME, guessed_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin.studio.request import Ask

# What an aggregate reads, where that is no number.
_READS: Final = {"any": "boolean", "all": "boolean", "concat": "string"}
_TEXTS: Final = (
    exp.Upper,
    exp.Lower,
    exp.Length,
    exp.Concat,
    exp.Substring,
    exp.Trim,
    exp.Like,
    exp.ILike,
    exp.RegexpLike,
)
_COMPARED: Final = (exp.EQ, exp.NEQ, exp.In, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)


def guessed_schema(ask: Ask) -> str:
    """Write the columns of a query's input as Spark writes them.

    >>> from muntin.studio.request import read_ask
    >>> text = '''SELECT k, MIN(a - b) AS low FROM i TIMESTAMP BY t WHERE u = 'x' GROUP BY k, Tumbling(mi, 5)'''
    >>> guessed_schema(read_ask({"mode": "sql", "sql": text}))
    '`t` timestamp, `u` string, `k` string, `a` double, `b` double'
    """
    found: dict[str, tuple[str, str]] = {}
    for name, kind in _columns(ask):
        # Spark does not tell upper from lower case; what was read first as anything but a key says most.
        if name.lower() not in found or (found[name.lower()][1] == "key" and kind != "key"):
            found[name.lower()] = (found.get(name.lower(), (name, ""))[0], kind)
    return ", ".join(f"{_quoted(name)} {'string' if kind == 'key' else kind}" for name, kind in found.values())


def _columns(ask: Ask) -> Iterator[tuple[str, str]]:
    if ask.query is None:
        yield TIME, "timestamp"
        for _, what in ask.aggregates:
            function = what.function if isinstance(what, Aggregate) else what
            columns = what.columns if isinstance(what, Aggregate) else guessed_columns(what)
            for column in columns:
                yield from _read(str(column), _READS.get(function.name, "double"))
            if isinstance(what, Aggregate) and isinstance(what.filter, str):
                yield from _read(what.filter, "boolean")
        yield from ((key, "key") for key in ask.keys)
        return
    query = ask.query
    time = query.time or TIME
    bare = isinstance(_tree(time), exp.Column)
    yield from _read(time, "timestamp" if bare else "bigint")
    if query.where is not None:
        yield from _read(query.where, "boolean")
    for key in query.keys:
        yield from _read(key.text, "key")
    for over in query.over:
        yield from _read(over, "key")
    for call in query.aggregates:
        for argument in call.arguments:
            if argument != "struct(*)":
                yield from _read(argument, _READS.get(call.function, "double"))
        if call.filter is not None:
            yield from _read(call.filter, "boolean")


def _read(text: str, kind: str) -> Iterator[tuple[str, str]]:
    """Give the columns of an expression, each with the type that its neighbours suggest."""
    tree = _tree(text)
    if tree is None:
        return
    for column in tree.find_all(exp.Column, bfs=False):
        if isinstance(column.this, exp.Star):
            continue
        names = [part.name for part in column.parts]
        yield names[0], _record(names[1:], _kind(column, kind))


def _kind(column: exp.Column, kind: str) -> str:
    if column.parent is None:
        return kind
    above: exp.Expr | None = column.parent
    while isinstance(above, exp.Paren):
        above = above.parent
    if isinstance(above, _TEXTS) or column.find_ancestor(*_TEXTS) is not None:
        return "string"
    if isinstance(above, _COMPARED):
        texts = any(isinstance(each, exp.Literal) and each.is_string for each in above.find_all(exp.Literal))
        return "string" if texts else "double"
    if isinstance(above, (exp.And, exp.Or, exp.Not)):
        return "boolean"
    if isinstance(above, exp.Is):
        return "double"
    # Inside of anything else it is what that is made of: numbers, most of the time.
    return kind if kind in ("bigint", "timestamp") else "double"


def _record(path: list[str], kind: str) -> str:
    """Write the type of a record of which a field is read."""
    for name in reversed(path):
        kind = f"struct<{_quoted(name)}: {'string' if kind == 'key' else kind}>"
    return kind


def _tree(text: str) -> exp.Expr | None:
    try:
        return sqlglot.parse_one(text, dialect="spark")
    except SqlglotError:
        return None


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
