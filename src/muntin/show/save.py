"""A plan as a file, in the form that the file's name asks for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from muntin.errors import ShowError
from muntin.show.html import to_html
from muntin.show.json import to_dict
from muntin.show.mermaid import to_mermaid
from muntin.show.svg import to_svg
from muntin.show.text import to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    from muntin.logical.cost import Number
    from muntin.logical.plan import Plan

    Costs: TypeAlias = Mapping[str, Number] | None
    Said: TypeAlias = Mapping[str, str] | None

_FORMS: Final[dict[str, Callable[[Plan, Costs, Said], str]]] = {
    ".html": lambda plan, costs, said: to_html(plan, costs=costs, said=said),
    ".svg": lambda plan, *_: to_svg(plan) + "\n",
    ".mmd": lambda plan, *_: to_mermaid(plan) + "\n",
    ".txt": lambda plan, costs, _: to_text(plan, limit=None, costs=costs) + "\n",
    ".json": lambda plan, costs, _: json.dumps(to_dict(plan, costs=costs), indent=2) + "\n",
}


def save(plan: Plan, path: str | PathLike[str], *, costs: Costs = None, said: Said = None) -> Path:
    """Write a plan as .html, .svg, .mmd (Mermaid), .txt or .json, and say where.

    `said` are texts by their headings that a page shows below the windows; the other forms have no place for them.

    >>> from muntin import agg, optimize, tumbling
    >>> save(optimize([tumbling("20m")], agg.min), "plan.png")
    Traceback (most recent call last):
    ...
    muntin.errors.ShowError: cannot draw a plan as '.png' (plan.png): use .html, .svg, .mmd, .txt or .json
    """
    target = Path(path)
    form = _FORMS.get(target.suffix.lower())
    if form is None:
        known = ", ".join(list(_FORMS)[:-1]) + f" or {list(_FORMS)[-1]}"
        msg = f"cannot draw a plan as {target.suffix!r} ({target}): use {known}"
        raise ShowError(msg)
    if not target.parent.is_dir():
        msg = f"cannot write {target}: there is no folder {target.parent}. Make it first"
        raise ShowError(msg)
    text = form(plan, costs, said)
    try:
        target.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        msg = f"cannot write {target}: {error.strerror or error}"
        raise ShowError(msg) from error
    return target
