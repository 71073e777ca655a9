"""From windows and aggregates to the plan: the choice of optimizer, group by group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from muntin.errors import OptimizeError
from muntin.logical.exact import Found, search_all
from muntin.logical.forest import forest
from muntin.logical.graph import coverage_graph
from muntin.logical.mincost import min_cost
from muntin.logical.plan import Group
from muntin.logical.relation import Relation, Sharing, check_sharing, sharing_of
from muntin.logical.search import factor_search
from muntin.window.slices import common_measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.logical.cost import CostModel
    from muntin.logical.relation import Covers
    from muntin.window.spec import Window

Optimizer: TypeAlias = Literal["none", "mincost", "factor", "exact", "auto"]
OPTIMIZERS: Final[tuple[Optimizer, ...]] = ("none", "mincost", "factor", "exact", "auto")
# `exact` lays out a square matrix over its candidates: this many take about a gigabyte.
EXACT_LIMIT: Final = 5_000
EXACT_SECONDS: Final = 60.0
# In less time it can lay out and judge fewer: 1,500 take about a second.
EXACT_LIMIT_PER_SECOND: Final = 1_500
# Panes in a range, as 64-bit integers multiply them, and events in it, as floats hold them.
PANE_LIMIT: Final = 2**31
EVENT_LIMIT: Final = 10**300
# `auto` has to answer within 100 ms for 20 windows and within 2 s for 1,000.
AUTO_LIMIT: Final = 300
AUTO_SECONDS: Final = 0.05
AUTO_SECONDS_PER_WINDOW: Final = 0.0006


def plan_groups(
    windows: Sequence[Window],
    functions: Sequence[AggregateFunction],
    optimizer: Optimizer,
    model: CostModel,
    *,
    sharing: Sharing | None = None,
    covers: Covers | None = None,
    seconds: float | None = None,
) -> tuple[Group, ...]:
    """Plan the aggregates in at most two groups: those that can be shared, and those that cannot.

    All that share go through one tree, which reads each item once and carries the partials of all; the
    strictest of them decides whether covers may overlap.
    """
    check_optimizer(optimizer)
    _check_option("sharing", sharing, ("covered", "partitioned", "none"))
    _check_option("covers", covers, ("dense", "sparse"))
    shareable = [f for f in functions if f.shareable]
    for function in functions:
        if sharing is not None:
            check_sharing(function, sharing)
        elif not shareable and optimizer not in ("none", "auto"):
            check_sharing(function, "partitioned")
    groups = [_group(windows, shareable, optimizer, model, sharing, covers, seconds)] if shareable else []
    rest = [f for f in functions if not f.shareable]
    if rest:
        alone = search("none", windows, Relation("none"), model).forest
        reason = "no bounded partial to share: each window reads the events"
        groups.append(Group(tuple(rest), alone, reason, 0.0))
    return tuple(groups)


def search(
    optimizer: Optimizer,
    windows: Sequence[Window],
    relation: Relation,
    model: CostModel,
    seconds: float | None = None,
) -> Found:
    """Run one optimizer under one relation, `exact` and `auto` for at most about `seconds`."""
    if optimizer == "none" or relation.sharing == "none":
        # Where nothing may be shared there is one plan, so it is the best.
        gap = 0.0 if relation.sharing == "none" else None
        return Found(forest(dict.fromkeys(windows), windows, relation, model), gap)
    if optimizer == "mincost":
        return Found(min_cost(coverage_graph(windows, relation), model), None)
    paper = Relation(relation.sharing, "dense")
    known = factor_search(coverage_graph(windows, relation if optimizer == "factor" else paper), model)
    if optimizer == "factor":
        return Found(known, None)
    problem = _beyond(windows, model)
    if problem and optimizer == "auto":
        return Found(known, None)
    if problem:
        msg = f"optimizer 'exact' {problem}. Use 'auto' or 'factor'"
        raise OptimizeError(msg)
    if optimizer == "exact":
        time = EXACT_SECONDS if seconds is None else seconds
        limit = int(min(EXACT_LIMIT, max(AUTO_LIMIT, EXACT_LIMIT_PER_SECOND * time)))
    else:
        time = max(AUTO_SECONDS, AUTO_SECONDS_PER_WINDOW * len(windows)) if seconds is None else seconds
        limit = AUTO_LIMIT if len(windows) <= 100 else 2 * AUTO_LIMIT
    return search_all(windows, relation, model, start=known.factor_windows, limit=limit, seconds=time)


def _beyond(windows: Sequence[Window], model: CostModel) -> str:
    """Say what makes a window set too large for the search over all candidates, if anything does."""
    longest, pane = max(windows, key=lambda w: w.range), common_measure(windows)
    if longest.range // pane >= PANE_LIMIT:
        return (
            "looks at every multiple of the widest common pane, and the longest range here has "
            f"more than 2**31 of them ({longest.text(pane)})"
        )
    if model.events(longest) >= EVENT_LIMIT:
        return "weighs plans in floats, and an interval of the longest range here has more than 10**300 events"
    return ""


def check_optimizer(optimizer: str) -> None:
    """Refuse a name that is no optimizer's."""
    if optimizer not in OPTIMIZERS:
        msg = f"optimizer must be one of {', '.join(map(repr, OPTIMIZERS))}, got {optimizer!r}"
        raise OptimizeError(msg)


def check_seconds(seconds: float | None) -> None:
    """Refuse a time limit that is no time."""
    if seconds is not None and not seconds > 0:
        msg = f"seconds must be positive, or None for the optimizer's own limit, got {seconds!r}"
        raise OptimizeError(msg)


def _check_option(name: str, value: str | None, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        choices = ", ".join(map(repr, known))
        msg = f"{name} must be one of {choices}, or None to let aggregate and optimizer decide, got {value!r}"
        raise OptimizeError(msg)


def _group(
    windows: Sequence[Window],
    functions: Sequence[AggregateFunction],
    optimizer: Optimizer,
    model: CostModel,
    sharing: Sharing | None,
    covers: Covers | None,
    seconds: float | None,
) -> Group:
    kind = sharing or sharing_of(functions)
    # The paper combines every interval between the ends; the optimizers beyond it, the fewest that do.
    how: Covers = covers or ("sparse" if optimizer in ("exact", "auto") else "dense")
    found = search(optimizer, windows, Relation(kind, how), model, seconds)
    return Group(tuple(functions), found.forest, _reason(functions, "none" if optimizer == "none" else kind), found.gap)


def _reason(functions: Sequence[AggregateFunction], kind: Sharing) -> str:
    if kind == "none":
        return "not shared, as asked: each window reads the events"
    if kind == "covered":
        return "overlap is harmless: any cover will do"
    strict = [f.name for f in functions if f.sharing == "partitioned"]
    whom = f" for {' and '.join(strict)}" if 0 < len(strict) < len(functions) else ""
    return f"an event must count once{whom}: covers must not overlap"
