"""Groups of windows as text, and as values that JSON can hold."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from muntin.errors import ShowError
from muntin.show.label import clean, columns, cut, pad

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from muntin.share.subsume_group import Group, Grouping
    from muntin.window.spec import Window

WIDTH: Final = 100
_NAME: Final = 24  # columns at most
_SHAPE: Final = 24


def to_text(grouping: Grouping, *, limit: int | None) -> str:
    """Tell every group in a line, and its windows below: `limit` of them in all, shared out evenly."""
    if limit is not None and (isinstance(limit, bool) or limit < 1):
        msg = f"limit must be a positive number of windows, or None for all of them, got {limit!r}"
        raise ShowError(msg)
    lines = [headline(grouping), ""] if grouping.groups else [headline(grouping)]
    each = None if limit is None or len(grouping.windows) <= limit else max(1, limit // len(grouping.groups))
    for group in grouping.groups:
        lines += [cut(_headline(group), WIDTH), *_members(group, each)]
    return "\n".join(lines)


def headline(grouping: Grouping) -> str:
    """Count windows, groups and levels."""
    levels = sum(len(group.levels) for group in grouping.groups)
    counted = (len(grouping.windows), "window"), (len(grouping.groups), "group"), (levels, "level")
    windows, groups, stairs = (_several(count, what) for count, what in counted)
    return f"{windows} in {groups}, {stairs}"


def to_dict(grouping: Grouping) -> dict[str, Any]:
    """Give the groups as plain values: ranges, slides and offsets in the windows' unit."""
    return {
        "windows": len(grouping.windows),
        "groups": [
            {
                "number": group.number,
                "slide": group.slide,
                "levels": [
                    {
                        **_shape(level.window),
                        "piggybacked": [
                            {**_shape(each.window), "quotient": each.quotient} for each in level.piggybacked
                        ],
                    }
                    for level in group.levels
                ],
            }
            for group in grouping.groups
        ],
    }


def steps(group: Group) -> dict[str, str]:
    """Say of each window by its id what it does in its group.

    >>> from muntin import Window
    >>> from muntin.share.subsume import subsume_windows
    >>> steps(subsume_windows([Window(8, 2, id="b"), Window(12, 2, id="h"), Window(12, 6, id="w")]).groups[0])
    {'b': 'seed', 'h': 'encloses b: in tandem', 'w': 'piggybacked on h: 1 of 3 results'}
    """
    told = {group.seed.id: "seed"}
    for below, level in pairwise(group.levels):
        often = level.window.slide // below.window.slide
        told[level.window.id] = f"encloses {_name(below.window)}: {_often(often, 'slides') or 'in tandem'}"
    for level in group.levels:
        for each in level.piggybacked:
            often_read = _often(each.quotient, "results") or "every result"
            told[each.window.id] = f"piggybacked on {_name(level.window)}: {often_read}"
    return told


def _members(group: Group, limit: int | None) -> Iterator[str]:
    told = steps(group)
    shown = group.windows[:limit]
    names, shapes = _width(map(_name, shown)), _width(cut(str(window), _SHAPE) for window in shown)
    for window in shown:
        shape = cut(str(window), _SHAPE)
        lead = f"  {pad(_name(window), names)}  {' ' * (shapes - columns(shape))}{shape}  "
        yield cut(lead + told[window.id], WIDTH)
    if len(shown) < len(group.windows):
        yield f"  ... {len(group.windows) - len(shown):,} more (limit=None shows all)"


def _headline(group: Group) -> str:
    first, last = group.seed, group.levels[-1].window
    ranges = f"range {first.text(first.range)}"
    if len(group.levels) > 1:
        ranges = f"ranges {first.text(first.range)} to {last.text(last.range)}"
    counts = f"{_several(len(group.levels), 'level')}, {_several(len(group.windows), 'window')}"
    return f"group {group.number}: slide {first.text(first.slide)}, {ranges}, {counts}"


def _often(quotient: int, what: str) -> str:
    return f"1 of {quotient:,} {what}" if quotient > 1 else ""


def _name(window: Window) -> str:
    return cut(clean(window.id), _NAME)


def _shape(window: Window) -> dict[str, Any]:
    return {"id": window.id, "range": window.range, "slide": window.slide, "offset": window.offset}


def _width(texts: Iterable[str]) -> int:
    return max(map(columns, texts))


def _several(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
