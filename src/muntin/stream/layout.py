"""What a stream's workers need to know: plain values, so that Spark can send them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from muntin.incremental.columnar_operator import Array
    from muntin.kernels.objects import ObjectAggregate
    from muntin.kernels.sweep import Lane
    from muntin.window.spec import Window

Mode: TypeAlias = Literal["append", "update", "latest"]


@dataclass(frozen=True, slots=True)
class Layout:
    """Rows of slices: `keys` key columns, the pane in which the slice begins, then the columns of the lanes.

    Windows count in panes; pane p begins at `p * width + offset` microseconds. A slice reaches from one edge of a
    window to the next, and goes by the pane in which it begins.
    """

    keys: int
    windows: tuple[Window, ...]
    lanes: tuple[Lane, ...]
    width: int
    offset: int = 0
    trees: frozenset[int] = field(default_factory=frozenset)
    """The windows, by number, that are put together from a tree over slices and not slice by slice."""
    mode: Mode = "append"
    objects: tuple[ObjectAggregate, ...] = ()
    """The aggregates of Python objects, for which the events themselves are kept."""
    step: int = 1
    """Events come in panes that are so many panes of the layout apart: where it counts finer than the windows need."""
    cuts: tuple[Window, ...] = ()
    """Windows at whose edges slices begin, too, although they are not computed."""
    since: tuple[int | None, ...] = ()
    """The first start of each window; None, or nothing at all, where it had every event there was."""
    retain: int = 0
    """For so many panes after its beginning a slice is kept, whether windows need it or not."""

    @property
    def reach(self) -> int:
        """How many panes the longest window holds."""
        return max(window.range for window in self.windows)

    def starts(self, panes: Array) -> Array:
        """Find where the slices begin that hold some panes: at the last edge of any window.

        >>> from muntin.window.spec import Window
        >>> Layout(0, (Window(4, 4), Window(5, 3)), (), 1).starts(np.arange(9))
        array([0, 0, 2, 3, 4, 5, 6, 6, 8])
        """
        if not len(panes) or any(window.slide == self.step for window in (*self.windows, *self.cuts)):
            return panes
        low = int(panes.min())
        span = (int(panes.max()) - low) // self.step + 1
        if span > 4 * len(panes) + 64:
            values, places = np.unique(panes, return_inverse=True)
            edges: Array = self._edges(values)[places]
            return edges
        found: Array = self._edges(low + self.step * np.arange(span))[(panes - low) // self.step]
        return found

    def _edges(self, panes: Array) -> Array:
        found = np.full(len(panes), np.iinfo(np.int64).min)
        for window in (*self.windows, *self.cuts):
            np.maximum(found, panes - (panes - window.offset) % window.slide, out=found)
            if window.range % window.slide:
                np.maximum(found, panes - (panes - window.offset - window.range) % window.slide, out=found)
        return found

    def last_ends(self, slices: Array) -> Array:
        """Find where the last window ends that holds each slice: after that nobody needs it.

        >>> from muntin.window.spec import Window
        >>> Layout(0, (Window(4, 4), Window(5, 3)), (), 1).last_ends(np.array([0, 3, 4]))
        array([5, 8, 8])
        """
        ends = [slices - (slices - window.offset) % window.slide + window.range for window in self.windows]
        found: Array = np.maximum.reduce(ends)
        return found

    def needed(self, slices: Array, passed: int) -> Array:
        """Tell which slices are kept once pane `passed` has passed: those of windows to come, and those retained.

        >>> from muntin.window.spec import Window
        >>> Layout(0, (Window(4, 4),), (), 1, retain=6).needed(np.array([0, 4, 8]), 8)
        array([False,  True,  True])
        """
        found: Array = self.last_ends(slices) > passed
        return found | (slices + self.retain > passed) if self.retain else found

    def passed(self, watermark: int) -> int:
        """Find the pane at or before a watermark in microseconds: a window that ends there or before is complete."""
        return (watermark - self.offset) // self.width

    def due(self, window: Window, low: int, high: int) -> range:
        """List where windows end that end after pane `low` and not after pane `high`.

        >>> from muntin.window.spec import Window
        >>> list(Layout(0, (Window(5, 3),), (), 1).due(Window(5, 3), 4, 11))
        [5, 8, 11]
        """
        first = low + 1 + (window.offset + window.range - low - 1) % window.slide
        return range(first, high + 1, window.slide)

    def ends(self, number: int, low: int, high: int) -> range:
        """List the same of a window by its number, from its first start on.

        >>> from muntin.window.spec import Window
        >>> list(Layout(0, (Window(5, 3),), (), 1, since=(4,)).ends(0, 4, 11))
        [11]
        """
        window = self.windows[number]
        first = self.since[number] if self.since else None
        return self.due(window, low if first is None else max(low, first + window.range - 1), high)

    def next_end(self, slices: Array, passed: int) -> int | None:
        """Find where the next window ends that holds a slice, after pane `passed`; slices are in order.

        >>> from muntin.window.spec import Window
        >>> Layout(0, (Window(4, 4), Window(12, 3)), (), 1).next_end(np.array([0, 20]), 12)
        21
        """
        found: list[int] = []
        for window in self.windows:
            end = self.due(window, passed, passed + window.slide)[0]
            place = int(np.searchsorted(slices, end - window.range))
            if place == len(slices):
                continue
            # The earliest window that holds this slice, unless it has ended already.
            first = self.due(window, int(slices[place]), int(slices[place]) + window.slide)[0]
            found.append(max(first, end))
        return min(found, default=None)

    def timer(self, end: int) -> int:
        """Find the first watermark, in the whole milliseconds of Spark's, that passes the end of a window.

        >>> Layout(0, (), (), 1).timer(2001)
        3
        """
        return -(-(end * self.width + self.offset) // 1000)
