"""The functions of Azure Stream Analytics that take a part of a time by its name, as expressions of Spark."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

from muntin.duration import is_nanosecond

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muntin.declare.sql.source import Source

_SHORT = {
    "year": ("yyyy", "yy"),
    "quarter": ("qq", "q"),
    "month": ("mm", "m"),
    "dayofyear": ("dy", "y"),
    "day": ("dd", "d"),
    "week": ("wk", "ww"),
    "weekday": ("dw", "w"),
    "hour": ("hh",),
    "minute": ("mi", "n"),
    "second": ("ss", "s"),
    "millisecond": ("ms",),
    "microsecond": ("mcs",),
}
_UNITS = {word: name for name, short in _SHORT.items() for word in (name, *short)}
# Azure documents no week of ISO 8601; T-SQL has it, but adds and subtracts none.
_PARTS = {**_UNITS, **dict.fromkeys(("iso_week", "isowk", "isoww"), "iso_week")}

# Azure does not say when a week begins: on Sunday, and the first of a year holds January 1, as is T-SQL's default.
_PART = {
    "year": "EXTRACT(YEAR FROM :t)",
    "quarter": "EXTRACT(QUARTER FROM :t)",
    "month": "EXTRACT(MONTH FROM :t)",
    "dayofyear": "EXTRACT(DOY FROM :t)",
    "day": "EXTRACT(DAY FROM :t)",
    "week": "(EXTRACT(DOY FROM :t) - EXTRACT(DAYOFWEEK FROM :t) + 13) DIV 7",
    "weekday": "EXTRACT(DAYOFWEEK FROM :t)",
    "iso_week": "EXTRACT(WEEK FROM :t)",
    "hour": "EXTRACT(HOUR FROM :t)",
    "minute": "EXTRACT(MINUTE FROM :t)",
    # Spark's second has a fraction, Azure's has not, and Spark extracts no parts of a second.
    "second": "EXTRACT(SECOND FROM :t)",
    "millisecond": "EXTRACT(SECOND FROM :t) * 1000 % 1000",
    "microsecond": "EXTRACT(SECOND FROM :t) * 1000000 % 1000000",
}
_NAME = {"month": "DATE_FORMAT(:t, 'MMMM')", "weekday": "DATE_FORMAT(:t, 'EEEE')"}
# To add and to cut at, a day is a day, of the week or of the year.
_STEP = {"dayofyear": "DAY", "weekday": "DAY", "iso_week": "WEEK"}

_FORMS = {
    "DATEPART": "two arguments: a unit, then a time, as in DATEPART(minute, t)",
    "DATENAME": "two arguments: a unit, then a time, as in DATENAME(weekday, t)",
    "DATETRUNC": "two arguments: a unit, then a time, as in DATETRUNC(hour, t)",
    "DATEADD": "three arguments: a unit, a number and a time, as in DATEADD(minute, 5, t)",
    "DATEDIFF": "three arguments: a unit, then two times, as in DATEDIFF(minute, a, b)",
    "DATEDIFF_BIG": "three arguments: a unit, then two times, as in DATEDIFF_BIG(minute, a, b)",
}


def time_function(node: exp.Anonymous, source: Source) -> exp.Expr | None:
    """Write DATEPART, DATENAME, DATETRUNC, DATEADD and DATEDIFF for Spark; None for any other function.

    >>> from muntin.declare.sql.source import Source
    >>> call = exp.Anonymous(this="DATENAME", expressions=[exp.column("dw"), exp.column("t")])
    >>> time_function(call, Source("", ())).sql("spark")
    "DATE_FORMAT(t, 'EEEE')"
    """
    name = node.name.upper()
    if name not in _FORMS:
        return None
    if len(node.expressions) != (2 if name in ("DATEPART", "DATENAME", "DATETRUNC") else 3):
        source.fail_on(f"expected {_FORMS[name]}", node)
    given, *sides = node.expressions
    unit = _unit(given, _PARTS if len(sides) == 1 else _UNITS, source)
    if name == "DATEPART":
        return exp.cast(_filled(_PART[unit], sides[0]), exp.DType.BIGINT)
    if name == "DATENAME":
        if unit in _NAME:
            return _filled(_NAME[unit], sides[0])
        return exp.cast(exp.cast(_filled(_PART[unit], sides[0]), exp.DType.BIGINT), exp.DType.TEXT)
    if name == "DATETRUNC" and unit == "week":
        return _days(exp.TimestampTrunc(this=_days(sides[0], 1), unit=exp.var("WEEK")), -1)
    step = exp.var(_STEP.get(unit, unit.upper()))
    if name == "DATETRUNC":
        return exp.TimestampTrunc(this=sides[0], unit=step)
    if name == "DATEADD":
        return exp.TimestampAdd(this=sides[1], expression=sides[0], unit=step)
    # Azure counts the boundaries crossed, Spark the whole units passed: 10:59 to 11:00 is 1 hour, and 0.
    start, end = (exp.TimestampTrunc(this=_days(side, 1) if unit == "week" else side, unit=step) for side in sides)
    return exp.TimestampDiff(this=end, expression=start, unit=step)


def _days(time: exp.Expr, count: int) -> exp.Expr:
    # Spark truncates weeks to Monday: a day later, Sunday is one.
    return exp.TimestampAdd(this=time, expression=exp.Literal.number(count), unit=exp.var("DAY"))


def _filled(text: str, time: exp.Expr) -> exp.Expr:
    """Put a time into a text of Spark's."""
    return sqlglot.parse_one(text, dialect="spark").transform(
        lambda node: time.copy() if isinstance(node, exp.Placeholder) else node
    )


def _unit(given: exp.Expr, units: Mapping[str, str], source: Source) -> str:
    word = given.name.lower() if isinstance(given, exp.Column) and len(given.parts) == 1 else ""
    if word in units:
        return units[word]
    if is_nanosecond(word):
        source.fail_on("times count whole microseconds, nanoseconds are finer than that. Take microsecond", given)
    close = difflib.get_close_matches(word, units, n=1)
    guess = f" Did you mean {close[0]}?" if close else ""
    known = ", ".join(" ".join((name, *short)) for name, short in _SHORT.items())
    source.fail_on(f"unknown unit {given.name or given.sql()!r}.{guess} Units are {known}, without quotes", given)
