"""The combs of a set of queries: where its slices begin, each comb once, and none whose edges lie on another's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from muntin.errors import WindowError
from muntin.logical.divisors import divisors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from muntin.window.spec import Window

Comb: TypeAlias = tuple[int, int]
"""A step and a phase, `0 <= phase < step`: `muntin.window.edges.Comb` without its methods, as millions are met."""
Cut: TypeAlias = Literal["pairs", "cutty", "panes"]
CUTS: Final[tuple[Cut, ...]] = ("pairs", "cutty", "panes")

# So many slides, up to so long, are thinned by a sieve, which takes a byte for each number below the longest.
SIEVED: Final = 1_000
SIEVE: Final = 50_000_000
# With fewer steps kept than this it is quicker to try them all than to find a step's divisors.
FEW: Final = 64


def combs_of(windows: Iterable[Window], cut: Cut = "pairs") -> frozenset[Comb]:
    """List the combs on which a set of queries is cut: Pairs at starts and ends, Cutty at starts, Panes evenly.

    >>> from muntin import Window
    >>> sorted(combs_of([Window(14, 8), Window(6, 2)])), sorted(combs_of([Window(14, 8)], "cutty"))
    ([(2, 0), (8, 0), (8, 6)], [(8, 0)])
    >>> sorted(combs_of([Window(14, 8)], "panes"))
    [(2, 0)]
    """
    if cut not in CUTS:
        msg = f"cut must be one of {', '.join(map(repr, CUTS))}, got {cut!r}"
        raise WindowError(msg)
    found = tuple(windows)
    starts = {(w.slide, w.offset) for w in found}
    if not starts:
        msg = "there are no queries, and so no edges: give at least one window, for example Window(20, 20)"
        raise WindowError(msg)
    if cut == "cutty":
        return frozenset(starts)
    both = starts | {(w.slide, (w.offset + w.range) % w.slide) for w in found}
    return frozenset({evenly(both)} if cut == "panes" else both)


def evenly(combs: Iterable[Comb]) -> Comb:
    """Find the widest comb on which all edges lie: that of Panes.

    >>> evenly([(8, 0), (8, 6)]), evenly([(4, 1), (6, 3)])
    ((2, 0), (2, 1))
    """
    found = list(combs)
    first = found[0][1]
    width = math.gcd(*(part for step, phase in found for part in (step, phase - first)))
    return width, first % width


def thin(combs: Iterable[Comb]) -> tuple[Comb, ...]:
    """Drop every comb whose edges all lie on another's: a multiple of a slide brings no edge of its own.

    >>> thin([(8, 6), (4, 2), (3, 0), (12, 0), (3, 0)])
    ((3, 0), (4, 2))
    """
    ordered = sorted(_sieved(set(combs)))
    kept: dict[Comb, None] = {}
    steps: dict[int, None] = {}
    for comb in ordered:
        step, phase = comb
        below = steps if len(steps) < FEW else (d for d in divisors(step) if d in steps)
        if not any(step % d == 0 and (d, phase % d) in kept for d in below):
            kept[comb] = None
            steps[step] = None
    return tuple(kept)


def _sieved(combs: set[Comb]) -> set[Comb]:
    """Cross out the multiples among many slides without a phase, as Eratosthenes did."""
    slides = sorted(step for step, phase in combs if not phase)
    if len(slides) < SIEVED or slides[-1] > SIEVE:
        return combs
    crossed = np.zeros(slides[-1] + 1, np.bool_)
    multiples = set()
    for slide in slides:
        if crossed[slide]:
            multiples.add((slide, 0))
        else:
            crossed[2 * slide :: slide] = True
    return combs - multiples
