"""The solver on networks of any costs: its optimum, its bounds, and what it says when time runs out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest

from muntin.logical import ascent, local
from muntin.logical.ascent import dual_ascent, solve
from muntin.logical.local import cost_of, local_search
from muntin.logical.network import trimmed
from tests.logical.draw import seeds

if TYPE_CHECKING:
    import random

    from muntin.logical.network import Floats


def draw_network(rng: random.Random, most: int = 12) -> tuple[Floats, int]:
    """Draw costs of arcs that form no cycle: dear from the root, so that it takes several candidates to gain."""
    size = rng.randint(3, most)
    terminals = rng.randint(1, min(5, size - 2))
    order = rng.sample(range(size), size)
    if rng.random() < 0.7:  # Mostly candidates do not read wanted nodes.
        order.sort(key=lambda node: node >= terminals)
    costs = np.full((size, size + 1), math.inf)
    costs[:, -1] = [rng.randint(20, 60) if node < terminals else rng.randint(30, 120) for node in range(size)]
    for child, parent in combinations(order, 2):
        if rng.random() < 0.5:
            costs[child, parent] = rng.randint(1, 25)
    return trimmed(costs, terminals), terminals


def optimum(costs: Floats, terminals: int) -> float:
    """The least cost over all sets of opened candidates, each set a number whose bits say what is in it."""
    optional = len(costs) - terminals
    sets = np.arange(2**optional)
    total = np.zeros(2**optional)
    for node in range(len(costs)):
        cheapest = np.full(2**optional, costs[node, [*range(terminals), -1]].min())
        for bit in range(optional):
            opened = (sets >> bit & 1).astype(bool)
            cheapest[opened] = np.minimum(cheapest[opened], costs[node, terminals + bit])
        total += cheapest if node < terminals else cheapest * (sets >> (node - terminals) & 1)
    return float(total.min())


def test_solve_finds_the_optimum() -> None:
    beyond_local = 0
    for seed, rng in seeds(400):
        costs, terminals = draw_network(rng)
        best = optimum(costs, terminals)
        found = solve(costs, terminals)
        assert found.cost == pytest.approx(best), seed
        assert found.optimal, seed
        assert found.bound == pytest.approx(best), seed
        assert cost_of(costs, terminals, list(found.opened)) == pytest.approx(best), seed
        assert set(found.opened) <= set(range(terminals, len(costs))), seed
        beyond_local += local_search(costs, terminals)[0] > best * (1 + 1e-9)
    assert beyond_local > 15  # These the local search alone does not solve.


def test_solve_from_any_start() -> None:
    for seed, rng in seeds(100, start=1000):
        costs, terminals = draw_network(rng)
        start = tuple(rng.sample(range(terminals, len(costs)), rng.randint(0, len(costs) - terminals)))
        assert solve(costs, terminals, start).cost == pytest.approx(optimum(costs, terminals)), seed


def test_dual_ascent_bounds_the_optimum_and_every_arc() -> None:
    """No plan is cheaper than the bound, and no plan that uses an arc is cheaper than that arc's own."""
    tight = 0
    for seed, rng in seeds(120, start=2000):
        costs, terminals = draw_network(rng, most=7)
        best = optimum(costs, terminals)
        bound, detours = dual_ascent(costs, terminals, math.inf, math.inf)
        assert bound <= best * (1 + 1e-9), seed
        tight += bound == pytest.approx(best)
        for _ in range(60):
            arcs = draw_plan(rng, costs, terminals)
            cost = sum(costs[arc] for arc in arcs)
            for arc in arcs:
                assert detours[arc] <= cost * (1 + 1e-9), (seed, arcs, arc)
    assert tight > 40


def draw_plan(rng: random.Random, costs: Floats, terminals: int) -> set[tuple[int, int]]:
    """Draw any parent for each wanted node, and for each node so reached, up to the root."""
    arcs: set[tuple[int, int]] = set()
    pending = list(range(terminals))
    while pending:
        child = pending.pop()
        parent = rng.choice(np.nonzero(np.isfinite(costs[child]))[0].tolist())
        arcs.add((child, parent))
        reached = {c for c, _ in arcs} | set(pending) | {len(costs)}
        if parent not in reached:
            pending.append(parent)
    return arcs


def test_local_search_ends_where_no_single_change_helps() -> None:
    for seed, rng in seeds(100, start=3000):
        costs, terminals = draw_network(rng)
        start = rng.sample(range(terminals, len(costs)), rng.randint(0, len(costs) - terminals))
        cost, chosen = local_search(costs, terminals, start)
        assert cost == pytest.approx(cost_of(costs, terminals, chosen)), seed
        optional = set(range(terminals, len(costs)))
        for node in optional:
            other = [c for c in chosen if c != node] if node in chosen else [*chosen, node]
            assert cost_of(costs, terminals, other) >= cost * (1 - 1e-9), (seed, node)


def test_past_deadline_still_gives_a_plan_and_a_bound() -> None:
    for seed, rng in seeds(100, start=4000):
        costs, terminals = draw_network(rng)
        start = tuple(range(terminals, len(costs)))[: rng.randint(0, 3)]
        found = solve(costs, terminals, start, deadline=0.0)
        assert found.cost == pytest.approx(cost_of(costs, terminals, list(found.opened))), seed
        assert found.cost <= cost_of(costs, terminals, list(start)) * (1 + 1e-9), seed
        assert 0 <= found.bound <= optimum(costs, terminals) * (1 + 1e-9), seed


@dataclass
class Clock:
    """A clock that moves on by one with every reading."""

    now: float = 0.0

    def monotonic(self) -> float:
        self.now += 1
        return self.now


def test_deadline_at_any_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the time is up, the plan is real, the bound holds, and `optimal` is only said of the optimum."""
    answers = set()
    for seed, rng in seeds(40, start=5000):
        costs, terminals = draw_network(rng)
        best = optimum(costs, terminals)
        for deadline in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89):
            clock = Clock()
            monkeypatch.setattr(ascent, "time", clock)
            monkeypatch.setattr(local, "time", clock)
            found = solve(costs, terminals, (), deadline)
            case = (seed, deadline, found, best)
            assert found.cost == pytest.approx(cost_of(costs, terminals, list(found.opened))), case
            assert found.bound <= best * (1 + 1e-9), case
            assert found.cost >= best * (1 - 1e-9), case
            if found.optimal:
                assert found.cost == pytest.approx(best), case
            answers.add(found.optimal)
    assert answers == {True, False}


def test_nothing_to_choose_from() -> None:
    costs = np.array([[math.inf, 3.0, 10.0], [math.inf, math.inf, 5.0]])
    found = solve(costs, 2)
    assert (found.cost, found.opened, found.bound) == (8.0, (), 8.0)
