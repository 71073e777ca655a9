"""A plan as a tree of text for the terminal, within 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from muntin.errors import ShowError
from muntin.show.label import columns, cut, pad, wrap
from muntin.show.model import view
from muntin.show.number import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from muntin.logical.cost import Number
    from muntin.logical.plan import Plan
    from muntin.show.model import GroupView, NodeView, PlanView

WIDTH: Final = 80
_SUMS: Final = 40  # at most for `instances x reads = cost`
_BRANCHES: Final = 20  # for the lines of a deep tree, so that the windows themselves stay in sight
_LABEL: Final = 24
# The branches of the tree in ASCII; ids are made ASCII before they are fitted.
_PLAIN: Final = str.maketrans({"│": "|", "├": "|", "└": "`", "─": "-"})


def to_text(
    plan: Plan, *, limit: int | None = 40, ascii: bool = False, costs: Mapping[str, Number] | None = None
) -> str:
    """Draw a plan as text; each tree stops after `limit` windows, or shows all for None.

    >>> from muntin import agg, optimize, tumbling
    >>> print(to_text(optimize([tumbling("20m"), tumbling("30m"), tumbling("40m")], agg.min, optimizer="factor")))
    min over 3 windows, 1 event per minute, costs per period of 2h
    factor: 150 items read instead of 360, 58.3 % less (2.4x)
    overlap is harmless: any cover will do
    <BLANKLINE>
    events
    └─ 10m  factor              12 x 10 = 120
       ├─ 20m  tumbling_20m      6 x  2 =  12
       │  └─ 40m  tumbling_40m   3 x  2 =   6
       └─ 30m  tumbling_30m      4 x  3 =  12
    """
    if limit is not None and (isinstance(limit, bool) or limit < 1):
        msg = f"limit must be a positive number of windows, or None for all of them, got {limit!r}"
        raise ShowError(msg)
    shown = view(plan, costs=costs)
    text = "\n".join(_lines(shown, limit, "..." if ascii else "…", with_costs=costs is not None))
    if not ascii:
        return text
    return text.translate(_PLAIN)


def _lines(shown: PlanView, limit: int | None, ellipsis: str, *, with_costs: bool) -> Iterator[str]:
    yield from _wrapped(shown.title, ellipsis)
    yield from _wrapped(f"{shown.optimizer}: {_totals(shown)}", ellipsis)
    if shown.hint:
        yield from _wrapped(shown.hint, ellipsis)
    if with_costs:
        yield from _wrapped("costs: " + ", ".join(f"{name} {number(cost)}" for name, cost in shown.costs), ellipsis)
    for group in shown.groups:
        if len(shown.groups) > 1:
            yield ""
            yield from _wrapped(f"{', '.join(group.aggregates)}: {_totals(group)}", ellipsis)
        yield from _wrapped(group.reason, ellipsis)
        yield ""
        yield from _tree(group.after.nodes, limit, ellipsis)


def _wrapped(text: str, ellipsis: str) -> Iterator[str]:
    return wrap(_plain(text) if ellipsis.isascii() else text, WIDTH, ellipsis)


def _totals(shown: PlanView | GroupView) -> str:
    if shown.cost >= shown.baseline:
        said = [f"{number(shown.cost)} items read", shown.saving]
    else:
        said = [f"{number(shown.cost)} items read instead of {number(shown.baseline)}", shown.saving]
    return ", ".join(filter(None, [*said, shown.proof]))


def _tree(nodes: Sequence[NodeView], limit: int | None, ellipsis: str) -> Iterator[str]:
    some = nodes[:limit]
    sums = _sums(some)
    room = WIDTH - len(sums[0]) - 2
    texts = [_window(node, ellipsis) for node in some]
    branches = _branches(nodes, len(some), max(_BRANCHES, room - max(map(columns, texts))), ellipsis)
    left = [branch + cut(text, room - len(branch), ellipsis) for branch, text in zip(branches, texts, strict=True)]
    widest = max(map(columns, left))
    yield "events"
    for row, total in zip(left, sums, strict=True):
        yield f"{pad(row, widest)}  {total}"
    rest = nodes[len(some) :]
    if rest:
        items = number(sum(node.cost for node in rest))
        yield f"{ellipsis} {number(len(rest))} more, {items} items (limit=None shows all)"


def _sums(nodes: Sequence[NodeView]) -> list[str]:
    """Write `instances x reads = cost` in columns, with as many exact digits as there is room for."""
    for digits in (15, 12, 9, 6):
        table = [[number(n, digits) for n in (node.instances, node.reads, node.cost)] for node in nodes]
        one, two, three = (max(map(len, column)) for column in zip(*table, strict=True))
        if one + two + three + len(" x  = ") <= _SUMS:
            break
    return [f"{n:>{one}} x {mu:>{two}} = {cost:>{three}}" for n, mu, cost in table]


def _window(node: NodeView, ellipsis: str) -> str:
    label, name = node.shape.label, node.name
    if ellipsis.isascii():
        label, name = _plain(label), _plain(name)
    return f"{cut(label, _LABEL, ellipsis)}  {name}"


def _plain(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode("ascii")


def _branches(nodes: Sequence[NodeView], count: int, room: int, ellipsis: str) -> list[str]:
    """Draw the lines of the tree before each of the first nodes; deep trees are drawn closer, then cut at the left."""
    deepest = max(node.depth for node in nodes[:count])
    step = next((step for step in (3, 2) if step * (deepest + 1) <= room), 1)
    last = _last_children(nodes)
    path: list[bool] = []  # for each ancestor, whether it is its parent's last child
    drawn: list[str] = []
    for node, is_last in zip(nodes[:count], last, strict=False):
        del path[node.depth :]
        stem = "".join(f"{' ' if done else '│':<{step}}" for done in path)
        branch = stem + ("└" if is_last else "├") + "─" * (step - 2) + " "
        if len(branch) > room:
            branch = ellipsis + branch[len(branch) - room + len(ellipsis) :]
        drawn.append(branch)
        path.append(is_last)
    return drawn


def _last_children(nodes: Sequence[NodeView]) -> list[bool]:
    """Tell for each node whether no other child of its parent follows."""
    seen: set[str | None] = set()
    last: list[bool] = []
    for node in reversed(nodes):
        last.append(node.parent not in seen)
        seen.add(node.parent)
    return last[::-1]
