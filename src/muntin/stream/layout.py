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
        if not len(panes) or any(window.slide == 1 for window in self.windows):
            return panes
        low, span = int(panes.min()), int(panes.max()) - int(panes.min()) + 1
        if span > 4 * len(panes) + 64:
            values, places = np.unique(panes, return_inverse=True)
            edges: Array = self._edges(values)[places]
            return edges
        found: Array = self._edges(np.arange(low, low + span))[panes - low]
        return found

    def _edges(self, panes: Array) -> Array:
        found = np.full(len(panes), np.iinfo(np.int64).min)
        for window in self.windows:
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
