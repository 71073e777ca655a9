"""The ways to share that are weighed against one another, all in operations per unit of time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from muntin.logical.cost import cost_model
from muntin.share.bound import least_final
from muntin.share.bundle import settled
from muntin.share.cost import WeaveCost
from muntin.share.factor import factor_plan
from muntin.share.weave import EAGER, weave

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.logical.cost import Number
    from muntin.logical.plan import Plan
    from muntin.share.bundle import Bundle
    from muntin.share.queries import QuerySet
    from muntin.share.technique import Estimate, Technique

MERGING: Final = ("weave", "triweave")
TREES: Final = ("none", "full", *MERGING)
# The search for factor windows weighs all pairs of windows and candidates: some seconds.
FACTOR_LIMIT: Final = 200


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
        yield _woven("weave", model, tuple(map(settled, weave(queries.bundles, model).trees)))
    if "triweave" in wanted:
        fed = WeaveCost(technique, estimate, events, whole.edges)
        yield _woven("triweave", fed, tuple(map(settled, weave(queries.bundles, fed).trees)))


def all_offers(queries: QuerySet, techniques: Sequence[Technique], estimate: Estimate, events: float) -> list[Offer]:
    """Weigh all ways to share trees of slices with all techniques, in the order of these.

    Where there are many different sets of edges, merging takes long. A way is then not weighed with a technique of
    which no plan can cost less than what another has reached: the cheapest of each way is found all the same.
    """
    few = len(queries.bundles) <= EAGER
    bounds = {each.name: least_cost(queries, each, estimate, events) for each in techniques}
    reached: dict[str, float] = {}
    found: dict[str, list[Offer]] = {}
    for each in sorted(techniques, key=lambda technique: bounds[technique.name]):
        bound = bounds[each.name]
        wanted = [way for way in TREES if few or way not in MERGING or bound < reached.get(way, math.inf)]
        found[each.name] = list(offers(queries, each, estimate, events, wanted))
        for offer in found[each.name]:
            reached[offer.optimizer] = min(offer.cost, reached.get(offer.optimizer, math.inf))
        model = WeaveCost(each, estimate, events)
        found[each.name] += [
            Offer(way, math.inf, None, model, note="not weighed: another technique costs less than the least of this")
            for way in TREES
            if way not in wanted
        ]
    return [offer for each in techniques for offer in found[each.name]]


def least_cost(queries: QuerySet, technique: Technique, estimate: Estimate, events: float) -> float:
    """Bound the cost of every plan of trees with a technique from below: the events are folded once at least."""
    return events + least_final(technique.name, estimate, queries.ranges, queries.slides, queries.edges)


def factor_offer(
    queries: QuerySet, functions: Sequence[AggregateFunction], estimate: Estimate, rate: Number, unit: int
) -> Offer:
    """Weigh windows that read one another and factor windows.

    The items that they read are events and partials to be combined, as those of trees are: one operation each. Over
    a long time (`period="steady"`) their number per unit of time is a cost in the same unit. Where handing out a
    result is an operation (`muntin.share.omega_due`), it is one here too.
    """
    if len(queries.distinct) > FACTOR_LIMIT:
        note = f"not weighed: {len(queries.distinct):,} distinct windows, the limit is {FACTOR_LIMIT}"
        return Offer("factor", math.inf, None, note=note)
    model = cost_model(queries.distinct, rate=rate, unit=unit, period="steady")
    plan = factor_plan(queries.distinct, functions, model)
    results = float(np.sum(1 / queries.slides)) if estimate == "due" else 0.0
    return Offer("factor", float(Fraction(plan.cost) / model.period) + results, None, factor=plan)


def _woven(optimizer: str, model: WeaveCost, bundles: tuple[Bundle, ...]) -> Offer:
    return Offer(optimizer, model.common + sum(map(model.tree, bundles)), len(bundles), model, bundles)
