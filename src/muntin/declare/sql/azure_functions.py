"""Scalar functions of Azure Stream Analytics whose Spark form sqlglot does not give, or gives with another meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from muntin.declare.sql.azure_like import like
from muntin.declare.sql.azure_times import time_function

if TYPE_CHECKING:
    from muntin.declare.sql.source import Source


def mend(root: exp.Expr, source: Source) -> None:
    """Replace, deepest first, what would mean something else in Spark."""
    for node in reversed(list(root.walk())):
        new = _mended(node, source)
        if new is not None:
            new.meta.update({key: node.meta[key] for key in ("line", "col", "start", "end") if key in node.meta})
            node.replace(new)


def _mended(node: exp.Expr, source: Source) -> exp.Expr | None:
    if isinstance(node, exp.DataType) and node.this == exp.DType.FLOAT:
        return exp.DataType(this=exp.DType.DOUBLE)  # Azure's float has 64 bits, Spark's 32
    if isinstance(node, exp.TimestampFromParts) and node.args.get("milli") is not None:
        # The seventh argument of Spark's make_timestamp is a time zone.
        parts = {key: value for key, value in node.args.items() if key != "milli"}
        fraction = exp.Div(this=exp.paren(node.args["milli"]), expression=exp.Literal.number(1000))
        return exp.TimestampFromParts(**{**parts, "sec": exp.Add(this=exp.paren(parts["sec"]), expression=fraction)})
    if not isinstance(node, exp.Anonymous):
        return like(node, source)
    return time_function(node, source) or _record(node, source)


def _record(node: exp.Anonymous, source: Source) -> exp.Expr | None:
    name, arguments = node.name.lower(), node.expressions
    if name == "getarraylength" and len(arguments) == 1:
        return exp.ArraySize(this=arguments[0])
    if name == "getarrayelement" and len(arguments) == 2:
        get = exp.Anonymous(this="GET", expressions=arguments)  # both count from 0, null where there is none
        get.meta["spark"] = True
        return get
    if name == "getrecordpropertyvalue" and len(arguments) == 2:
        if not arguments[1].is_string:
            source.fail_on("the name of a record's property must be a constant in quotes", node)
        return exp.Dot(this=arguments[0], expression=exp.to_identifier(arguments[1].name, quoted=True))
    return None
