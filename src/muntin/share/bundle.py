"""Queries bundled in one tree, summed up: their combs, their exact edge rate, their ranges and slides."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from muntin.errors import OptimizeError
from muntin.share.combs import combs_of, evenly, thin
from muntin.share.density import Exhausted
from muntin.share.edges import count_edges
from muntin.share.omega import Load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.share.combs import Comb, Cut
    from muntin.window.spec import Window

# While a plan is sought edges are counted many times: what takes longer than some hundredths of a second is cut evenly.
WORK: Final = 5_000
# And so is what has more combs than this, of which none is a multiple of another.
COMBS: Final = 256


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """Distinct queries, by their places in a list, and all that the cost of a tree depends on.

    Where the edges of `cut` cannot be counted within bounds, the bundle is cut into panes: these are more, or as many,
    and their number is known.
    """

    places: tuple[int, ...]
    combs: tuple[Comb, ...]
    edges: Fraction
    cut: Cut
    load: Load


def bundles_of(windows: Sequence[Window], cut: Cut) -> list[Bundle]:
    """Bundle distinct queries that have the same edges.

    Such queries weave perfectly: together they take as many slices as each alone, and read the events once. For
    Panes, FlatFAT and FlatFIT no merge gains more, so that greedy merging begins with these in any case; and of an
    optimal plan no query is worse off in the one of two trees that has fewer edges.

    >>> from muntin import Window
    >>> [(b.places, b.combs) for b in bundles_of([Window(6, 2), Window(8, 4), Window(10, 2)], "pairs")]
    [((0, 2), ((2, 0),)), ((1,), ((4, 0),))]
    """
    if len(set(windows)) != len(windows):
        msg = "bundles are made of distinct queries: drop those that stand twice, they cost nothing more"
        raise OptimizeError(msg)
    groups: dict[tuple[Comb, ...], list[int]] = {}
    known: dict[frozenset[Comb], tuple[Comb, ...]] = {}
    for place, window in enumerate(windows):
        combs = combs_of((window,), cut)
        kept = known.get(combs)
        if kept is None:
            kept = known[combs] = thin(combs)
        groups.setdefault(kept, []).append(place)
    found = []
    for combs_kept, places in sorted(groups.items()):
        edges, _, _ = counted(combs_kept, cut)
        ranges = np.array([windows[i].range for i in places], float)
        slides = np.array([windows[i].slide for i in places], float)
        found.append(Bundle(tuple(places), combs_kept, edges, cut, Load(ranges, slides, float(edges))))
    return found


def merged(one: Bundle, other: Bundle) -> Bundle:
    """Put the queries of two bundles into one.

    >>> from muntin import Window
    >>> one, other = bundles_of([Window(6, 2), Window(9, 3)], "pairs")
    >>> merged(one, other).edges, merged(one, other).load.partials
    (Fraction(2, 3), array([4., 6.]))
    """
    combs: tuple[Comb, ...]
    cut: Cut
    if "panes" in (one.cut, other.cut):
        combs, cut = (evenly((*one.combs, *other.combs)),), "panes"
    else:
        combs, cut = thin((*one.combs, *other.combs)), one.cut
    edges, cut, combs = counted(combs, cut)
    return Bundle((*one.places, *other.places), combs, edges, cut, joined(one.load, other.load, float(edges)))


def joined(one: Load, other: Load, edges: float) -> Load:
    """Put two loads together under one edge rate."""
    ranges = np.concatenate((one.ranges, other.ranges))
    return Load(ranges, np.concatenate((one.slides, other.slides)), edges)


@lru_cache(maxsize=1 << 16)
def counted(combs: tuple[Comb, ...], cut: Cut) -> tuple[Fraction, Cut, tuple[Comb, ...]]:
    """Count the edges of thin combs, in little time; where that fails, cut evenly."""
    try:
        if len(combs) > COMBS:
            raise Exhausted
        return count_edges(combs, WORK), cut, combs
    except Exhausted:
        width, phase = evenly(combs)
        return Fraction(1, width), "panes", ((width, phase),)
