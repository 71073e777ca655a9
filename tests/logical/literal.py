"""The paper line by line: definitions over intervals, Equation 2 and Algorithms 2, 4 and 5, with no short cuts."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from muntin import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

Span = tuple[int, int]


@dataclass(frozen=True)
class Setting:
    """What the paper holds fixed: the period R, the rate of events, and whether counts are long-run ones."""

    period: int
    rate: Fraction
    steady: bool = False

    def recurrence(self, w: Window) -> Fraction:
        """n_i, Equation 1 as printed."""
        if self.steady:
            return Fraction(self.period, w.slide)
        return 1 + (Fraction(self.period, w.range) - 1) * Fraction(w.range, w.slide)

    def events(self, w: Window) -> Fraction:
        return self.rate * w.range

    def reads(self, child: Window, parent: Window | None) -> Fraction:
        """M(child, parent), or the events in an interval where the parent is the virtual root."""
        return self.events(child) if parent is None else Fraction(len(covering_set(child, parent)))

    def benefit(self, factor: Window, target: Window | None, downstream: Sequence[Window]) -> Fraction:
        """Equation 2 in its first form: what the readers save, less what the factor window costs."""
        saved = sum(
            (self.recurrence(w) * (self.reads(w, target) - self.reads(w, factor)) for w in downstream), Fraction(0)
        )
        return saved - self.recurrence(factor) * self.reads(factor, target)


def spans(window: Window, low: int, high: int) -> list[Span]:
    """All intervals [m * slide + offset, m * slide + offset + range) inside [low, high]."""
    first = (low - window.offset) // window.slide - 1
    last = (high - window.offset) // window.slide + 1
    starts = (m * window.slide + window.offset for m in range(first, last + 1))
    return [(a, a + window.range) for a in starts if a >= low and a + window.range <= high]


@lru_cache(maxsize=100_000)
def covered(child: Window, parent: Window) -> bool:
    """Definition 1, for every interval that begins in one hyper-period."""
    if child == parent:
        return True
    if child.range <= parent.range:
        return False
    for a in range(child.offset, child.offset + math.lcm(child.slide, parent.slide), child.slide):
        inside = spans(parent, a, a + child.range)
        if not inside or inside[0][0] != a or inside[-1][1] != a + child.range:
            return False
    return True


def covering_set(child: Window, parent: Window) -> list[Span]:
    """Definition 2, for the child's interval at its offset."""
    return spans(parent, child.offset, child.offset + child.range)


@lru_cache(maxsize=100_000)
def partitioned(child: Window, parent: Window) -> bool:
    """Definition 5: covered, and the covering set does not overlap."""
    if child == parent:
        return True
    parts = covering_set(child, parent)
    return covered(child, parent) and all(b <= c for (_, b), (c, _) in itertools.pairwise(parts))


def factor_window(size: int, slide: int, like: Window) -> Window:
    """A window whose starts fall together with those of another."""
    return Window(size, slide, like.offset)


def algorithm_2(target: Window | None, downstream: Sequence[Window], setting: Setting) -> dict[Window, Fraction]:
    """Lines 1 to 11 and 15: every candidate factor window under "covered by", with its benefit.

    Line 7 asks that the slide divide the range. Where it divides all ranges of the readers this follows from
    line 10; for other ranges it is left out.
    """
    s_d = math.gcd(*(w.slide for w in downstream))
    s_w = 1 if target is None else target.slide
    r_min = min(w.range for w in downstream)
    candidates: dict[Window, Fraction] = {}
    for s_f in range(1, s_d + 1):
        if s_d % s_f or s_f % s_w:
            continue
        for r_f in range(s_f, r_min + 1):
            factor = factor_window(r_f, s_f, downstream[0])
            if target is not None and not covered(factor, target):
                continue
            if all(covered(w, factor) for w in downstream):
                candidates[factor] = setting.benefit(factor, target, downstream)
    return candidates


def algorithm_4(factor: Window, target_range: Fraction, downstream: Sequence[Window], setting: Setting) -> bool:
    """Whether a tumbling factor window helps, with the special cases as printed; all r_j multiples of s_j."""
    if len(downstream) >= 2:
        return True
    (only,) = downstream
    k_1, m_1 = Fraction(only.range, only.slide), Fraction(setting.period, only.range)
    if k_1 == 1:
        return False
    if k_1 >= 3 and m_1 >= 3:
        return True
    if m_1 == 1:
        return False  # λ = 1: the proof of Theorem 8 rules this out before it divides.
    return factor.range / target_range >= 1 + m_1 / ((m_1 - 1) * (k_1 - 1))


def algorithm_5(target: Window | None, downstream: Sequence[Window], setting: Setting) -> Window | None:
    """The best tumbling factor window under "partitioned by"; None where line 5 would give W back, or none is left."""
    r_w = 1 / setting.rate if target is None else Fraction(target.range)
    weight = sum(
        (setting.recurrence(w) / Fraction(setting.period, w.range) for w in downstream), Fraction(0)
    )  # Equation 4
    r_d = math.gcd(*(w.range for w in downstream))
    found: list[Window] = []
    for r_f in range(1, r_d + 1):
        if r_d % r_f or (r_f / r_w).denominator != 1 or r_f <= r_w:
            continue
        factor = factor_window(r_f, r_f, downstream[0])
        # Line 3 takes the ranges alone; Theorem 4 asks more of hopping windows.
        legal = all(partitioned(w, factor) for w in downstream)
        if legal and algorithm_4(factor, r_w, downstream, setting):
            found.append(factor)
    independent = [f for f in found if not any(other != f and covered(other, f) for other in found)]
    best: Window | None = None
    for factor in independent:
        if best is None or theorem_9(factor, best, r_w, weight):
            best = factor
    return best


def theorem_9(one: Window, other: Window, r_w: Fraction, weight: Fraction) -> bool:
    """Equation 5 multiplied by its denominator, which may be negative."""
    left, right = Fraction(one.range, other.range), weight - one.range / r_w
    below = weight - other.range / r_w
    return left * below >= right if below >= 0 else left * below <= right
