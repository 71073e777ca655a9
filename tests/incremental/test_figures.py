"""The worked examples of both papers, as far as their texts fix them.

"Reactive" is Tangwongsan et al., VLDB 2015; "multi-query" is Shein and Chrysanthis, TKDE 2022.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from muntin.aggregate import catalog as agg
from muntin.incremental.bint import BInt
from muntin.incremental.flatfat import FlatFAT
from muntin.incremental.flatfat_window import FlatFATWindow
from muntin.incremental.flatfit import FlatFIT
from muntin.incremental.panes import Panes
from muntin.incremental.slickdeque import SlickDequeNonInv
from muntin.incremental.structure import EMPTY
from muntin.incremental.twostacks import TwoStacks
from tests.incremental.counting import counted

# The internal nodes of the reactive paper's Figure 3, by their numbers in the heap.
NODES = {"g": 1, "e": 2, "f": 3, "a": 4, "b": 5, "c": 6, "d": 7}


def test_reactive_figure_3_new_takes_seven_combines() -> None:
    function, calls = counted(agg.collect)
    tree: FlatFAT[Any] = FlatFAT.new(function.combine, [(i,) for i in range(1, 9)])
    assert calls.count == 4 + 2 + 1
    node = dict(enumerate(tree.nodes, start=1))
    assert node[NODES["b"]] == (3, 4)
    assert node[NODES["c"]] == (5, 6)
    assert node[NODES["e"]] == (1, 2, 3, 4)


def test_reactive_figure_3_a_change_of_the_third_place_touches_b_e_and_g() -> None:
    assert touched([3]) == {"b", "e", "g"}


def test_reactive_figure_4_a_change_of_four_places_touches_six_nodes() -> None:
    assert touched([1, 2, 4, 7]) == {"a", "b", "d", "e", "f", "g"}


def touched(places: list[int]) -> set[str]:
    function, calls = counted(agg.collect)
    tree: FlatFAT[Any] = FlatFAT.new(function.combine, [(i,) for i in range(1, 9)])
    before = tree.nodes
    calls.reset()
    tree.update([(place, (-place,)) for place in places])
    changed = {name for name, node in NODES.items() if tree.nodes[node - 1] != before[node - 1]}
    assert calls.count == len(changed)
    return changed


def test_reactive_section_4_2_3_prefix_of_seven_joins_e_c_and_the_seventh_place() -> None:
    function, calls = counted(agg.collect)
    tree: FlatFAT[Any] = FlatFAT.new(function.combine, [(i,) for i in range(1, 9)])
    calls.reset()
    assert tree.prefix(7) == (1, 2, 3, 4, 5, 6, 7)
    assert calls.count == 2


def test_reactive_figure_5_the_latest_four_numbers() -> None:
    window = FlatFATWindow(agg.collect, capacity=4)

    def slots() -> list[object]:
        window.query()
        return [EMPTY if place is EMPTY else place[0] for place in window._tree.places()]

    window.insert((4,))
    assert slots() == [4, EMPTY, EMPTY, EMPTY]
    window.insert((7,))
    assert slots() == [4, 7, EMPTY, EMPTY]
    window.insert((3,))
    assert slots() == [4, 7, 3, EMPTY]
    window.insert((2,))
    assert slots() == [4, 7, 3, 2]
    window.evict()
    assert slots() == [EMPTY, 7, 3, 2]
    window.insert((9,))
    assert slots() == [9, 7, 3, 2]
    # The buffer is inverted: the tree's own order is not the window's.
    assert window._tree.aggregate() == (9, 7, 3, 2)
    assert window.query() == (7, 3, 2, 9)


def test_multi_query_figure_2_a_window_of_four_panes() -> None:
    panes = Panes(agg.collect)
    finals = []
    for number in range(1, 7):
        if len(panes) == 4:
            panes.evict()
        panes.insert((number,))
        if len(panes) == 4:
            finals.append(panes.query())
    assert finals[1] == (2, 3, 4, 5)  # F2
    assert [4 in final for final in finals] == [True, True, True]  # P4 serves F1, F2 and F3


@pytest.mark.parametrize(("leaf", "nodes"), [(15, [4, 4, 2, 1]), (16, [1, 2, 8])], ids=["from 1", "from 0"])
def test_multi_query_figure_5_an_update_of_leaf_15_and_a_range_of_eleven(leaf: int, nodes: list[int]) -> None:
    # The text does not say whether its 16 leaves are numbered from 0 or from 1.
    function, calls = counted(agg.collect)
    tree = FlatFAT.new(function.combine, [(i,) for i in range(1, 17)])
    calls.reset()
    tree.update([(leaf, (0,))])
    assert calls.taken() == 4  # the way up to the root
    assert tree.between(leaf - 10, leaf) == (*range(leaf - 10, leaf), 0)
    assert sum(nodes) == 11
    assert calls.taken() == len(nodes) - 1


def test_multi_query_figure_6_base_intervals_go_round() -> None:
    function, calls = counted(agg.collect)
    window = BInt(function)
    for number in range(16):
        window.insert((number,))
    for number in range(16, 21):  # the leftmost intervals of each level now follow the rightmost
        window.evict()
        window.insert((number,))
    calls.reset()
    assert window.query_last(11) == tuple(range(10, 21))
    assert window.cover(11) == [2, 4, 4, 1]
    assert calls.count == 3


def test_multi_query_figure_7_a_range_of_nine_in_two_hops() -> None:
    # A circle of eleven places, of which the range spans 8, 9, 10, 0, ..., 5. Place 8 leads to 1 and 1 to 5.
    function, calls = counted(agg.collect)
    window = FlatFIT(function)
    for place in range(8, 12):
        window.insert((place % 11,))
    window.query_last(4)  # from 8 up to 1
    for place in range(12, 16):
        window.insert((place % 11,))
    window.query_last(4)  # from 1 up to 5
    window.insert((5,))
    calls.reset()
    assert window.hops(9) == 3  # 8, 1 and 5
    assert window.query_last(9) == (8, 9, 10, 0, 1, 2, 3, 4, 5)
    assert calls.taken() == 2
    window.insert((6,))
    assert window.hops(10) == window.hops(6) == 2  # both 8 and 1 lead to 6 now
    assert window.hops(5) == 3  # 2 leads to 5 as before


def test_multi_query_figure_8_tops_of_six_and_one() -> None:
    function, calls = counted(agg.max)
    window = TwoStacks(function)
    for price in (5, 2, 6, 4):
        window.insert(price)
    window.evict()
    window.insert(1)
    assert (window.front, window.back) == ([4, 6, 6], [1])
    calls.reset()
    assert window.query() == 6  # max(6, 1)
    assert calls.taken() == 1
    for _ in range(3):
        window.evict()
    assert (window.front, window.back) == ([], [1])
    assert calls.taken() == 0
    window.insert(3)
    window.insert(2)
    calls.reset()
    window.evict()  # F is empty: B is flipped onto it
    assert (window.front, window.back) == ([2, 3], [])
    assert calls.taken() == 1
    assert window.query() == 3


def test_multi_query_figure_10_a_four_pushes_out_a_three_and_a_two() -> None:
    function, calls = counted(agg.max)
    window = SlickDequeNonInv(function)
    for price in (6, 1, 5, 0, 3, 2):  # positions 1 to 6
        window.insert(price)
    assert [partial for _, partial in window.candidates] == [6, 5, 3, 2]
    calls.reset()
    window.evict()  # position 1 comes round again, so its partial at the head expires
    window.insert(4)
    assert [(place % 6 + 1, partial) for place, partial in window.candidates] == [(3, 5), (1, 4)]
    assert calls.taken() == 3  # against 2, 3 and 5
    assert [window.query_last(count) for count in range(1, 7)] == [4, 4, 4, 4, 5, 5]
    assert window.query() == 5
    assert calls.taken() == 0


def test_the_deque_is_as_long_as_the_harmonic_number_on_random_data() -> None:
    # The multi-query paper estimates the mean length of the deque as the sum of 1/i! up to n, 1.718 for a long window.
    # Counted here for every order of n values it is the n-th harmonic number: a partial stays if none after is larger.
    for size in range(1, 7):
        lengths = []
        for order in itertools.permutations(range(size)):
            window = SlickDequeNonInv(agg.max)
            for value in order:
                window.insert(value)
            lengths.append(len(window.candidates))
        harmonic = sum(1 / i for i in range(1, size + 1))
        assert math.isclose(sum(lengths) / len(lengths), harmonic)
