"""Colours of the drawings, light and dark, and the style that uses them."""

from __future__ import annotations

from string import Template
from typing import Final

# Text on its ground keeps a contrast of at least 4.5 to 1 in both.
LIGHT: Final = {
    "paper": "#ffffff",
    "ink": "#1f2933",
    "soft": "#5a6675",
    "line": "#8996a6",
    "faint": "#b9c3ce",
    "box": "#f4f7fa",
    "source": "#e3eaf1",
    "accent": "#0b6e63",
    "factor": "#fdf0dc",
    "dashed": "#b45309",
}
DARK: Final = {
    "paper": "#14181d",
    "ink": "#e7ebef",
    "soft": "#a3afbc",
    "line": "#6b7885",
    "faint": "#47525e",
    "box": "#1e252c",
    "source": "#2a333d",
    "accent": "#4cc9b0",
    "factor": "#33270f",
    "dashed": "#f0a94b",
}
MONO: Final = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"

_DRAWING: Final = Template("""\
.mu-draw text{font-family:$mono;font-size:13px;fill:$ink}
.mu-draw .mu-head{font-weight:700}
.mu-draw .mu-small{font-size:11px;fill:$soft}
.mu-draw .mu-end{text-anchor:end}
.mu-draw .mu-tag{font-size:11px;fill:$ink;paint-order:stroke;stroke:$paper;stroke-width:4px;stroke-linejoin:round}
.mu-draw .mu-quiet{fill:$soft}
.mu-draw .mu-paper{fill:$paper}
.mu-draw .mu-box{fill:$box;stroke:$line}
.mu-draw .mu-source{fill:$source;stroke:$line}
.mu-draw .mu-factor{fill:$factor;stroke:$dashed;stroke-width:1.5;stroke-dasharray:5 3}
.mu-draw .mu-edge{fill:none;stroke:$line;stroke-width:1.5}
.mu-draw .mu-arc{fill:none;stroke:$faint}
.mu-draw .mu-tip{fill:$line}
.mu-draw .mu-faint{fill:$faint}
.mu-draw .mu-bar{fill:$accent}
.mu-draw .mu-costly{fill:$dashed}
""")


def drawing_style(*, variables: bool = False) -> str:
    """Write the style of a drawing: in light colours, or in variables that a page sets for light and dark.

    >>> print(drawing_style(variables=True).splitlines()[6])
    .mu-draw .mu-paper{fill:var(--mu-paper)}
    """
    colours = {name: f"var(--mu-{name})" if variables else colour for name, colour in LIGHT.items()}
    return _DRAWING.substitute(colours, mono=MONO)


def variables(colours: dict[str, str]) -> str:
    """Declare a palette's colours as variables.

    >>> variables({"ink": "#000000"})
    '--mu-ink:#000000'
    """
    return ";".join(f"--mu-{name}:{colour}" for name, colour in colours.items())
