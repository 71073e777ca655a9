"""The windows of Azure Stream Analytics: from `TumblingWindow(minute, 5)` to muntin's windows."""

from __future__ import annotations

import difflib
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from muntin.duration import UNITS, format_duration, is_nanosecond
from muntin.window.spec import Window

if TYPE_CHECKING:
    from muntin.declare.sql.source import Source

WINDOW_FUNCTIONS = (
    "windows",
    "tumblingwindow",
    "tumbling",
    "hoppingwindow",
    "hopping",
    "slidingwindow",
    "sliding",
    "sessionwindow",
    "session",
    "snapshotwindow",
)
"""The functions that make a window in GROUP BY, in lower case."""

_ABBREVIATIONS = {
    "day": ("dd", "d"),
    "hour": ("hh",),
    "minute": ("mi", "n"),
    "second": ("ss", "s"),
    "millisecond": ("ms",),
    "microsecond": ("mcs",),
}
_UNIT = {word: UNITS[name] for name, short in _ABBREVIATIONS.items() for word in (name, *short)}
_FORMS = {
    "tumbling": "TumblingWindow(minute, 5), TumblingWindow(minute, 5, 1) with an offset of 1, or "
    "TumblingWindow(Duration(minute, 5), Offset(millisecond, -1))",
    "hopping": "HoppingWindow(minute, 60, 10), HoppingWindow(minute, 60, 10, 5) with an offset of 5, or "
    "HoppingWindow(Duration(hour, 1), Hop(minute, 10), Offset(millisecond, -1))",
}
_UNSHARED = {
    "sliding": "a sliding window gives a result whenever an event enters or leaves, so it has no fixed intervals to "
    "share. Use HoppingWindow with the hop that you need",
    "session": "the length of a session depends on its events, so it shares nothing with other windows. Use Spark's "
    "session_window on the DataFrame",
    "snapshot": "a snapshot groups events with the very same time: that is no window of any length. Group by the "
    "time column in a query without windows",
}
_LONGEST = 2**63 - 1  # Spark's timestamps count microseconds in 64 bits.


def is_window(node: exp.Expr) -> bool:
    """Tell whether an expression of GROUP BY makes windows, offered or not.

    >>> is_window(exp.func("TumblingWindow", exp.column("minute"), exp.Literal.number(5)))
    True
    """
    return isinstance(node, exp.Anonymous) and node.name.lower() in WINDOW_FUNCTIONS


def azure_windows(node: exp.Expr, source: Source) -> tuple[Window, ...]:
    """Read one window function, or `Windows(...)` with all that stand in it."""
    if node.name.lower() != "windows":
        return (_shape(node, "", source),)
    if not node.expressions:
        source.fail_on("Windows() holds no window. Write for example Windows(TumblingWindow(minute, 5))", node)
    found: dict[str, Window] = {}
    for item in node.expressions:
        window = _item(item, source)
        # Stream Analytics does not tell apart ids that differ in case only.
        twin = found.get(window.id.lower())
        if twin is not None:
            source.fail_on(
                f"window id {window.id!r} stands twice (case does not count): {twin} and {window}. "
                "Give each window an id of its own: Window('id', ...)",
                item.expressions[0] if item.name.lower() == "window" else item,
            )
        found[window.id.lower()] = window
    return tuple(found.values())


def _item(item: exp.Expr, source: Source) -> Window:
    if is_window(item) and item.name.lower() != "windows":
        return _shape(item, "", source)
    if not isinstance(item, exp.Anonymous) or item.name.lower() != "window":
        source.fail_on("expected Window('id', TumblingWindow(minute, 5)) or a window function in Windows(...)", item)
    if len(item.expressions) != 2 or not _text(item.expressions[0]):
        source.fail_on(
            "Window takes an id in quotes and a window: write Window('5 min', TumblingWindow(minute, 5))", item
        )
    name, shape = item.expressions
    if not is_window(shape) or shape.name.lower() == "windows":
        source.fail_on("expected a window such as TumblingWindow(minute, 5) after the id", shape)
    return _shape(shape, name.name, source)


