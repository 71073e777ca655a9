"""Scalar functions of Azure Stream Analytics whose Spark form sqlglot does not give, or gives with another meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from muntin.declare.sql.source import Source

_UNITS = {
    "YEAR": "YEAR", "YYYY": "YEAR", "YY": "YEAR",
    "QUARTER": "QUARTER", "QQ": "QUARTER", "Q": "QUARTER",
    "MONTH": "MONTH", "MM": "MONTH", "M": "MONTH",
    "WEEK": "WEEK", "WK": "WEEK", "WW": "WEEK",
    "DAY": "DAY", "DD": "DAY", "D": "DAY", "DAYOFYEAR": "DAY", "DY": "DAY", "Y": "DAY",
    "HOUR": "HOUR", "HH": "HOUR",
    "MINUTE": "MINUTE", "MI": "MINUTE", "N": "MINUTE",
    "SECOND": "SECOND", "SS": "SECOND", "S": "SECOND",
    "MILLISECOND": "MILLISECOND", "MS": "MILLISECOND",
    "MICROSECOND": "MICROSECOND", "MCS": "MICROSECOND",
}  # fmt: skip

_PER_SECOND = {"SECOND": 1, "MILLISECOND": 1_000, "MICROSECOND": 1_000_000}


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
    if isinstance(node, (exp.DateAdd, exp.DateDiff)):
        # sqlglot wraps the arguments of DATEDIFF, there or not.
        sides = [s.this if isinstance(s, exp.TimeStrToTime) else s for s in (node.this, node.expression)]
        if None in sides:
            source.fail_on(
                "expected three arguments: a unit, then DATEADD(minute, 5, t) or DATEDIFF(minute, a, b)", node
            )
    if isinstance(node, exp.DateAdd):
        # DATE_ADD with two arguments counts days, whatever the unit was.
        return exp.TimestampAdd(this=node.this, expression=node.expression, unit=exp.var(_unit(node, source)))
    if isinstance(node, exp.DateDiff):
        unit = _unit(node, source)
        if unit == "WEEK":
            source.fail_on("DATEDIFF in weeks is not offered: Azure's weeks start on Sunday, Spark's on Monday", node)
        # Azure counts the boundaries crossed, Spark the whole units passed: 10:59 to 11:00 is 1 hour, and 0.
        start, end = (exp.TimestampTrunc(this=side, unit=exp.var(unit)) for side in (node.expression, node.this))
        return exp.TimestampDiff(this=end, expression=start, unit=exp.var(unit))
    if isinstance(node, exp.TimestampFromParts) and node.args.get("milli") is not None:
        # The seventh argument of Spark's make_timestamp is a time zone.
        parts = {key: value for key, value in node.args.items() if key != "milli"}
        fraction = exp.Div(this=exp.paren(node.args["milli"]), expression=exp.Literal.number(1000))
        return exp.TimestampFromParts(**{**parts, "sec": exp.Add(this=exp.paren(parts["sec"]), expression=fraction)})
    if isinstance(node, exp.Extract):
        return _part(node, source)
    return _record(node, source) if isinstance(node, exp.Anonymous) else None


def _part(node: exp.Extract, source: Source) -> exp.Expr:
    word = node.name.upper()
    if word == "WEEK":
        source.fail_on("DATEPART of a week is not offered: Azure's weeks start on Sunday. Use iso_week", node)
    if word not in _PER_SECOND:
        return exp.Extract(this=exp.var("WEEK" if word == "WEEKISO" else word), expression=node.expression)
    # Spark's second has a fraction, Azure's has not, and Spark extracts no parts of a second.
    second: exp.Expr = exp.Extract(this=exp.var("SECOND"), expression=node.expression)
    factor = _PER_SECOND[word]
    if factor == 1:
        return exp.cast(second, exp.DType.INT)
    scaled = exp.cast(exp.Mul(this=second, expression=exp.Literal.number(factor)), exp.DType.INT)
    return exp.paren(exp.Mod(this=scaled, expression=exp.Literal.number(factor)))


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


def _unit(node: exp.Expr, source: Source) -> str:
    given = node.args.get("unit")
    word = given.name.upper() if isinstance(given, exp.Expr) else "DAY"
    if word not in _UNITS:
        source.fail_on(f"unknown unit {word.lower()!r}. Units are {', '.join(dict.fromkeys(_UNITS.values()))}", node)
    return _UNITS[word]
