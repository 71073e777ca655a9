"""A plan as a dictionary that JSON can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from muntin.show.model import view
from muntin.show.number import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muntin.logical.cost import Number
    from muntin.logical.plan import Plan
    from muntin.show.model import GroupView, NodeView

# Python refuses to write out integers of more than 4,300 digits; this many bits stay below that.
_BITS: Final = 14_000


def to_dict(plan: Plan, *, costs: Mapping[str, Number] | None = None) -> dict[str, Any]:
    """Give everything about a plan as plain values.

    Integers are exact, fractions are text such as "10/3". Lengths are in units of the plan. `windows` is the
    first group's; each group lists its own. Windows that coincide are one entry with all their `ids`.

    >>> from muntin import agg, optimize, tumbling
    >>> shown = to_dict(optimize([tumbling("20m"), tumbling("30m"), tumbling("40m")], agg.min, optimizer="factor"))
    >>> shown["cost"], shown["unit"], shown["period"]
    ({'none': 360, 'factor': 150}, 'minute', 120)
    >>> [(w["id"], w["range"], w["factor"], w["parent"]) for w in shown["windows"]][:2]
    [('tumbling_10m', 10, True, None), ('tumbling_20m', 20, False, 'tumbling_10m')]
    """
    shown = view(plan, costs=costs)
    groups = [_group(group) for group in shown.groups]
    return {
        "optimizer": shown.optimizer,
        "cost": {name: _value(cost) for name, cost in shown.costs},
        "baseline_cost": _value(shown.baseline),
        "gap": plan.gap,
        "unit": shown.unit,
        "rate": _value(shown.rate),
        "period": _value(shown.period),
        "steady": shown.steady,
        "windows": groups[0]["windows"],
        "groups": groups,
    }


def _group(group: GroupView) -> dict[str, Any]:
    return {
        "aggregates": list(group.aggregates),
        "sharing": group.sharing,
        "covers": group.covers,
        "reason": group.reason,
        "cost": _value(group.cost),
        "baseline_cost": _value(group.baseline),
        "gap": group.gap,
        "windows": [_window(node) for node in group.after.nodes],
    }


def _window(node: NodeView) -> dict[str, Any]:
    return {
        "id": node.id,
        "ids": list(node.ids),
        "text": node.shape.label,
        "range": _value(node.shape.range),
        "slide": _value(node.shape.slide),
        "offset": _value(node.shape.offset),
        "factor": node.factor,
        "parent": node.parent,
        "instances": _value(node.instances),
        "reads": _value(node.reads),
        "cost": _value(node.cost),
    }


def _value(value: Number) -> int | str:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _BITS:
        return number(value)
    return value if isinstance(value, int) else str(value)
