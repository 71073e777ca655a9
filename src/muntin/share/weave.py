"""Greedy merging of trees, pair by pair, as WeaveShare and TriWeave do it: each pair is weighed once."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

import numpy as np

from muntin.share.bundle import joined, merged
from muntin.share.near import Near

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.share.bundle import Bundle
    from muntin.share.cost import WeaveCost

# Up to so many bundles the gain of every pair is computed when the pair comes up, else when it may be the best.
EAGER: Final = 64
# Up to so many bundles every pair is looked at, beyond them each bundle's nearest.
ALL_PAIRS: Final = 400
# Edges are compared comb by comb only between small bundles.
COMPARED: Final = 4_096
# A gain that rounding alone could have made is none.
NOISE: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Woven:
    """The trees that are left when no merge gains any more; how many merges, and how many pairs were weighed."""

    trees: tuple[Bundle, ...]
    merges: int
    weighed: int
    every_pair: bool


def weave(bundles: Sequence[Bundle], cost: WeaveCost) -> Woven:
    """Merge the two trees whose merging saves most, again and again, until none does.

    A pair's gain does not change while both its trees are there: it is computed once and kept in a heap, whose entries
    die with their trees. After a merge only the pairs of the new tree are new: n merges take O(n²) gains in all, and
    not O(n²) each. Of equal gains the pair wins that came up first.

    >>> from muntin import Window
    >>> from muntin.share.bundle import bundles_of
    >>> from muntin.share.cost import WeaveCost
    >>> from muntin.share.technique import TECHNIQUES
    >>> windows = [Window(6, 2), Window(8, 4), Window(70, 7)]
    >>> woven = weave(bundles_of(windows, "pairs"), WeaveCost(TECHNIQUES["Panes"], "paper", events=1.0))
    >>> [tree.places for tree in woven.trees]
    [(2,), (0, 1)]
    """
    merges = weighed = 0
    trees = tuple(bundles)
    every = len(trees) <= ALL_PAIRS
    while True:
        woven = _Weaving(trees, cost).run()
        trees, merges, weighed = woven.trees, merges + woven.merges, weighed + woven.weighed
        # Where only the nearest were looked at, others are near now.
        if woven.every_pair or not woven.merges:
            return Woven(trees, merges, weighed, every)


class _Weaving:
    def __init__(self, bundles: Sequence[Bundle], cost: WeaveCost) -> None:
        self._cost = cost
        self._trees: dict[int, Bundle] = dict(enumerate(bundles))
        self._costs = {i: cost.tree(bundle) for i, bundle in self._trees.items()}
        self._heap: list[tuple[float, int, int, bool]] = []
        self._lazy = len(bundles) > EAGER
        self._weighed = 0
        self._near = Near(bundles, cost) if len(bundles) > ALL_PAIRS else None

    def run(self) -> Woven:
        """Merge until no pair gains."""
        count = len(self._trees)
        pairs = {(min(one, other), max(one, other)) for one in range(count) for other in self._near_to(one)}
        for one, other in sorted(pairs):
            self._offer(one, other)
        merges = 0
        while self._heap:
            _, i, j, exact = heappop(self._heap)
            if i not in self._trees or j not in self._trees:
                continue
            if not exact:
                self._weigh(i, j)
                continue
            new = count + merges
            tree = merged(self._trees.pop(i), self._trees.pop(j))
            merges += 1
            self._trees[new] = tree
            self._costs[new] = self._cost.tree(tree)
            if self._near is not None:
                self._near.merge(i, j, new, tree)
            for k in self._near_to(new):
                self._offer(k, new)
        return Woven(tuple(self._trees.values()), merges, self._weighed, self._near is None)

    def _near_to(self, i: int) -> list[int]:
        """List the trees that are there already and are weighed against one."""
        return [k for k in self._trees if k < i] if self._near is None else self._near.of(i)

    def _offer(self, i: int, j: int) -> None:
        """Put a pair into the heap, for the time being with the most that it can gain."""
        if not self._lazy:
            self._weigh(i, j)
            return
        one, other = self._trees[i], self._trees[j]
        load = joined(one.load, other.load, _fewest(one, other))
        self._push(i, j, self._costs[i] + self._costs[j] - self._cost.least(load), exact=False)

    def _weigh(self, i: int, j: int) -> None:
        self._weighed += 1
        together = self._cost.tree(merged(self._trees[i], self._trees[j]))
        self._push(i, j, self._costs[i] + self._costs[j] - together, exact=True)

    def _push(self, i: int, j: int, gain: float, *, exact: bool) -> None:
        if gain > NOISE * (self._costs[i] + self._costs[j]):
            heappush(self._heap, (-gain, i, j, exact))


def _fewest(one: Bundle, other: Bundle) -> float:
    """Bound the edges of two bundles together from below.

    There are no fewer than the more of the two has, and no fewer than both have less what pairs of their combs share.
    """
    least = max(one.load.rate, other.load.rate)
    if len(one.combs) * len(other.combs) > COMPARED or max(one.combs[-1][0], other.combs[-1][0]) >= 1 << 62:
        return least
    a = np.array([step for step, _ in one.combs], np.int64)
    b = np.array([step for step, _ in other.combs], np.int64)
    shared = np.gcd.outer(a, b) / np.multiply.outer(a.astype(float), b.astype(float))
    # Less a little, for rounding: the bound must hold.
    return max(least, (one.load.rate + other.load.rate - float(shared.sum())) * (1 - 1e-12))
