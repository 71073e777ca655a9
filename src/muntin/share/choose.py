"""From many queries to one plan: all ways to share are weighed in one unit, and the cheapest is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from muntin.aggregate.names import resolve
from muntin.errors import AggregateError, OptimizeError
from muntin.logical.cost import read_rate, read_unit
from muntin.logical.relation import check_sharing
from muntin.share.candidates import all_offers, factor_offer, least_cost
from muntin.share.edges import composite
from muntin.share.plan import Candidate, Guarantee, SharePlan, Tree
from muntin.share.queries import query_set
from muntin.share.technique import ESTIMATES, applicable, find_technique

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from muntin.aggregate.algebra import Aggregate, AggregateFunction
    from muntin.share.bundle import Bundle
    from muntin.share.candidates import Offer
    from muntin.share.combs import Cut
    from muntin.share.cost import WeaveCost
    from muntin.share.queries import QuerySet
    from muntin.share.technique import Estimate
    from muntin.window.spec import Window

ShareOptimizer: TypeAlias = Literal["auto", "none", "full", "weave", "triweave", "factor"]
# In this order, so that of equal costs the simpler way to share is taken.
WAYS: Final = ("full", "weave", "triweave", "none", "factor")
# What Chung, Guirguis and Kurdia proved of greedy merging, for a practical variant: a quarter of the possible savings.
PROVED: Final = 4


def plan_queries(
    queries: Iterable[Window],
    aggregates: str | AggregateFunction | Aggregate | Iterable[str | AggregateFunction | Aggregate],
    *,
    optimizer: ShareOptimizer = "auto",
    technique: str = "auto",
    rate: float | str | Fraction = 1,
    unit: int | str | None = None,
    cut: Cut = "pairs",
    estimate: Estimate = "due",
) -> SharePlan:
    """Plan many queries over one stream: which of them share an execution tree, and how each tree aggregates.

    `optimizer` is "none" (a tree for each query), "full" (one tree for all), "weave" (WeaveShare: each tree folds the
    events), "triweave" (TriWeave: one partial aggregator feeds all trees), "factor" (windows read one another and
    factor windows, as `muntin.optimize` has them), or "auto", the cheapest of all. `technique` names the final
    aggregator of the trees, or is "auto", the cheapest that the aggregates allow. `cut` is how slices are cut: "pairs",
    "cutty" (events must come in order) or "panes". `estimate` is how final aggregation is priced: "due" as our
    structures do it, "paper" as in Table 3. `rate` is the number of events per `unit`, as for `muntin.optimize`.

    Identical queries are computed once. The plan depends on nothing but the arguments.

    >>> from muntin import Window, agg
    >>> plan = plan_queries([Window(6, 2), Window(8, 4), Window(70, 7)], agg.max, technique="Panes", optimizer="weave")
    >>> [tree.members for tree in plan.trees], round(plan.cost, 2)
    ([(Window(6, 2), Window(8, 4)), (Window(70, 7),)], 5.93)
    """
    if optimizer not in ("auto", *WAYS):
        msg = f"optimizer must be one of 'auto', {', '.join(map(repr, WAYS))}, got {optimizer!r}"
        raise OptimizeError(msg)
    if estimate not in ESTIMATES:
        msg = f"estimate must be either 'due' or 'paper', got {estimate!r}"
        raise OptimizeError(msg)
    functions = _functions(aggregates)
    techniques = applicable(functions) if technique == "auto" else (find_technique(technique, functions),)
    events = read_rate(rate)
    found = query_set(queries, cut)
    length = read_unit(found.distinct, unit)
    weighed = all_offers(found, techniques, estimate, float(events) / length)
    weighed.append(factor_offer(found, functions, estimate, events, length))
    open_to = [offer for offer in weighed if optimizer in ("auto", offer.optimizer)]
    best = min(open_to, key=_rank)
    if best.note:
        msg = f"optimizer {optimizer!r} has no plan for these queries, {best.note}. Use 'auto' or another"
        raise OptimizeError(msg)
    alone = min(offer.cost for offer in weighed if offer.optimizer == "none")
    trees = () if best.model is None else _trees(found, best, best.model, length)
    fed = best.model is not None and best.model.shared is not None
    return SharePlan(
        queries=found.given,
        aggregates=tuple(function.name for function in functions),
        optimizer=best.optimizer,
        technique=None if best.model is None else best.model.technique.name,
        estimate=estimate,
        rate=events,
        unit=length,
        trees=trees,
        cost=best.cost * length,
        baseline_cost=alone * length,
        shared_edges=found.whole.edges if fed else None,
        factor_plan=best.factor,
        candidates=tuple(_candidate(offer, length) for offer in weighed),
        guarantee=_guarantee(found, best, weighed, float(events) / length, length),
    )


def _rank(offer: Offer) -> tuple[float, int]:
    """Order offers by cost; where only rounding tells costs apart, by simplicity."""
    return float(f"{offer.cost:.9e}"), WAYS.index(offer.optimizer)


def _functions(
    aggregates: str | AggregateFunction | Aggregate | Iterable[str | AggregateFunction | Aggregate],
) -> tuple[AggregateFunction, ...]:
    several = not isinstance(aggregates, str) and hasattr(aggregates, "__iter__")
    named = [resolve(what) for what in (aggregates if several else (aggregates,))]  # type: ignore[arg-type, union-attr]
    if not named:
        msg = "there is no aggregate: name at least one, for example agg.max"
        raise AggregateError(msg)
    for function in named:
        check_sharing(function, "partitioned")
    return tuple(dict.fromkeys(named))


def _candidate(offer: Offer, unit: int) -> Candidate:
    technique = None if offer.model is None else offer.model.technique.name
    return Candidate(offer.optimizer, technique, None if offer.note else offer.cost * unit, offer.trees, offer.note)


def _trees(found: QuerySet, offer: Offer, model: WeaveCost, unit: int) -> tuple[Tree, ...]:
    """Write the trees of an offer out, those with the most edges first."""
    members: dict[Window, list[Window]] = {}
    for query in found.given:
        members.setdefault(query, []).append(query)
    if offer.bundles is not None:
        trees = [_tree(found, bundle, members, model, unit) for bundle in offer.bundles]
    else:
        trees = []
        for query in found.given:
            single = query_set((query,), found.cut)
            trees.append(_tree(single, single.whole, {query: [query]}, model, unit))
    return tuple(sorted(trees, key=lambda tree: (-tree.edges, -len(tree.members), tree.members[0], tree.members[0].id)))


def _tree(found: QuerySet, bundle: Bundle, members: Mapping[Window, list[Window]], model: WeaveCost, unit: int) -> Tree:
    distinct = sorted(bundle.places)
    return Tree(
        members=tuple(query for place in distinct for query in members[found.distinct[place]]),
        distinct=len(distinct),
        cut=bundle.cut,
        edges=bundle.edges,
        exact=bundle.exact,
        composite=composite(found.distinct[place].slide for place in distinct),
        omega=model.technique.omega(bundle.load, model.estimate),
        partial_cost=model.partial(bundle.edges) * unit,
        final_cost=model.final(bundle.load) * unit,
    )


def _guarantee(found: QuerySet, best: Offer, weighed: Sequence[Offer], events: float, unit: int) -> Guarantee:
    model = best.model
    if model is None:
        return Guarantee()
    bound = least_cost(found, model.technique, model.estimate, events)
    apart = next(o.cost for o in weighed if o.optimizer == "none" and o.model and o.model.technique is model.technique)
    most = apart - bound
    savings = min(1.0, (apart - best.cost) / most) if most > 0 else None
    factor = PROVED if best.optimizer in ("weave", "triweave") else None
    return Guarantee(bound * unit, savings, factor)
