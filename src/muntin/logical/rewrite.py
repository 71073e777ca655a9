"""The rewriting of Appendix B: a forest as a plan of Multicast, window and Union operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin.logical.forest import Forest, Node
    from muntin.window.spec import Window

Kind: TypeAlias = Literal["input", "multicast", "window", "union"]


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of a rewritten plan; `window` is set for a window, and for the multicast of its results."""

    kind: Kind
    window: Window | None = None
    factor: bool = False

    def __str__(self) -> str:
        return self.kind if self.window is None else f"{self.kind} {self.window}"


@dataclass(frozen=True, slots=True)
class OperatorGraph:
    """Operators and the links between them, from the input to the union."""

    operators: tuple[Operator, ...]
    links: tuple[tuple[Operator, Operator], ...]


def rewrite(forest: Forest) -> OperatorGraph:
    """Turn a forest into operators, step by step as Appendix B does.

    >>> from muntin import Window, agg, optimize
    >>> plan = optimize([Window(20, 20), Window(30, 30), Window(40, 40)], agg.min, optimizer="factor")
    >>> for source, target in rewrite(plan.groups[0].forest).links:
    ...     print(source, "->", target)
    input -> window 10
    window 10 -> multicast 10
    multicast 10 -> window 20
    multicast 10 -> window 30
    window 20 -> multicast 20
    multicast 20 -> union
    multicast 20 -> window 40
    window 40 -> union
    window 30 -> union
    """
    links = list(_links(forest))
    operators = dict.fromkeys(operator for link in links for operator in link)
    return OperatorGraph(tuple(operators), tuple(links))


def _links(forest: Forest) -> Iterator[tuple[Operator, Operator]]:
    source, union = Operator("input"), Operator("union")
    roots = forest.children(None)
    if len(roots) > 1:
        # With one reader there is nothing to multiply (first step).
        spread = Operator("multicast")
        yield source, spread
        source = spread
    for node in roots:
        yield source, _window(node)
    readers: dict[Window | None, list[Node]] = {}
    for node in forest.nodes:
        readers.setdefault(node.parent, []).append(node)
    for _, node in forest.walk():
        operator, children = _window(node), readers.get(node.window, [])
        if children:
            spread = Operator("multicast", node.window, node.factor)
            yield operator, spread
            operator = spread
        if not node.factor:
            # What a factor window computes is not shown (Definition 6), so it has no link to the union.
            yield operator, union
        for child in children:
            yield operator, _window(child)


def _window(node: Node) -> Operator:
    return Operator("window", node.window, node.factor)


def expression(forest: Forest, aggregate: str = "Min") -> str:
    """Write a forest as the paper writes Trill expressions (Figure 2).

    >>> from muntin import Window, agg, optimize
    >>> plan = optimize([Window(20, 20), Window(30, 30), Window(40, 40)], agg.min, optimizer="mincost")
    >>> print(expression(plan.groups[0].forest))
    Input.Multicast(s1 => s1
      .Tumbling(20).GroupAggregate('tumbling_20', w => w.Min()).Multicast(s2 => s2
        .Union(s2.Tumbling(40).GroupAggregate('tumbling_40', w => w.Min())))
      .Union(s1.Tumbling(30).GroupAggregate('tumbling_30', w => w.Min())))
    """
    readers: dict[Window | None, list[Window]] = {None: []} | {node.window: [] for node in forest.nodes}
    for node in forest.nodes:
        readers[node.parent].append(node.window)
    # The input and factor windows are not part of the union, and with one reader they are not multiplied.
    hidden = {None, *forest.factor_windows}
    single = {source for source in hidden if len(readers[source]) == 1}
    level: dict[Window | None, int] = {None: 1}
    for _, node in forest.walk():
        level[node.window] = level[node.parent] + (node.parent not in single)
    written: dict[Window | None, str] = {}
    # From the last readers up and not by recursion: chains of a thousand windows do occur.
    for source in reversed(level):
        steps = [_step(reader, aggregate) + written[reader] for reader in readers[source]]
        written[source] = steps[0] if source in single else _multicast(steps, level[source], first=source in hidden)
    return "Input" + written[None]


def _multicast(steps: list[str], level: int, *, first: bool) -> str:
    """Write what reads a stream; with `first` the union begins with the first reader, else with the stream."""
    if not steps:
        return ""
    name, indent = f"s{level}", "\n" + "  " * level
    begin = name + indent + steps[0] if first else name
    rest = "".join(f"{indent}.Union({name}{step})" for step in (steps[1:] if first else steps))
    return f".Multicast({name} => {begin}{rest})"


def _step(window: Window, aggregate: str) -> str:
    shape = f"Tumbling({window.text(window.range)})" if window.tumbling else _hopping(window)
    return f".{shape}.GroupAggregate('{window.id}', w => w.{aggregate}())"


def _hopping(window: Window) -> str:
    return f"Hopping({window.text(window.range)}, {window.text(window.slide)})"
