"""What users call: `optimize` for a plan on paper, `windows(df, ...)` for a query on Spark."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from muntin.aggregate.names import resolve
from muntin.errors import AggregateError
from muntin.logical.cost import cost_model
from muntin.logical.optimize import check_optimizer, check_seconds, plan_groups
from muntin.logical.plan import Plan
from muntin.show.html import to_fragment, to_html
from muntin.show.json import to_dict
from muntin.show.mermaid import to_mermaid
from muntin.show.number import number
from muntin.show.save import save
from muntin.show.svg import to_svg
from muntin.show.text import to_text
from muntin.window.spec import window_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from fractions import Fraction
    from os import PathLike
    from pathlib import Path

    from muntin.aggregate.algebra import Aggregate, AggregateFunction
    from muntin.logical.cost import Number, Period
    from muntin.logical.optimize import Optimizer
    from muntin.logical.relation import Covers, Sharing
    from muntin.window.spec import Window


_LOG: Final = logging.getLogger(__name__)
# So many windows name themselves in a plan's repr.
_FEW: Final = 4


class LogicalPlan(Plan):
    """A plan that can be shown.

    `costs`, where it is taken, are the costs of other optimizers by name, to be shown beside this plan's.

    >>> from muntin import Window, agg
    >>> optimize([Window(20, 20), Window(40, 40)], agg.sum)
    <plan by auto: sum over [Window(20, 20), Window(40, 40)], 42 items read instead of 80>
    """

    __slots__ = ()

    def explain(self, *, limit: int | None = 40, ascii: bool = False, costs: Mapping[str, Number] | None = None) -> str:
        """Draw the plan as text in 80 columns, each tree up to `limit` windows (None for all).

        >>> from muntin import Window, agg
        >>> print(optimize([Window(20, 20), Window(40, 40)], agg.sum, optimizer="mincost").explain())
        sum over 2 windows, 1 event per unit, costs per period of 40
        mincost: 42 items read instead of 80, 47.5 % less (1.9x)
        an event must count once: covers must not overlap
        <BLANKLINE>
        events
        └─ 20  tumbling_20     2 x 20 = 40
           └─ 40  tumbling_40  1 x  2 =  2
        """
        return to_text(self, limit=limit, ascii=ascii, costs=costs)

    def to_dict(self, *, costs: Mapping[str, Number] | None = None) -> dict[str, Any]:
        """Give the plan as values that JSON can hold: integers exact, fractions as text."""
        return to_dict(self, costs=costs)

    def to_mermaid(self) -> str:
        """Draw the plan as a Mermaid flowchart."""
        return to_mermaid(self)

    def to_svg(self) -> str:
        """Draw the windows before and after as one SVG image."""
        return to_svg(self)

    def to_html(self, *, costs: Mapping[str, Number] | None = None) -> str:
        """Draw the plan as a page that needs nothing else."""
        return to_html(self, costs=costs)

    def plot(self, path: str | PathLike[str], *, costs: Mapping[str, Number] | None = None) -> Path:
        """Write the plan to a file, as its name asks: .html, .svg, .mmd, .txt or .json."""
        return save(self, path, costs=costs)

    def __repr__(self) -> str:
        windows = ", ".join(map(repr, self.windows[:_FEW])) + (", ..." if len(self.windows) > _FEW else "")
        names = ", ".join(function.name for group in self.groups for function in group.functions)
        cost, baseline = number(self.cost), number(self.baseline_cost)
        return f"<plan by {self.optimizer}: {names} over [{windows}], {cost} items read instead of {baseline}>"

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        return to_fragment(self)

    def _repr_svg_(self) -> str:
        return to_svg(self)


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
    seconds: float | None = None,
) -> LogicalPlan:
    """Find a cheap plan for aggregates over several windows.

    `optimizer` is "none" (each window reads the events), "mincost" (windows read each other, Algorithm 1),
    "factor" (with factor windows, Algorithm 3), "exact" (all candidates, the fewest intervals, optimal), or
    "auto" (exact while that is quick, else a search that is never worse than "factor").

    `rate` is the number of events per `unit` of time. `share=False` keeps every window to itself. `sharing`
    and `covers` overrule what the aggregates and the optimizer imply; `period="steady"` counts long-run costs.
    `seconds` bounds the search of "exact" (60 unless told) and "auto" (0.05, or 0.0006 per window).

    >>> from muntin import Window, agg
    >>> plan = optimize([Window(20, 20), Window(30, 30), Window(40, 40)], agg.min, optimizer="factor", rate=1)
    >>> plan.baseline_cost, plan.cost, plan.factor_windows, plan.parent_of(Window(40, 40))
    (360, 150, (Window(10, 10),), Window(20, 20))
    """
    check_optimizer(optimizer)
    check_seconds(seconds)
    found = window_set(windows)
    model = cost_model(found, rate=rate, unit=unit, period=period)
    chosen: Optimizer = optimizer if share else "none"
    kind = sharing if share else None
    groups = plan_groups(found, _functions(aggregates), chosen, model, sharing=kind, covers=covers, seconds=seconds)
    plan = LogicalPlan(found, groups, chosen, model)
    if _LOG.isEnabledFor(logging.DEBUG):
        factors = ", ".join(map(str, plan.factor_windows)) or "none"
        _LOG.debug("%r; factor windows: %s", plan, factors)
    return plan


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
