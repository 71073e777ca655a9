"""The divisors of a length: the slides and ranges that a finer window can have."""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# What has no prime divisor below this is split by Pollard's rho, in about the fourth root of as many steps.
SMALL: Final = 1_000
# The test of Miller and Rabin with these bases is a proof below 3.3e24 (Sorenson and Webster, 2015).
_BASES: Final = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    """List the divisors of a positive number, in order.

    >>> divisors(12)
    (1, 2, 3, 4, 6, 12)
    """
    found = [1]
    for prime, power in Counter(_primes(number)).items():
        found = [d * prime**k for d in found for k in range(power + 1)]
    return tuple(sorted(found))


def _primes(number: int) -> Iterator[int]:
    """Yield the prime factors, each as often as it divides."""
    prime = 2
    while prime < SMALL and prime * prime <= number:
        while number % prime == 0:
            yield prime
            number //= prime
        prime += 1 if prime == 2 else 2
    # Trial division alone takes minutes for a prime of 18 digits, such as a range in nanoseconds may have.
    pending = [number] if number > 1 else []
    while pending:
        rest = pending.pop()
        if rest < SMALL**2 or _is_prime(rest):
            yield rest
        else:
            part = _part(rest)
            pending += [part, rest // part]


def _is_prime(number: int) -> bool:
    """Tell whether an odd number without small divisors is a prime (Miller and Rabin)."""
    twos = ((number - 1) & (1 - number)).bit_length() - 1
    odd = (number - 1) >> twos
    for base in _BASES:
        power = pow(base, odd, number)
        if power in (1, number - 1):
            continue
        if not any((power := power * power % number) == number - 1 for _ in range(twos - 1)):
            return False
    return True


def _part(number: int) -> int:
    """Find a proper divisor of a number that is not prime (Pollard's rho, with Floyd's two runners)."""
    for step in count(1):
        slow = fast = 2
        shared = 1
        while shared == 1:
            slow = (slow * slow + step) % number
            fast = (fast * fast + step) % number
            fast = (fast * fast + step) % number
            shared = math.gcd(slow - fast, number)
        if shared != number:
            return shared
    raise AssertionError  # count() does not end
