"""The logical plan: for each group of aggregates that share, the forest that computes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from muntin.errors import OptimizeError

if TYPE_CHECKING:
    from muntin.aggregate.algebra import AggregateFunction
    from muntin.logical.cost import CostModel, Number
    from muntin.logical.forest import Forest
    from muntin.window.spec import Window


@dataclass(frozen=True, slots=True)
class Group:
    """Aggregates that go through one forest together, and why they do.

    `gap` is the share of the cost by which an unknown better plan could undercut this one: 0 where it is
    proved optimal, None where nothing is proved.
    """

    functions: tuple[AggregateFunction, ...]
    forest: Forest
    reason: str
    gap: float | None = None

    @property
    def cost(self) -> Number:
        """Items read over the period."""
        return self.forest.cost


@dataclass(frozen=True, slots=True)
class Plan:
    """Windows, the groups of their aggregates, and the cost of it all beside the cost without sharing."""

    windows: tuple[Window, ...]
    groups: tuple[Group, ...]
    optimizer: str
    model: CostModel

    @property
    def cost(self) -> Number:
        """Items read over the period, each group counted by itself."""
        return sum(group.cost for group in self.groups)

    @property
    def baseline_cost(self) -> Number:
        """The same without sharing: every window reads the events, for each group."""
        return len(self.groups) * sum(self.model.from_events(window) for window in self.windows)

    @property
    def factor_windows(self) -> tuple[Window, ...]:
        """The auxiliary windows of all groups, whose results are not shown."""
        return tuple(sorted({window for group in self.groups for window in group.forest.factor_windows}))

    @property
    def gap(self) -> float | None:
        """The largest gap of any group; None where one has none proved."""
        gaps = [group.gap for group in self.groups]
        return None if None in gaps else max(gap for gap in gaps if gap is not None)

    def parent_of(self, window: Window, aggregate: str | None = None) -> Window | None:
        """Find what a window reads: another window, or None for the events.

        With several groups, `aggregate` names the one to look in; the first is looked in otherwise.
        """
        group = self.group_of(aggregate)
        known = {node.window: node.parent for node in group.forest.nodes}
        if window not in known:
            names = ", ".join(repr(w) for w in known)
            msg = f"{window!r} is not in the plan, whose windows are {names}"
            raise OptimizeError(msg)
        return known[window]

    def group_of(self, aggregate: str | None) -> Group:
        """Find the group of an aggregate by name; the first group for None."""
        for group in self.groups:
            if aggregate is None or aggregate in {function.name for function in group.functions}:
                return group
        names = ", ".join(function.name for group in self.groups for function in group.functions)
        msg = f"no aggregate {aggregate!r} in the plan, which has {names}"
        raise OptimizeError(msg)
