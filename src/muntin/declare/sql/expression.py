"""Expressions of the input: checked, told apart, and written as Spark SQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import ErrorLevel, exp
from sqlglot.errors import SqlglotError
from sqlglot.parsers.tsql import TSQLParser

from muntin.declare.sql import azure_windows, spark_window
from muntin.declare.sql.aggregates import fail_unknown, is_aggregate
from muntin.declare.sql.dialect import LOGARITHMS

if TYPE_CHECKING:
    from muntin.declare.sql.source import Source

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONSTANTS = {"true", "false", "null"}
_SPARK_TOO = {word.lower() for word in LOGARITHMS}


def prepare(select: exp.Select, names: tuple[tuple[str, ...], ...]) -> None:
    """Drop the input's own name before columns, and quote the names that Spark needs quoted.

    >>> import sqlglot
    >>> select = sqlglot.parse_one("SELECT Input.a, r.b FROM Input", into=exp.Select)
    >>> prepare(select, (("input",),))
    >>> select.sql("spark")
    'SELECT a, r.b FROM Input'
    """
    for column in select.find_all(exp.Column):
        parts = column.parts
        for name in names:
            if len(parts) > len(name) and tuple(part.name.lower() for part in parts[: len(name)]) == name:
                kept = [part.copy() for part in parts[len(name) :]]
                for place, part in zip(("this", "table", "db", "catalog"), [*reversed(kept), None, None, None],
                                       strict=False):  # fmt: skip
                    column.set(place, part)
                break
    for identifier in select.find_all(exp.Identifier):
        if not is_plain(identifier.name):
            identifier.set("quoted", True)


def spark_text(node: exp.Expr, source: Source) -> str:
    """Write an expression as Spark SQL."""
    try:
        return node.sql("spark", comments=False, unsupported_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        source.fail_on(f"this has no form in Spark: {error}", node)


def spelling(node: exp.Expr, *, fields: bool = True) -> str:
    """Write an expression so that two that mean the same column are one text: case and quotes of names are gone.

    Without `fields` their case stays: what looks like a field may be the key of a map, which case tells apart.

    >>> spelling(exp.column("A", quoted=True)) == spelling(exp.column("a"))
    True
    >>> spelling(exp.column("A", table="M"), fields=False)
    'm.A'
    """
    copy = node.unnest().copy()
    for identifier in copy.find_all(exp.Identifier):
        if fields or not _is_field(identifier):
            identifier.set("this", identifier.name.lower())
        identifier.set("quoted", False)
    return copy.sql("spark", comments=False, normalize_functions="lower")


def _is_field(identifier: exp.Identifier) -> bool:
    around = identifier.parent
    if isinstance(around, exp.Column):
        return identifier is not around.parts[0]
    return isinstance(around, exp.Dot) and identifier.arg_key == "expression"


def is_plain(text: str) -> bool:
    """Tell whether a name means a column without quotes: `true` would be the constant.

    >>> is_plain("low"), is_plain("low temp"), is_plain("True")
    (True, False, False)
    """
    return _PLAIN.fullmatch(text) is not None and text.lower() not in _CONSTANTS


def name(text: str, *, quoted: bool = False) -> exp.Column:
    """Make a column of the given name, quoted where it must be.

    >>> name("low").sql("spark"), name("low temp").sql("spark")
    ('low', '`low temp`')
    """
    return exp.column(exp.to_identifier(text, quoted=quoted or not is_plain(text)))


def operand(node: exp.Expr) -> exp.Expr:
    """Copy an expression so that it can stand beside any operator.

    >>> operand(exp.column("a") + 1).sql(), operand(exp.column("a")).sql()
    ('(a + 1)', 'a')
    """
    closed = isinstance(node, (exp.Func, exp.Column, exp.Literal, exp.Dot, exp.Paren))
    # AND and OR are functions to sqlglot, and operators still.
    return node.copy() if closed and not isinstance(node, exp.Connector) else exp.paren(node)


def is_timestamp(node: exp.Expr) -> bool:
    """Tell whether an expression is `System.Timestamp()`, or `System.Timestamp` as older queries have it."""
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Anonymous):
        call = node.expression
        return node.this.name.lower() == "system" and call.name.lower() == "timestamp" and not call.expressions
    if not isinstance(node, exp.Column) or node.args.get("db"):
        return False
    return node.table.lower() == "system" and node.name.lower() == "timestamp"


def is_window_id(node: exp.Expr) -> bool:
    """Tell whether an expression is `System.Window().Id`."""
    return isinstance(node, exp.Dot) and is_system_window(node.this) and node.expression.name.lower() == "id"


def is_system_window(node: exp.Expr) -> bool:
    """Tell whether an expression is `System.Window()`."""
    if not isinstance(node, exp.Dot) or not isinstance(node.expression, exp.Anonymous):
        return False
    return node.this.name.lower() == "system" and node.expression.name.lower() == "window"


def check_function(node: exp.Expr, source: Source, *, azure: bool) -> None:
    """Refuse what cannot be run: a function that is unknown, user-defined or a window out of its place, and TIME."""
    if isinstance(node, exp.DataType) and node.this == exp.DType.TIME:
        # sqlglot would write TIMESTAMP, and ten o'clock would be ten o'clock of today.
        instead = (
            "CAST(x AS datetime), or for a part of it DATEPART(hour, x)"
            if azure
            else "CAST(x AS timestamp), or for the time of the day as text date_format(x, 'HH:mm:ss')"
        )
        source.fail_on(f"the type TIME is not offered: it has no day. Write {instead}", node)
    if azure and isinstance(node, exp.Dot) and isinstance(node.expression, exp.Anonymous):
        source.fail_on(
            f"{node.this.name}.{node.expression.name} is a user-defined function, which a query cannot call here. "
            "Compute it as a column first, and query the result",
            node,
        )
    if not isinstance(node, exp.Anonymous) or node.meta.get("spark"):
        return
    if azure_windows.is_window(node) if azure else spark_window.is_window(node):
        source.fail_on(f"{node.name} stands in GROUP BY only", node)
    if azure and node.name.lower() not in _SPARK_TOO:
        fail_unknown(node, source, also=(*TSQLParser.FUNCTIONS, "DATEPART"))


def input_expression(
    node: exp.Expr, source: Source, *, azure: bool, time: exp.Expr | None = None, place: str = "WHERE"
) -> exp.Expr:
    """Check an expression over the input's columns; `System.Timestamp()` is the event's time there."""

    def visit(part: exp.Expr) -> exp.Expr:
        if azure and is_timestamp(part):
            if time is None:
                source.fail_on("System.Timestamp() needs TIMESTAMP BY here: events have no time of arrival", part)
            return operand(time)
        if azure and is_system_window(part):
            source.fail_on(f"System.Window() is known after grouping only, not in {place}", part)
        if is_aggregate(part):
            hint = "Use HAVING" if place == "WHERE" else "Move it out"
            source.fail_on(f"an aggregate cannot stand in {place}: it is computed later. {hint}", part)
        if isinstance(part, exp.Star) or (isinstance(part, exp.Column) and isinstance(part.this, exp.Star)):
            source.fail_on(f"'*' cannot stand in {place}. Name the columns", part)
        check_function(part, source, azure=azure)
        return part

    return node.copy().transform(visit, copy=False)
