"""The files of the page, as they come with the package; there is nothing else to fetch."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from muntin.show.palette import DARK, LIGHT, drawing_style, variables

if TYPE_CHECKING:
    from collections.abc import Mapping

_KINDS: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FILES: Final = (
    "index.html",
    "studio.css",
    "icon.svg",
    "main.js",
    "api.js",
    "dom.js",
    "tabs.js",
    "form.js",
    "plan.js",
    "spark.js",
    "manager.js",
)


@cache
def pages() -> Mapping[str, tuple[bytes, str]]:
    """Give each file by its path, with its kind: whatever else is asked for is not there.

    >>> pages()["/"][1], pages()["/main.js"][1]
    ('text/html', 'text/javascript')
    """
    folder = files("muntin.studio") / "static"
    found = {f"/{name}": ((folder / name).read_bytes(), _KINDS[name.rpartition(".")[2]]) for name in _FILES}
    found["/"] = found.pop("/index.html")
    found["/palette.css"] = (_palette().encode(), "text/css")
    return MappingProxyType(found)


def _palette() -> str:
    """Write the colours that the package's own drawings use, light and dark."""
    return (
        f":root{{{variables(LIGHT)}}}\n"
        f"@media (prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}\n"
        f"{drawing_style(variables=True)}"
    )
