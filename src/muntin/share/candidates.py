"""The ways to share that are weighed against one another, all in operations per unit of time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from muntin.logical.cost import cost_model
from muntin.logical.optimize import plan_groups
from muntin.logical.plan import Plan
from muntin.share.cost import WeaveCost
from muntin.share.weave import weave

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.logical.cost import Number
    from muntin.share.bundle import Bundle
    from muntin.share.queries import QuerySet
    from muntin.share.technique import Estimate, Technique

# The search for factor windows weighs all pairs of windows, and takes long for more.
FACTOR_LIMIT: Final = 300


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A way to share: its cost per unit of time of the windows (infinite, with a note, where it was not weighed).

    `bundles` are its trees; None stands for a tree for each query that was given.
    """

    optimizer: str
    cost: float
    trees: int | None
    model: WeaveCost | None = None
    bundles: tuple[Bundle, ...] | None = ()
    factor: Plan | None = None
    note: str = ""


def offers(
    queries: QuerySet, technique: Technique, estimate: Estimate, events: float, wanted: Sequence[str]
) -> Iterator[Offer]:
    """Weigh the wanted ways to share trees of slices, with one technique.

    >>> from muntin import Window
    >>> from muntin.share.queries import query_set
    >>> from muntin.share.technique import TECHNIQUES
    >>> found = query_set([Window(6, 2), Window(8, 4), Window(70, 7)])
    >>> weighed = offers(found, TECHNIQUES["Panes"], "paper", 1.0, ("none", "full", "weave", "triweave"))
    >>> [(offer.optimizer, round(offer.cost, 2), offer.trees) for offer in weighed]
    [('none', 6.43, 3), ('full', 9.57, 1), ('weave', 5.93, 2), ('triweave', 6.07, 2)]
    """
    model = WeaveCost(technique, estimate, events)
    if "none" in wanted:
        cost = sum(
            many * (events + model.final(load)) for many, load in zip(queries.often, queries.alone(), strict=True)
        )
        yield Offer("none", cost, len(queries.given), model, None)
    whole = queries.whole
    if "full" in wanted:
        yield _woven("full", model, (whole,))
    if "weave" in wanted:
        yield _woven("weave", model, weave(queries.bundles, model).trees)
    if "triweave" in wanted:
        fed = WeaveCost(technique, estimate, events, whole.edges)
        yield _woven("triweave", fed, weave(queries.bundles, fed).trees)


def factor_offer(queries: QuerySet, functions: Sequence[AggregateFunction], rate: Number, unit: int) -> Offer:
    """Weigh windows that read one another and factor windows.

    The items that they read are events and partials to be combined, as those of trees are: one operation each. Over
    a long time (`period="steady"`) their number per unit of time is a cost in the same unit.
    """
    if len(queries.distinct) > FACTOR_LIMIT:
        note = f"not weighed: {len(queries.distinct):,} distinct windows, the limit is {FACTOR_LIMIT}"
        return Offer("factor", math.inf, None, note=note)
    model = cost_model(queries.distinct, rate=rate, unit=unit, period="steady")
    plan = Plan(queries.distinct, plan_groups(queries.distinct, functions, "auto", model), "auto", model)
    return Offer("factor", float(Fraction(plan.cost) / model.period), None, factor=plan)


def _woven(optimizer: str, model: WeaveCost, bundles: tuple[Bundle, ...]) -> Offer:
    return Offer(optimizer, model.common + sum(map(model.tree, bundles)), len(bundles), model, bundles)
