"""The rewriting of Appendix B, step by step, and the expressions of Figure 2."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from muntin import Window, agg, optimize
from muntin.logical.optimize import OPTIMIZERS, Optimizer
from muntin.logical.rewrite import Operator, expression, rewrite
from tests.logical.draw import draw_windows, seeds

if TYPE_CHECKING:
    from muntin.logical.forest import Forest

WINDOWS = [Window(20, 20), Window(30, 30), Window(40, 40)]


def forest(optimizer: Optimizer) -> Forest:
    return optimize(WINDOWS, agg.min, optimizer=optimizer).groups[0].forest


def links(found: Forest) -> list[str]:
    return [f"{source} -> {target}" for source, target in rewrite(found).links]


def appendix_b(found: Forest) -> set[tuple[Operator, Operator]]:
    """The three steps as the appendix lists them, and Definition 6: a factor window shows nothing."""
    source, multicast, union = Operator("input"), Operator("multicast"), Operator("union")
    readers = {node.window: [n for n in found.nodes if n.parent == node.window] for node in found.nodes}
    window = {node.window: Operator("window", node.window, node.factor) for node in found.nodes}
    made: set[tuple[Operator, Operator]] = set()
    roots = [node.window for node in found.nodes if node.parent is None]
    for w in roots:
        made.add((multicast, window[w]))
    made.add((source, multicast))
    if len(roots) == 1:
        made = {(source, window[roots[0]])}
    for node in found.nodes:
        v = node.window
        if readers[v]:
            spread = Operator("multicast", v, node.factor)
            made.add((window[v], spread))
            if not node.factor:
                made.add((spread, union))
            made.update((spread, window[u.window]) for u in readers[v])
        else:
            made.add((window[v], union))
    return made


def test_original_plan() -> None:
    """Figure 2(a), left: the input is multiplied, and all windows stand side by side."""
    assert links(forest("none")) == [
        "input -> multicast",
        "multicast -> window 20",
        "multicast -> window 30",
        "multicast -> window 40",
        "window 20 -> union",
        "window 30 -> union",
        "window 40 -> union",
    ]


def test_plan_without_factor_windows() -> None:
    """Figure 2(a), middle: 40 reads 20; the results of 20 are multiplied."""
    assert links(forest("mincost")) == [
        "input -> multicast",
        "multicast -> window 20",
        "multicast -> window 30",
        "window 20 -> multicast 20",
        "multicast 20 -> union",
        "multicast 20 -> window 40",
        "window 40 -> union",
        "window 30 -> union",
    ]


def test_plan_with_factor_windows() -> None:
    """Figure 2(a), right: one window reads the input, so its multicast goes; 10 has no link to the union."""
    assert links(forest("factor")) == [
        "input -> window 10",
        "window 10 -> multicast 10",
        "multicast 10 -> window 20",
        "multicast 10 -> window 30",
        "window 20 -> multicast 20",
        "multicast 20 -> union",
        "multicast 20 -> window 40",
        "window 40 -> union",
        "window 30 -> union",
    ]


def test_appendix_b_on_random_plans() -> None:
    for seed, rng in seeds(60):
        windows = draw_windows(rng, longest=20)
        function = rng.choice([agg.min, agg.sum])
        for optimizer in OPTIMIZERS:
            found = optimize(windows, function, optimizer=optimizer, rate=rng.choice([1, 4])).groups[0].forest
            graph = rewrite(found)
            assert len(set(graph.links)) == len(graph.links), (seed, optimizer)
            assert set(graph.links) == appendix_b(found), (seed, optimizer)
            assert set(graph.operators) == {end for link in graph.links for end in link}, (seed, optimizer)
            # A tree: one way into each operator but the union, whose every way in is one wanted window.
            ways = Counter(target for _, target in graph.links)
            assert ways.pop(Operator("union")) == len(windows), (seed, optimizer)
            assert set(ways.values()) == {1}, (seed, optimizer)


def flat(text: str) -> str:
    return re.sub(r"\s+", "", text)


def test_figure_1b() -> None:
    assert flat(expression(forest("none"))) == flat("""
        Input.Multicast(s1 => s1
          .Tumbling(20).GroupAggregate('tumbling_20', w => w.Min())
          .Union(s1.Tumbling(30).GroupAggregate('tumbling_30', w => w.Min()))
          .Union(s1.Tumbling(40).GroupAggregate('tumbling_40', w => w.Min())))""")


def test_figure_2b() -> None:
    # The printed figure leaves out one closing bracket after 40 and puts it at the end.
    assert flat(expression(forest("mincost"))) == flat("""
        Input.Multicast(s1 => s1
          .Tumbling(20).GroupAggregate('tumbling_20', w => w.Min())
          .Multicast(s2 => s2
            .Union(s2.Tumbling(40).GroupAggregate('tumbling_40', w => w.Min())))
          .Union(s1.Tumbling(30).GroupAggregate('tumbling_30', w => w.Min())))""")


def test_figure_2c() -> None:
    assert flat(expression(forest("factor"))) == flat("""
        Input.Tumbling(10).GroupAggregate('tumbling_10', w => w.Min())
        .Multicast(s1 => s1
          .Tumbling(20).GroupAggregate('tumbling_20', w => w.Min())
          .Multicast(s2 => s2
            .Union(s2.Tumbling(40).GroupAggregate('tumbling_40', w => w.Min())))
          .Union(s1.Tumbling(30).GroupAggregate('tumbling_30', w => w.Min())))""")


def test_expression_of_hopping_windows() -> None:
    found = optimize([Window(8, 2), Window(10, 2)], agg.max, optimizer="mincost").groups[0].forest
    assert flat(expression(found, "Max")) == flat("""
        Input.Hopping(8, 2).GroupAggregate('hopping_8_2', w => w.Max())
        .Multicast(s1 => s1.Union(s1.Hopping(10, 2).GroupAggregate('hopping_10_2', w => w.Max())))""")


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_expressions_close_what_they_open(optimizer: Optimizer) -> None:
    """Every window of the plan stands once, and every stream is named where it is read."""
    for seed, rng in seeds(40):
        windows = draw_windows(rng, longest=20, most=7)
        found = optimize(windows, agg.min, optimizer=optimizer, rate=4).groups[0].forest
        text = expression(found)
        assert text.count("(") == text.count(")"), (seed, text)
        assert text.count("GroupAggregate(") == len(found.nodes), (seed, text)
        for node in found.nodes:
            assert text.count(f"'{node.window.id}'") == 1, (seed, text)
        depth = 0
        names: dict[int, str] = {}
        for token in re.finditer(r"Multicast\((s\d+)|Union\((s\d+)|\(|\)", text):
            if token[1]:
                depth += 1
                assert token[1] not in names.values(), (seed, text)
                names[depth] = token[1]
            elif token[2]:
                assert token[2] == names[max(names)], (seed, text)
                depth += 1
            elif token[0] == "(":
                depth += 1
            else:
                names.pop(depth, None)
                depth -= 1


def test_a_chain_deeper_than_python_recurses() -> None:
    found = optimize([Window(i, 1) for i in range(2, 602)], agg.min, optimizer="mincost").groups[0].forest
    assert max(depth for depth, _ in found.walk()) == 599
    assert expression(found).count("Multicast(") == 599
    assert len(rewrite(found).links) == 1 + 2 * 599 + 600
