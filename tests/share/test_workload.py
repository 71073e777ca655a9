from __future__ import annotations

from collections import Counter

import pytest

from muntin.errors import WindowError
from muntin.logical.divisors import divisors
from muntin.share.workload import Workload


def test_slides_are_divisors_and_ranges_are_multiples() -> None:
    found = Workload(queries=2_000, longest_slide=1_000, overlap=50).windows(seed=3)
    assert {w.slide for w in found} == set(divisors(1_000))
    assert len(divisors(1_000)) == 16
    assert all(w.range % w.slide == 0 and 1 <= w.range // w.slide <= 50 for w in found)
    assert {w.range // w.slide for w in found} == set(range(1, 51))
    assert [w.id for w in found[:2]] == ["q1", "q2"]


def test_a_seed_always_draws_the_same_and_another_does_not() -> None:
    load = Workload(queries=50)
    assert load.windows(1) == load.windows(1)
    assert load.windows(1) != load.windows(2)


def test_skew_moves_the_weight_to_long_slides() -> None:
    def mean(skew: float) -> float:
        found = Workload(queries=4_000, skew=skew).windows(seed=0)
        return sum(w.slide for w in found) / len(found)

    assert mean(-1) < mean(0) < mean(1)
    even = Counter(w.slide for w in Workload(queries=16_000, skew=0).windows(seed=0))
    assert all(800 < count < 1_200 for count in even.values())
    # The k-th longest has a weight of 1/k: of the two longest, the one twice as often as the other.
    skewed = Counter(w.slide for w in Workload(queries=16_000, skew=1).windows(seed=0))
    assert 1.8 < skewed[1_000] / skewed[500] < 2.2


def test_bad_parameters_are_refused() -> None:
    for wrong in ({"queries": 0}, {"longest_slide": 0}, {"overlap": -1}, {"queries": True}):
        with pytest.raises(WindowError, match="must be a whole number from 1"):
            Workload(**wrong)
    for changed in ({"rate": 0}, {"rate": float("nan")}, {"skew": float("nan")}, {"skew": float("inf")}):
        with pytest.raises(WindowError, match="must be a number"):
            Workload(**changed)
