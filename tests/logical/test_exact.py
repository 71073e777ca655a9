"""The exact search finds the optimum: against all sets of factor windows, on finer lattices than its own too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from muntin import Window, agg, optimize
from muntin.logical.candidates import candidates
from muntin.logical.cost import CostModel, Period, cost_model
from muntin.logical.exact import search_all
from muntin.logical.relation import Covers, Relation, Sharing
from muntin.window.slices import common_measure
from tests.logical.brute_force import Costs, every_window
from tests.logical.draw import seeds

if TYPE_CHECKING:
    import random

KINDS: list[tuple[Sharing, Covers]] = [
    ("covered", "dense"),
    ("covered", "sparse"),
    ("partitioned", "dense"),
    ("partitioned", "sparse"),
]
RATES = [1, 4]
PERIODS: list[Period] = ["paper", "steady"]


def draw_tiny(rng: random.Random, longest: int) -> list[Window]:
    """Draw up to three windows on a pane of 1, 2 or 3: the lattice of whole numbers is then finer than theirs."""
    pane = rng.choice([1, 2, 2, 3])
    most = longest // pane
    multiples = rng.random() < 0.5
    found: dict[Window, None] = {}
    for _ in range(rng.randint(1, 3)):
        slide = rng.randint(1, most)
        size = slide * rng.randint(1, most // slide) if multiples else rng.randint(slide, most)
        found[Window(size * pane, slide * pane, rng.choice([0, 0, rng.randrange(slide)]) * pane)] = None
    return sorted(found)


def check(seed: object, windows: list[Window], relation: Relation, model: CostModel, most: int) -> tuple[int, int]:
    """Compare with all sets of at most `most` factor windows; give the size of the pool and the plan's own."""
    found = search_all(windows, relation, model, limit=5000, seconds=60)
    case = (seed, windows, relation, model)
    assert found.gap == 0.0, case
    pool = every_window(windows, relation)
    best, chosen = Costs(windows, pool, relation, model).best(most)
    assert found.forest.cost <= best, (*case, "cheaper with", chosen, best, "than", found.forest)
    if len(found.forest.factor_windows) <= most:
        assert found.forest.cost == best, case
    return len(pool), len(found.forest.factor_windows)


@pytest.mark.parametrize(("sharing", "covers"), KINDS)
@pytest.mark.parametrize("period", PERIODS)
def test_no_set_of_three_factor_windows_is_cheaper(sharing: Sharing, covers: Covers, period: Period) -> None:
    used = []
    for seed, rng in seeds(25):
        windows = draw_tiny(rng, 12)
        relation = Relation(sharing, covers)
        for rate in RATES:
            model = cost_model(windows, rate=rate, period=period)
            used.append(
                check(seed, windows, relation, model, most=2 if len(every_window(windows, relation)) > 100 else 3)
            )
    assert sum(factors > 0 for _, factors in used) > 5


@pytest.mark.parametrize(("sharing", "covers"), KINDS)
def test_no_set_of_factor_windows_is_cheaper(sharing: Sharing, covers: Covers) -> None:
    """All subsets, where there are few enough windows to list them."""
    tried = 0
    for seed, rng in seeds(60, start=500):
        windows = draw_tiny(rng, rng.choice([4, 6, 8]))
        relation = Relation(sharing, covers)
        if len(every_window(windows, relation)) > 11:
            continue
        for rate in RATES:
            for period in PERIODS:
                check(seed, windows, relation, cost_model(windows, rate=rate, period=period), most=11)
        tried += 1
    assert tried > 20


@pytest.mark.slow
@pytest.mark.parametrize(("sharing", "covers"), KINDS)
def test_no_pair_of_finer_windows_is_cheaper(sharing: Sharing, covers: Covers) -> None:
    """Longer windows, whose own pane is wide: many windows lie between its grid lines."""
    for seed, rng in seeds(25, start=900):
        windows = draw_tiny(rng, 20)
        for period in PERIODS:
            model = cost_model(windows, rate=rng.choice([1, 2, 4, 16]), period=period)
            check(seed, windows, Relation(sharing, covers), model, most=2)


