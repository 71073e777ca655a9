"""The plan of many queries: its trees, what they cost, what else was weighed, and what is proved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muntin.share.explain import to_dict, to_text
from muntin.share.schedule import SLICERS

if TYPE_CHECKING:
    from fractions import Fraction

    from muntin.logical.cost import Number
    from muntin.logical.plan import Plan
    from muntin.share.combs import Cut
    from muntin.share.technique import Estimate
    from muntin.window.slices import Slicing
    from muntin.window.spec import Window


@dataclass(frozen=True, slots=True)
class Tree:
    """Queries that share slices and a final aggregator; costs are operations per unit of the plan.

    `edges` is the number of slices per unit of time of the windows: exact, unless counting it would take too long; then
    it is an upper bound, and so are the costs. `composite` is the length after which slices repeat (None where it is
    astronomical), `omega` the operations of final aggregation for each slice.
    """

    members: tuple[Window, ...]
    distinct: int
    cut: Cut
    edges: Fraction
    exact: bool
    composite: int | None
    omega: float
    partial_cost: float
    final_cost: float

    @property
    def cost(self) -> float:
        """Partial and final aggregation together."""
        return self.partial_cost + self.final_cost

    @property
    def count(self) -> int | None:
        """The number of slices in a composite slide, where it is known."""
        return None if self.composite is None or not self.exact else int(self.edges * self.composite)

    @property
    def slicing(self) -> Slicing:
        """The slices, to be produced as they are asked for."""
        return SLICERS[self.cut](*dict.fromkeys(self.members))


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to share that was weighed; no cost, and a note why, where it was not."""

    optimizer: str
    technique: str | None
    cost: float | None
    trees: int | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What is known of the best plan: no plan of this technique costs less than `bound`.

    `savings` is the share of the greatest possible savings over separate trees that the plan reaches at least, by the
    bound. Of greedy merging a quarter is proved whatever the queries, for a practical variant of the problem (Chung,
    Guirguis and Kurdia, COCOON 2014): `factor`.
    """

    bound: float | None = None
    savings: float | None = None
    factor: int | None = None

    def gap(self, cost: float) -> float | None:
        """Give the share of a cost by which an unknown better plan could undercut it."""
        return None if self.bound is None else max(0.0, 1 - self.bound / cost)


@dataclass(frozen=True, slots=True)
class SharePlan:
    """How many queries over one stream are computed together.

    For `factor` there are no trees of slices, but the windows of `factor_plan`, which read one another.
    """

    queries: tuple[Window, ...]
    aggregates: tuple[str, ...]
    optimizer: str
    technique: str | None
    estimate: Estimate
    rate: Number
    unit: int
    trees: tuple[Tree, ...]
    cost: float
    baseline_cost: float
    shared_edges: Fraction | None
    """The edges of all queries together, where one partial aggregator serves all trees (TriWeave); else None."""
    factor_plan: Plan | None
    candidates: tuple[Candidate, ...]
    guarantee: Guarantee

    def explain(self, *, limit: int | None = 20) -> str:
        """Tell the plan as text in 100 columns, with all candidates, and up to `limit` trees (None for all)."""
        return to_text(self, limit=limit)

    def to_dict(self) -> dict[str, Any]:
        """Give the plan as values that JSON can hold: fractions as text."""
        return to_dict(self)

    def tree_of(self, query: Window) -> Tree | None:
        """Find the tree that computes a query; None where the plan has no trees."""
        return next((tree for tree in self.trees if query in tree.members), None)

    def __repr__(self) -> str:
        how = f"{self.optimizer} with {self.technique}" if self.technique else self.optimizer
        names = ", ".join(self.aggregates)
        return (
            f"<plan by {how}: {names} over {len(self.queries):,} queries in {len(self.trees)} "
            f"{'tree' if len(self.trees) == 1 else 'trees'}, {self.cost:.6g} operations per unit>"
        )

    def __str__(self) -> str:
        return self.explain()
