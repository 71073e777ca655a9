"""A drawing that stands alone and follows its reader's light or dark colours."""

from __future__ import annotations

import re
from typing import Final

from muntin.show.palette import DARK, LIGHT, drawing_style, variables

_STYLE: Final = (
    f".mu-draw{{{variables(LIGHT)};background:var(--mu-paper)}}\n"
    f"@media (prefers-color-scheme:dark){{.mu-draw{{{variables(DARK)}}}}}\n"
) + drawing_style(variables=True)


def adaptive(svg: str) -> str:
    """Give a drawing of the package both palettes, for a page whose ground may be light or dark.

    >>> from muntin import agg, optimize, tumbling
    >>> drawn = adaptive(optimize([tumbling("20m")], agg.min).to_svg())
    >>> drawn.count("<style>"), "prefers-color-scheme:dark" in drawn
    (1, True)
    """
    bare = re.sub(r"<style>.*?</style>\n", "", svg, count=1, flags=re.DOTALL)
    # Behind the title and the description, which must come first to be read out.
    head, found, rest = bare.partition("</desc>\n")
    return f"{head}{found}<style>\n{_STYLE}</style>\n{rest}"
