"""All pairs at once agree with the rule for one pair, for numbers of any size."""

from __future__ import annotations

from itertools import product

import pytest

from muntin import Window
from muntin.logical.pairs import pairs
from muntin.logical.relation import Covers, Relation, Sharing
from tests.logical.draw import draw_windows, seeds


@pytest.mark.parametrize("scale", [1, 7, 10**25 + 1])
@pytest.mark.parametrize("covers", ["dense", "sparse"])
@pytest.mark.parametrize("sharing", ["covered", "partitioned", "none"])
def test_pairs_are_those_of_the_relation(sharing: Sharing, covers: Covers, scale: int) -> None:
    relation = Relation(sharing, covers)
    for seed, rng in seeds(40):
        drawn = draw_windows(rng, most=8, longest=24)
        # One window that is no multiple of the scale, so that the widest common pane stays short.
        windows = [Window(scale * w.range, scale * w.slide, scale * w.offset) for w in drawn] + [Window(3, 2, 1)]
        windows = sorted(set(windows))
        found = {(c, p): n for c, p, n in zip(*(column.tolist() for column in pairs(windows, relation)), strict=True)}
        places = range(len(windows))
        counts = {(c, p): relation.count(windows[c], windows[p]) for c, p in product(places, places) if c != p}
        assert found == {pair: n for pair, n in counts.items() if n is not None}, (seed, windows)
