"""Local search over a network: open the candidate that saves most, close those that do not pay, try again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from muntin.logical.network import Floats

# Costs are sums of a few hundred floats: what differs by less is the same.
SAME = 1e-12


def local_search(
    costs: Floats, terminals: int, opened: Iterable[int] = (), deadline: float = float("inf")
) -> tuple[float, list[int]]:
    """Improve a set of opened candidates until no single opening, closing or exchange lowers the cost.

    The answer is the cost and the indices of the opened candidates; the search ends early at `deadline`, a
    reading of `time.monotonic`.
    """
    total, chosen = _descend(costs, terminals, list(opened), deadline)
    improved = True
    while improved and time.monotonic() < deadline:
        improved = False
        for left_out in list(chosen):
            if time.monotonic() >= deadline:
                break
            rest = [c for c in chosen if c != left_out]
            other, found = _descend(costs, terminals, rest, deadline, avoid=left_out)
            if other < total * (1 - SAME):
                # What was left out may pay again, beside others.
                total, chosen = _descend(costs, terminals, found, deadline)
                improved = True
                break
    return total, chosen


def _descend(
    costs: Floats, terminals: int, chosen: list[int], deadline: float, avoid: int | None = None
) -> tuple[float, list[int]]:
    """Open and close single candidates while that lowers the cost; `avoid` stays closed."""
    changed = True
    while changed:
        changed = False
        while time.monotonic() < deadline:
            gain = _gains(costs, terminals, chosen)
            if avoid is not None:
                gain[avoid] = -np.inf
            best = int(gain.argmax()) if gain.size else 0
            if not gain.size or gain[best] <= SAME * costs[:terminals].min(axis=1).sum():
                break
            chosen = [*chosen, best]
            changed = True
        while (loser := _loser(costs, terminals, chosen)) is not None:
            chosen = [c for c in chosen if c != loser]
            changed = True
    return cost_of(costs, terminals, chosen), chosen


def cost_of(costs: Floats, terminals: int, chosen: list[int]) -> float:
    """Add up what the wanted windows and the opened candidates cost when each reads its cheapest parent."""
    nodes = [*range(terminals), *chosen]
    return float(costs[np.ix_(nodes, [*nodes, -1])].min(axis=1).sum())


def _gains(costs: Floats, terminals: int, chosen: list[int]) -> Floats:
    """Compute what opening each candidate would save."""
    nodes = [*range(terminals), *chosen]
    now = costs[np.ix_(nodes, [*nodes, -1])].min(axis=1)
    saved = np.maximum(now[:, None] - costs[nodes, :-1], 0).sum(axis=0)
    gain: Floats = saved - costs[:, [*nodes, -1]].min(axis=1)
    gain[nodes] = -np.inf
    return gain


def _loser(costs: Floats, terminals: int, chosen: list[int]) -> int | None:
    """Find the opened candidate whose closing saves most, if any saves."""
    if not chosen:
        return None
    nodes = [*range(terminals), *chosen]
    table = costs[np.ix_(nodes, [*nodes, -1])]
    two = np.partition(table, 1, axis=1)[:, :2] if table.shape[1] > 1 else np.repeat(table, 2, axis=1)
    lost = np.zeros(table.shape[1])
    np.add.at(lost, table.argmin(axis=1), two[:, 1] - two[:, 0])
    kept = two[terminals:, 0] - lost[terminals:-1]
    best = int(kept.argmax())
    return chosen[best] if kept[best] > SAME * two[:terminals, 0].sum() else None
