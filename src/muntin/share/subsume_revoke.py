"""A window that goes while others run: what becomes of its level, and of those that rode on it (section 3.3)."""

from __future__ import annotations

from operator import attrgetter

from muntin.share.subsume import slides_with, subsumable, subsume_windows
from muntin.share.subsume_group import Grouping, Level


def revoke_window(grouping: Grouping, name: str) -> Grouping:
    """Withdraw a window from its group, by its id.

    One that rides on another leaves nothing behind. Where a level goes, its substate falls to the next, and of the
    windows that rode on it the one with the smallest slide takes its place.

    >>> from muntin import Window
    >>> pool = [Window(8, 2, id="d"), Window(8, 4, id="u"), Window(24, 8, id="v")]
    >>> group = revoke_window(subsume_windows(pool), "d").groups[0]
    >>> group.seed, group.slide
    (Window(8, 4, id='u'), 4)
    """
    place = grouping.find(name)
    number, levels = place.group.number, place.group.levels
    level = levels[place.level]
    before, after = levels[: place.level], levels[place.level + 1 :]
    if place.role == "piggybacked":
        kept = Level(level.window).hosts(*(p.window for p in level.piggybacked if p.window.id != name))
        return grouping.with_levels(number, (*before, kept, *after), change=name)
    orphans = sorted((p.window for p in level.piggybacked), key=attrgetter("slide"))
    # The paper takes the smallest slide. The next level may slide in between, as it needed only to follow the one that
    # goes: then the smallest that it can follow too.
    heir = next((each for each in orphans if not after or subsumable(each, after[0].window)), None)
    taken = [each for each in orphans if each is not heir and heir is not None and slides_with(each, heir)]
    middle = () if heir is None else (Level(heir).hosts(*taken),)
    left = grouping.with_levels(number, (*before, *middle, *after), change=name)
    # Orphans that follow neither found groups of their own, rather than join others: these have not kept their events.
    strays = [each for each in orphans if each is not heir and not any(each is other for other in taken)]
    return left.with_new(*(group.levels for group in subsume_windows(strays))) if strays else left
