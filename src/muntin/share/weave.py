"""Greedy merging of trees, pair by pair, as WeaveShare and TriWeave do it: each pair is weighed once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

import numpy as np

from muntin.share.bundle import merged
from muntin.share.near import Near
from muntin.share.omega import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from muntin.share.bundle import Bundle
    from muntin.share.cost import WeaveCost

# Up to so many bundles the gain of every pair is computed when the pair comes up, else when it may be the best.
EAGER: Final = 64
# Up to so many bundles every pair is looked at, beyond them each bundle's nearest.
ALL_PAIRS: Final = 200
# Where only the nearest are looked at, a merge that gains so much of what the best may gain is as good.
GOOD: Final = 0.95
# Edges are compared comb by comb only between small bundles; a few without NumPy, which takes longer to start.
COMPARED: Final = 1_024
FEW: Final = 40
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
        self._steps = {i: _Steps(bundle) for i, bundle in self._trees.items()} if self._lazy else {}
        self._near = Near(bundles, cost) if len(bundles) > ALL_PAIRS else None

    def run(self) -> Woven:
        """Merge until no pair gains, or it is time to look around anew."""
        count = len(self._trees)
        pairs = {(min(one, other), max(one, other)) for one in range(count) for other in self._near_to(one)}
        for one, other in sorted(pairs):
            self._offer(one, other)
        merges = 0
        # Where only the nearest are looked at, these are others when half of the trees are gone.
        enough = 0 if self._near is None else max(count // 2, ALL_PAIRS)
        while self._heap and len(self._trees) > enough:
            _, i, j, exact = heappop(self._heap)
            if i not in self._trees or j not in self._trees:
                continue
            if not exact:
                gain = self._gain(i, j)
                best = -self._heap[0][0] if self._heap else 0.0
                if self._near is None or gain < GOOD * best or not best:
                    self._push(i, j, gain, exact=True)
                    continue
            new = count + merges
            tree = merged(self._trees.pop(i), self._trees.pop(j))
            merges += 1
            self._trees[new] = tree
            self._costs[new] = self._cost.tree(tree)
            if self._lazy:
                self._steps[new] = _Steps(tree)
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
            self._push(i, j, self._gain(i, j), exact=True)
            return
        one, other = self._trees[i], self._trees[j]
        # Together they have no fewer edges than either, and than both less what pairs of their combs share; less a
        # little, for rounding: the bound must hold.
        most = one.load.rate + other.load.rate
        fewest = (most - self._steps[i].shared(self._steps[j])) * (1 - 1e-12)
        steps = max(one.load.steps, other.load.steps)
        load = joined(one.load, other.load, max(one.load.rate, other.load.rate, fewest), steps)
        least = self._cost.least(load, most)
        self._push(i, j, self._costs[i] + self._costs[j] - least, exact=False)

    def _gain(self, i: int, j: int) -> float:
        """Compute what merging a pair saves."""
        self._weighed += 1
        return self._costs[i] + self._costs[j] - self._cost.tree(merged(self._trees[i], self._trees[j]))

    def _push(self, i: int, j: int, gain: float, *, exact: bool) -> None:
        if gain > NOISE * (self._costs[i] + self._costs[j]):
            heappush(self._heap, (-gain, i, j, exact))


class _Steps:
    """The steps of a tree's combs, to be compared with another's."""

    __slots__ = ("count", "floats", "steps", "whole")

    def __init__(self, bundle: Bundle) -> None:
        self.count = len(bundle.combs)
        self.steps = [step for step, _ in bundle.combs] if self.count <= COMPARED else []
        self.whole: NDArray[np.int64] | None = None
        if self.steps and max(self.steps) < 1 << 62:
            self.whole = np.array(self.steps, np.int64)
            self.floats = self.whole.astype(float)

    def shared(self, other: _Steps) -> float:
        """Add up what pairs of combs have in common at most, per unit of time; infinity where it is not worth it."""
        if self.count * other.count <= FEW:
            return sum(math.gcd(a, b) / (a * b) for a in self.steps for b in other.steps)
        if self.whole is None or other.whole is None or self.count * other.count > COMPARED:
            return math.inf
        products = np.multiply.outer(self.floats, other.floats)
        return float(np.sum(np.gcd.outer(self.whole, other.whole) / products))
