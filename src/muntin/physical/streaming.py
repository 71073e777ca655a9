"""How windows over a stream are put together: slice by slice, or from a tree over the slices; by cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from muntin.errors import WindowError
from muntin.window.slices import pairs, pane_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.window.spec import Window

# What a micro-batch costs, in Spark's own operators of one tumbling window: docs/performance.md has the measurements.
SHARED: Final = 2.0
_COPY: Final = 0.25


@dataclass(frozen=True, slots=True)
class Assembly:
    """One window: how many slices it holds, and what a slide reads, slice by slice and from a tree."""

    window: Window
    slices: float
    by_slices: float
    by_tree: float

    @property
    def tree(self) -> bool:
        """Whether a tree reads less."""
        return self.by_tree < self.by_slices


def assemblies(windows: Sequence[Window]) -> tuple[Assembly, ...]:
    """Weigh, for each window, the blobs that a slide reads and writes.

    Slice by slice a slide reads every slice in range. A tree's cover has up to two nodes a level, about one in the
    mean; and each slice that came since the last slide is written once into a node of a tree, which reads two.

    >>> from muntin import hopping, tumbling
    >>> [each.tree for each in assemblies([tumbling("1h"), hopping("24h", "1m"), hopping("10m", "5m")])]
    [False, True, False]
    """
    rate = slice_rate(windows)
    found = []
    for window in windows:
        held = max(float(rate * window.range), 1.0)
        fresh = max(float(rate * window.slide), 1.0)
        found.append(Assembly(window, held, held, 2 * math.log2(max(held, 2.0)) + 3 * fresh))
    return tuple(found)


def native_weight(windows: Sequence[Window]) -> float:
    """Weigh Spark's own operators: one for each window, and dearer by each further window that holds an event.

    >>> from muntin import hopping, tumbling
    >>> native_weight([tumbling("1m"), hopping("1m", "20s")])
    2.5
    """
    return sum(1 + _COPY * (math.ceil(Fraction(window.range, window.slide)) - 1) for window in windows)


def slice_rate(windows: Sequence[Window]) -> Fraction:
    """Count the slices of a microsecond: edges of windows, or panes where no formula counts these."""
    try:
        cut = pairs(*windows)
        return Fraction(cut.edge_count, cut.period)
    except WindowError:
        return Fraction(1, pane_width(windows))
