"""A plan of many queries as text, and as values that JSON can hold."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from muntin.duration import format_unit
from muntin.errors import ShowError
from muntin.show.label import clean, cut, wrap
from muntin.show.number import number, percent, times
from muntin.window.edges import brief

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from muntin.share.plan import Candidate, SharePlan, Tree

WIDTH: Final = 100


def to_text(plan: SharePlan, *, limit: int | None) -> str:
    """Tell a plan: the outcome, what is proved, the candidates, the trees."""
    if limit is not None and (isinstance(limit, bool) or limit < 1):
        msg = f"limit must be a positive number of trees, or None for all of them, got {limit!r}"
        raise ShowError(msg)
    return "\n".join(_lines(plan, limit))


def amount(value: float) -> str:
    """Write a cost with some four digits that count.

    >>> amount(87461.25), amount(21.0512), amount(0.000123456), amount(1e20)
    ('87,461', '21.05', '0.0001235', '1e+20')
    """
    if 1000 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def _lines(plan: SharePlan, limit: int | None) -> Iterator[str]:
    distinct = len(set(plan.queries))
    several = f"{len(plan.queries):,} queries" if len(plan.queries) > 1 else "1 query"
    of_them = f" ({distinct:,} distinct)" if distinct < len(plan.queries) else ""
    unit = format_unit(plan.unit) if plan.queries[0].timed else "unit"
    rate = f"{number(plan.rate)} {'event' if plan.rate == 1 else 'events'} per {unit}"
    yield from wrap(
        f"{', '.join(plan.aggregates)} over {several}{of_them}, {rate}; costs are operations per {unit}", WIDTH
    )
    how = f"{plan.optimizer} with {plan.technique}" if plan.technique else plan.optimizer
    yield from wrap(f"{how}: {_outcome(plan)}", WIDTH)
    yield from wrap(_proved(plan), WIDTH)
    yield ""
    yield from _candidates(plan)
    if plan.trees:
        yield ""
        yield from _trees(plan, limit)
    elif plan.factor_plan is not None:
        yield ""
        windows = [w for group in plan.factor_plan.groups for w in group.forest.factor_windows]
        listed = ", ".join(map(str, windows[:8])) + (", ..." if len(windows) > 8 else "")
        yield from wrap(f"windows read one another, with {len(windows)} factor windows: {listed or 'none'}", WIDTH)


def _outcome(plan: SharePlan) -> str:
    cost, alone = plan.cost, plan.baseline_cost
    if cost > alone * (1 + 1e-9):
        return f"{amount(cost)}, more than the {amount(alone)} without sharing"
    if cost > alone * (1 - 1e-9):
        return f"{amount(cost)}, as without sharing"
    saved = percent(Fraction(alone) - Fraction(cost), Fraction(alone))
    return f"{amount(cost)} instead of {amount(alone)}, {saved} less ({times(Fraction(alone), Fraction(cost))})"


def _proved(plan: SharePlan) -> str:
    guarantee = plan.guarantee
    gap = guarantee.gap(plan.cost)
    if gap is None:
        return "nothing is proved of the best plan"
    if gap < 1e-9:
        return f"no plan with {plan.technique} costs less"
    said = f"no plan with {plan.technique} costs less than {amount(guarantee.bound or 0.0)}"
    if guarantee.savings is not None:
        said += f": {_least(guarantee.savings)} of what sharing can save is saved"
    if guarantee.factor:
        said += f" (greedy merging is known to save 1/{guarantee.factor} of it in practical cases)"
    return said


def _least(share: float) -> str:
    # Rounded down: a proof may claim too little, never too much.
    return f"at least {math.floor(1000 * share) / 10:.1f} %"


def _candidates(plan: SharePlan) -> Iterator[str]:
    rows = [("candidate", "technique", "trees", "cost", "")]
    for each in _best(plan.candidates):
        chosen = "chosen" if each.optimizer == plan.optimizer else ""
        rows.append(
            (
                each.optimizer,
                each.technique or "-",
                "-" if each.trees is None else f"{each.trees:,}",
                "-" if each.cost is None else amount(each.cost),
                chosen or each.note,
            )
        )
    yield from _table(rows, right=(2, 3))


def _best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Keep the cheapest technique of each optimizer."""
    best: dict[str, Candidate] = {}
    for each in candidates:
        known = best.get(each.optimizer)
        if known is None or (each.cost is not None and (known.cost is None or each.cost < known.cost)):
            best[each.optimizer] = each
    return list(best.values())


