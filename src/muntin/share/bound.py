"""What no plan can undercut: a lower bound on the cost of every way to part queries into trees.

A tree has all the edges of each of its queries, so that E_T is at least the query's own edge rate e, and the query's
range has at least r e partials. Whatever grows with both is at least what it is for the query alone.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from muntin.share.omega import Floats
    from muntin.share.technique import Estimate

    _Bound: TypeAlias = Callable[[Floats, Floats, Floats, Floats], float]


def least_final(technique: str, estimate: Estimate, ranges: Floats, slides: Floats, edges: Floats) -> float:
    """Bound the final aggregation of any plan from below; `edges` are the edge rates of each query alone.

    >>> two = np.array([6.0, 8.0]), np.array([2.0, 4.0]), np.array([0.5, 0.25])
    >>> least_final("Panes", "paper", *two), least_final("FlatFIT", "paper", *two)
    (2.0, 2.25)
    """
    partials = np.maximum(ranges * edges, 1.0)
    table = _PAPER if estimate == "paper" else _DUE
    return table[technique](ranges, slides, edges, partials)


def _panes(ranges: Floats, slides: Floats, edges: Floats, partials: Floats) -> float:
    return float(np.sum(edges * ranges / slides))


def _flatfat(ranges: Floats, slides: Floats, edges: Floats, partials: Floats) -> float:
    # Equation 4 falls where P reaches a power of two: the least that it takes from P on.
    power = np.floor(np.log2(partials))
    rising = np.where(partials < 2, np.minimum(partials - 1, 0.5), power - 1 + (partials - 1) / 2**power)
    return float(np.sum(edges * np.where(partials < 2**power + 1, rising, power + 1 - 2 ** -(power + 1))))


def _flatfit(ranges: Floats, slides: Floats, edges: Floats, partials: Floats) -> float:
    return float(np.sum(3 * edges))


def _noninv(ranges: Floats, slides: Floats, edges: Floats, partials: Floats) -> float:
    # 2 - 2/P and the sum of 1/i! come to 1 at least, in the tree that has the query with the most edges.
    return float(np.sum(edges) + np.max(edges))


def _results(slides: Floats) -> float:
    return float(np.sum(1 / slides))


def _due_flatfat(ranges: Floats, slides: Floats, edges: Floats, partials: Floats) -> float:
    # A query reads a cover, or it is of the longest range of its tree, which then pays for a path at every edge.
    covers = (np.log2(partials) - 1 + 1 / partials) / slides
    return _results(slides) + _by_range(ranges, np.minimum(covers, edges * np.log2(partials)))


def _due_flatfit(ranges: Floats, slides: Floats, edges: Floats, partials: Floats) -> float:
    return float(np.sum(np.where(partials > 1, 2.0, 1.0) / slides))


def _due_noninv(ranges: Floats, slides: Floats, edges: Floats, partials: Floats) -> float:
    return _results(slides) + float(np.max(edges * (2 - 2 / partials)))


def _each_range(operations: Callable[[Floats], Floats], *, due: bool, joins: bool = False) -> _Bound:
    """Bound what is paid for each distinct range at every edge: at least for that of its queries that pays least."""

    def bound(ranges: Floats, slides: Floats, edges: Floats, partials: Floats) -> float:
        found = _by_range(ranges, edges * operations(partials))
        if joins:
            found += float(np.sum((1 - 1 / partials) / slides))
        return found + _results(slides) if due else found

    return bound


def _by_range(ranges: Floats, costs: Floats) -> float:
    """Add up the least cost of each distinct range: queries of one range may be served together."""
    distinct, place = np.unique(ranges, return_inverse=True)
    least = np.full(len(distinct), np.inf)
    np.minimum.at(least, place, costs)
    return float(np.sum(least))


def _two(partials: Floats) -> Floats:
    kept: Floats = np.where(partials > 1, 2.0, 0.0)
    return kept


def _falling(most: float, less: float) -> Callable[[Floats], Floats]:
    return lambda partials: np.maximum(0.0, most - less / partials)


_PAPER: Final[Mapping[str, _Bound]] = MappingProxyType(
    {
        "Panes": _panes,
        "FlatFAT": _flatfat,
        "FlatFIT": _flatfit,
        "SlickDeque-Inv": _each_range(lambda partials: np.full(len(partials), 2.0), due=False),
        "SlickDeque-NonInv": _noninv,
        "Panes-Inv": _each_range(_two, due=False),
        "TwoStacks": _each_range(_falling(3, 4), due=False),
        "DABA": _each_range(_falling(4, 6), due=False),
    }
)
_DUE: Final[Mapping[str, _Bound]] = MappingProxyType(
    {
        "Panes": _panes,
        "FlatFAT": _due_flatfat,
        "FlatFIT": _due_flatfit,
        "SlickDeque-Inv": _each_range(_two, due=True),
        "SlickDeque-NonInv": _due_noninv,
        "Panes-Inv": _each_range(_two, due=True),
        "TwoStacks": _each_range(_falling(2, 3), due=True, joins=True),
        "DABA": _each_range(_falling(3, 5), due=True, joins=True),
    }
)
