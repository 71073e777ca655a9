"""What a tree does over one composite slide: where its slices end, which results are due, and of how many slices."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from muntin.errors import WindowError
from muntin.window.edges import brief
from muntin.window.slices import cutty, pairs, panes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from muntin.share.combs import Cut
    from muntin.window.slices import Slicing
    from muntin.window.spec import Window

# Slices and results of one composite slide: so many take some seconds and some hundred megabytes.
LIMIT: Final = 2_000_000

SLICERS: Final[Mapping[Cut, Callable[..., Slicing]]] = {"pairs": pairs, "cutty": cutty, "panes": panes}


@dataclass(frozen=True, slots=True)
class Point:
    """A time at which a slice ends, a result is due, or both.

    `held` is the number of closed slices that each distinct range reaches back over, in the order of
    `Schedule.ranges`; `due` names windows by their place in the schedule.
    """

    at: int
    edge: bool
    held: tuple[int, ...]
    due: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The points of one composite slide, in order: those in `(0, period]`."""

    windows: tuple[Window, ...]
    slicing: Slicing
    period: int
    ranges: tuple[int, ...]
    points: tuple[Point, ...]

    @property
    def edges(self) -> int:
        """The number of slices that end in one composite slide."""
        return sum(point.edge for point in self.points)

    @property
    def results(self) -> int:
        """The number of results in one composite slide."""
        return sum(len(point.due) for point in self.points)


def schedule(windows: Sequence[Window], cut: Cut = "pairs", period: int | None = None) -> Schedule:
    """Write out one composite slide, or `period` where that is a multiple of it.

    >>> from muntin import Window
    >>> plan = schedule([Window(6, 2), Window(8, 4)])
    >>> [(p.at, p.held, p.due) for p in plan.points]
    [(2, (3, 4), (0,)), (4, (3, 4), (0, 1))]
    """
    found = tuple(windows)
    slicing = SLICERS[cut](*found)
    own = math.lcm(slicing.period, *(w.slide for w in found))
    length = own if period is None else period
    if length % own:
        msg = (
            f"a schedule repeats every {brief(own)}; it cannot be written out for {brief(length)}, no multiple of that"
        )
        raise WindowError(msg)
    size = sum(length // comb.step for comb in slicing.combs) + sum(length // w.slide for w in found)
    if size > LIMIT:
        msg = (
            f"one composite slide of these {len(found)} windows lasts {brief(length)} and has {brief(size)} slices and "
            f"results: too many to write out, the limit is {LIMIT:,}. Use the estimates, which need no schedule"
        )
        raise WindowError(msg)
    starts = list(slicing.edges_between(0, length))
    ranges = tuple(sorted({w.range for w in found}))
    place = {size: i for i, size in enumerate(ranges)}
    ends: dict[int, list[int]] = {(start or length): [] for start in starts}
    for i, window in enumerate(found):
        first = (window.offset + window.range) % window.slide or window.slide
        for end in range(first, length + 1, window.slide):
            ends.setdefault(end, []).append(i)
    edges = {start or length for start in starts}

    def before(time: int) -> int:
        """Count the edges in [0, time), negative before 0."""
        turns, rest = divmod(time, length)
        return turns * len(starts) + bisect_left(starts, rest)

    points = []
    for at in sorted(ends):
        closed = before(at) - (at not in edges)  # without the slice that is still open
        held = tuple(max(0, closed - before(at - size)) for size in ranges)
        points.append(Point(at, at in edges, held, tuple(sorted(ends[at], key=lambda i: place[found[i].range]))))
    return Schedule(found, slicing, length, ranges, tuple(points))
