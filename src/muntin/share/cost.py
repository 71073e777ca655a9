"""What a plan costs: operations per unit of time, for partial and for final aggregation (Equation 1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

    from muntin.share.bundle import Bundle
    from muntin.share.omega import Load
    from muntin.share.technique import Estimate, Technique


@dataclass(frozen=True, slots=True)
class WeaveCost:
    """The cost of a tree, and so of a plan, which is the sum of its trees' and `common`.

    WeaveShare: C = m λ + the sum of E_i Ω_i. Each of the m trees folds every event into its own slices.

    TriWeave: C = λ + m' E + the sum of E_i Ω_i. One partial aggregator folds the λ events into the slices of the
    composite slide of *all* queries, of which there are E, no fewer than any E_i. Each tree takes these E ready
    partials in place of the events, and folds them into its own slices, of which there are E_i. A tree that has all
    the edges there are takes the partials as they stand: m' counts the others. With one tree both formulas are the
    same, λ + E Ω; where E = λ, as at one event per unit and a slide of one, TriWeave costs λ more for several trees.

    `events` is λ, `shared` is E or None for WeaveShare; all are per unit of time of the windows.
    """

    technique: Technique
    estimate: Estimate
    events: float
    shared: Fraction | None = None

    @property
    def common(self) -> float:
        """What is paid once for all trees."""
        return 0.0 if self.shared is None else self.events

    def partial(self, edges: Fraction) -> float:
        """Cost of a tree's partial aggregation."""
        if self.shared is None:
            return self.events
        return 0.0 if edges >= self.shared else float(self.shared)

    def final(self, load: Load) -> float:
        """Cost of a tree's final aggregation: E_i Ω_i."""
        return load.rate * self.technique.omega(load, self.estimate)

    def tree(self, bundle: Bundle) -> float:
        """Cost of a tree."""
        return self.partial(bundle.edges) + self.final(bundle.load)

    def least(self, load: Load, most: float) -> float:
        """Bound the cost of a tree from below, of which only bounds of its edges are known: `load.rate` and `most`."""
        if self.shared is None:
            return self.events + self.final(load)
        every = float(self.shared)
        if most < every * (1 - 1e-12):
            return every + self.final(load)
        return min(every + self.final(load), self.final(replace(load, rate=every)))
