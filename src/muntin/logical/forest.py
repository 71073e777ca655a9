"""The min-cost forest (Theorem 7): each window with the one parent it reads, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from muntin.logical.cost import CostModel, Number
    from muntin.logical.relation import Relation
    from muntin.window.spec import Window


@dataclass(frozen=True, slots=True)
class Node:
    """One window of a plan: what it reads, how often, and how much of it each time."""

    window: Window
    parent: Window | None
    factor: bool
    instances: Number
    reads: Number

    @property
    def cost(self) -> Number:
        """Items read over the period: n_i times mu_i."""
        return self.instances * self.reads


@dataclass(frozen=True, slots=True)
class Forest:
    """Windows and factor windows, parents before children, under one relation and one cost model."""

    relation: Relation
    model: CostModel
    nodes: tuple[Node, ...]

    @property
    def cost(self) -> Number:
        """The total cost C over the period."""
        return sum(node.cost for node in self.nodes)

    @property
    def factor_windows(self) -> tuple[Window, ...]:
        """The auxiliary windows, whose results are not shown to the user."""
        return tuple(node.window for node in self.nodes if node.factor)

    def node(self, window: Window) -> Node:
        """Find the node of a window."""
        return next(node for node in self.nodes if node.window == window)

    def children(self, window: Window | None) -> tuple[Node, ...]:
        """List what reads a window; for None, what reads the events."""
        return tuple(node for node in self.nodes if node.parent == window)

    def walk(self, parent: Window | None = None, depth: int = 0) -> Iterator[tuple[int, Node]]:
        """Yield every node with its depth, each parent before what reads it."""
        by_parent: dict[Window | None, list[Node]] = {}
        for node in self.nodes:
            by_parent.setdefault(node.parent, []).append(node)
        pending = [(depth, node) for node in reversed(by_parent.get(parent, []))]
        while pending:
            level, node = pending.pop()
            yield level, node
            pending.extend((level + 1, child) for child in reversed(by_parent.get(node.window, [])))

    def starts(self, node: Node) -> tuple[int, ...]:
        """List where the parent's intervals that make up one of the node's start, from its own start."""
        return () if node.parent is None else self.relation.starts(node.window, node.parent)


def forest(
    parents: Mapping[Window, Window | None], wanted: Collection[Window], relation: Relation, model: CostModel
) -> Forest:
    """Build the forest in which each window reads the parent given for it; what is not `wanted` is a factor.

    Factor windows that nobody reads are left out: they would cost and serve no one.
    """
    asked = set(wanted)
    kept = set(asked)
    pending = list(asked)
    while pending:
        parent = parents[pending.pop()]
        if parent is not None and parent not in kept:
            kept.add(parent)
            pending.append(parent)
    # Finer slides and shorter ranges first: a parent is never longer than its child.
    ordered = sorted(kept, key=lambda w: (w.range, w.slide, w.offset))
    return Forest(relation, model, tuple(_node(w, parents[w], w not in asked, relation, model) for w in ordered))


def _node(window: Window, parent: Window | None, factor: bool, relation: Relation, model: CostModel) -> Node:
    if parent is None:
        return Node(window, None, factor, model.instances(window), model.events(window))
    count = relation.count(window, parent)
    assert count is not None, f"{window!r} cannot read {parent!r}"
    return Node(window, parent, factor, model.instances(window), count)
