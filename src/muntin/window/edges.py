"""Edges: where slices begin and end, kept as combs so that no composite slide need ever be written out."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from muntin.errors import WindowError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Inclusion-exclusion meets combs pairwise: 2^n of them where no two slides share a divisor. About 0.2 s.
MEET_LIMIT: Final = 200_000
# Where it gives up, a short composite slide can still be written out edge by edge.
WRITE_OUT_LIMIT: Final = 1_000_000


@dataclass(frozen=True, slots=True, order=True)
class Comb:
    """The evenly spaced edges `phase + m * step`, for every integer m.

    >>> Comb(8, 30)
    Comb(step=8, phase=6)
    """

    step: int
    phase: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "phase", self.phase % self.step)

    def at_or_before(self, time: int) -> int:
        """Find the last edge at or before a time.

        >>> Comb(8, 6).at_or_before(5)
        -2
        """
        return time - (time - self.phase) % self.step

    def after(self, time: int) -> int:
        """Find the first edge after a time.

        >>> Comb(8, 6).after(6)
        14
        """
        return self.at_or_before(time) + self.step

    def between(self, start: int, end: int) -> range:
        """List the edges in `[start, end)`.

        >>> list(Comb(8, 6).between(-2, 14))
        [-2, 6]
        """
        return range(self.after(start - 1), end, self.step)

    def count(self, start: int, end: int) -> int:
        """Count the edges in `[start, end)`.

        >>> Comb(8, 6).count(-2, 14)
        2
        """
        return max(0, (end - 1 - self.phase) // self.step - (start - 1 - self.phase) // self.step)

    def meet(self, other: Comb) -> Comb | None:
        """Find the comb of the common edges; None if there are none.

        >>> Comb(4, 1).meet(Comb(6, 3)), Comb(4, 1).meet(Comb(6, 2))
        (Comb(step=12, phase=9), None)
        """
        shared = math.gcd(self.step, other.step)
        gap = other.phase - self.phase
        if gap % shared:
            return None
        # The Chinese remainder theorem: go on from our phase in our steps until the other's phase is hit.
        modulus = other.step // shared
        steps = gap // shared * pow(self.step // shared, -1, modulus) % modulus
        return Comb(self.step * modulus, self.phase + steps * self.step)


def thin(combs: Iterable[Comb]) -> tuple[Comb, ...]:
    """Drop every comb whose edges all lie on another's.

    >>> thin([Comb(8, 6), Comb(4, 2), Comb(3, 0)])
    (Comb(step=3, phase=0), Comb(step=4, phase=2))
    """
    kept: dict[Comb, None] = {}
    steps: dict[int, None] = {}
    for comb in sorted(combs):
        if not any(comb.step % step == 0 and Comb(step, comb.phase) in kept for step in steps):
            kept[comb] = None
            steps[comb.step] = None
    return tuple(kept)


def merge(combs: Iterable[Comb], start: int, end: int) -> Iterator[int]:
    """Yield the edges of all combs in `[start, end)`, in order and each once, without writing them out.

    >>> list(merge([Comb(4, 0), Comb(6, 0)], 0, 13))
    [0, 4, 6, 8, 12]
    """
    last: int | None = None
    for edge in heapq.merge(*(comb.between(start, end) for comb in combs)):
        if edge != last:
            yield edge
        last = edge


@lru_cache(maxsize=32)
def signed(combs: tuple[Comb, ...]) -> tuple[tuple[Comb, int], ...]:
    """Write a union of combs as a sum of combs with whole coefficients, so that edges can be counted unseen.

    This is the inclusion-exclusion of formula F1 (multi-query paper, 3.1.2), carried to slides with offsets:
    combs that never meet drop out, and equal intersections add up to one term.

    >>> signed((Comb(4, 0), Comb(6, 0)))
    ((Comb(step=4, phase=0), 1), (Comb(step=6, phase=0), 1), (Comb(step=12, phase=0), -1))
    """
    terms: dict[Comb, int] = {}
    meets = 0
    for comb in combs:
        meets += len(terms)
        if meets > MEET_LIMIT:
            return _written_out(combs)
        # |A or B| = |A| + |B| - |A and B|, with A the sum so far.
        common = [(both, -sign) for term, sign in terms.items() if (both := term.meet(comb)) is not None]
        for part, sign in chain([(comb, 1)], common):
            terms[part] = terms.get(part, 0) + sign
            if not terms[part]:
                del terms[part]
    return tuple(terms.items())


def brief(number: int) -> str:
    """Write a whole number; of a huge one, its order of magnitude alone.

    >>> brief(5040), brief(math.lcm(*range(1, 1000)))
    ('5040', '10^433')
    """
    return str(number) if abs(number) < 10**15 else f"10^{math.log10(abs(number)):.0f}"


def _written_out(combs: tuple[Comb, ...]) -> tuple[tuple[Comb, int], ...]:
    """Give each edge of the composite slide a comb of its own: these never meet."""
    period = math.lcm(*(comb.step for comb in combs))
    if sum(period // comb.step for comb in combs) > WRITE_OUT_LIMIT:
        msg = (
            f"cannot count the edges of {len(combs)} combs exactly: their steps share too few divisors, and "
            f"repeat together only after {brief(period)}. Slice fewer windows together, or choose slides "
            "that divide one another"
        )
        raise WindowError(msg)
    return tuple((Comb(period, edge), 1) for edge in merge(combs, 0, period))