def _trees(plan: SharePlan, limit: int | None) -> Iterator[str]:
    rows = [("tree", "queries", "slides", "edges", "partial", "+ E x Omega", "= cost")]
    shown = plan.trees[:limit]
    for i, tree in enumerate(shown, start=1):
        rows.append(
            (
                str(i),
                f"{len(tree.members):,}",
                _slides(tree),
                _edges(tree),
                amount(tree.partial_cost),
                f"{amount(float(tree.edges) * plan.unit)} x {amount(tree.omega)}",
                amount(tree.cost),
            )
        )
    if plan.shared_edges is not None:
        edges, fold = number(plan.shared_edges * plan.unit), plan.cost - sum(tree.cost for tree in plan.trees)
        yield f"one partial aggregator for all costs {amount(fold)} and cuts {edges} slices"
    yield from _table(rows, right=(1, 3, 4, 5, 6))
    rest = plan.trees[len(shown) :]
    if rest:
        yield f"... {len(rest):,} more, {amount(sum(tree.cost for tree in rest))} (limit=None shows all)"


def _slides(tree: Tree) -> str:
    """List the slides of a tree, or the shortest and the longest where there are many."""
    slides = sorted({window.slide for window in tree.members})
    texts = [tree.members[0].text(slide) for slide in slides]
    if len(texts) > 3:
        texts = [f"{texts[0]} to {texts[-1]} ({len(texts)})"]
    return cut(clean(", ".join(texts)), 24)


def _edges(tree: Tree) -> str:
    if not tree.exact:
        return "at most"
    if tree.composite is None or tree.count is None:
        return "counted"
    first, length = tree.members[0], brief(tree.composite)
    # What is too long for digits is too long for days.
    return f"{brief(tree.count)} in {first.text(tree.composite) if first.timed and length.isdecimal() else length}"


def _table(rows: Sequence[tuple[str, ...]], right: Sequence[int]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield cut("  ".join(cells).rstrip(), WIDTH)


def to_dict(plan: SharePlan) -> dict[str, Any]:
    """Give everything about a plan as plain values; costs are per unit of the plan."""
    return {
        "optimizer": plan.optimizer,
        "technique": plan.technique,
        "estimate": plan.estimate,
        "aggregates": list(plan.aggregates),
        "queries": len(plan.queries),
        "distinct": len(set(plan.queries)),
        "rate": str(plan.rate),
        "unit": format_unit(plan.unit) if plan.queries[0].timed else str(plan.unit),
        "cost": plan.cost,
        "baseline_cost": plan.baseline_cost,
        "bound": plan.guarantee.bound,
        "savings": plan.guarantee.savings,
        "factor": plan.guarantee.factor,
        "shared_edges": None if plan.shared_edges is None else str(plan.shared_edges),
        "trees": [_tree(tree) for tree in plan.trees],
        "factor_windows": [str(w) for w in plan.factor_plan.factor_windows] if plan.factor_plan else [],
        "candidates": [
            {"optimizer": c.optimizer, "technique": c.technique, "cost": c.cost, "trees": c.trees, "note": c.note}
            for c in plan.candidates
        ],
    }


def _tree(tree: Tree) -> dict[str, Any]:
    return {
        "members": [window.id for window in tree.members],
        "distinct": tree.distinct,
        "slides": sorted({window.slide for window in tree.members}),
        "longest_range": max(window.range for window in tree.members),
        "cut": tree.cut,
        "edges": str(tree.edges),
        "exact": tree.exact,
        # JSON readers lose digits of longer integers, and Python refuses to write very long ones.
        "composite": None if tree.composite is None else brief(tree.composite),
        "count": None if tree.count is None else brief(tree.count),
        "omega": tree.omega,
        "partial_cost": tree.partial_cost,
        "final_cost": tree.final_cost,
        "cost": tree.cost,
    }
