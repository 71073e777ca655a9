"""RandomGen and SequentialGen draw the window sets that the paper describes, the same ones each time."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.workloads import (
    SEED_RANGES,
    SEED_SLIDES,
    Setup,
    Shape,
    random_windows,
    sequential_windows,
    table_setups,
)
from muntin import Window
from muntin.errors import WindowError

SHAPES: list[Shape] = ["tumbling", "hopping"]
SETS = [(size, seed) for size in (1, 5, 10, 20) for seed in range(10)]


def seeds_of(length: int, shape: Shape, multiplier: int = 50) -> set[int]:
    """The seed lengths r0 of which a length is one of {2 r0, 3 r0, ..., k r0}."""
    seeds = SEED_RANGES if shape == "tumbling" else SEED_SLIDES
    return {seed for seed in seeds if length % seed == 0 and 2 <= length // seed <= multiplier}


def test_the_paper_s_parameters() -> None:
    """Section V-B: R = {2, 5, 10}, S = {5, 10, 20}, multipliers 50."""
    assert SEED_RANGES == (2, 5, 10)
    assert SEED_SLIDES == (5, 10, 20)


@pytest.mark.parametrize("shape", SHAPES)
def test_random_windows_are_those_of_algorithm_6(shape: Shape) -> None:
    for size, seed in SETS:
        windows = random_windows(size, shape, seed)
        assert len(windows) == len(set(windows)) == size, (size, seed)
        for window in windows:
            # Lines 6 and 10: W(r, r), or W(2s, s).
            assert window.range == window.slide * (1 if shape == "tumbling" else 2), (size, seed, window)
            assert seeds_of(window.slide, shape), (size, seed, window)
            assert window.offset == 0, (size, seed, window)


@pytest.mark.parametrize("shape", SHAPES)
def test_random_windows_use_all_seeds_and_all_multiples(shape: Shape) -> None:
    lengths = Counter(w.slide for seed in range(400) for w in random_windows(5, shape, seed))
    for first in SEED_RANGES if shape == "tumbling" else SEED_SLIDES:
        assert 2 * first in lengths, first
        assert 50 * first in lengths, first
        # Never the seed itself, unless it is a multiple of another one: it is left to be found as a factor window.
        assert (first in lengths) == bool(seeds_of(first, shape)), first
    # A seed is drawn first, then a multiple: a third of the windows lie beyond the reach of the shorter seeds.
    third = max(SEED_RANGES if shape == "tumbling" else SEED_SLIDES)
    beyond = sum(count for length, count in lengths.items() if length > 25 * third)
    assert 0.12 < beyond / sum(lengths.values()) < 0.22


def test_multiplier() -> None:
    windows = random_windows(4, "tumbling", 0, multiplier=3)
    assert {w.range for w in windows} <= {4, 6, 10, 15, 20, 30}
    with pytest.raises(WindowError, match="cannot draw 7 distinct tumbling windows with multiplier 3: raise the"):
        random_windows(7, "tumbling", 0, multiplier=3)


@pytest.mark.parametrize("shape", SHAPES)
def test_sequential_windows_follow_one_seed(shape: Shape) -> None:
    """2 r0, 3 r0, 4 r0, ... of one seed length r0."""
    used = set()
    for size, seed in SETS:
        windows = sequential_windows(size, shape, seed)
        first = windows[0].slide // 2
        used.add(first)
        assert first in (SEED_RANGES if shape == "tumbling" else SEED_SLIDES), (size, seed)
        assert [w.slide for w in windows] == [first * i for i in range(2, size + 2)], (size, seed)
        assert all(w.range == w.slide * (1 if shape == "tumbling" else 2) for w in windows), (size, seed)
    assert len(used) == 3


@pytest.mark.parametrize("shape", SHAPES)
def test_seeds_make_sets_that_differ_and_come_again(shape: Shape) -> None:
    drawn = [random_windows(10, shape, seed) for seed in range(20)]
    assert drawn == [random_windows(10, shape, seed) for seed in range(20)]
    assert len(set(drawn)) == 20
    assert [sequential_windows(5, shape, s) for s in range(9)] == [sequential_windows(5, shape, s) for s in range(9)]


def test_sets_stay_the_same_from_release_to_release() -> None:
    """Reports are compared over time: a change of generator must not go unseen."""
    assert random_windows(3, "tumbling", 0) == (Window(480, 480), Window(230, 230), Window(260, 260))
    assert random_windows(3, "hopping", 0) == (Window(700, 350), Window(340, 170), Window(560, 280))
    assert sequential_windows(2, "hopping", 0) == (Window(80, 40), Window(120, 60))


def test_setups_are_the_rows_of_the_tables() -> None:
    """Tables I and II: eight rows; Table III: sizes 15 and 20."""
    assert [setup.name for setup in table_setups(5, 10)] == [
        "R-5-tumbling",
        "R-10-tumbling",
        "R-5-hopping",
        "R-10-hopping",
        "S-5-tumbling",
        "S-10-tumbling",
        "S-5-hopping",
        "S-10-hopping",
    ]
    assert len(table_setups(15, 20)) == 8
    assert Setup("R", 5, "hopping").windows(3) == random_windows(5, "hopping", 3)
    assert Setup("S", 5, "hopping").windows(3) == sequential_windows(5, "hopping", 3)
