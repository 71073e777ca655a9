"""Calls of combine, counted: Theorem 4.2 for the tree, and Table 2 of the multi-query paper for every algorithm.

A slide evicts the oldest of n partials, inserts one and asks for the result; in the max-multi-query case it asks for
all ranges 1 to n. Each bound here is ours; where the table's differs, the test that names it says by how much.
"""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import pytest

from muntin.aggregate import catalog as agg
from muntin.incremental import ALGORITHMS, MULTI_RANGE
from muntin.incremental.flatfat import FlatFAT
from muntin.incremental.slickdeque_inv import SlickDequeInv
from tests.incremental.counting import counted

SIZES = [2, 3, 4, 5, 6, 7, 8, 12, 14, 15, 16, 17, 30, 31, 32, 33, 64]
POWERS = [2, 4, 8, 16, 32, 64, 128]


def slides(algorithm: str, function: Any, size: int, count: int, *, multi: bool = False) -> list[int]:
    """Count the calls of each of `count` slides, after the window has been full for some time."""
    operator, calls = counted(function)
    window: Any = ALGORITHMS[algorithm](operator)
    if multi and algorithm == "SlickDeque-Inv":
        window = SlickDequeInv(operator, ranges=range(1, size + 1))
    rng = random.Random(size)
    result = []
    for i in range(size + 2 * size + count):
        if len(window) == size:
            window.evict()
        window.insert(function.lift((rng.random(), i) if function.arity == 2 else rng.random()))
        for r in range(min(i + 1, size), 0, -1) if multi else ():
            window.query_last(r)
        if not multi:
            window.query()
        result.append(calls.taken())
    return result[3 * size :]


def mean(counts: list[int]) -> Fraction:
    return Fraction(sum(counts), len(counts))


def whole_cycles(size: int) -> int:
    """Give a number of slides that is a whole number of every algorithm's cycles: n, n + 1, n - 1."""
    return math.lcm(size, size + 1, size - 1)


# Theorem 4.2


@pytest.mark.parametrize("places", [1, *POWERS])
def test_new_takes_one_combine_less_than_places(places: int) -> None:
    function, calls = counted(agg.collect)
    FlatFAT.new(function.combine, [(i,) for i in range(places)])
    assert calls.count == places - 1


