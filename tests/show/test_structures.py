from __future__ import annotations

from xml.etree import ElementTree

import pytest

from muntin import agg
from muntin.incremental.flatfat import FlatFAT
from muntin.incremental.structure import EMPTY
from muntin.incremental.twostacks import TwoStacks
from muntin.show.adaptive import adaptive
from muntin.show.structures import draw_stacks, draw_tree

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")][1:]


def test_a_tree_shows_what_each_node_holds_leaves_below_their_parents() -> None:
    tree: FlatFAT[str] = FlatFAT.new(str.__add__, ["a", "b", EMPTY, "<d>"])
    svg = draw_tree(tree)
    assert sorted(texts(svg)) == sorted(["ab<d>", "ab", "<d>", "a", "b", "⊥", "<d>"])
    assert "mu-factor" not in svg


@pytest.mark.parametrize(("changed", "written"), [((1,), 4), ((1, 2), 5), ((1, 8), 7), ((), 0)])
def test_the_nodes_above_what_changed_are_dashed(changed: tuple[int, ...], written: int) -> None:
    svg = draw_tree(FlatFAT.new(max, range(8)), changed)
    assert svg.count("mu-factor") == written


def test_stacks_show_aggregates_in_front_and_partials_at_the_back() -> None:
    window = TwoStacks(agg.max)
    for price in (5, 3, 9, 4, 1):
        window.insert(price)
    window.evict()
    window.insert(7)
    assert texts(draw_stacks(window)) == ["front: to its end", "9", "9", "4", "1", "back: one by one", "7"]
    assert "empty" in draw_stacks(TwoStacks(agg.max))


def test_a_drawing_keeps_its_marks_and_takes_both_palettes() -> None:
    svg = draw_tree(FlatFAT.new(max, [1, 2]))
    both = adaptive(svg)
    assert texts(both) == texts(svg)
    assert both.index("<desc>") < both.index("<style>") < both.index("<rect")
