"""A plan as a Mermaid flowchart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from muntin.show.label import cut
from muntin.show.model import view
from muntin.show.number import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin.logical.plan import Plan
    from muntin.show.model import GroupView, NodeView

_NAME: Final = 40
_FACTOR: Final = "classDef factor fill:#fdf0dc,stroke:#b45309,color:#1f2933,stroke-dasharray:5 4"


def to_mermaid(plan: Plan) -> str:
    """Write a plan's forest as a flowchart, factor windows dashed; several groups become subgraphs.

    >>> from muntin import agg, optimize, tumbling
    >>> print(to_mermaid(optimize([tumbling("10m"), tumbling("20m")], agg.min, optimizer="mincost")))
    flowchart LR
        e0(["events"])
        n0_0["10m<br/>tumbling_10m<br/>2 x 10 = 20"]
        n0_1["20m<br/>tumbling_20m<br/>1 x 2 = 2"]
        e0 -->|"10"| n0_0
        n0_0 -->|"2"| n0_1
    """
    shown = view(plan)
    lines = ["flowchart LR"]
    for place, group in enumerate(shown.groups):
        body = [f"    {line}" for line in _group(group, place)]
        if len(shown.groups) > 1:
            title = _quoted(f"{', '.join(group.aggregates)}: {number(group.cost)} items")
            inner = ["    direction LR", *body]
            body = [f"    subgraph g{place}[{title}]", *(f"    {line}" for line in inner), "    end"]
        lines += body
    factors = [
        f"n{place}_{i}" for place, group in enumerate(shown.groups) for i, n in enumerate(group.after.nodes) if n.factor
    ]
    if factors:
        lines += [f"    {_FACTOR}", f"    class {','.join(factors)} factor"]
    return "\n".join(lines)


def _group(group: GroupView, place: int) -> Iterator[str]:
    # Ids of the user's may be words of Mermaid's own: nodes are numbered, ids are text in them.
    names: dict[str | None, str] = {node.id: f"n{place}_{i}" for i, node in enumerate(group.after.nodes)}
    names[None] = f"e{place}"
    yield f'e{place}(["events"])'
    for node in group.after.nodes:
        yield f"{names[node.id]}[{_quoted(*_text(node))}]"
    for edge in group.after.edges:
        yield f"{names[edge.parent]} -->|{_quoted(number(edge.reads))}| {names[edge.child]}"


def _text(node: NodeView) -> tuple[str, str, str]:
    total = f"{number(node.instances)} x {number(node.reads)} = {number(node.cost)}"
    return cut(node.shape.label, _NAME), cut(node.name, _NAME), total


def _quoted(*lines: str) -> str:
    return '"' + "<br/>".join("".join(map(_escaped, line)) for line in lines) + '"'


def _escaped(char: str) -> str:
    """Write what could be markup of Mermaid, Markdown or HTML as a character code."""
    return char if char.isalnum() or char in " _-+/.,:=()%…" else f"#{ord(char)};"
