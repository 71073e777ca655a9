"""Windows subsumed into groups: when one can live inside another, and which of many do (window manager, Algorithm 1).

Every group is a sequence of windows by increasing range, each of which slides only when the one before it slides too.
One state serves them all: the widest window's, in which each level keeps only what the narrower ones have dropped.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

from muntin.share.subsume_group import Grouping, Level
from muntin.window.spec import Window, window_set

if TYPE_CHECKING:
    from collections.abc import Iterable


def ending_at_slides(range: int, slide: int, id: str = "") -> Window:
    """Make a window whose intervals *end* at multiples of its slide, as all windows of the paper do.

    Ours start there. The two are the same where the slide divides the range; else the offset makes up for it.

    >>> ending_at_slides(8, 2), ending_at_slides(7, 3), [i.end for i in ending_at_slides(7, 3).intervals(0, 14)]
    (Window(8, 2), Window(7, 3, offset=2), [9, 12])
    """
    return Window(range, slide, -range, id)


def slides_with(coarse: Window, fine: Window) -> bool:
    """Tell whether `fine` slides whenever `coarse` does: every end of the one is an end of the other.

    >>> slides_with(Window(12, 4), Window(6, 2)), slides_with(Window(12, 2), Window(6, 4))
    (True, False)
    >>> slides_with(Window(12, 4, offset=1), Window(6, 2))
    False
    """
    apart = coarse.offset + coarse.range - fine.offset - fine.range
    return coarse.slide % fine.slide == 0 and apart % fine.slide == 0


def subsumable(inner: Window, outer: Window) -> bool:
    """Tell whether `inner` is subsumable under `outer` (Definition 1).

    The definition asks that the outer slide is a multiple of the inner and that the outer range is not shorter. It
    takes for granted that windows slide at common ticks; ours may have offsets, so their ends must meet as well.

    >>> subsumable(Window(6, 2), Window(12, 4)), subsumable(Window(24, 8), Window(32, 4))
    (True, False)
    """
    return outer.range >= inner.range and slides_with(outer, inner)


def can_embed(window: Window, held: Window) -> Literal["piggybacked", "enclosing"] | None:
    """Say how a window can follow one that a group holds, if at all (canEmbed, Lines 17 to 29).

    >>> held = Window(8, 2)
    >>> can_embed(Window(8, 4), held), can_embed(Window(12, 4), held), can_embed(Window(9, 3), held)
    ('piggybacked', 'enclosing', None)
    """
    if not subsumable(held, window):
        return None
    return "piggybacked" if window.range == held.range else "enclosing"


def subsume_windows(windows: Iterable[Window]) -> Grouping:
    """Partition windows into groups, the smallest scopes first (SubsumeWindows, Lines 1 to 16).

    >>> pool = [Window(24, 8, id="v"), Window(8, 2, id="d"), Window(8, 4, id="u"), Window(32, 4, id="z")]
    >>> print(subsume_windows(pool))
    4 windows in 2 groups, 3 levels
    <BLANKLINE>
    group 1: slide 2, ranges 8 to 24, 2 levels, 3 windows
      d   8/2  seed
      u   8/4  piggybacked on d: 1 of 2 results
      v  24/8  encloses d: 1 of 4 slides
    group 2: slide 4, range 32, 1 level, 1 window
      z  32/4  seed
    """
    # Line 4: by range, then by slide; windows that are the same stay in the order in which they were given.
    waiting = sorted(window_set(windows), key=attrgetter("range", "slide", "offset"))
    drafts: list[_Draft] = []  # by descending slide of the seed (Line 7), of equals the oldest first
    for window in waiting:
        if not any(draft.embed(window) for draft in drafts):
            insort(drafts, _Draft(len(drafts) + 1, [(window, [])]), key=lambda draft: -draft.seed.slide)
    drafts.sort(key=attrgetter("number"))
    return Grouping().with_new(
        *(tuple(Level(host).hosts(*riders) for host, riders in draft.levels) for draft in drafts)
    )


def separate(windows: Iterable[Window]) -> Grouping:
    """Put each window into a group of its own: what subsumption is measured against.

    >>> len(separate([Window(6, 2), Window(8, 2)]))
    2
    """
    return Grouping().with_new(*((Level(window),) for window in window_set(windows)))


@dataclass(slots=True)
class _Draft:
    """A group that still grows."""

    number: int
    levels: list[tuple[Window, list[Window]]] = field(default_factory=list)

    @property
    def seed(self) -> Window:
        return self.levels[0][0]

    def embed(self, window: Window) -> bool:
        """Try a window after the last level, the only one that can be wide enough thanks to the order (Lines 10 to 12).

        Line 7 asks first whether the seed's slide fits. Whatever follows the last level follows the seed too.
        """
        last, riders = self.levels[-1]
        role = can_embed(window, last)
        if role == "piggybacked":
            riders.append(window)
        elif role == "enclosing":
            self.levels.append((window, []))
        return role is not None
