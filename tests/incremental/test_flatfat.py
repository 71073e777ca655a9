"""The tree of FlatFAT: any writes, any reads, against a plain list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.errors import IncrementalError
from muntin.incremental.flatfat import FlatFAT
from muntin.incremental.structure import EMPTY, Empty

if TYPE_CHECKING:
    from collections.abc import Sequence

Letters = st.none() | st.sampled_from("abcdef")


def join(x: str, y: str) -> str:
    return x + y


def marked(letters: Sequence[str | None]) -> list[str | Empty]:
    return [EMPTY if letter is None else letter for letter in letters]


def text(aggregate: str | Empty) -> str:
    return "" if aggregate is EMPTY else aggregate


@given(
    st.lists(Letters, max_size=20), st.lists(st.lists(st.tuples(st.integers(1, 20), Letters), max_size=8), max_size=5)
)
@settings(deadline=None)
def test_reads_after_any_writes(letters: list[str | None], batches: list[list[tuple[int, str | None]]]) -> None:
    tree = FlatFAT.new(join, marked(letters), capacity=3)
    places = letters + [None] * (tree.capacity - len(letters))
    assert len(places) >= 4
    assert len(places) & (len(places) - 1) == 0
    for batch in batches:
        changes = {(place - 1) % len(places) + 1: letter for place, letter in batch}
        tree.update(zip(changes, marked(list(changes.values())), strict=True))
        for place, letter in changes.items():
            places[place - 1] = letter
        assert tree.places() == marked(places)
        assert text(tree.aggregate()) == "".join(filter(None, places))
        for i in range(1, len(places) + 1):
            assert tree[i] == marked(places)[i - 1]
            assert text(tree.prefix(i)) == "".join(filter(None, places[:i]))
            assert text(tree.suffix(i)) == "".join(filter(None, places[i - 1 :]))
            for j in range(i, len(places) + 1):
                assert text(tree.between(i, j)) == "".join(filter(None, places[i - 1 : j]))
        rebuilt: FlatFAT[str] = FlatFAT.new(join, marked(places))
        assert rebuilt.nodes == tree.nodes == FlatFAT.of_nodes(join, tree.nodes).nodes


@pytest.mark.parametrize(("wanted", "capacity"), [(0, 1), (1, 1), (2, 2), (3, 4), (8, 8), (9, 16)])
def test_places_are_rounded_up_to_a_power_of_two(wanted: int, capacity: int) -> None:
    tree: FlatFAT[str] = FlatFAT.new(join, (), capacity=wanted)
    assert tree.capacity == capacity
    assert len(tree.nodes) == 2 * capacity - 1
    assert tree.aggregate() is EMPTY


def test_of_two_writes_to_a_place_the_later_counts() -> None:
    tree = FlatFAT.new(join, "abcd")
    tree.update([(2, "x"), (2, "y")])
    assert tree.aggregate() == "aycd"


def test_an_update_of_nothing_changes_nothing() -> None:
    tree = FlatFAT.new(join, "abcd")
    tree.update([])
    assert tree.aggregate() == "abcd"


def test_places_that_cross_hold_nothing() -> None:
    assert FlatFAT.new(join, "abcd").between(3, 2) is EMPTY


@pytest.mark.parametrize("place", [0, -1, 5])
def test_a_place_that_there_is_not(place: int) -> None:
    tree = FlatFAT.new(join, "abcd")
    reads: list[Any] = [tree.prefix, tree.suffix, tree.__getitem__, lambda at: tree.update([(1, "z"), (at, "x")])]
    for read in reads:
        with pytest.raises(IncrementalError, match=f"there is no place {place}: they are numbered from 1 to 4"):
            read(place)
    assert tree.aggregate() == "abcd"


@pytest.mark.parametrize("nodes", [0, 2, 5, 6])
def test_a_tree_has_as_many_nodes_as_a_tree_has(nodes: int) -> None:
    with pytest.raises(IncrementalError, match=f"2n - 1 nodes for a power of two n, got {nodes}"):
        FlatFAT.of_nodes(join, ["a"] * nodes)
