"""Edges of many queries together, counted by formula F1 and never written out (multi-query paper, 3.1.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

from muntin.errors import WindowError
from muntin.share.combs import Comb, combs_of, evenly, thin
from muntin.share.density import WORK, Exhausted, density
from muntin.window.edges import brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from muntin.share.combs import Cut
    from muntin.window.spec import Window

Terms: TypeAlias = dict[Comb, int]
"""A union of combs as a sum of combs with whole coefficients."""

# With more terms than this, splitting by prime divisors is quicker.
TERMS: Final = 256
# A longer composite slide is not computed: it has 20,000 digits, and serves for display alone.
BITS: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Edges:
    """The edges of a set of queries: combs without those that bring none, and the exact number per unit of time.

    >>> from muntin import Window
    >>> edges = edges_of([Window(6, 2), Window(8, 4)])
    >>> edges.rate, edges.composite, edges.count, edges.combs
    (Fraction(1, 2), 4, 2, ((2, 0),))
    """

    combs: tuple[Comb, ...]
    rate: Fraction
    composite: int | None
    """The least common multiple of the slides; None where it is too long to be of use."""

    @property
    def count(self) -> int | None:
        """The number of edges in a composite slide, which Equation 2 gives."""
        return None if self.composite is None else int(self.rate * self.composite)


def edges_of(windows: Iterable[Window], cut: Cut = "pairs") -> Edges:
    """Count the edges of queries together, with the fragments that ranges bring which are no multiple of the slide.

    A million queries take seconds: what counts is how many different slides are left when multiples are gone.

    >>> from muntin import Window
    >>> [str(edges_of([Window(14, 8), Window(3, 3)], cut).rate) for cut in ("pairs", "cutty", "panes")]
    ['1/2', '5/12', '1']
    """
    found = tuple(windows)
    combs = combs_of(found, cut)
    kept = thin(combs)
    return Edges(kept, rate_of(kept), composite({window.slide for window in found}))


def edge_rate(slides: Iterable[int]) -> Fraction:
    """Count the edges per unit of time of slides that all start at 0: Equation 2 divided by its leading LCM.

    >>> edge_rate([2, 4]), edge_rate([4, 6, 10])
    (Fraction(1, 2), Fraction(11, 30))
    """
    found = {(slide, 0) for slide in slides}
    wrong = [slide for slide, _ in found if type(slide) is not int or slide < 1]
    if wrong or not found:
        msg = f"slides must be positive whole numbers, and one at least, got {wrong[0] if wrong else 'none'}"
        raise WindowError(msg)
    return rate_of(thin(found))


def rate_of(combs: tuple[Comb, ...]) -> Fraction:
    """Count the edges of thin combs per unit of time, or say why that cannot be done.

    >>> rate_of(((4, 0), (6, 0))), rate_of(((4, 1), (6, 0)))
    (Fraction(1, 3), Fraction(5, 12))
    """
    try:
        return count_edges(combs)
    except Exhausted as error:
        steps = [step for step, _ in combs]
        period = composite(steps)
        length = "a number of more than 20,000 digits" if period is None else brief(period)
        width, _ = evenly(combs)
        msg = (
            f"cannot count the edges of {len(combs):,} different slides exactly, of which none is a multiple of "
            f"another: they share too few divisors, and repeat together only after {length}. Plan them in smaller "
            f"groups, choose slides that divide one another, or cut time evenly with cut='panes', here every {width}"
        )
        raise WindowError(msg) from error


def count_edges(combs: tuple[Comb, ...], work: int = WORK) -> Fraction:
    """Count the edges of thin combs per unit of time, with no more than `work` combs looked at in splitting.

    Inclusion and exclusion first, where terms with the same intersection add up; where even so there are many, the
    stretches without an edge are split by prime divisors (`muntin.share.density`).
    """
    terms: Terms = {}
    for comb in combs:
        terms = union(terms, comb)
        if len(terms) > TERMS:
            return density(combs, work)
    return rate(terms)


def union(terms: Mapping[Comb, int], comb: Comb) -> Terms:
    """Write the union of a sum of combs and one more comb as a sum: |A or B| = |A| + |B| - |A and B|.

    A comb that lies on another cancels itself: {2} with {4} is {2}.

    >>> union({(4, 0): 1}, (6, 0))
    {(4, 0): 1, (6, 0): 1, (12, 0): -1}
    >>> union({(2, 0): 1}, (4, 0))
    {(2, 0): 1}
    """
    found = dict(terms)
    found[comb] = found.get(comb, 0) + 1
    for term, sign in terms.items():
        both = meet(term, comb)
        if both is not None:
            found[both] = found.get(both, 0) - sign
    return {term: sign for term, sign in found.items() if sign}


def meet(one: Comb, other: Comb) -> Comb | None:
    """Find the comb of the common edges; None if there are none.

    >>> meet((4, 0), (6, 0)), meet((4, 1), (6, 3)), meet((4, 1), (6, 2))
    ((12, 0), (12, 9), None)
    """
    (a, p), (b, q) = one, other
    if p == q:
        step = math.lcm(a, b)
        return step, p % step
    shared = math.gcd(a, b)
    if (q - p) % shared:
        return None
    # The Chinese remainder theorem: go on from the one's phase in its steps until the other's phase is hit.
    modulus = b // shared
    steps = (q - p) // shared * pow(a // shared, -1, modulus) % modulus
    return a * modulus, (p + steps * a) % (a * modulus)


def rate(terms: Mapping[Comb, int]) -> Fraction:
    """Add up a sum of combs: each has one edge every step.

    >>> rate({(4, 0): 1, (6, 0): 1, (12, 0): -1})
    Fraction(1, 3)
    """
    whole = math.lcm(*(step for step, _ in terms))
    return Fraction(sum(sign * (whole // step) for (step, _), sign in terms.items()), whole)


def composite(slides: Iterable[int]) -> int | None:
    """Find the least common multiple of slides; None where it has more than about 20,000 digits.

    >>> composite([4, 6]), composite(range(1, 100_000))
    (12, None)
    """
    parts = sorted(set(slides))
    while len(parts) > 1:
        # In pairs, so that factors grow together: one long number times a short one each time takes far longer.
        parts = [math.lcm(*parts[i : i + 2]) for i in range(0, len(parts), 2)]
        if max(parts).bit_length() > BITS:
            return None
    return parts[0]
