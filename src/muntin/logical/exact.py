"""The choice among all candidate factor windows: proved optimal, or as good as the time allows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from muntin.logical.ascent import solve
from muntin.logical.candidates import candidates
from muntin.logical.forest import Forest, forest
from muntin.logical.network import Network, network

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from muntin.logical.cost import CostModel
    from muntin.logical.relation import Relation
    from muntin.window.spec import Window


@dataclass(frozen=True, slots=True)
class Found:
    """A plan, and the share of its cost by which a better one could undercut it: 0 where it is optimal.

    `gap` is None where not all candidates were looked at, so that nothing is proved.
    """

    forest: Forest
    gap: float | None


def search_all(
    windows: Sequence[Window],
    relation: Relation,
    model: CostModel,
    *,
    start: Iterable[Window] = (),
    limit: int,
    seconds: float,
) -> Found:
    """Choose among at most `limit` candidate factor windows for at most about `seconds`.

    `start` are factor windows already known to help: the answer is never worse than the plan with them.

    >>> from muntin import Window
    >>> from muntin.logical.cost import cost_model
    >>> from muntin.logical.relation import Relation
    >>> windows = [Window(20, 20), Window(30, 30), Window(40, 40)]
    >>> found = search_all(windows, Relation("covered", "sparse"), cost_model(windows), limit=1000, seconds=10)
    >>> found.forest.cost, found.gap
    (150, 0.0)
    """
    wanted = sorted(set(windows))
    known = sorted(set(start).difference(wanted))
    pool = candidates(wanted, relation, limit)
    layout = network(wanted, sorted({*pool.windows, *known}), relation, model)
    index = {window: i for i, window in enumerate(layout.windows)}
    deadline = time.monotonic() + seconds
    solution = solve(layout.costs, layout.terminals, tuple(index[w] for w in known), deadline)
    plans = (_plan(layout, opened, relation, model) for opened in (solution.opened, [index[w] for w in known]))
    best = min(plans, key=lambda forest: forest.cost)
    if not pool.complete:
        return Found(best, None)
    return Found(best, 0.0 if solution.optimal else 1 - solution.bound / solution.cost)


def _plan(layout: Network, opened: Iterable[int], relation: Relation, model: CostModel) -> Forest:
    """Let each wanted window and each opened candidate read what is cheapest for it."""
    nodes = [*range(layout.terminals), *opened]
    parents: dict[Window, Window | None] = {}
    for node, best in zip(nodes, layout.costs[np.ix_(nodes, [*nodes, -1])].argmin(axis=1), strict=True):
        parents[layout.windows[node]] = layout.windows[nodes[best]] if best < len(nodes) else None
    return forest(parents, layout.windows[: layout.terminals], relation, model)