@pytest.mark.parametrize("covers", ["dense", "sparse"])
@pytest.mark.parametrize(
    ("window", "rate", "cost"), [(Window(16, 10), 2, 216), (Window(32, 20, 12), 1, 216), (Window(32, 20), "1/2", 120)]
)
def test_slides_off_the_common_pane(window: Window, rate: int | str, cost: int, covers: Covers) -> None:
    """The best factor window of W<16,10>, whose pane is 2, is W<6,5>: three of its intervals overlap by one."""
    model = cost_model([window], rate=rate, period="steady")
    found = search_all([window], Relation("covered", covers), model, limit=1000, seconds=10)
    scale = window.range // 16
    assert found.forest.factor_windows == (Window(6 * scale, 5 * scale, window.offset),)
    assert found.forest.factor_windows[0].slide % common_measure([window])
    assert (found.forest.cost, found.gap) == (cost, 0.0)


def test_equally_long_parents_of_ranges_that_nothing_tiles() -> None:
    """7 is prime and no multiple of 2, but where three windows of 7 start on a grid of 2, W<7,2> holds them all."""
    windows = [Window(7, 4), Window(7, 4, 2), Window(7, 6)]
    model = cost_model(windows, rate=4, period="steady")
    check("prime", windows, Relation("partitioned", "sparse"), model, most=3)
    found = search_all(windows, Relation("partitioned", "sparse"), model, limit=1000, seconds=10).forest
    assert found.factor_windows == (Window(1, 1), Window(7, 2))


def test_candidates_beyond_the_limit_prove_nothing() -> None:
    windows = [Window(n, 1) for n in (90, 100, 120)]
    relation = Relation("covered", "sparse")
    assert candidates(windows, relation, limit=1000).complete
    some = candidates(windows, relation, limit=20)
    assert not some.complete
    assert 0 < len(some.windows) <= 60
    assert not set(some.windows) & set(windows)
    assert optimize([Window(n, 1) for n in (900, 1000, 1200)], agg.min, optimizer="auto").gap is None


def test_all_candidates_serve_some_window() -> None:
    for seed, rng in seeds(60):
        windows = draw_tiny(rng, 15)
        for sharing, covers in KINDS:
            relation = Relation(sharing, covers)
            pool = candidates(windows, relation, limit=5000)
            assert pool.complete, (seed, windows)
            assert set(pool.windows).isdisjoint(windows), (seed, windows)
            listed = set(every_window(windows, relation))
            # Dense covers make no use of a parent as long as its reader, which the list may hold.
            extra = {w for w in pool.windows if w not in listed}
            assert all(any(w.range == reader.range for reader in windows) for w in extra), (seed, windows, extra)


def test_known_factor_windows_are_never_lost() -> None:
    """A start with good factor windows bounds the answer, whatever the limits."""
    windows = [Window(20, 20), Window(30, 30), Window(40, 40)]
    model = cost_model(windows)
    for limit in (1, 1000):
        found = search_all(windows, Relation("partitioned"), model, start=[Window(10, 10)], limit=limit, seconds=1e-9)
        assert found.forest.cost == 150


def test_longest_range_in_panes_is_bounded() -> None:
    windows = [Window(2**33, 2**33), Window(3, 3)]
    with pytest.raises(ValueError, match=r"optimizer 'exact' looks at every multiple .* Use 'auto' or 'factor'"):
        optimize(windows, agg.min, optimizer="exact")
    assert optimize(windows, agg.min, optimizer="auto").cost <= optimize(windows, agg.min, optimizer="factor").cost


def test_events_in_the_longest_range_are_bounded() -> None:
    windows = [Window(20, 20), Window(30, 30)]
    with pytest.raises(ValueError, match=r"optimizer 'exact' weighs plans in floats, .* Use 'auto' or 'factor'"):
        optimize(windows, agg.min, optimizer="exact", rate="1e400")
    plan = optimize(windows, agg.min, optimizer="auto", rate="1e400")
    assert plan.cost == 60 * 10**400 + 12  # the pane of 10 once, then 3 x 2 and 2 x 3 items
