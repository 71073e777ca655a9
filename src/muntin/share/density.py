"""How much of time is an edge, by splitting on prime divisors: where F1 has too many terms."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from muntin.logical.divisors import divisors
from muntin.share.combs import Comb, thin

if TYPE_CHECKING:
    from collections.abc import Iterable

# Combs looked at, over all splits: some seconds.
WORK: Final = 200_000
# Splits within splits; Python itself stops at a thousand calls within calls.
DEPTH: Final = 200
# The bits of the least common denominator: an exact fraction of more takes long to multiply.
BITS: Final = 100_000


class Exhausted(Exception):
    """The combs fall apart into too many cases."""


def density(combs: Iterable[Comb], work: int = WORK) -> Fraction:
    """Compute the share of times that are an edge of one of the combs, exactly.

    A time avoids all edges if it avoids those of each family of combs whose steps have a prime in common, and
    families are independent (the Chinese remainder theorem): the shares multiply. A family is split on the remainder
    modulo its commonest prime p. Where the remainder is that of some combs, these lose a factor p; where it is
    nobody's, all combs with p in their step are out. Slides of which many have large primes of their own take no more
    time than slides; inclusion and exclusion takes 2^n terms for them.

    >>> density([(2, 0), (3, 0), (5, 0)])
    Fraction(11, 15)
    """
    found = thin(combs)
    if sum(step.bit_length() for step, _ in found) > BITS:
        raise Exhausted
    return 1 - _Avoided(work).share(found)


class _Avoided:
    """The share of times without an edge, family by family; families met before are remembered."""

    def __init__(self, work: int) -> None:
        self._left = work
        self._depth = 0
        self._known: dict[tuple[Comb, ...], Fraction] = {}

    def share(self, combs: tuple[Comb, ...]) -> Fraction:
        """Multiply the shares of all families of thin combs."""
        if combs and combs[0][0] == 1:
            return Fraction(0)
        parts = [self._family(family) for family in _families(combs)]
        return Fraction(math.prod(p.numerator for p in parts), math.prod(p.denominator for p in parts))

    def _family(self, combs: tuple[Comb, ...]) -> Fraction:
        if len(combs) == 1:
            return 1 - Fraction(1, combs[0][0])
        # Edges that are shifted together are as dense as before.
        shift = combs[0][1]
        if shift:
            combs = tuple(sorted((step, (phase - shift) % step) for step, phase in combs))
        if combs not in self._known:
            self._left -= len(combs)
            if self._left < 0 or self._depth == DEPTH:
                raise Exhausted
            self._depth += 1
            self._known[combs] = self._split(combs)
            self._depth -= 1
        return self._known[combs]

    def _split(self, combs: tuple[Comb, ...]) -> Fraction:
        counts = Counter(p for step, _ in combs for p in primes(step))
        prime = min(counts, key=lambda p: (-counts[p], p))
        without = tuple(comb for comb in combs if comb[0] % prime)
        remainders: dict[int, list[Comb]] = {}
        for step, phase in combs:
            if step % prime == 0:
                remainders.setdefault(phase % prime, []).append((step // prime, phase // prime))
        # With t = r + p t', an edge at phase + m step, with p in step, is one of t' at phase // p + m step / p;
        # without p in step it is one at (phase - r) / p modulo step.
        total = Fraction(prime - len(remainders)) * self.share(without)
        for remainder, shorter in remainders.items():
            rest = [(step, (phase - remainder) * pow(prime, -1, step) % step) for step, phase in without]
            total += self.share(thin([*shorter, *rest]))
        return total / prime


def _families(combs: tuple[Comb, ...]) -> list[tuple[Comb, ...]]:
    """Part combs so that no prime divides steps of two parts."""
    owner: dict[int, int] = {}
    parent = list(range(len(combs)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, (step, _) in enumerate(combs):
        for prime in primes(step):
            parent[root(i)] = root(owner.setdefault(prime, i))
    parts: dict[int, list[Comb]] = {}
    for i, comb in enumerate(combs):
        parts.setdefault(root(i), []).append(comb)
    return [tuple(part) for part in parts.values()]


@lru_cache(maxsize=1 << 16)
def primes(number: int) -> tuple[int, ...]:
    """List the prime divisors of a number.

    >>> primes(360), primes(1)
    ((2, 3, 5), ())
    """
    found = []
    for divisor in divisors(number)[1:]:
        if number % divisor == 0:  # the smallest that is left is prime
            found.append(divisor)
            while number % divisor == 0:
                number //= divisor
        if number == 1:
            break
    return tuple(found)
