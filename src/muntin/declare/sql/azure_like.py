"""LIKE with what Spark's LIKE has not, or reads otherwise: sets of characters, backslashes and any escape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from muntin.declare.sql.source import Source


def like(node: exp.Expr, source: Source) -> exp.Expr | None:
    r"""Write `x LIKE 'a[0-9]%'` as a regular expression; None for what Spark reads alike, and for any other node.

    >>> from muntin.declare.sql.source import Source
    >>> like(exp.column("x").like("v[12]_%"), Source("", ())).expression.name
    '(?s)^v[12]..*\\z'
    """
    if isinstance(node, exp.Escape):
        found, escape = node.this, node.expression.name
    elif isinstance(node.parent, exp.Escape):
        return None
    else:
        found, escape = node, ""
    if not isinstance(found, exp.Like) or not found.expression.is_string:
        return None  # a pattern that is no constant is Spark's
    pattern = found.expression.name
    if not escape and not set(pattern) & {"[", "\\"}:
        return None
    text = rf"(?s)^{_regular(pattern, escape, found.expression, source)}\z"
    matched = exp.RegexpLike(this=found.this, expression=exp.Literal.string(text))
    return exp.paren(exp.not_(matched)) if found.args.get("negate") else matched


def _regular(pattern: str, escape: str, node: exp.Expr, source: Source) -> str:
    pieces, place = [], 0
    while place < len(pattern):
        char = pattern[place]
        if char == escape and place + 1 < len(pattern):
            place += 1
            pieces.append(_literal(pattern[place]))
        elif char == "[":
            # What closes at once is a member: '[]a]' holds ']' and 'a'.
            start = place + (2 if pattern[place + 1 : place + 2] == "^" else 1)
            end = pattern.find("]", start + 1)
            if end < 0:
                source.fail_on(
                    f"a set of characters opens in {pattern!r} and never closes: for a '[' write '[[]'", node
                )
            pieces.append(f"[{'^' if start > place + 1 else ''}{_members(pattern[start:end])}]")
            place = end
        else:
            pieces.append({"%": ".*", "_": "."}.get(char) or _literal(char))
        place += 1
    return "".join(pieces)


def _members(text: str) -> str:
    pieces, place = [], 0
    while place < len(text):
        ranged = text[place + 1 : place + 2] == "-" and place + 2 < len(text)
        pieces.append(f"{_literal(text[place])}-{_literal(text[place + 2])}" if ranged else _literal(text[place]))
        place += 3 if ranged else 1
    return "".join(pieces)


def _literal(char: str) -> str:
    return char if char.isalnum() or char.isspace() or not char.isascii() else f"\\{char}"
