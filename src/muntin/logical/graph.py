"""The window coverage graph (factor-windows II-C), augmented with the virtual root (IV-A)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from muntin.logical.pairs import pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from muntin.logical.relation import Relation
    from muntin.window.spec import Window


@dataclass(frozen=True, slots=True)
class CoverageGraph:
    """Windows, and for each the parents it can be computed from with the number of intervals it would read.

    A window without parents hangs on the virtual root: the events.

    >>> from muntin import Window
    >>> from muntin.logical.relation import Relation
    >>> graph = coverage_graph([Window(10, 10), Window(20, 20), Window(40, 40)], Relation("covered"))
    >>> graph.parents[Window(40, 40)]
    {Window(10, 10): 4, Window(20, 20): 2}
    """

    relation: Relation
    parents: Mapping[Window, Mapping[Window, int]]

    @property
    def windows(self) -> tuple[Window, ...]:
        """All windows, in order."""
        return tuple(self.parents)

    @property
    def edges(self) -> tuple[tuple[Window, Window, int], ...]:
        """All edges as (parent, child, multiplier)."""
        return tuple((p, c, count) for c, found in self.parents.items() for p, count in found.items())

    def downstream(self, window: Window | None) -> tuple[Window, ...]:
        """List the windows that can read a window; for None, the virtual root, those without a parent."""
        if window is None:
            return tuple(child for child, found in self.parents.items() if not found)
        return tuple(child for child, found in self.parents.items() if window in found)


def coverage_graph(windows: Iterable[Window], relation: Relation) -> CoverageGraph:
    """Build the graph of a window set: an edge from W2 to W1 wherever W1 may be computed from W2."""
    distinct = sorted(set(windows))
    child, parent, count = pairs(distinct, relation)
    parents: dict[Window, dict[Window, int]] = {}
    bounds = np.searchsorted(child, np.arange(len(distinct) + 1)).tolist()
    for window, start, end in zip(distinct, bounds, bounds[1:], strict=False):
        found = [distinct[place] for place in parent[start:end].tolist()]
        parents[window] = dict(zip(found, count[start:end].tolist(), strict=True))
    return CoverageGraph(relation, parents)
