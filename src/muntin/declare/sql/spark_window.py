"""Spark's `window(time, duration[, slide[, start]])`: from its call to one of muntin's windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from muntin.duration import format_duration, parse_duration
from muntin.errors import DurationError
from muntin.window.spec import Window

if TYPE_CHECKING:
    from muntin.declare.sql.source import Source

_FORM = "window(ts, '40 minutes'), or with a slide and a start: window(ts, '40 minutes', '10 minutes', '5 minutes')"


def is_window(node: exp.Expr) -> bool:
    """Tell whether an expression is a call of `window` or `session_window`.

    >>> is_window(exp.func("window", exp.column("ts"), exp.Literal.string("5 minutes")))
    True
    """
    return isinstance(node, exp.Anonymous) and node.name.lower() in {"window", "session_window"}


def spark_window(node: exp.Expr, source: Source) -> tuple[exp.Expr, Window]:
    """Read the time expression and the window of a call."""
    if node.name.lower() == "session_window":
        source.fail_on(
            "the length of a session depends on its events, so it shares nothing with other windows. "
            "Use groupBy(session_window(...)) on the DataFrame",
            node,
        )
    if not 2 <= len(node.expressions) <= 4:
        source.fail_on(f"window takes 2 to 4 arguments, got {len(node.expressions)}: expected {_FORM}", node)
    time, *lengths = node.expressions
    size, slide, start = (_length(lengths[i], source, signed=i == 2) if i < len(lengths) else None for i in range(3))
    assert size is not None
    for label, value, at in zip(("duration", "slide"), (size, slide), lengths, strict=False):
        if value == 0:
            source.fail_on(f"the {label} of a window must be positive, got {at.name!r}", at)
    if slide is not None and slide > size:
        source.fail_on(
            f"slide {format_duration(slide)} is longer than duration {format_duration(size)}: events between two "
            "windows would belong to none. Make the slide at most the duration",
            lengths[1],
        )
    return time, Window(size, slide or size, start or 0, timed=True)


def _length(node: exp.Expr, source: Source, *, signed: bool) -> int:
    if not node.is_string:
        source.fail_on(f"expected a length in quotes, got {node.sql('spark')}: expected {_FORM}", node)
    words = node.name.split()
    text = " ".join(words[1:] if words and words[0].lower() == "interval" else words)
    sign = -1 if signed and text.startswith("-") else 1
    try:
        return sign * parse_duration(text.removeprefix("-") if sign < 0 else text)
    except DurationError as error:
        source.fail_on(str(error), node)
