"""Operators of every kind, each with a stream of inputs to lift."""

from __future__ import annotations

import random
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from muntin.aggregate import catalog as agg
from muntin.aggregate.define import define
from muntin.aggregate.names import BUILT_IN
from muntin.errors import AggregateError
from muntin.incremental import ALGORITHMS
from muntin.incremental.structure import check

if TYPE_CHECKING:
    from collections.abc import Callable

    from muntin.aggregate.algebra import AggregateFunction


@dataclass(frozen=True)
class Case:
    """An operator and the inputs that it is fed."""

    label: str
    function: AggregateFunction
    draw: Callable[[random.Random], Any]

    def partials(self, seed: int, count: int) -> list[Any]:
        rng = random.Random(seed)
        return [self.function.lift(self.draw(rng)) for _ in range(count)]


def small(rng: random.Random) -> int | None:
    return None if rng.random() < 0.1 else rng.randint(-3, 3)


def decimal(rng: random.Random) -> Decimal:
    return Decimal(rng.randrange(-(10**30), 10**30)).scaleb(-18)


def real(rng: random.Random) -> float:
    return rng.uniform(-100, 100)


def positive(rng: random.Random) -> float:
    return rng.uniform(0.1, 10)


def truth(rng: random.Random) -> bool | None:
    return rng.choice([None, True, False])


def letter(rng: random.Random) -> str | None:
    return None if rng.random() < 0.1 else rng.choice("abcdefghij")


def pair(rng: random.Random) -> tuple[int | None, str]:
    return rng.choice([None, 1, 2, 3]), rng.choice("abcdefghij")


def odd_floats(rng: random.Random) -> float:
    return rng.choice([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.5, -2.5])


# x -> a x + b modulo a prime: composition is associative, and order matters nearly always.
affine = define(
    "affine",
    lift=lambda value: value,
    combine=lambda f, g: (f[0] * g[0] % 97, (f[1] * g[0] + g[1]) % 97),
    identity=(1, 0),
)


def coefficients(rng: random.Random) -> tuple[int, int]:
    return rng.randrange(1, 97), rng.randrange(97)


# As arg_max, with the later of equals: ties the other way round.
latest_max = define("latest_max", lift=lambda pair: pair, combine=lambda x, y: y if y[0] >= x[0] else x, selects=True)


def ranked(rng: random.Random) -> tuple[int, int]:
    return rng.randrange(3), rng.randrange(1000)


# The same choice, but as a new object each time.
copying_max = define(
    "copying_max", lift=lambda value: value, combine=lambda x, y: (max(x[0], y[0]),), selects=True, commutative=True
)

CASES = [
    Case("count", agg.count, small),
    Case("sum of integers", agg.sum, small),
    Case("sum of decimals", agg.sum, decimal),
    Case("sum of floats", agg.sum, real),
    Case("avg", agg.avg, small),
    Case("geometric_mean", agg.geometric_mean, positive),
    Case("variance", agg.variance, real),
    Case("var_pop", agg.var_pop, real),
    Case("stddev", agg.stddev, real),
    Case("stddev_pop", agg.stddev_pop, real),
    Case("min", agg.min, small),
    Case("min of odd floats", agg.min, odd_floats),
    Case("max", agg.max, small),
    Case("max of strings", agg.max, letter),
    Case("max of odd floats", agg.max, odd_floats),
    Case("range", agg.range, small),
    Case("min_count", agg.min_count, small),
    Case("max_count", agg.max_count, small),
    Case("arg_min", agg.arg_min, pair),
    Case("arg_max", agg.arg_max, pair),
    Case("any", agg.any, truth),
    Case("all", agg.all, truth),
    Case("first", agg.first, letter),
    Case("last", agg.last, letter),
    Case("collect", agg.collect, small),
    Case("collect_distinct", agg.collect_distinct, small),
    Case("concat", agg.concat, letter),
    Case("affine", affine, coefficients),
    Case("latest_max", latest_max, ranked),
    Case("copying_max", copying_max, lambda rng: (rng.randrange(5),)),
]


def legal(algorithm: str, case: Case) -> bool:
    try:
        check(case.function, ALGORITHMS[algorithm].card)
    except AggregateError:
        return False
    return True


PAIRINGS = [(algorithm, case) for algorithm in ALGORITHMS for case in CASES if legal(algorithm, case)]
PAIRING_IDS = [f"{algorithm}-{case.label}" for algorithm, case in PAIRINGS]
REFUSED = [(algorithm, case) for algorithm in ALGORITHMS for case in CASES if not legal(algorithm, case)]

UNTRIED = {function.name for function in BUILT_IN.values() if function.shareable and not function.sketch} - {
    case.function.name for case in CASES
}
