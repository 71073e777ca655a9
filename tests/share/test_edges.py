from __future__ import annotations

import itertools
import math
import random
import resource
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import Window
from muntin.errors import WindowError
from muntin.share import bitset, density, edges
from muntin.share.bitset import bit_set_count
from muntin.share.combs import CUTS, combs_of, evenly, thin
from muntin.share.edges import composite, edge_rate, edges_of, meet, rate_of, union
from muntin.share.workload import Workload
from muntin.window.slices import cutty, pairs, panes

SLIDES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 18, 20, 21, 24, 28, 30, 36, 40, 45, 48, 60, 72, 84, 90, 120)

slides = st.lists(st.sampled_from(SLIDES), min_size=1, max_size=12)
combs = st.lists(
    st.tuples(st.sampled_from(SLIDES), st.integers(0, 119)).map(lambda drawn: (drawn[0], drawn[1] % drawn[0])),
    min_size=1,
)
windows = st.lists(
    st.builds(
        lambda s, more, offset: Window(s + more, s, offset), st.integers(1, 24), st.integers(0, 60), st.integers(0, 30)
    ),
    min_size=1,
    max_size=6,
)


def by_marks(found: list[tuple[int, int]]) -> Fraction:
    return Fraction(*bit_set_count(found))


def test_f1_equals_the_bit_set_on_thousands_of_slide_sets() -> None:
    draw = random.Random(0)
    for _ in range(4_000):
        found = draw.choices(SLIDES[1:], k=draw.randint(1, 15))
        assert edge_rate(found) == by_marks([(slide, 0) for slide in found])


@given(combs)
@settings(max_examples=250, deadline=None)
def test_f1_equals_the_bit_set_with_phases(found: list[tuple[int, int]]) -> None:
    assert rate_of(thin(found)) == by_marks(found)


@given(combs)
@settings(max_examples=200, deadline=None)
def test_splitting_by_primes_equals_the_bit_set(found: list[tuple[int, int]]) -> None:
    assert density.density(found) == by_marks(found)


def test_both_routes_agree_beyond_what_a_bit_set_can_hold() -> None:
    draw = random.Random(1)
    for _ in range(30):
        found = thin({(draw.randint(2, 500), 0) for _ in range(9)})
        terms: edges.Terms = {}
        for comb in found:
            terms = union(terms, comb)
        assert edges.rate(terms) == density.density(found)


@given(windows, st.sampled_from(CUTS))
@settings(max_examples=200, deadline=None)
def test_edges_are_those_of_the_slicing(found: list[Window], cut: str) -> None:
    distinct = list(dict.fromkeys(found))
    slicing = {"pairs": pairs, "cutty": cutty, "panes": panes}[cut](*distinct)
    counted = edges_of(found, cut)  # type: ignore[arg-type]
    assert counted.rate == Fraction(slicing.edge_count, slicing.period)
    assert counted.composite is not None
    assert counted.count == slicing.count_between(0, counted.composite)


def test_fragments_of_pairs_and_of_cutty() -> None:
    # A range of 14 that slides by 8 falls into fragments of 6 and 2; Cutty cuts at starts alone, Panes every 2.
    assert [edges_of([Window(14, 8)], cut).rate for cut in CUTS] == [Fraction(2, 8), Fraction(1, 8), Fraction(1, 2)]
    # With 16 there is nothing to cut off.
    assert {edges_of([Window(16, 8)], cut).rate for cut in CUTS} == {Fraction(1, 8)}


def test_example_2_of_the_paper() -> None:
    found = edges_of([Window(6, 2), Window(8, 4)])
    assert (found.composite, found.count, found.rate) == (4, 2, Fraction(1, 2))


def test_equation_2_by_hand() -> None:
    # 1/4 + 1/6 + 1/10 - 1/12 - 1/20 - 1/30 + 1/60
    assert edge_rate([4, 6, 10]) == Fraction(11, 30)
    assert edges_of([Window(s, s) for s in (4, 6, 10)]).count == 22


@given(slides)
def test_duplicates_and_multiples_change_nothing(found: list[int]) -> None:
    more = [*found, *found, *(3 * slide for slide in found)]
    assert edge_rate(more) == edge_rate(found)
    assert thin((slide, 0) for slide in more) == thin((slide, 0) for slide in found)


@given(combs)
def test_thin_combs_have_the_same_edges_and_none_lies_on_another(found: list[tuple[int, int]]) -> None:
    kept = thin(found)
    assert by_marks(list(kept)) == by_marks(found)
    for step, phase in kept:
        assert not any(step % s == 0 and phase % s == p for s, p in kept if (s, p) != (step, phase))


