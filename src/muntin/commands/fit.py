"""Text in a terminal: no wider than it is, and broken where people would."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from typing import Final

_WIDEST: Final = 100
# What a line begins with that is no word: blanks, marks, and the branches of a tree.
_LEAD: Final = " *│├└─|`-"


def width() -> int:
    """Give how many columns text may take."""
    return min(_WIDEST, shutil.get_terminal_size().columns)


def fitted(text: str, columns: int, *, indent: int | None = None) -> str:
    r"""Break lines that are too long, what follows under where they began, or by an indent.

    Columns of a line that is too long are first moved together.

    >>> print(fitted("why: the fewest items are read, and by far\n└─ 5m  factor         12 x 10", 24))
    why: the fewest items
      are read, and by far
    └─ 5m  factor  12 x 10
    """
    lines: list[str] = []
    for line in text.splitlines():
        if len(line) > columns:
            rest = line.lstrip(_LEAD)
            line = line[: len(line) - len(rest)] + re.sub(" {2,}", "  ", rest)
        under = " " * (len(line) - len(line.lstrip(_LEAD)) + 2 if indent is None else indent)
        wrapped = textwrap.wrap(line, columns, subsequent_indent=under, break_long_words=False, break_on_hyphens=False)
        lines += [line] if len(line) <= columns else wrapped
    return "\n".join(lines)


def for_terminal(text: str, *, indent: int | None = None) -> str:
    """Fit text that goes to a terminal; in a pipe or a file lines stay as they are."""
    return fitted(text, width(), indent=indent) if sys.stdout.isatty() else text
