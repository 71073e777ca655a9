"""Slices: the stretches of time whose partial aggregates windows share, cut by Panes, Pairs or Cutty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final, Literal

from muntin.errors import CoverError, WindowError
from muntin.window.edges import Comb, brief, merge, signed, thin
from muntin.window.interval import Interval
from muntin.window.spec import Window, window_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

EDGE_LIMIT: Final = 10_000_000
# So few edges are counted one by one, even where no formula is short enough for the slides.
FEW: Final = 10_000


@dataclass(frozen=True, slots=True)
class Slicing:
    """Time cut at edges that repeat every `period`; a slice reaches from one edge to the next.

    The edges are the union of a few combs and are produced as they are asked for: the composite slide of
    many windows can be astronomically long.

    >>> pairs(Window(14, 8))
    Slicing(kind='pairs', combs=(Comb(step=8, phase=0), Comb(step=8, phase=6)))
    """

    kind: Literal["panes", "pairs", "cutty"]
    combs: tuple[Comb, ...]

    @property
    def reads_open(self) -> bool:
        """Whether a window may end inside a slice, and then reads it while it is still filling.

        That gives the right answer only where events arrive in order of time; Panes and Pairs need no order.
        """
        return self.kind == "cutty"

    @property
    def period(self) -> int:
        """The composite slide, after which the edges repeat.

        >>> pairs(Window(14, 8), Window(3, 3)).period
        24
        """
        return math.lcm(*(comb.step for comb in self.combs))

    @property
    def edge_count(self) -> int:
        """The number of edges in one period, counted without producing them (formula F1).

        >>> pairs(Window(14, 8), Window(3, 3)).edge_count
        12
        """
        return self.count_between(0, self.period)

    @property
    def edges(self) -> tuple[int, ...]:
        """The edges in `[0, period)`; an error where there are more than 10 million.

        >>> pairs(Window(14, 8)).edges, pairs(Window(14, 8, offset=5)).edges
        ((0, 6), (3, 5))
        """
        return self._written_out(0, self.period)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the slices that begin at `edges`.

        >>> pairs(Window(14, 8)).lengths
        (6, 2)
        """
        edges = self.edges
        return tuple(b - a for a, b in pairwise((*edges, edges[0] + self.period)))

    def edges_between(self, start: int, end: int) -> Iterator[int]:
        """Yield the edges in `[start, end)`, in order.

        >>> list(pairs(Window(14, 8)).edges_between(-8, 9))
        [-8, -2, 0, 6, 8]
        """
        return merge(self.combs, start, end)

    def count_between(self, start: int, end: int) -> int:
        """Count the edges in `[start, end)`; where they are many, without producing them.

        >>> pairs(Window(14, 8)).count_between(0, 8_000_000_000_000)
        2000000000000
        """
        if sum(comb.count(start, end) for comb in self.combs) <= FEW:
            return sum(1 for _ in self.edges_between(start, end))
        return sum(sign * comb.count(start, end) for comb, sign in signed(self.combs))

    def is_edge(self, time: int) -> bool:
        """Tell whether a slice begins at a time.

        >>> [t for t in range(10) if pairs(Window(14, 8)).is_edge(t)]
        [0, 6, 8]
        """
        return any(comb.at_or_before(time) == time for comb in self.combs)

    def slice_of(self, time: int) -> Interval:
        """Find the slice that an event at a time falls into.

        >>> pairs(Window(14, 8)).slice_of(-1)
        Interval(start=-2, end=0)
        """
        start = max(comb.at_or_before(time) for comb in self.combs)
        return Interval(start, min(comb.after(time) for comb in self.combs))

    def per_window(self, window: Window) -> Fraction:
        """Count the partials that one interval of a window is made of: the mean, where intervals differ.

        Sliced alone, all intervals of a window need the same number, that of Table 1. Among other windows an
        interval meets their edges too, and how many depends on where it lies.

        >>> w = Window(14, 8)
        >>> [int(cut(w).per_window(w)) for cut in (panes, pairs, cutty)]
        [7, 3, 2]
        >>> pairs(Window(3, 3), Window(4, 4)).per_window(Window(3, 3))
        Fraction(3, 2)
        """
        for verb, at in (("start", 0), ("end", window.range)):
            # An edge at every interval's start, or end: one on average, since there cannot be two.
            if self._mean_count(window, at, at + 1) != 1 and not (self.reads_open and verb == "end"):
                msg = (
                    f"{window!r} is not made of these {self.kind}: not all its intervals {verb} on an edge. "
                    f"Pass it to {self.kind}(...) with the others"
                )
                raise CoverError(msg)
        return self._mean_count(window, 0, window.range)

    def compose(self, interval: Interval) -> tuple[Interval, ...]:
        """List the slices that make up a window's interval.

        Where Cutty's window ends inside a slice, the last one is cut at the window's end: it is the slice
        `slice_of(last.start)` as it stands at time `last.end`, still open.

        >>> cutty(Window(5, 3)).compose(Interval(3, 8))
        (Interval(start=3, end=6), Interval(start=6, end=8))
        """
        start, end = interval
        wrong = [
            f"{name} {time}"
            for name, time, free in (("start", start, False), ("end", end, self.reads_open))
            if not (free or self.is_edge(time))
        ]
        if wrong or start >= end:
            verdict = "is no edge" if len(wrong) == 1 else "are no edges"
            why = f"{' and its '.join(wrong)} {verdict}" if wrong else "start is not before its end"
            msg = (
                f"[{start}, {end}) is not made of these {self.kind}: its {why}. "
                f"Pass the window it belongs to to {self.kind}(...) with the others"
            )
            raise CoverError(msg)
        return tuple(Interval(a, b) for a, b in pairwise((*self._written_out(start, end), end)))

    def _written_out(self, start: int, end: int) -> tuple[int, ...]:
        # No comb holds more edges than the union: a cheap refusal before memory is spent.
        least = max(comb.count(start, end) for comb in self.combs)
        edges = () if least > EDGE_LIMIT else tuple(islice(self.edges_between(start, end), EDGE_LIMIT + 1))
        if max(least, len(edges)) > EDGE_LIMIT:
            msg = (
                f"these {self.kind} have more than {EDGE_LIMIT:,} edges in [{brief(start)}, {brief(end)}): "
                "too many to write out. Take them one by one with edges_between(start, end), or use slides "
                "that divide one another"
            )
            raise WindowError(msg)
        return edges

    def _mean_count(self, window: Window, low: int, high: int) -> Fraction:
        """Count the edges in `[start + low, start + high)`, on average over the window's starts."""
        total = Fraction(0)
        for comb, sign in signed(self.combs):
            # Starts and edges lie every distance apart that agrees with their phases modulo the gcd of their
            # steps; by the Chinese remainder theorem each such distance occurs at gcd of every `step` starts.
            shared = math.gcd(window.slide, comb.step)
            distances = Comb(shared, comb.phase - window.offset).count(low, high)
            total += Fraction(sign * shared * distances, comb.step)
        return total


