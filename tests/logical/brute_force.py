"""The cheapest plan by trying: every parent for every window, every set of factor windows."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from muntin import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.logical.cost import CostModel, Number
    from muntin.logical.relation import Relation

NEVER = np.int64(2**50)


def every_window(wanted: Sequence[Window], relation: Relation) -> list[Window]:
    """All windows on whole numbers, up to the longest range, that some wanted window reads at any remove."""
    left = {
        Window(r, s, o)
        for r in range(1, max(w.range for w in wanted) + 1)
        for s in range(1, r + 1)
        for o in range(s)
        if any(w.slide % s == 0 for w in wanted)
    }.difference(wanted)
    found: list[Window] = []
    readers = list(wanted)
    while readers:
        fresh = [w for w in left if any(relation.count(reader, w) is not None for reader in readers)]
        left.difference_update(fresh)
        found += fresh
        readers = fresh
    return sorted(found)


class Costs:
    """What each window pays to read each other or the events, as whole multiples of one fraction of an item."""

    def __init__(self, wanted: Sequence[Window], pool: Sequence[Window], relation: Relation, model: CostModel) -> None:
        self.windows = [*wanted, *pool]
        self.wanted = len(wanted)
        events = [Fraction(model.from_events(w)) for w in self.windows]
        arcs = {
            (i, j): Fraction(model.from_parent(child, count))
            for i, child in enumerate(self.windows)
            for j, parent in enumerate(self.windows)
            if i != j and (count := relation.count(child, parent)) is not None
        }
        self.atom = Fraction(1, math.lcm(*(cost.denominator for cost in [*events, *arcs.values()])))
        self.events = np.array([int(cost / self.atom) for cost in events], np.int64)
        self.table = np.full((len(self.windows), len(self.windows)), NEVER, np.int64)
        for (i, j), cost in arcs.items():
            self.table[i, j] = int(cost / self.atom)
        # What each window pays at most: the events, or a wanted window.
        self.sure = np.minimum(self.events, self.table[:, : self.wanted].min(axis=1, initial=NEVER))

    def of(self, subsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The cost of the cheapest plan with each of many sets of factor windows, all of one size: rows of indices."""
        total = np.zeros(len(subsets), np.int64)
        for child in range(self.wanted):
            total += np.minimum(self.table[child][subsets].min(axis=1, initial=NEVER), self.sure[child])
        for member in subsets.T:
            others = self.table[member[:, None], subsets].min(axis=1, initial=NEVER)
            total += np.minimum(others, self.sure[member])
        return total

    def best(self, most: int) -> tuple[Number, tuple[Window, ...]]:
        """The cheapest plan with at most so many factor windows."""
        indices = range(self.wanted, len(self.windows))
        best = int(self.sure[: self.wanted].sum())
        chosen: tuple[int, ...] = ()
        for size in range(1, min(most, len(indices)) + 1):
            subsets = np.array(list(combinations(indices, size)), np.int64)
            costs = self.of(subsets)
            if costs.min() < best:
                best, chosen = int(costs.min()), tuple(subsets[costs.argmin()].tolist())
        return best * self.atom, tuple(self.windows[i] for i in chosen)
