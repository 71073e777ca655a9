"""The best single factor window, against Algorithms 2, 4 and 5 written out."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import pytest

from muntin import Window
from muntin.logical.cost import CostModel, Period, cost_model
from muntin.logical.divisors import divisors
from muntin.logical.factors import (
    benefit,
    best_covering_factor,
    best_partitioning_factor,
    helps,
    partitioning_candidates,
)
from tests.logical.draw import draw_window, draw_windows, seeds
from tests.logical.literal import (
    Setting,
    algorithm_2,
    algorithm_4,
    algorithm_5,
    covered,
    covering_set,
    partitioned,
    spans,
)

if TYPE_CHECKING:
    import random

RATES: list[int | Fraction] = [1, 2, 100, Fraction(3, 2)]
PERIODS: list[Period] = ["paper", "steady"]


def setting_of(model: CostModel) -> Setting:
    return Setting(model.period, Fraction(model.rate), model.steady)


def draw_case(
    rng: random.Random, relation: Literal["covered", "partitioned"]
) -> tuple[Window | None, list[Window], CostModel]:
    """Draw a target, the root or a window, with readers that it really has, and a model of them all."""
    multiples = rng.random() < 0.6
    pane = rng.choice([1, 2, 3])
    target: Window | None = None
    if rng.random() < 0.5:
        readers = draw_windows(rng, most=4, longest=24, pane=pane, multiples=multiples)
    else:
        target = draw_window(rng, longest=5, multiples=multiples)
        if relation == "partitioned":
            target = Window(target.slide, target.slide, target.offset)
        test = covered if relation == "covered" else partitioned
        drawn = [reader_of(rng, target, multiples) for _ in range(rng.randint(1, 4))]
        readers = [w for w in dict.fromkeys(drawn) if w != target and test(w, target)]
        if not readers:
            return draw_case(rng, relation)
    model = cost_model([*readers, *([target] if target else [])], rate=rng.choice(RATES), period=rng.choice(PERIODS))
    return target, readers, model


def reader_of(rng: random.Random, target: Window, multiples: bool) -> Window:
    slide = target.slide * rng.choice([1, 2, 4, 6, 12])
    size = slide * rng.randint(1, 4) if multiples else target.range + target.slide * rng.randint(1, 30)
    return Window(size, min(slide, size), target.offset + target.slide * rng.randint(0, 3))


def test_recurrence_counts_the_intervals_of_one_period() -> None:
    for seed, rng in seeds(200):
        windows = draw_windows(rng, multiples=True)
        model = cost_model(windows)
        for w in windows:
            counted = len(spans(w, w.offset, w.offset + model.period))
            assert model.instances(w) == counted == setting_of(model).recurrence(w), (seed, w)


def test_recurrence_of_other_ranges_is_a_fraction_whose_whole_part_fits() -> None:
    fractions = 0
    for seed, rng in seeds(200):
        windows = draw_windows(rng, multiples=False, period=5000)
        model = cost_model(windows)
        for w in windows:
            counted = len(spans(w, w.offset, w.offset + model.period))
            assert math.floor(model.instances(w)) == counted, (seed, w)
            # One slide more, one interval more: a fraction only ever stands for part of an interval.
            longer = CostModel(model.period + w.slide, model.rate, model.unit)
            assert longer.instances(w) == model.instances(w) + 1, (seed, w)
            assert model.instances(w) == setting_of(model).recurrence(w), (seed, w)
            fractions += model.instances(w) != counted
    assert fractions > 50


def test_long_run_recurrence_counts_the_starts_of_one_period() -> None:
    for seed, rng in seeds(100):
        windows = draw_windows(rng, period=1000)
        model = cost_model(windows, period="steady")
        for w in windows:
            starts = [a for a, _ in spans(w, 0, 2 * model.period) if a < model.period]
            assert model.instances(w) == len(starts), (seed, w)


@pytest.mark.parametrize("part", range(4))
def test_covering_factor_is_the_best_of_algorithm_2(part: int) -> None:
    hits = targets = 0
    for seed, rng in seeds(150, start=1000 * part):
        target, readers, model = draw_case(rng, "covered")
        setting = setting_of(model)
        candidates = algorithm_2(target, readers, setting)
        most = max(candidates.values(), default=Fraction(0))
        found = best_covering_factor(target, readers, model)
        if most <= 0:
            assert found is None, (seed, target, readers, found, candidates)
            continue
        assert found in candidates, (seed, target, readers, found, candidates)
        assert candidates[found] == most, (seed, target, readers, found, candidates)
        hits += 1
        targets += target is not None
    assert hits > 30
    assert targets > 5


def test_benefit_is_equation_2() -> None:
    for seed, rng in seeds(150):
        target, readers, model = draw_case(rng, "covered")
        for factor, expected in algorithm_2(target, readers, setting_of(model)).items():
            assert benefit(factor, target, readers, model) == expected, (seed, target, readers, factor)


def test_benefit_is_convex_in_the_range() -> None:
    """So that for each slide the shortest and the longest range are the only ones to try."""
    strictly = 0
    for seed, rng in seeds(150):
        target, readers, model = draw_case(rng, "covered")
        shortest = min(w.range for w in readers)
        for slide in {f.slide for f in algorithm_2(target, readers, setting_of(model))}:
            low = shortest % slide + slide if target is None else target.range + slide
            gains = [
                benefit(Window(size, slide, readers[0].offset), target, readers, model)
                for size in range(low, shortest + 1, slide)
            ]
            bends = [gains[i - 1] + gains[i + 1] - 2 * gains[i] for i in range(1, len(gains) - 1)]
            assert all(bend >= 0 for bend in bends), (seed, target, readers, slide, gains)
            strictly += any(bend > 0 for bend in bends)
    assert strictly > 50


def draw_tumbling_case(rng: random.Random) -> tuple[Window, Window | None, list[Window], CostModel]:
    """Draw a tumbling factor window that lies between a tumbling target, or the root, and its readers."""
    target, readers, model = draw_case(rng, "partitioned")
    common = math.gcd(*(p for w in readers for p in (w.range, w.slide, w.offset - readers[0].offset)))
    fine = 1 if target is None else target.range
    sizes = [size for size in divisors(common) if size % fine == 0 and (target is None or size > fine)]
    if not sizes:
        return draw_tumbling_case(rng)
    size = rng.choice(sizes)
    return Window(size, size, readers[0].offset), target, readers, model


def test_helps_tells_whether_the_benefit_is_at_least_zero() -> None:
    """Theorem 8, also at fractional rates, where the factor window may be less than two events long."""
    answers = set()
    for seed, rng in seeds(600):
        factor, target, readers, model = draw_tumbling_case(rng)
        setting = setting_of(model)
        weight = sum(setting.recurrence(w) * w.range / setting.period for w in readers)
        gain = setting.benefit(factor, target, readers)
        assert helps(factor, target, readers, weight, model) == (gain >= 0), (seed, factor, target, readers, model)
        answers.add((gain >= 0, len(readers) > 1, target is None))
    assert len(answers) == 8 - 1  # Two readers of a window always gain.


def test_helps_agrees_with_algorithm_4_as_printed() -> None:
    for seed, rng in seeds(400):
        factor, target, readers, model = draw_tumbling_case(rng)
        if model.steady or any(w.range % w.slide for w in readers):
            continue
        setting = setting_of(model)
        weight = sum(setting.recurrence(w) * w.range / setting.period for w in readers)
        r_w = 1 / setting.rate if target is None else Fraction(target.range)
        if factor.range < 2 * r_w:
            continue  # The paper's whole numbers never come so near: it has r_f >= 2 r_W by Theorem 4.
        printed = algorithm_4(factor, r_w, readers, setting)
        assert helps(factor, target, readers, weight, model) == printed, (seed, factor, target, readers, model)


def test_partitioning_factor_is_that_of_algorithm_5() -> None:
    found_some = found_none = 0
    for seed, rng in seeds(400):
        target, readers, model = draw_case(rng, "partitioned")
        setting = setting_of(model)
        if model.steady or model.rate == Fraction(3, 2) or any(w.range % w.slide for w in readers):
            continue
        expected = algorithm_5(target, readers, setting)
        assert best_partitioning_factor(target, readers, model) == expected, (seed, target, readers, model)
        found_some += expected is not None
        found_none += expected is None
    assert found_some > 40
    assert found_none > 40


def test_partitioning_factor_has_the_greatest_benefit_of_all_tumbling_windows() -> None:
    """Theorem 9 by trying them all, in every setting: any rate, both periods, any ranges."""
    for seed, rng in seeds(300):
        target, readers, model = draw_case(rng, "partitioned")
        setting = setting_of(model)
        gains = {
            factor: gain
            for factor, gain in algorithm_2(target, readers, setting).items()
            if factor.tumbling and factor != target and all(partitioned(w, factor) for w in readers)
        }
        found = best_partitioning_factor(target, readers, model)
        most = max(gains.values(), default=Fraction(-1))
        if found is None:
            assert most < 0, (seed, target, readers, gains)
        else:
            assert gains[found] == most >= 0, (seed, target, readers, found, gains)
        listed = partitioning_candidates(target, readers, model)
        assert set(listed) == {f for f, gain in gains.items() if gain >= 0}, (seed, target, readers)
        assert listed == sorted(listed, reverse=True)


def test_equally_long_readers_do_not_cover_each_other() -> None:
    """Definition 1 wants a shorter parent: W<12,2> does not serve W<12,4>, though every start and end fits."""
    readers = [Window(12, 2), Window(12, 4)]
    model = cost_model(readers, rate=4, period="steady")
    candidates = algorithm_2(None, readers, setting_of(model))
    assert Window(12, 2) not in candidates
    found = best_covering_factor(None, readers, model)
    assert found is not None
    assert candidates[found] == max(candidates.values())


def test_covering_sets_of_the_running_example() -> None:
    assert covering_set(Window(10, 2), Window(8, 2)) == [(0, 8), (2, 10)]