def panes(*windows: Window) -> Slicing:
    """Cut time into equal slices, the longest that put every window's starts and ends on edges.

    >>> panes(Window(14, 8)).lengths, panes(Window(14, 8), Window(14, 8, offset=1)).lengths
    ((2,), (1,))
    """
    return Slicing("panes", (Comb(pane_width(windows), windows[0].offset),))


def pairs(*windows: Window) -> Slicing:
    """Cut time where a window starts and where one ends, and nowhere else.

    Each slide of a window falls into two fragments, `f2 = range % slide` and `f1 = slide - f2`. An end lies a
    whole number of slides and `f2` after a start: so `f2` comes first, counted from a start.

    >>> pairs(Window(14, 8)).lengths, pairs(Window(16, 8)).lengths
    ((6, 2), (8,))
    """
    found = _distinct(windows)
    starts = [Comb(window.slide, window.offset) for window in found]
    ends = [Comb(window.slide, window.offset + window.range) for window in found]
    return Slicing("pairs", thin(starts + ends))


def cutty(*windows: Window) -> Slicing:
    """Cut time only where a window starts; one that ends between reads the running slice while it is open.

    >>> cutty(Window(5, 3)).lengths
    (3,)
    """
    return Slicing("cutty", thin(Comb(window.slide, window.offset) for window in _distinct(windows)))


def pane_width(windows: Iterable[Window]) -> int:
    """Find the greatest width of equal slices on whose edges every window starts and ends.

    >>> pane_width([Window(20, 20), Window(30, 30), Window(40, 40)]), pane_width([Window(60, 10, offset=5)])
    (10, 10)
    """
    return common_measure(_distinct(windows))


def common_measure(windows: Sequence[Window]) -> int:
    """Find the greatest length that divides all ranges, slides and distances between offsets: the widest pane.

    Unlike `pane_width` it takes the set as it stands, factor windows included.

    >>> common_measure([Window(20, 20), Window(30, 10, offset=5), Window(40, 40, offset=5)])
    5
    """
    first = windows[0].offset
    return math.gcd(*(part for w in windows for part in (w.range, w.slide, w.offset - first)))


def _distinct(windows: Iterable[Window]) -> tuple[Window, ...]:
    """Check the set; a window that stands there under two names brings no further edges."""
    return window_set(dict.fromkeys(windows))
