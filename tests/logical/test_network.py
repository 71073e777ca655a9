"""The matrix of all arcs at once, against Relation.count pair by pair."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from muntin import Window, hopping, tumbling
from muntin.logical.candidates import candidates
from muntin.logical.cost import Period, cost_model
from muntin.logical.network import network, trimmed
from muntin.logical.relation import Covers, Relation, Sharing
from tests.logical.draw import draw_windows, seeds

if TYPE_CHECKING:
    import random

RATES: list[int | str] = [1, "3/2", 100]
PERIODS: list[Period] = ["paper", "steady"]
KINDS: list[tuple[Sharing, Covers]] = [
    ("covered", "dense"),
    ("covered", "sparse"),
    ("partitioned", "dense"),
    ("partitioned", "sparse"),
]


def any_windows(rng: random.Random) -> list[Window]:
    """Draw windows of any kind and around each of them some that cover it, off the common pane too."""
    found = dict.fromkeys(draw_windows(rng, most=4, longest=24, pane=rng.choice([1, 2, 3])))
    for w in list(found):
        slide = rng.choice([d for d in range(1, w.slide + 1) if w.slide % d == 0])
        for size in (slide, w.range, w.range - slide, w.range % slide + slide):
            if slide <= size <= w.range:
                found[Window(size, slide, w.offset)] = None
    return list(found)


@pytest.mark.parametrize(("sharing", "covers"), KINDS)
def test_costs_are_those_of_the_relation(sharing: Sharing, covers: Covers) -> None:
    arcs = 0
    relation = Relation(sharing, covers)
    for seed, rng in seeds(60):
        windows = any_windows(rng)
        model = cost_model(windows, rate=rng.choice(RATES), period=rng.choice(PERIODS))
        wanted = rng.randint(1, len(windows))
        layout = network(windows[:wanted], windows[wanted:], relation, model)
        assert (layout.windows, layout.terminals, layout.size) == (tuple(windows), wanted, len(windows))
        for i, child in enumerate(windows):
            reads: dict[int, Fraction] = {len(windows): Fraction(model.events(child))}
            for j, parent in enumerate(windows):
                count = relation.count(child, parent)
                if count is not None and i != j:
                    reads[j] = Fraction(count)
                    arcs += 1
            sure = min(read for j, read in reads.items() if j < wanted or j == len(windows))
            for j in range(len(windows) + 1):
                read = reads.get(j)
                sure_at_hand = j < wanted or j == len(windows)
                case = (seed, child, windows[j] if j < len(windows) else "events", read, sure)
                # What is always at hand makes a dearer arc pointless, and one to a candidate that is as dear.
                if read is None or read > sure or (read == sure and not sure_at_hand):
                    assert layout.costs[i, j] == math.inf, case
                else:
                    expected = float(model.instances(child) * read / model.period)
                    assert layout.costs[i, j] == pytest.approx(expected, rel=1e-12), case
    assert arcs > 500


def test_durations_and_windows_with_a_period_of_a_thousand_digits() -> None:
    wanted = [tumbling("20m"), hopping("1h", slide="10m", offset="5m"), tumbling("25m")]
    model = cost_model(wanted, rate=100)
    layout = network(wanted, [tumbling("5m")], Relation("covered", "sparse"), model)
    expected = [20 / 5, 60 / 5, 25 / 5]
    reads = [layout.costs[i, 3] * model.period / model.instances(w) for i, w in enumerate(wanted)]
    assert reads == pytest.approx(expected)
    many = [Window(n, n) for n in range(2, 1000)]
    costs = network(many, [], Relation("covered", "sparse"), cost_model(many)).costs
    assert np.isfinite(costs.min(axis=1)).all()


def test_trimming_changes_no_optimum() -> None:
    """Every arc left out has something at hand that is as good: each node's cheapest parent costs the same."""
    for seed, rng in seeds(50):
        size, wanted = rng.randint(2, 8), rng.randint(1, 2)
        costs = np.array([[rng.choice([1.0, 2.0, 3.0, math.inf]) for _ in range(size + 1)] for _ in range(size)])
        costs[:, -1] = [rng.choice([2.0, 3.0]) for _ in range(size)]
        kept = trimmed(costs, wanted)
        assert (kept.min(axis=1) == costs.min(axis=1)).all(), seed
        assert ((kept == costs) | np.isinf(kept)).all(), seed
        assert not (kept[:, wanted:-1] >= np.minimum(costs[:, -1], costs[:, :wanted].min(axis=1))[:, None])[
            np.isfinite(kept[:, wanted:-1])
        ].any(), seed


def test_candidates_lie_where_the_network_can_place_them() -> None:
    """Every candidate's range, slide and offset is a whole number of the network's own units."""
    for seed, rng in seeds(40):
        wanted = sorted(draw_windows(rng, longest=20, most=3, multiples=False))
        relation = Relation("covered", "sparse")
        pool = candidates(wanted, relation, limit=2000)
        layout = network(wanted, pool.windows, relation, cost_model(wanted, rate=100))
        useful = np.isfinite(layout.costs[:, len(wanted) : -1])
        for i, child in enumerate(layout.windows):
            for j, parent in enumerate(pool.windows):
                if useful[i, j]:
                    assert relation.count(child, parent) is not None, (seed, child, parent)