def _text(node: exp.Expr) -> str:
    return node.name if isinstance(node, exp.National) or node.is_string else ""


def _shape(call: exp.Expr, name: str, source: Source) -> Window:
    kind = call.name.lower().removesuffix("window")
    if kind in _UNSHARED:
        source.fail_on(_UNSHARED[kind], call)
    parts = _named(call, kind, source) or _positional(call, kind, source)
    lengths = {}
    for part, (unit, number) in parts.items():
        lengths[part] = _length(unit, number, source)
        if lengths[part] <= 0 and part != "offset":
            source.fail_on(f"the {part} of a window must be positive, got {number.sql()}", number)
    size, slide = lengths["duration"], lengths.get("hop", lengths["duration"])
    if slide > size:
        source.fail_on(
            f"hop {format_duration(slide)} is longer than duration {format_duration(size)}: events between two "
            "windows would belong to none. Make the hop at most the duration",
            parts["hop"][1],
        )
    return Window(size, slide, lengths.get("offset", 0), name, timed=True)


def _named(call: exp.Expr, kind: str, source: Source) -> dict[str, tuple[exp.Expr, exp.Expr]] | None:
    if not any(isinstance(part, exp.Anonymous) for part in call.expressions):
        return None
    known = ("duration", "hop", "offset") if kind == "hopping" else ("duration", "offset")
    parts: dict[str, tuple[exp.Expr, exp.Expr]] = {}
    for part in call.expressions:
        label = part.name.lower()
        if not isinstance(part, exp.Anonymous) or label not in known or label in parts or len(part.expressions) != 2:
            source.fail_on(f"expected {_FORMS[kind]}", part)
        parts[label] = (part.expressions[0], part.expressions[1])
    for label in known[:-1]:
        if label not in parts:
            source.fail_on(f"{label.capitalize()}(unit, number) is missing: expected {_FORMS[kind]}", call)
    return parts


def _positional(call: exp.Expr, kind: str, source: Source) -> dict[str, tuple[exp.Expr, exp.Expr]]:
    labels = ("duration", "hop", "offset") if kind == "hopping" else ("duration", "offset")
    unit, numbers = (call.expressions or [None])[0], call.expressions[1:]
    if not len(labels) - 1 <= len(numbers) <= len(labels):
        source.fail_on(f"{call.name} takes a unit and {len(labels) - 1} or {len(labels)} numbers, "
                       f"got {len(call.expressions)} arguments: expected {_FORMS[kind]}", call)  # fmt: skip
    return {label: (unit, number) for label, number in zip(labels, numbers, strict=False)}


def _length(unit: exp.Expr, number: exp.Expr, source: Source) -> int:
    word = "" if unit.is_string or not isinstance(unit, (exp.Column, exp.Var)) else unit.name.lower()
    if is_nanosecond(word):
        source.fail_on("times count whole microseconds, nanoseconds are finer than that. Take microsecond", unit)
    if word not in _UNIT:
        close = difflib.get_close_matches(word, _UNIT, n=1)
        guess = f" Did you mean {close[0]}?" if close else ""
        units = ", ".join(" ".join((name, *short)) for name, short in _ABBREVIATIONS.items())
        source.fail_on(f"unknown unit {unit.name or unit.sql()!r}.{guess} Units are {units}, without quotes", unit)
    negative = isinstance(number, exp.Neg)
    literal = number.this if negative else number
    digits = literal.name.replace(".", "", 1)
    # No exponents and no endless digits: they would be multiplied out exactly.
    if not isinstance(literal, exp.Literal) or literal.is_string or not digits.isdecimal() or len(digits) > 40:
        source.fail_on(f"expected a number, got {number.sql()}: the length of a window is a constant", number)
    total = Fraction(literal.name) * _UNIT[word]
    if total.denominator != 1 or total > _LONGEST:
        source.fail_on(
            f"{literal.name} {word} is not a length that can be counted in whole microseconds of 64 bits", number
        )
    return -total.numerator if negative else total.numerator
