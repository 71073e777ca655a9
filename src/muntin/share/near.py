"""Which trees are worth weighing against one another, where there are too many for all pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from muntin.share.bundle import Bundle
    from muntin.share.cost import WeaveCost
    from muntin.share.omega import Floats

NEAREST: Final = 16


class Near:
    """For each tree those with which merging adds the fewest operations, judged by their finest combs alone.

    Trees are numbered as they come up.
    """

    def __init__(self, bundles: Sequence[Bundle], cost: WeaveCost) -> None:
        self._cost = cost
        room = 2 * len(bundles)  # n trees merge n - 1 times at most
        self._steps: NDArray[np.int64] = np.ones(room, np.int64)
        self._rates: Floats = np.zeros(room)
        self._work: Floats = np.zeros(room)
        self._there = np.zeros(room, np.bool_)
        for i, bundle in enumerate(bundles):
            self._note(i, bundle)

    def of(self, tree: int) -> list[int]:
        """List the trees nearest to one, in the order in which they came up."""
        others = np.flatnonzero(self._there)
        others = others[others != tree]
        steps, rates, work = self._steps[others], self._rates[others], self._work[others]
        shared = np.gcd(steps, self._steps[tree]) / (steps * float(self._steps[tree]))
        together = np.maximum(np.maximum(rates, self._rates[tree]), rates + self._rates[tree] - shared)
        added = (together - rates) * work + (together - self._rates[tree]) * self._work[tree]
        # Among equals the first: a partition alone would leave open which.
        limit = np.partition(added, NEAREST)[NEAREST] if len(added) > NEAREST else np.inf
        close = np.flatnonzero(added <= limit)
        return sorted(others[close[np.argsort(added[close], kind="stable")[:NEAREST]]].tolist())

    def merge(self, one: int, other: int, new: int, bundle: Bundle) -> None:
        """Put a tree in the place of the two that it was merged of."""
        self._there[[one, other]] = False
        self._note(new, bundle)

    def _note(self, i: int, bundle: Bundle) -> None:
        self._steps[i] = min(bundle.combs[0][0], 1 << 62)
        self._rates[i] = bundle.load.rate
        self._work[i] = self._cost.final(bundle.load) / bundle.load.rate
        self._there[i] = True