def test_many_slides_are_thinned_by_the_sieve_as_by_trial() -> None:
    draw = random.Random(2)
    found = {(draw.randint(2, 5_000), 0) for _ in range(2_000)} | {(60, 7), (120, 67), (9, 1)}
    plain = tuple(
        sorted((s, p) for s, p in found if not any(s % t == 0 and p % t == q and (t, q) != (s, p) for t, q in found))
    )
    assert thin(found) == plain


@given(st.tuples(st.integers(1, 40), st.integers(0, 39)), st.tuples(st.integers(1, 40), st.integers(0, 39)))
def test_common_edges(one: tuple[int, int], other: tuple[int, int]) -> None:
    (a, p), (b, q) = (one[0], one[1] % one[0]), (other[0], other[1] % other[0])
    common = [t for t in range(2 * a * b) if t % a == p and t % b == q]
    found = meet((a, p), (b, q))
    assert found is None if not common else found == (math.lcm(a, b), common[0])


def test_coprime_slides_with_an_astronomical_composite() -> None:
    primes = [p for p in range(2, 1_000) if all(p % d for d in range(2, p))]
    start = time.process_time()
    found = edges_of([Window(p, p) for p in primes])
    assert time.process_time() - start < 5
    assert found.composite == math.prod(primes) > 10**400
    assert 1 - found.rate == math.prod((1 - Fraction(1, p) for p in primes), start=Fraction(1))


def test_thousands_of_arbitrary_slides_are_counted_exactly() -> None:
    draw = random.Random(3)
    found = [draw.randint(100, 10_000) for _ in range(1_000)]
    start = time.process_time()
    share = edge_rate(found)
    assert time.process_time() - start < 10
    # By random times: four standard deviations.
    trials = 4_000
    hits = sum(any(t % s == 0 for s in found) for t in (draw.randrange(10**60) for _ in range(trials)))
    assert abs(hits / trials - share) < 4 * math.sqrt(share * (1 - share) / trials)


def test_what_would_explode_is_refused_in_time_and_panes_are_offered() -> None:
    draw = random.Random(4)
    # Products of three primes of some hundred: every prime ties many slides together.
    primes = [p for p in range(100, 400) if all(p % d for d in range(2, 20))]
    found = [Window(s, s) for s in {math.prod(draw.sample(primes, 3)) for _ in range(600)}]
    start = time.process_time()
    with pytest.raises(WindowError, match=r"cannot count the edges of .* different slides exactly.*cut='panes'"):
        edges_of(found)
    assert time.process_time() - start < 60
    assert edges_of(found, "panes").rate == 1


def test_a_long_chain_of_slides_does_not_exhaust_the_stack() -> None:
    primes = [p for p in range(1_000, 6_000) if all(p % d for d in range(2, 80))]
    chain = [a * b for a, b in itertools.pairwise(primes)]
    assert edge_rate(chain[:150]) > 0
    with pytest.raises(WindowError, match="cannot count the edges"):
        edge_rate(chain)


def test_bit_set_refuses_what_it_cannot_hold() -> None:
    with pytest.raises(WindowError, match=r"would have .* places"):
        bit_set_count([(p, 0) for p in (1_000_003, 1_000_033)])
    assert bitset.LIMIT == 10**9


def test_no_slides_no_edges() -> None:
    with pytest.raises(WindowError, match="no queries"):
        edges_of([])
    with pytest.raises(WindowError, match="positive whole numbers"):
        edge_rate([])
    with pytest.raises(WindowError, match="positive whole numbers"):
        edge_rate([4, 0])
    with pytest.raises(WindowError, match=r"got 2\.5"):
        edge_rate([4, 2.5])  # type: ignore[list-item]
    with pytest.raises(WindowError, match="cut must be one of"):
        combs_of([Window(2, 1)], "slices")  # type: ignore[arg-type]


def test_composite_slides_too_long_to_be_of_use() -> None:
    assert composite([4, 6]) == 12
    assert composite(range(1, 100_000)) is None


@given(combs)
def test_panes_hold_all_edges_and_are_the_widest(found: list[tuple[int, int]]) -> None:
    width, phase = evenly(found)
    assert all(step % width == 0 and p % width == phase for step, p in found)
    assert math.gcd(*(part for step, p in found for part in (step, p - found[0][1]))) == width


@pytest.mark.slow
def test_a_million_queries_within_a_minute_and_four_gigabytes() -> None:
    # A hundred thousand are drawn, and each asked ten times: to draw takes longer than to count.
    queries = Workload(queries=100_000, longest_slide=720_720).windows(seed=0) * 10
    start = time.process_time()
    found = edges_of(queries)
    assert time.process_time() - start < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4_000_000  # kilobytes
    assert found.composite == 720_720
    assert found.count == bit_set_count(found.combs)[0] * 720_720 // bit_set_count(found.combs)[1]
