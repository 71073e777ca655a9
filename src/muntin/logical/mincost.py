"""Algorithm 1: the cheapest plan that shares among the given windows alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin.logical.forest import Forest, forest

if TYPE_CHECKING:
    from collections.abc import Collection

    from muntin.logical.cost import CostModel
    from muntin.logical.graph import CoverageGraph
    from muntin.window.spec import Window


def min_cost(graph: CoverageGraph, model: CostModel, wanted: Collection[Window] | None = None) -> Forest:
    """Let every window read whatever is cheapest for it: the events, or one window that covers it.

    Each window's choice stands alone, because a parent is computed anyway: so the least total is found. What
    of the graph's windows is not `wanted` is a factor window, left out where nobody reads it.

    >>> from muntin import Window
    >>> from muntin.logical.cost import cost_model
    >>> from muntin.logical.graph import coverage_graph
    >>> from muntin.logical.relation import Relation
    >>> windows = [Window(10, 10), Window(20, 20), Window(30, 30), Window(40, 40)]
    >>> min_cost(coverage_graph(windows, Relation("covered")), cost_model(windows)).cost
    150
    """
    chosen: dict[Window, Window | None] = {}
    for window, found in graph.parents.items():
        # Fewest intervals first; among equals the longest parent, so that plans are the same on every run.
        best, count = min(found.items(), key=lambda edge: (edge[1], -edge[0].range), default=(None, None))
        # At equal cost the paper keeps the edge.
        chosen[window] = best if count is not None and count <= model.events(window) else None
    return forest(chosen, graph.windows if wanted is None else wanted, graph.relation, model)