@pytest.mark.parametrize("places", [1, 2, 4, 8, 16, 64])
def test_update_stays_within_the_bound(places: int) -> None:
    function, calls = counted(agg.collect)
    tree = FlatFAT.new(function.combine, [(i,) for i in range(places)])
    rng = random.Random(places)
    worst: dict[int, int] = {}
    for m in range(1, places + 1):
        # Spread evenly is the worst there is: paths meet as late as they can.
        spread = [1 + i * places // m for i in range(m)]
        for chosen in [spread, *(rng.sample(range(1, places + 1), m) for _ in range(20))]:
            calls.reset()
            tree.update([(place, (0,)) for place in chosen])
            above = {(places + place - 1) >> k for place in chosen for k in range(1, places.bit_length())}
            assert calls.count == len(above)  # each node above a write once: Equation 4.3
            assert calls.count <= m * (1 + math.ceil(math.log2(places / m)))
            worst[m] = max(worst.get(m, 0), calls.count)
    assert worst[1] == math.log2(places)
    assert worst[places] == places - 1


@pytest.mark.parametrize("places", [2, *POWERS])
def test_prefix_and_suffix_take_fewer_combines_than_the_tree_is_high(places: int) -> None:
    function, calls = counted(agg.collect)
    tree = FlatFAT.new(function.combine, [(i,) for i in range(places)])
    for read in (tree.prefix, tree.suffix):
        counts = []
        for place in range(1, places + 1):
            calls.reset()
            read(place)
            counts.append(calls.count)
        assert max(counts) == math.log2(places) - 1  # the theorem: log2(n)
    assert [tree.prefix(places), tree.suffix(1)] == [tree.aggregate()] * 2
    calls.reset()
    tree.aggregate()
    tree.prefix(places)
    tree.suffix(1)
    assert calls.count == 0


def test_empty_places_cost_nothing() -> None:
    function, calls = counted(agg.collect)
    tree = FlatFAT.new(function.combine, (), capacity=16)
    tree.update([(3, (3,)), (11, (11,))])
    assert calls.count == 1
    assert tree.aggregate() == (3, 11)


# Table 2


@pytest.mark.parametrize("size", [1, *SIZES])
def test_panes(size: int) -> None:
    assert set(slides("Panes", agg.max, size, size)) == {size - 1}  # the table: n
    assert set(slides("Panes", agg.max, size, size, multi=True)) == {size * (size - 1) // 2}  # the table: n²


@pytest.mark.parametrize("size", SIZES)
def test_panes_inv(size: int) -> None:
    assert set(slides("Panes-Inv", agg.sum, size, 2 * size)) == {2}


@pytest.mark.parametrize("algorithm", ["FlatFAT", "B-Int"])
def test_trees(algorithm: str) -> None:
    for size in POWERS:
        assert set(slides(algorithm, agg.max, size, 2 * size)) == {math.log2(size)}
    for size in SIZES:
        counts = slides(algorithm, agg.max, size, 4 * size)
        assert mean(counts) <= math.log2(size)
        assert max(counts) <= 2 * math.floor(math.log2(size))
        if size <= 33:
            assert max(slides(algorithm, agg.max, size, 4 * size, multi=True)) <= size * math.log2(size)
    # The worst is met where n is one below a power of two.
    assert max(slides(algorithm, agg.max, 31, 124)) == 2 * 4


def test_flatfat_where_order_matters() -> None:
    for size in POWERS[1:]:
        assert max(slides("FlatFAT", agg.first, size, 2 * size)) == 2 * math.log2(size)
    for size in SIZES[1:]:
        counts = slides("FlatFAT", agg.first, size, 4 * size)
        assert mean(counts) < 2 * math.log2(size)
        assert max(counts) < 4 * math.floor(math.log2(size))
    assert max(slides("FlatFAT", agg.first, 30, 120)) == 4 * 4 - 2


def test_bint_where_order_matters() -> None:
    for size in POWERS:
        assert set(slides("B-Int", agg.first, size, 2 * size)) == {math.log2(size)}


@pytest.mark.parametrize("size", SIZES[:-1])
def test_flatfit(size: int) -> None:
    counts = slides("FlatFIT", agg.max, size, whole_cycles(size) if size < 18 else 8 * (size + 1))
    assert mean(counts) == 3 - Fraction(6, size + 1)  # the table: 3
    assert max(counts) == size - 1  # the table: n
    resets = [i for i, count in enumerate(counts) if count == size - 1]
    if size > 3:
        assert {later - earlier for earlier, later in itertools.pairwise(resets)} == {size + 1}
    assert set(slides("FlatFIT", agg.max, size, 2 * size, multi=True)) == {size - 1}  # the table: 3n


@pytest.mark.parametrize("size", SIZES)
def test_twostacks(size: int) -> None:
    counts = slides("TwoStacks", agg.max, size, 6 * size)
    assert mean(counts) == 3 - Fraction(4, size)  # the table: 3
    assert max(counts) == size - 1  # the table: n


@pytest.mark.parametrize("size", SIZES)
def test_daba(size: int) -> None:
    counts = slides("DABA", agg.max, size, size * (size - 1) * (1 if size % 2 else 2))
    assert mean(counts) == 4 - (Fraction(4, size - 1) if size % 2 else Fraction(6, size))  # the table: 5
    assert max(counts) <= 6  # the table: 8
    if size >= 12:
        assert max(counts) == 6


def test_daba_is_constant_call_by_call_whatever_the_sequence() -> None:
    function, calls = counted(agg.max)
    window = ALGORITHMS["DABA"](function)
    rng = random.Random(2)
    worst = {"insert": 0, "evict": 0, "query": 0}
    for step in range(20_000):
        growing = 0.7 if step // 2000 % 2 == 0 else 0.3
        act = "insert" if not len(window) or rng.random() < growing else rng.choice(["evict", "query"])
        getattr(window, act)(*((rng.random(),) if act == "insert" else ()))
        worst[act] = max(worst[act], calls.taken())
    assert worst == {"insert": 3, "evict": 2, "query": 1}


@pytest.mark.parametrize("size", SIZES)
def test_slickdeque_inv(size: int) -> None:
    assert set(slides("SlickDeque-Inv", agg.sum, size, 2 * size)) == {2}
    expected = 2 * size - 4 if size > 2 else 1  # the table: 2n
    assert set(slides("SlickDeque-Inv", agg.sum, size, 2 * size, multi=True)) == {expected}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("function", [agg.max, agg.arg_max, agg.first, agg.last], ids=lambda function: function.name)
def test_slickdeque_noninv(size: int, function: Any) -> None:
    counts = slides("SlickDeque-NonInv", function, size, 50 * size)
    assert mean(counts) < 2
    assert max(counts) <= size - 1
    # The answers to all ranges cost no combine.
    assert slides("SlickDeque-NonInv", function, size, 50, multi=True) == counts[:50]


def test_slickdeque_noninv_at_its_worst() -> None:
    function, calls = counted(agg.max)
    window = ALGORITHMS["SlickDeque-NonInv"](function)
    size, total, worst = 10, 0, 0
    for i in range(1000):
        if len(window) == size:
            window.evict()
        window.insert(1000 if i % size == 0 else -i % size)  # a peak, then ever less until the next
        worst = max(worst, calls.count)
        total += calls.taken()
    assert worst == size - 1
    assert total / 1000 < 2


def test_every_algorithm_is_counted() -> None:
    tested = {name for name in globals() if name.startswith("test_")}
    for algorithm in set(ALGORITHMS) - {"FlatFAT", "B-Int"}:
        assert f"test_{algorithm.lower().replace('-', '_')}" in tested or f"test_{algorithm.lower()}" in tested
    assert {"FlatFAT", "B-Int"} <= set(MULTI_RANGE)
