"""The exact search: dual ascent for a bound, reduced costs to discard, branching on what is left.

Choosing factor windows is a Steiner arborescence problem, as the paper says (IV-C). R. T. Wong's dual ascent
(Mathematical Programming 28, 1984) raises the price of the cuts around the terminals until each is reached
from the root for free. The sum of the prices bounds every plan from below, and what an arc still costs then
tells by how much a plan that uses it must exceed the bound. On window sets this discards nearly all of the
candidates at once. An integer program was tried first and dropped: its relaxation is weak where factor windows
read factor windows, and no solver is needed for what is left.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from muntin.logical.local import local_search
from muntin.logical.network import trimmed

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from muntin.logical.network import Floats

# Bounds within this share of each other count as equal. Floats would tell a little more apart, but that much
# no cost model can promise.
CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class Solution:
    """The best plan found: its cost, the opened candidates, and what no plan can be cheaper than."""

    cost: float
    opened: tuple[int, ...]
    bound: float

    @property
    def optimal(self) -> bool:
        """Whether nothing cheaper exists among the candidates."""
        return self.bound >= self.cost * (1 - CLOSE)


@dataclass(frozen=True, slots=True)
class _Part:
    """A subproblem: the nodes left, of which the first `terminals` must take part.

    `costs` has all arcs among them, `open_costs` only those that a cheaper plan might still use.
    """

    costs: Floats
    open_costs: Floats
    terminals: int
    names: npt.NDArray[np.int64]
    bound: float

    def only(self, nodes: list[int], terminals: int) -> _Part:
        """Keep some nodes, in the order given."""
        kept = np.ix_(nodes, [*nodes, -1])
        costs, open_costs = (trimmed(table[kept], terminals) for table in (self.costs, self.open_costs))
        return _Part(costs, open_costs, terminals, self.names[nodes], self.bound)


def solve(costs: Floats, terminals: int, opened: tuple[int, ...] = (), deadline: float = float("inf")) -> Solution:
    """Find the cheapest set of candidates to open, starting from a set already known.

    Stops at `deadline`, a reading of `time.monotonic`, with the best plan so far and the bound proved so far.
    """
    cost, chosen = local_search(costs, terminals, opened, deadline)
    best = Solution(cost, tuple(chosen), cost)
    pending = [_Part(costs, costs, terminals, np.arange(len(costs)), 0.0)]
    unproved = [cost]
    while pending:
        part = pending.pop()
        if part.bound >= best.cost * (1 - CLOSE):
            continue
        if time.monotonic() >= deadline:
            unproved.append(part.bound)
            continue
        reduced, best = _reduce(part, best, terminals, deadline)
        pending.extend(_branch(reduced) if reduced is not None else ())
    return Solution(best.cost, best.opened, min(best.cost, *unproved))


def _reduce(part: _Part, best: Solution, wanted: int, deadline: float) -> tuple[_Part | None, Solution]:
    """Bound a subproblem and discard what cannot be in a cheaper plan, until hardly anything falls away."""
    while True:
        before = np.isfinite(part.open_costs).sum()
        bound, detours = dual_ascent(part.open_costs, part.terminals, best.cost, deadline)
        kept = detours <= best.cost * (1 + CLOSE)
        if max(bound, part.bound) >= best.cost * (1 - CLOSE) or not kept[: part.terminals].any(axis=1).all():
            return None, best
        useful = kept.any(axis=1)
        rows: list[int] = np.nonzero(useful)[0].tolist()
        open_costs = np.where(kept, part.open_costs, np.inf)
        part = replace(part, open_costs=open_costs, bound=max(bound, part.bound)).only(rows, part.terminals)
        cost, found = local_search(part.costs, part.terminals, deadline=deadline)
        if cost < best.cost * (1 - CLOSE):
            names = part.names[[*range(part.terminals), *found]].tolist()
            best = Solution(cost, tuple(name for name in names if name >= wanted), cost)
        if np.isfinite(part.open_costs).sum() > 0.9 * before or time.monotonic() >= deadline:
            return part, best


def _branch(part: _Part) -> tuple[_Part, ...]:
    """Split on one candidate: plans without it, and plans in which it must take part (tried first)."""
    nodes = range(len(part.costs))
    if len(nodes) == part.terminals:
        return ()
    # The candidate that most nodes could read decides most.
    readers = np.isfinite(part.open_costs[:, :-1]).sum(axis=0)
    pick = max(nodes[part.terminals :], key=lambda node: int(readers[node]))
    rest = [node for node in nodes if node != pick]
    first = rest[: part.terminals]
    return part.only(rest, part.terminals), part.only([*first, pick, *rest[part.terminals :]], part.terminals + 1)


def dual_ascent(costs: Floats, terminals: int, best: float, deadline: float) -> tuple[float, Floats]:
    """Compute a lower bound, and for each arc a lower bound for the plans that use it.

    Ends early once the bound passes `best`.
    """
    size = len(costs)
    reduced = costs.copy()
    free = np.zeros(reduced.shape, bool)
    bound = 0.0
    # The terminal with the smallest cut is raised first: it hinders the others least.
    queue = [(1, terminal) for terminal in range(terminals)]
    while queue and bound < best and time.monotonic() < deadline:
        _, terminal = heapq.heappop(queue)
        cut = _reached(free, terminal)
        if cut[size]:
            continue
        inside = np.nonzero(cut)[0]
        if queue and len(inside) > queue[0][0]:
            heapq.heappush(queue, (len(inside), terminal))
            continue
        outside = np.nonzero(~cut)[0]
        block = reduced[np.ix_(inside, outside)]
        price = block.min()
        if price == np.inf:
            return np.inf, np.full_like(costs, np.inf)  # No way in: there is no such plan.
        bound += float(price)
        block -= price
        reduced[np.ix_(inside, outside)] = block
        free[np.ix_(inside, outside)] = block <= 0
        heapq.heappush(queue, (len(inside), terminal))
    return bound, bound + _detours(reduced, terminals)


def _reached(free: npt.NDArray[np.bool_], terminal: int) -> npt.NDArray[np.bool_]:
    """Mark all nodes, the root included, from which a terminal can be reached over free arcs."""
    cut = np.zeros(free.shape[1], bool)
    cut[terminal] = True
    fresh = [terminal]
    while fresh:
        found = free[fresh].any(axis=0) & ~cut
        cut |= found
        if cut[-1]:
            break
        fresh = np.nonzero(found)[0].tolist()
    return cut


def _detours(reduced: Floats, terminals: int) -> Floats:
    """Compute for each arc the least reduced cost of a way from the root over it to some terminal."""
    inner = reduced[:, :-1]
    from_root = _settle(reduced[:, -1].copy(), lambda known: (inner + known[None, :]).min(axis=1))
    start = np.where(np.arange(len(reduced)) < terminals, 0.0, np.inf)
    to_terminal = _settle(start, lambda known: (inner + known[:, None]).min(axis=0))
    return np.append(from_root, 0.0)[None, :] + reduced + to_terminal[:, None]


def _settle(known: Floats, step: Callable[[Floats], Floats]) -> Floats:
    """Relax distances until none shortens; the arcs form no cycle, so this ends."""
    while True:
        shorter = np.minimum(known, step(known))
        if np.array_equal(shorter, known):
            return known
        known = shorter
