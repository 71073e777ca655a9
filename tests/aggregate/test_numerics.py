"""Exact where Spark is exact, and sound where floats round."""

from __future__ import annotations

import math
import random
import statistics
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from muntin.aggregate import catalog as agg


def test_variance_far_from_zero() -> None:
    values = [1e9 + v for v in (4, 7, 13, 16)]
    assert agg.variance.evaluate(values) == pytest.approx(30, rel=1e-12)
    halves = agg.variance.combine(agg.variance.fold(values[:2]), agg.variance.fold(values[2:]))
    assert agg.variance.lower(halves) == pytest.approx(30, rel=1e-12)
    # The form of Table 1, by contrast: nothing is left of the digits.
    squares, total = sum(v * v for v in values), sum(values)
    assert abs((squares - total * total / 4) / 3 - 30) > 1


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9, -1e12])
def test_merged_moments_far_from_zero(offset: float) -> None:
    rng = random.Random(3)
    pieces = [[offset + rng.gauss(0, 1) for _ in range(rng.randint(1, 40))] for _ in range(50)]
    exact = statistics.pvariance([Fraction(v) for piece in pieces for v in piece])
    merged = agg.var_pop.merge(agg.var_pop.fold(piece) for piece in pieces)
    # One part in 1e16 of the offset is what the mean itself cannot hold.
    assert agg.var_pop.lower(merged) == pytest.approx(float(exact), rel=1e-9 + abs(offset) * 1e-15)


def test_inverse_of_moments_far_from_zero() -> None:
    rng = random.Random(5)
    old, kept = ([1e9 + rng.gauss(0, 10) for _ in range(30)] for _ in range(2))
    whole = agg.variance.combine(agg.variance.fold(kept), agg.variance.fold(old))
    assert agg.variance.inverse is not None
    left = agg.variance.inverse(whole, agg.variance.fold(old))
    assert agg.variance.lower(left) == pytest.approx(statistics.variance(kept), rel=1e-6)


def test_inverse_leaves_no_negative_variance_and_no_residue() -> None:
    inverse = agg.variance.inverse
    assert inverse is not None
    rng = random.Random(11)
    for _ in range(500):
        twin = rng.uniform(-1e3, 1e3)
        gone = agg.variance.fold([rng.uniform(-1e6, 1e6) for _ in range(3)])
        rest = inverse(agg.variance.combine(agg.variance.fold([twin, twin]), gone), gone)
        assert rest.m2 >= 0
        assert agg.stddev.lower(rest) is not None  # a root of a negative would raise
        assert inverse(rest, rest) == agg.variance.identity
        assert inverse(agg.variance.combine(agg.variance.lift(twin), gone), gone).m2 == 0  # one value has no spread


def test_equal_values_have_no_spread() -> None:
    assert agg.stddev_pop.evaluate([0.1] * 1000) == 0.0


def test_sums_of_integers_are_exact() -> None:
    assert agg.sum.evaluate([2**70, 1, -(2**70)]) == 1
    assert isinstance(agg.sum.evaluate([True, True]), int)


def test_sums_of_decimals_are_exact_beyond_the_context() -> None:
    wide = Decimal("9" * 38)
    tiny = Decimal("1E-18")
    assert agg.sum.evaluate([wide, tiny, wide.copy_negate()]) == tiny
    inverse = agg.sum.inverse
    assert inverse is not None
    assert agg.sum.lower(inverse(agg.sum.fold([wide, tiny]), agg.sum.fold([tiny]))) == wide
    with localcontext() as context:
        context.prec = 5
        assert agg.sum.evaluate([Decimal("1234567"), Decimal("0.1")]) == Decimal("1234567.1")


def test_means_of_decimals_are_decimals() -> None:
    assert agg.avg.evaluate([Decimal("1"), None, Decimal("2")]) == Decimal("1.5")


def test_mean_of_large_integers_does_not_round_the_sum() -> None:
    assert agg.avg.evaluate([2**53, 1, 1, 2**53 + 2]) == float(Fraction(2**54 + 4, 4))


def test_an_emptied_sum_is_null_again() -> None:
    inverse = agg.sum.inverse
    assert inverse is not None
    parts = agg.sum.fold([0.1, 0.2, 0.3])
    for value in (0.3, 0.2, 0.1):
        parts = inverse(parts, agg.sum.lift(value))
    assert agg.sum.lower(parts) is None
    assert parts == agg.sum.identity  # 0.1 + 0.2 + 0.3 - 0.3 - 0.2 - 0.1 is not 0.0
    rest, mean = agg.geometric_mean.fold([2, 3, 5]), agg.geometric_mean
    assert mean.inverse is not None
    for value in (5, 3, 2):
        rest = mean.inverse(rest, mean.lift(value))
    assert rest == mean.identity


def test_geometric_mean_neither_overflows_nor_underflows() -> None:
    assert agg.geometric_mean.evaluate([1e300] * 1000) == pytest.approx(1e300, rel=1e-9)
    assert agg.geometric_mean.evaluate([1e-300] * 1000) == pytest.approx(1e-300, rel=1e-9)
    assert agg.geometric_mean.evaluate([10**400] * 2) == math.inf


def test_geometric_mean_of_zeros_and_negatives() -> None:
    mean = agg.geometric_mean
    assert mean.evaluate([4, 0, 9]) == 0.0
    undefined = mean.evaluate([4, -1, 0])
    assert undefined is not None
    assert math.isnan(undefined)
    unsettled = mean.evaluate([0, math.inf])
    assert unsettled is not None
    assert math.isnan(unsettled)
    assert mean.inverse is not None
    # Counted apart, zeros, negatives and NaN can leave a window again, which a product of theirs could not.
    gone = mean.fold([0, -1, math.nan])
    assert mean.lower(mean.inverse(mean.combine(mean.fold([4, 9]), gone), gone)) == pytest.approx(6)
