"""Labels: ids and other text of the user's, made safe to show and fitted to a width."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def clean(text: str) -> str:
    r"""Write out what has no place in a drawing: controls, line ends, marks that turn the direction of text.

    >>> print(clean("a\nb"), clean("20\u00a0min"))
    a\nb 20 min
    """
    return "".join(map(_visible, text))


def columns(text: str) -> int:
    """Count the columns that text takes in a terminal: two for a wide character, none for an accent of its own.

    >>> columns("ids"), columns("窓"), columns("e\u0301")
    (3, 2, 1)
    """
    return len(text) if text.isascii() else sum(map(_columns, text))


def cut(text: str, width: int, ellipsis: str = "…") -> str:
    """Shorten text to at most `width` columns, with an ellipsis where something is gone.

    >>> cut("tumbling_20m", 8), cut("窓窓窓", 5), cut("short", 8)
    ('tumblin…', '窓窓…', 'short')
    """
    if columns(text) <= width:
        return text
    room = width - columns(ellipsis)
    kept: list[str] = []
    for char in text:
        room -= _columns(char)
        if room < 0:
            break
        kept.append(char)
    return ("".join(kept).rstrip() + ellipsis) if width >= columns(ellipsis) else ""


def pad(text: str, width: int) -> str:
    """Fill text with spaces to a width in columns."""
    return text + " " * (width - columns(text))


def wrap(text: str, width: int, ellipsis: str = "…") -> Iterator[str]:
    """Break text between words into lines of at most `width` columns.

    >>> list(wrap("three short words", 12))
    ['three short', 'words']
    """
    line = ""
    for word in text.split():
        longer = f"{line} {word}" if line else word
        if columns(longer) <= width:
            line = longer
            continue
        if line:
            yield line
        line = cut(word, width, ellipsis)
    yield line


def listed(names: Sequence[str]) -> str:
    """Join names as a sentence does.

    >>> listed(["min"]), listed(["min", "max", "sum"])
    ('min', 'min, max and sum')
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _visible(char: str) -> str:
    kind = unicodedata.category(char)
    if kind == "Zs":
        return " "
    # Cs: a lone surrogate cannot be written to a file; Cc, Zl and Zp would break a line, Cf turn it around.
    if kind in {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}:
        return ascii(char)[1:-1]
    return char


def _columns(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1
