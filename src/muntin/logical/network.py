"""A choice of factor windows as a Steiner arborescence: nodes, and the cost of each reading each other.

The root is the events, the wanted windows are the terminals, the candidates may or may not take part, and an
arc from a parent to a child costs what the child pays over the period when it reads that parent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from muntin.logical.pairs import pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from muntin.logical.cost import CostModel
    from muntin.logical.relation import Relation
    from muntin.window.spec import Window

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Network:
    """Costs as a matrix, child by parent, in items per unit of time; the last column is the events.

    The first `terminals` windows are wanted. An arc that cannot be, or that something always at hand
    undercuts, costs infinity.
    """

    windows: tuple[Window, ...]
    terminals: int
    costs: Floats

    @property
    def size(self) -> int:
        """How many windows there are, wanted ones and candidates."""
        return len(self.windows)


def network(wanted: Sequence[Window], candidates: Sequence[Window], relation: Relation, model: CostModel) -> Network:
    """Lay out the costs of all arcs between the wanted windows and the candidates."""
    windows = (*wanted, *candidates)
    # Per unit of time, so that a period of a thousand digits stays within a float.
    instances = np.array([float(model.instances(w) / model.period) for w in windows])
    events = np.array([float(model.events(w)) for w in windows])
    costs = np.full((len(windows), len(windows) + 1), np.inf)
    costs[:, -1] = instances * events
    child, parent, count = pairs(windows, relation)
    costs[child, parent] = instances[child] * count
    return Network(windows, len(wanted), trimmed(costs, len(wanted)))


def trimmed(costs: Floats, terminals: int) -> Floats:
    """Drop each arc that costs more than the best parent always at hand, the events or a wanted window."""
    sure = np.minimum(costs[:, -1], costs[:, :terminals].min(axis=1, initial=np.inf))[:, None]
    kept = costs.copy()
    kept[:, :terminals][kept[:, :terminals] > sure] = np.inf
    optional = kept[:, terminals:-1]
    optional[optional >= sure] = np.inf
    kept[:, -1:][kept[:, -1:] > sure] = np.inf
    return kept
