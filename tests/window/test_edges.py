"""Combs of edges against sets of integers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.errors import WindowError
from muntin.window import edges
from muntin.window.edges import Comb, brief, merge, signed, thin

combs = st.integers(1, 12).flatmap(lambda step: st.builds(Comb, st.just(step), st.integers(-30, 30)))
times = st.integers(-60, 60)


def teeth(comb: Comb, low: int = -150, high: int = 150) -> set[int]:
    """The edges of a comb, by its definition alone."""
    return {t for t in range(low, high) if (t - comb.phase) % comb.step == 0}


@settings(max_examples=60, deadline=None)
@given(combs, times, times)
def test_a_comb_is_its_edges(comb: Comb, a: int, b: int) -> None:
    found = teeth(comb)
    assert comb.at_or_before(a) == max(t for t in found if t <= a)
    assert comb.after(a) == min(t for t in found if t > a)
    assert list(comb.between(a, b)) == sorted(t for t in found if a <= t < b)
    assert comb.count(a, b) == len([t for t in found if a <= t < b])


@settings(max_examples=60, deadline=None)
@given(combs, combs)
def test_meet_is_the_intersection(one: Comb, other: Comb) -> None:
    both = one.meet(other)
    common = teeth(one) & teeth(other)
    assert (teeth(both) if both else set()) == common
    assert one.meet(other) == other.meet(one)


@settings(max_examples=60, deadline=None)
@given(st.lists(combs, min_size=1, max_size=6))
def test_thin_keeps_every_edge_and_no_comb_within_another(found: list[Comb]) -> None:
    kept = thin(found)
    assert set().union(*map(teeth, kept)) == set().union(*map(teeth, found))
    assert not any(teeth(a) <= teeth(b) for a in kept for b in kept if a != b)
    assert kept == thin(reversed(found))


@settings(max_examples=60, deadline=None)
@given(st.lists(combs, min_size=1, max_size=6), times, times)
def test_merge_and_signed_are_the_union(found: list[Comb], a: int, b: int) -> None:
    union = sorted(t for t in set().union(*map(teeth, found)) if a <= t < b)
    assert list(merge(found, a, b)) == union
    assert sum(sign * comb.count(a, b) for comb, sign in signed(tuple(found))) == len(union)
    # The way out where inclusion-exclusion would take too many terms counts the same.
    assert sum(sign * comb.count(a, b) for comb, sign in edges._written_out(tuple(found))) == len(union)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=5, unique=True))
def test_signed_is_formula_f1_where_no_slide_has_an_offset(slides: list[int]) -> None:
    """LCM * sum over i of (-1)^(i+1) * G1(n, i), with G1 the sum of 1 / LCM over all groups of i slides."""
    period = math.lcm(*slides)
    f1 = period * sum(
        (-1) ** (size + 1) * sum(Fraction(1, math.lcm(*group)) for group in combinations(slides, size))
        for size in range(1, len(slides) + 1)
    )
    assert sum(sign * comb.count(0, period) for comb, sign in signed(tuple(Comb(s, 0) for s in slides))) == f1


def test_merge_starts_at_once_however_far_its_end() -> None:
    found = merge([Comb(10**9 + 7, 0), Comb(10**9 + 9, 0)], 1, 10**40)
    assert [next(found), next(found)] == [10**9 + 7, 10**9 + 9]


def test_counting_falls_back_on_a_short_composite_slide(monkeypatch: pytest.MonkeyPatch) -> None:
    found = (Comb(6, 0), Comb(10, 1), Comb(15, 2))
    monkeypatch.setattr(edges, "MEET_LIMIT", 0)
    signed.cache_clear()
    terms = signed(found)
    signed.cache_clear()
    assert {comb.step for comb, _ in terms} == {30}
    assert {comb.phase for comb, _ in terms} == {0, 6, 12, 18, 24, 1, 11, 21, 2, 17}


def test_counting_slides_that_share_nothing_is_refused() -> None:
    primes = [p for p in range(1000, 1400) if all(p % d for d in range(2, 40))]
    with pytest.raises(WindowError) as caught:
        signed(tuple(Comb(p, 0) for p in primes))
    assert str(caught.value) == (
        f"cannot count the edges of {len(primes)} combs exactly: their steps share too few divisors, and "
        f"repeat together only after {brief(math.prod(primes))}. Slice fewer windows together, or choose "
        "slides that divide one another"
    )
