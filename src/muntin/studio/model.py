"""From what the page asks to what it shows: the plan as drawings, figures and texts, all by the package's own forms."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from muntin.api import LogicalPlan, optimize
from muntin.commands.plan import compared, written
from muntin.errors import ShowError
from muntin.show.draw import draw_after, draw_before
from muntin.show.model import view
from muntin.show.number import number
from muntin.show.svg import after_caption, before_caption, element, told
from muntin.studio.snippets import command_line, python_code, window_text
from muntin.studio.timeline import timeline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muntin.logical.cost import Number
    from muntin.show.model import GroupView, NodeView, PlanView
    from muntin.studio.request import Ask
    from muntin.studio.timeline import Timeline

EXACT_SECONDS: Final = 2.0
"""A page waits no longer for a proof."""
_JSON: Final = 400_000  # characters at most; exact costs can have thousands of digits each
_FORMS: Final = ("svg", "html", "json", "text", "mermaid")


def planned(ask: Ask) -> LogicalPlan:
    """Find the plan."""
    return _asking(ask)()


def shown(ask: Ask) -> dict[str, Any]:
    """Give all that the page shows of a plan, but for what other optimizers would cost.

    >>> from muntin.studio.request import read_ask
    >>> ask = read_ask({"windows": [{"range": r} for r in ("20m", "30m", "40m")], "optimizer": "factor"})
    >>> found = shown(ask)
    >>> found["totals"]["baseline"], found["totals"]["cost"], found["factors"]
    ('360', '150', ['10m'])
    """
    plan = planned(ask)
    model = view(plan, before=True)
    text = json.dumps(plan.to_dict(), indent=2)
    if len(text) > _JSON:
        text = f"{number(len(text))} characters, too many for a page. Save the plan as JSON to have them all."
    return {
        "title": model.title,
        "hint": model.hint,
        "totals": _totals(model),
        "groups": [_group(group, several=len(model.groups) > 1) for group in model.groups],
        "factors": [str(window) for window in plan.factor_windows],
        "slices": _slices(timeline(plan.windows, plan.factor_windows), ask),
        "explain": plan.explain(limit=None),
        "json": text,
        "code": python_code(ask, plan),
        "command": command_line(ask),
        "query": _query(ask),
        "windows": [window_text(window) for window in plan.windows],
    }


def costs(ask: Ask) -> dict[str, Any]:
    """Give what every optimizer would cost, for bars beside one another.

    >>> from muntin.studio.request import read_ask
    >>> ask = read_ask({"windows": [{"range": r} for r in ("20m", "30m", "40m")]})
    >>> [(each["name"], each["cost"], each["share"]) for each in costs(ask)["costs"]][:3]
    [('none', '360', 1.0), ('mincost', '246', 0.683), ('factor', '150', 0.417)]
    """
    ask_again = _asking(ask)
    plan = ask_again()
    found = compared(plan, ask_again)
    known = [cost for cost in found.values() if not isinstance(cost, str)]
    most = max(known)
    return {
        "costs": [
            {
                "name": name,
                "cost": cost if isinstance(cost, str) else number(cost),
                "share": None if isinstance(cost, str) else _share(cost, most),
                "chosen": name == plan.optimizer,
            }
            for name, cost in found.items()
        ]
    }


def exported(ask: Ask, form: str) -> str:
    """Write a plan as one of the package's forms, to be saved as a file.

    >>> from muntin.studio.request import read_ask
    >>> exported(read_ask({"windows": [{"range": "20m"}]}), "mermaid").splitlines()[0]
    'flowchart LR'
    """
    if form not in _FORMS:
        msg = f"a plan can be saved as {', '.join(_FORMS)}, got {form!r}"
        raise ShowError(msg)
    return written(planned(ask), form, None, limit=None, plain=False)


def _asking(ask: Ask) -> partial[LogicalPlan]:
    seconds = EXACT_SECONDS if ask.optimizer == "exact" else None
    # Plain integers have a plain unit.
    plain = ask.unit is not None and ask.unit.isdecimal() and not ask.windows[0].timed
    unit = int(ask.unit) if plain and ask.unit is not None else ask.unit
    return partial(
        optimize,
        ask.windows,
        ask.functions,
        optimizer=ask.optimizer,
        rate=ask.rate,
        unit=unit,
        period=ask.period,
        seconds=seconds,
    )


def _totals(model: PlanView) -> dict[str, str]:
    return {
        "baseline": number(model.baseline),
        "cost": number(model.cost),
        "saving": model.saving,
        "proof": model.proof,
        "optimizer": model.optimizer,
    }


def _group(group: GroupView, *, several: bool) -> dict[str, Any]:
    before = element(draw_before(group), f"Before: {before_caption(group)}", f"{len(group.before.nodes)} windows")
    after = element(draw_after(group), f"After: {after_caption(group)}", told(group))
    said = f": {number(group.baseline)} → {number(group.cost)} items, {group.saving}" if several else ""
    return {
        "title": ", ".join(group.aggregates) + said,
        "reason": group.reason,
        "before": {"title": f"Before: {number(group.baseline)} items", "note": before_caption(group), "svg": before},
        "after": {"title": f"After: {number(group.cost)} items", "note": after_caption(group), "svg": after},
        "windows": [_window(node) for node in group.after.nodes],
    }


def _window(node: NodeView) -> dict[str, Any]:
    return {
        "label": node.shape.label,
        "name": node.name,
        "factor": node.factor,
        "depth": node.depth,
        "reads_from": node.reads_from,
        "instances": number(node.instances),
        "reads": number(node.reads),
        "cost": number(node.cost),
        "share": node.share,
    }


def _slices(drawn: Timeline, ask: Ask) -> dict[str, Any]:
    return {
        "svg": drawn.svg,
        "caption": drawn.caption,
        "period": drawn.period,
        "windows": [str(window) for window in dict.fromkeys(ask.windows)],
        "kinds": [
            {"kind": each.kind, "per_period": each.per_period, "per_window": list(each.per_window)}
            for each in drawn.counts
        ],
        "closed": "right" if ask.query is not None and ask.query.closed == "right" else "left",
    }


def _query(ask: Ask) -> Mapping[str, Any] | None:
    """Say what was understood of a query in SQL."""
    query = ask.query
    if query is None:
        return None
    return {
        "dialect": "Azure Stream Analytics" if query.closed == "right" else "Spark SQL",
        "input": query.source,
        "time": query.time or "not said",
        "keys": [key.text for key in query.keys],
        "aggregates": [f"{call.name} = {call.function}({', '.join(call.arguments)})" for call in query.aggregates],
        "where": query.where,
        "having": query.having,
    }


def _share(cost: Number, most: Number) -> float:
    return round(float(Fraction(cost) / Fraction(most)), 3)
