"""A window that comes while others run: its place among the groups (embedWindow, Lines 30 to 46, and section 3.3)."""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from typing import TYPE_CHECKING

from muntin.errors import WindowError
from muntin.share.subsume import can_embed, slides_with, subsumable
from muntin.share.subsume_group import Grouping, Level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.window.spec import Window


def embed_window(grouping: Grouping, window: Window) -> Grouping:
    """Embed a window into the first group that takes it, by descending base slide, or make it the seed of a new one.

    >>> from muntin import Window
    >>> from muntin.share.subsume import subsume_windows
    >>> groups = subsume_windows([Window(9, 3, id="p"), Window(24, 6, id="y"), Window(10, 2, id="x")])
    >>> [level.window.id for level in embed_window(groups, Window(21, 3, id="k")).find("k").group.levels]
    ['p', 'k', 'y']
    """
    _check(grouping, window)
    # Line 32. Sorting is stable: of groups with one base slide the oldest comes first.
    for group in sorted(grouping.groups, key=attrgetter("slide"), reverse=True):
        if slides_with(window, group.seed) or slides_with(group.seed, window):
            levels = _embedded(group.levels, window)
            if levels is not None:
                return grouping.with_levels(group.number, levels, change=window.id)
    return grouping.with_new((Level(window),))


def _embedded(levels: Sequence[Level], window: Window) -> tuple[Level, ...] | None:
    """Put a window among the levels of a group, or say that it has no place there.

    Line 33 looks for the first level with a *greater* range. Taken by the letter, Lines 39 and 40 could then never
    succeed, for canEmbed refuses a window narrower than the one it is to follow; so a level of the same range counts.
    """
    place = bisect_left(levels, window.range, key=lambda level: level.window.range)
    below = levels[place - 1].window if place else None
    # Lines 37 and 38 look upwards only. The sequence must hold downwards as well, or `below` would not have slid yet
    # when the new window does.
    follows = below is None or subsumable(below, window)
    if place == len(levels):  # Lines 34 to 36
        return (*levels, Level(window)) if follows else None
    wider = levels[place]
    if can_embed(window, wider.window) == "piggybacked":  # Lines 39 and 40
        return (*levels[:place], wider.hosts(window), *levels[place + 1 :])
    if not follows or not subsumable(window, wider.window):
        return None
    if wider.window.range > window.range:  # Lines 37 and 38: the window is subsumed under the wider one
        return (*levels[:place], Level(window), *levels[place:])
    # The same range at a finer slide: the level there collapses onto the new one, with all that rode on it.
    riders = (wider.window, *(each.window for each in wider.piggybacked))
    return (*levels[:place], Level(window).hosts(*riders), *levels[place + 1 :])


def _check(grouping: Grouping, window: Window) -> None:
    if window.id in grouping.names:
        other = next(each for each in grouping.windows if each.id == window.id)
        msg = (
            f"window id {window.id!r} stands twice: {other!r} and {window!r}. "
            "Give each window an id of its own with id='...'"
        )
        raise WindowError(msg)
    for group in grouping.groups[:1]:
        other = group.seed
        if other.timed != window.timed:
            msg = (
                f"{other!r} and {window!r} cannot be grouped: one counts microseconds, the other a plain unit. "
                "Declare all of them with durations, or none"
            )
            raise WindowError(msg)
