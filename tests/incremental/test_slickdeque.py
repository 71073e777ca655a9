"""SlickDeque: which operators it is right for, ties, and ranges that come and go."""

from __future__ import annotations

import functools
import itertools
import math
import pickle
import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregate import catalog as agg
from muntin.aggregate.define import define
from muntin.aggregate.extrema import Found
from muntin.errors import AggregateError, IncrementalError
from muntin.incremental.panes import Panes
from muntin.incremental.slickdeque import SlickDequeNonInv
from muntin.incremental.slickdeque_inv import SlickDequeInv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# SlickDeque-NonInv rests on what associative, selecting operators look like. Here is every one of them over three
# partials: of the 64 ways to choose between two different ones, those that are associative.
def selecting_operators(values: str) -> Iterator[dict[tuple[str, str], str]]:
    pairs = list(itertools.permutations(values, 2))
    for choice in itertools.product((0, 1), repeat=len(pairs)):
        table = {pair: pair[side] for pair, side in zip(pairs, choice, strict=True)}
        table |= {(value, value): value for value in values}
        if all(table[table[x, y], z] == table[x, table[y, z]] for x, y, z in itertools.product(values, repeat=3)):
            yield table


def by_table(table: dict[tuple[str, str], str], copy: Callable[[str], Any]) -> Any:
    return define("by_table", lift=lambda value: value, combine=lambda x, y: copy(table[str(x), str(y)]), selects=True)


class Copied(str):
    """A string that is never the same object as another."""


@pytest.mark.parametrize("copy", [str, Copied], ids=["the operand itself", "an equal object"])
def test_slickdeque_is_right_for_every_selecting_operator_over_three_partials(copy: Callable[[str], Any]) -> None:
    tables = list(selecting_operators("xyz"))
    assert len(tables) == 20  # the number of quasitrivial semigroups on three elements
    for table in tables:
        function = by_table(table, copy)
        for stream in itertools.product("xyz", repeat=5):
            window = SlickDequeNonInv(function)
            for i, partial in enumerate(stream):
                window.insert(partial)
                for count in range(1, i + 2):
                    assert window.query_last(count) == functools.reduce(function.combine, stream[i + 1 - count : i + 1])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=30), st.lists(st.booleans()))
@settings(max_examples=60, deadline=None)
def test_slickdeque_keeps_ties_as_combine_does(stream: list[tuple[int, int]], later_wins: list[bool]) -> None:
    wins = [*later_wins, False, False, False, False]

    def choose(x: tuple[int, int], y: tuple[int, int]) -> tuple[int, int]:
        if x[0] != y[0]:
            return max(x, y)
        return y if wins[x[0]] else x

    function = define("ranked", lift=lambda value: value, combine=choose, selects=True)
    window, panes = SlickDequeNonInv(function), Panes(function)
    for partial in stream:
        for structure in (window, panes):
            if len(structure) == 6:
                structure.evict()
            structure.insert(partial)
        for count in range(1, len(panes) + 1):
            assert window.query_last(count) == panes.query_last(count)


def test_slickdeque_needs_one_partial_for_last_and_all_for_first() -> None:
    last, first = SlickDequeNonInv(agg.last), SlickDequeNonInv(agg.first)
    for value in range(8):
        last.insert((value,))
        first.insert((value,))
    assert last.candidates == [(7, (7,))]
    assert len(first.candidates) == 8


def test_a_constant_stream_needs_one_place_and_a_tie_that_can_be_told_apart_two() -> None:
    for same in (7, "x", math.nan, Decimal("1.0"), Found(1, "a")):
        window = SlickDequeNonInv(agg.arg_max if isinstance(same, Found) else agg.max)
        for _ in range(5):
            window.insert(pickle.loads(pickle.dumps(same)))
        assert len(window.candidates) == 1
    for early, late in ((-0.0, 0.0), (1, 1.0), (1, True), (Decimal("1.0"), Decimal("1.00"))):
        window = SlickDequeNonInv(agg.max)
        window.insert(early)
        window.insert(late)
        assert repr(window.query()) == repr(early)  # of equals the first
        assert repr(window.query_last(1)) == repr(late)


def test_slickdeque_finds_out_an_operator_that_does_not_select() -> None:
    liar = define("liar", lift=lambda value: value, combine=lambda x, y: x + y, selects=True)
    window = SlickDequeNonInv(liar)
    window.insert(1)
    with pytest.raises(AggregateError, match=r"`liar` claims to select .* combine\(1, 2\) gave 3. Correct the claim"):
        window.insert(2)
    assert len(window) == 1
    assert window.query() == 1


def test_ranges_come_and_go_while_the_stream_runs() -> None:
    window, panes = SlickDequeInv(agg.sum), Panes(agg.sum)
    rng = random.Random(11)
    registered: set[int] = set()
    for i in range(400):
        for structure in (window, panes):
            if len(structure) == 12 or (len(structure) and i % 7 == 0):
                structure.evict()
            structure.insert(agg.sum.lift(i * i % 23))
        count = rng.randint(1, 15)
        if count in registered:
            window.unregister(count)
            registered.remove(count)
        else:
            window.register(count)
            window.register(count)
            registered.add(count)
        assert window.ranges == tuple(sorted(registered))
        for count in range(1, len(panes) + 1):
            assert window.query_last(count) == panes.query_last(count)


@pytest.mark.parametrize("count", [0, -2, True, 2.0])
def test_a_range_is_a_number_of_partials(count: Any) -> None:
    with pytest.raises(IncrementalError, match=f"a range is a number of partials, 1 or more, got {count!r}"):
        SlickDequeInv(agg.sum, ranges=[count])


def test_a_range_that_is_not_registered_cannot_be_dropped() -> None:
    with pytest.raises(IncrementalError, match=r"the range 3 is not registered. Registered: \[2, 5\]"):
        SlickDequeInv(agg.sum, ranges=[5, 2]).unregister(3)
