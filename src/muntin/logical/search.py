"""Algorithm 3: the min-cost plan with factor windows, one candidate per window of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin.logical.factors import best_covering_factor, best_partitioning_factor, weigh
from muntin.logical.graph import CoverageGraph, coverage_graph
from muntin.logical.mincost import min_cost

if TYPE_CHECKING:
    from muntin.logical.cost import CostModel, Number
    from muntin.logical.forest import Forest
    from muntin.window.spec import Window


def factor_search(graph: CoverageGraph, model: CostModel) -> Forest:
    """Insert the best factor window below the root and below each window, then run Algorithm 1.

    A factor window is judged against the one window it was found for. Where its readers turn out to have
    better parents elsewhere it may cost more than it saves, so those that do are taken out again; the answer
    is never dearer than Algorithm 1's.

    >>> from muntin import Window
    >>> from muntin.logical.cost import cost_model
    >>> from muntin.logical.relation import Relation
    >>> windows = [Window(20, 20), Window(30, 30), Window(40, 40)]
    >>> found = factor_search(coverage_graph(windows, Relation("covered")), cost_model(windows))
    >>> found.cost, found.factor_windows
    (150, (Window(10, 10),))
    """
    find = best_covering_factor if graph.relation.sharing == "covered" else best_partitioning_factor
    # Candidates under "partitioned by" suffice where all windows tumble: the two relations coincide there.
    if all(window.tumbling for window in graph.windows):
        find = best_partitioning_factor
    weights = weigh(graph.windows, model)
    factors: set[Window] = set()
    for target, downstream in _targets(graph):
        factor = find(target, downstream, model, weights)
        if factor is not None and factor not in graph.parents:
            factors.add(factor)
    plain = min_cost(graph, model)
    if not factors:
        return plain
    expanded = coverage_graph([*graph.windows, *factors], graph.relation)
    found = min_cost(_without_losses(expanded, factors, model), model, graph.windows)
    return min(found, plain, key=lambda forest: forest.cost)


def _targets(graph: CoverageGraph) -> list[tuple[Window | None, list[Window]]]:
    """Pair the root and each window with its readers, where there are any (pattern (a) of Figure 8)."""
    readers: dict[Window | None, list[Window]] = {}
    for child, parents in graph.parents.items():
        for parent in parents or (None,):
            readers.setdefault(parent, []).append(child)
    return list(readers.items())


def _without_losses(graph: CoverageGraph, factors: set[Window], model: CostModel) -> CoverageGraph:
    """Take out, one by one, the factor windows that cost more than they save."""
    # The cheapest parent stands last, so that those taken out can be dropped from the end.
    ranked = {w: sorted(found.items(), key=lambda item: -item[1]) for w, found in graph.parents.items()}
    events = {w: model.events(w) for w in graph.parents}
    readers: dict[Window, list[Window]] = {factor: [] for factor in sorted(factors)}
    for child, found in graph.parents.items():
        for parent in factors & found.keys():
            readers[parent].append(child)
    closed: set[Window] = set()

    def reads(window: Window) -> Number:
        parents = ranked[window]
        while parents and parents[-1][0] in closed:
            parents.pop()
        return min(parents[-1][1], events[window]) if parents else events[window]

    def saves(factor: Window, child: Window) -> Number:
        now, parents = reads(child), ranked[child]
        if not parents or parents[-1][0] != factor:
            return 0  # The child reads another window, with this one or without it.
        rest = next((count for parent, count in reversed(parents[:-1]) if parent not in closed), events[child])
        return model.instances(child) * (min(rest, events[child]) - now)

    def loses(factor: Window) -> bool:
        saved = sum(saves(factor, child) for child in readers[factor] if child not in closed)
        return saved < model.instances(factor) * reads(factor)

    before = -1
    while before < len(closed):
        before = len(closed)
        for factor in readers:
            if factor not in closed and loses(factor):
                closed.add(factor)
    parents = {window: dict(found) for window, found in graph.parents.items() if window not in closed}
    for factor in closed:
        for child in readers[factor]:
            if child not in closed:
                del parents[child][factor]
    return CoverageGraph(graph.relation, parents)
