"""Factor windows for many queries: windows that read one another, chosen without a clock."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from muntin.logical.candidates import candidates
from muntin.logical.forest import forest
from muntin.logical.local import local_search
from muntin.logical.network import network
from muntin.logical.optimize import AUTO_LIMIT, EVENT_LIMIT, PANE_LIMIT, plan_groups
from muntin.logical.plan import Plan
from muntin.logical.relation import sharing_of
from muntin.window.slices import common_measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.logical.cost import CostModel
    from muntin.logical.forest import Forest
    from muntin.logical.plan import Group
    from muntin.window.spec import Window


def factor_plan(windows: Sequence[Window], functions: Sequence[AggregateFunction], model: CostModel) -> Plan:
    """Plan distinct windows that read one another and factor windows: Algorithm 3, then a local search from there.

    `muntin.optimize` goes on to prove what it found for as long as its clock allows; here a plan may depend on its
    input alone, so that the search ends where no single opening, closing or exchange helps.

    >>> from muntin import Window, agg
    >>> from muntin.logical.cost import cost_model
    >>> windows = [Window(20, 20), Window(30, 30), Window(40, 40)]
    >>> plan = factor_plan(windows, [agg.min], cost_model(windows))
    >>> plan.cost, plan.factor_windows
    (150, (Window(10, 10),))
    """
    longest = max(windows, key=lambda w: w.range)
    # Beyond these the arithmetic of the search does not hold.
    small = longest.range // common_measure(windows) < PANE_LIMIT and model.events(longest) < EVENT_LIMIT
    best: tuple[Group, ...] = ()
    # A tiling is legal for whatever tolerates overlap, and a good place to start from: covers are too many to try.
    for sharing in dict.fromkeys(("partitioned", sharing_of(functions))):
        (group,) = plan_groups(windows, functions, "factor", model, sharing=sharing, covers="sparse")
        found = (group, *best)
        if small:
            found += tuple(replace(group, forest=_searched(group.forest, each.forest, windows)) for each in found)
        best = (min(found, key=lambda each: each.cost),)
    return Plan(tuple(windows), best, "factor", model)


def _searched(like: Forest, known: Forest, windows: Sequence[Window]) -> Forest:
    """Open and close candidates for factor windows, from those of a plan that is known."""
    relation, model = like.relation, like.model
    wanted = sorted(windows)
    pool = candidates(wanted, relation, AUTO_LIMIT if len(wanted) <= AUTO_LIMIT // 3 else 2 * AUTO_LIMIT)
    layout = network(wanted, sorted({*pool.windows, *known.factor_windows}), relation, model)
    place = {window: i for i, window in enumerate(layout.windows)}
    _, opened = local_search(layout.costs, layout.terminals, [place[w] for w in known.factor_windows])
    nodes = [*range(layout.terminals), *opened]
    cheapest = layout.costs[np.ix_(nodes, [*nodes, -1])].argmin(axis=1)
    parents = {
        layout.windows[node]: layout.windows[nodes[best]] if best < len(nodes) else None
        for node, best in zip(nodes, cheapest.tolist(), strict=True)
    }
    return forest(parents, wanted, relation, model)
