"""Divisors, against trial division, and of numbers too long for it."""

from __future__ import annotations

import time

import pytest

from muntin import Window, agg, optimize
from muntin.logical.divisors import divisors


def test_small_numbers() -> None:
    for number in [*range(1, 2_000), *range(1_020_095, 1_020_105)]:
        assert divisors(number) == tuple(d for d in range(1, number + 1) if number % d == 0)


@pytest.mark.parametrize(
    "primes",
    [
        (10**18 + 9,),
        (10**9 + 7, 10**9 + 9),
        (10**9 + 7, 10**9 + 7),
        (1_009, 1_009, 1_009),
        (2, 3, 1_013, 1_000_003, 999_983),
        (149_491, 747_451, 34_233_211),  # passes for a prime with the bases 2 to 23
    ],
)
def test_products_of_known_primes(primes: tuple[int, ...]) -> None:
    products = {1}
    for prime in primes:
        products |= {prime * d for d in products}
    assert divisors(max(products)) == tuple(sorted(products))


@pytest.mark.parametrize("optimizer", ["factor", "auto"])
def test_a_long_prime_range_does_not_stall_the_optimizer(optimizer: str) -> None:
    prime = 10**18 + 9
    began = time.monotonic()
    plan = optimize([Window(prime, prime), Window(2 * prime, prime)], agg.sum, optimizer=optimizer)  # type: ignore[arg-type]
    assert plan.cost == 2 * prime + 2  # 2 x p + 1 x 2
    assert time.monotonic() - began < 5
