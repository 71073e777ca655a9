"""What users call: from windows and aggregates to a plan that explains and draws itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin.aggregate.names import resolve
from muntin.errors import AggregateError
from muntin.logical.cost import cost_model
from muntin.logical.optimize import check_optimizer, plan_groups
from muntin.logical.plan import Plan
from muntin.window.spec import window_set

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from muntin.aggregate.algebra import Aggregate, AggregateFunction
    from muntin.logical.cost import Period
    from muntin.logical.optimize import Optimizer
    from muntin.logical.relation import Covers, Sharing
    from muntin.window.spec import Window


class LogicalPlan(Plan):
    """A plan that can be shown."""

    __slots__ = ()


def optimize(
    windows: Iterable[Window],
    aggregates: str | AggregateFunction | Aggregate | Iterable[str | AggregateFunction | Aggregate],
    *,
    optimizer: Optimizer = "auto",
    rate: float | str | Fraction = 1,
    unit: int | str | None = None,
    period: Period = "paper",
    share: bool = True,
    sharing: Sharing | None = None,
    covers: Covers | None = None,
) -> LogicalPlan:
    """Find a cheap plan for aggregates over several windows.

    `optimizer` is "none" (each window reads the events), "mincost" (windows read each other, Algorithm 1),
    "factor" (with factor windows, Algorithm 3), "exact" (all candidates, the fewest intervals, optimal), or
    "auto" (exact while that is quick, else a search that is never worse than "factor").

    `rate` is the number of events per `unit` of time. `share=False` keeps every window to itself. `sharing`
    and `covers` overrule what the aggregates and the optimizer imply; `period="steady"` counts long-run costs.

    >>> from muntin import Window, agg
    >>> plan = optimize([Window(20, 20), Window(30, 30), Window(40, 40)], agg.min, optimizer="factor", rate=1)
    >>> plan.baseline_cost, plan.cost, plan.factor_windows, plan.parent_of(Window(40, 40))
    (360, 150, (Window(10, 10),), Window(20, 20))
    """
    check_optimizer(optimizer)
    found = window_set(windows)
    model = cost_model(found, rate=rate, unit=unit, period=period)
    chosen: Optimizer = optimizer if share else "none"
    kind = sharing if share else None
    groups = plan_groups(found, _functions(aggregates), chosen, model, sharing=kind, covers=covers)
    return LogicalPlan(found, groups, chosen, model)


def _functions(
    aggregates: str | AggregateFunction | Aggregate | Iterable[str | AggregateFunction | Aggregate],
) -> tuple[AggregateFunction, ...]:
    """Gather the functions, each once."""
    several = not isinstance(aggregates, str) and hasattr(aggregates, "__iter__")
    named = [resolve(what) for what in (aggregates if several else (aggregates,))]  # type: ignore[arg-type, union-attr]
    if not named:
        msg = "there is no aggregate: name at least one, for example agg.min"
        raise AggregateError(msg)
    return tuple(dict.fromkeys(named))
