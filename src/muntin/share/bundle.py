"""Queries bundled in one tree, summed up: their combs, their edge rate, their ranges and slides."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from muntin.errors import OptimizeError
from muntin.share.combs import combs_of, evenly, thin
from muntin.share.density import Exhausted
from muntin.share.edges import count_edges
from muntin.share.omega import joined, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.share.combs import Comb, Cut
    from muntin.share.omega import Load
    from muntin.window.spec import Window

# While a plan is sought edges are counted many thousand times: what takes longer than milliseconds is bounded.
WORK: Final = 1_000
COMBS: Final = 48
# Those of the trees that are left in the end are counted at more leisure, half a second for each.
LEISURE: Final = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """Distinct queries, by their places in a list, and all that the cost of a tree depends on.

    `edges` is exact or, where counting would take long, an upper bound: then the bundle costs no more than is said.
    `pane` is the widest comb on which all edges lie, `aligned` whether all combs start together; the finest comb
    stands first.
    """

    places: tuple[int, ...]
    combs: tuple[Comb, ...]
    pane: Comb
    edges: Fraction
    exact: bool
    aligned: bool
    cut: Cut
    load: Load


def bundles_of(windows: Sequence[Window], cut: Cut) -> list[Bundle]:
    """Bundle distinct queries that have the same edges.

    Such queries weave perfectly: together they take as many slices as each alone, and read the events once. For
    Panes, FlatFAT and FlatFIT no merge gains more, so that greedy merging begins with these in any case; and in the
    one of two trees that has fewer edges a query of a plan is never worse off.

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
    for alike, places in sorted(groups.items()):
        edges = count_edges(alike)  # of two combs at most
        ranges = np.array([windows[i].range for i in places], float)
        slides = np.array([windows[i].slide for i in places], float)
        summed = load(ranges, slides, float(edges))
        found.append(Bundle(tuple(places), alike, evenly(alike), edges, True, len(alike) == 1, cut, summed))
    return found


def merged(one: Bundle, other: Bundle) -> Bundle:
    """Put the queries of two bundles into one.

    >>> from muntin import Window
    >>> one, other = bundles_of([Window(6, 2), Window(9, 3)], "pairs")
    >>> merged(one, other).edges, merged(one, other).load.partials
    (Fraction(2, 3), array([4., 6.]))
    """
    pane = evenly((one.pane, other.pane))
    edges: Fraction | None = None
    combs: tuple[Comb, ...]
    if one.cut == "panes":
        combs, edges = (pane,), Fraction(1, pane[0])
    elif one.exact and other.exact:
        combs = thin((*one.combs, *other.combs))
        edges = _counted(combs, WORK) if len(combs) <= COMBS else None
    else:
        combs = one.combs + other.combs if one.combs[0] <= other.combs[0] else other.combs + one.combs
    aligned = one.aligned and other.aligned and one.combs[0][1] == other.combs[0][1]
    rate = at_most(one, other, pane, aligned=aligned) if edges is None else edges
    steps = len({step for step, _ in combs}) if one.exact and other.exact else one.load.steps + other.load.steps
    both = joined(one.load, other.load, float(rate), steps)
    return Bundle(one.places + other.places, combs, pane, rate, edges is not None, aligned, one.cut, both)


def at_most(one: Bundle, other: Bundle, pane: Comb, *, aligned: bool) -> Fraction:
    """Bound the edges of two bundles together from above.

    No more than both have, and no more than panes. Where all combs are aligned, a time that avoids the edges of
    the one is no likelier to hit those of the other than any time is (Heilbronn and Rohrbach, 1937, for the multiples
    of whole numbers): of the panes that are edges, as many as chance would have can be taken off.
    """
    width = pane[0]
    a, b = width * float(one.edges), width * float(other.edges)
    share = min(1.0, a + b - (a * b if aligned else 0.0))
    # Up a little, for rounding: the bound must hold. A bound needs no long fractions.
    return min(Fraction(math.nextafter(share * (1 + 1e-12), 2.0)) / width, Fraction(1, width))


def settled(bundle: Bundle) -> Bundle:
    """Count the edges of a bundle at leisure, where they are bounded only; leave the bound where even that fails."""
    if bundle.exact:
        return bundle
    combs = thin(bundle.combs)
    edges = _counted(combs, LEISURE)
    if edges is None:
        return bundle
    counted = replace(bundle.load, rate=float(edges), steps=len({step for step, _ in combs}))
    return replace(bundle, combs=combs, edges=edges, exact=True, load=counted)


@lru_cache(maxsize=1 << 16)
def _counted(combs: tuple[Comb, ...], work: int) -> Fraction | None:
    try:
        return count_edges(combs, work)
    except Exhausted:
        return None
