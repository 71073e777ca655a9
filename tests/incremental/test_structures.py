"""Every algorithm over every operator that it takes, on windows of many shapes, against a fold from scratch."""

from __future__ import annotations

import functools
import gc
import itertools
import random
import weakref
from operator import add, sub
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from muntin.aggregate import catalog as agg
from muntin.aggregate.define import define
from muntin.errors import AggregateError, IncrementalError
from muntin.incremental import ALGORITHMS, MULTI_RANGE
from muntin.incremental.daba import DABA
from muntin.incremental.slickdeque_inv import SlickDequeInv
from muntin.testing.closeness import close
from tests.incremental.operators import CASES, PAIRING_IDS, PAIRINGS, REFUSED, UNTRIED, Case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin.incremental.structure import Structure

# A shape says how many partials to insert (above 0) or evict (below 0), and asks after each entry.
Shape = list[int]


def sliding(size: int, slides: int) -> Shape:
    return [size, *[-1, 1] * slides]


def insert_first(size: int, slides: int) -> Shape:
    return [size, *[1, -1] * slides]


def hopping(size: int, slide: int, slides: int) -> Shape:
    return [size, *[-slide, slide] * slides]


def ragged(seed: int, entries: int) -> Shape:
    """Bursts of arrivals and departures that sometimes leave nothing."""
    rng = random.Random(seed)
    shape, held = [], 0
    for _ in range(entries):
        step = rng.randint(1, 9) if held == 0 or rng.random() < 0.55 else -rng.randint(1, held)
        shape.append(step)
        held += step
    return shape


SHAPES: dict[str, Shape] = {
    "sliding 1": sliding(1, 5),
    "sliding 2": sliding(2, 9),
    "sliding 7": sliding(7, 30),
    "sliding 8": sliding(8, 30),
    "sliding 9, insert first": insert_first(9, 30),
    "tumbling 6": [6, -6] * 5,
    "hopping 10 by 3": hopping(10, 3, 12),
    "growing": [1] * 40,
    "shrinking": [40, *[-1] * 40],
    "ragged": ragged(1, 60),
    "ragged again": ragged(2, 60),
}


def play(window: Structure[Any], shape: Shape, partials: Iterator[Any]) -> Iterator[list[Any]]:
    """Feed a window, and yield what it should hold after every entry of the shape."""
    held: list[Any] = []
    for step in shape:
        for _ in range(step):
            held.append(next(partials))
            window.insert(held[-1])
        for _ in range(-step):
            held.pop(0)
            window.evict()
        yield held


def build(algorithm: str, function: Any) -> Structure[Any]:
    if algorithm == "SlickDeque-Inv":
        return SlickDequeInv(function, ranges=[1, 2, 5, 8, 9, 40])
    return ALGORITHMS[algorithm](function)


@pytest.mark.parametrize(("algorithm", "case"), PAIRINGS, ids=PAIRING_IDS)
def test_it_agrees_with_a_fold_from_scratch(algorithm: str, case: Case) -> None:
    for seed, (label, shape) in enumerate(SHAPES.items()):
        window = build(algorithm, case.function)
        for held in play(window, shape, iter(case.partials(seed, 200))):
            assert len(window) == len(held), label
            if not held:
                continue
            expected = functools.reduce(case.function.combine, held)
            assert close(window.query(), expected, beside=held), (label, held)
            if algorithm in MULTI_RANGE:
                for count in {1, len(held), (len(held) + 1) // 2, max(1, len(held) - 1)}:
                    suffix = functools.reduce(case.function.combine, held[-count:])
                    found = window.query_last(count)  # type: ignore[attr-defined]
                    assert close(found, suffix, beside=held), (label, held, count)


def test_every_aggregate_that_can_be_shared_is_tried() -> None:
    assert set() == UNTRIED


@pytest.mark.parametrize("algorithm", MULTI_RANGE)
def test_every_suffix_of_every_small_window_comes_out_in_order(algorithm: str) -> None:
    functions: dict[str, Any] = {"SlickDeque-Inv": agg.count, "SlickDeque-NonInv": agg.arg_max}
    function = functions.get(algorithm, agg.collect)
    for size in range(1, 18):
        window = MULTI_RANGE[algorithm](function)
        partials = [function.lift((i % 3, i) if function.arity == 2 else i) for i in range(3 * size)]
        for i, partial in enumerate(partials):
            if len(window) == size:
                window.evict()
            window.insert(partial)
            held = partials[max(0, i + 1 - size) : i + 1]
            for count in range(1, len(held) + 1):
                assert window.query_last(count) == functools.reduce(function.combine, held[-count:])


# What each algorithm asks of its operator, written down by hand.
EVICTABLE = {"count", "sum", "avg", "geometric_mean", "variance", "var_pop", "stddev", "stddev_pop"}
SELECTING = {
    *("min", "max", "arg_min", "arg_max", "any", "all", "first", "last"),
    *("latest_max", "copying_max"),
}


def test_the_legal_pairings_are_those_of_the_laws() -> None:
    names = {case.function.name for case in CASES}
    allowed = {name: {case.function.name for taker, case in PAIRINGS if taker == name} for name in ALGORITHMS}
    assert allowed.pop("Panes-Inv") == EVICTABLE
    assert allowed.pop("SlickDeque-Inv") == EVICTABLE
    assert allowed.pop("SlickDeque-NonInv") == SELECTING
    assert set(allowed) == {"Panes", "FlatFAT", "B-Int", "FlatFIT", "TwoStacks", "DABA"}
    for taken in allowed.values():
        assert taken == names


@pytest.mark.parametrize(("algorithm", "case"), REFUSED, ids=[f"{name}-{case.label}" for name, case in REFUSED])
def test_an_illegal_pairing_cannot_be_built(algorithm: str, case: Case) -> None:
    with pytest.raises(AggregateError, match=f"^{algorithm} needs .*`{case.function.name}`"):
        ALGORITHMS[algorithm](case.function)


@pytest.mark.parametrize(
    ("algorithm", "function", "text"),
    [
        (
            "SlickDeque-NonInv",
            agg.sum,
            "SlickDeque-NonInv needs an operator that selects one of its operands; `sum` does not. Use SlickDeque-Inv",
        ),
        (
            "SlickDeque-NonInv",
            agg.range,
            "SlickDeque-NonInv needs an operator that selects one of its operands; `range` does not. "
            "Use TwoStacks or DABA, or FlatFIT for many ranges",
        ),
        (
            "Panes-Inv",
            agg.max,
            "Panes-Inv needs an operator that is commutative and has an inverse; `max` has no inverse. "
            "Use SlickDeque-NonInv",
        ),
        (
            "SlickDeque-Inv",
            agg.collect,
            "SlickDeque-Inv needs an operator that is commutative and has an inverse; `collect` is not commutative, so "
            "its inverse takes away the newest partial and not the oldest. Use TwoStacks or DABA, or FlatFIT for many "
            "ranges",
        ),
        (
            "DABA",
            agg.median,
            f"DABA needs an associative operator; `median` has no partials to combine. Use {agg.median.instead}",
        ),
    ],
)
def test_the_refusal_says_why_and_what_to_use(algorithm: str, function: Any, text: str) -> None:
    with pytest.raises(AggregateError) as refusal:
        ALGORITHMS[algorithm](function)
    assert str(refusal.value) == text


def some_operator(algorithm: str) -> Any:
    return agg.max if algorithm == "SlickDeque-NonInv" else agg.count


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_empty_window_has_nothing_to_evict_and_no_result(algorithm: str) -> None:
    window = ALGORITHMS[algorithm](some_operator(algorithm))
    for _ in range(2):
        with pytest.raises(IncrementalError, match=f"^{algorithm}: cannot evict from an empty window. Insert"):
            window.evict()
        with pytest.raises(IncrementalError, match=f"^{algorithm}: cannot query an empty window. Insert a partial"):
            window.query()
        assert len(window) == 0
        window.insert(5)
        assert window.query() == 5
        window.evict()


@pytest.mark.parametrize("algorithm", MULTI_RANGE)
@pytest.mark.parametrize("count", [0, 3, -1, True, 1.0])
def test_a_range_that_the_window_does_not_hold_is_refused(algorithm: str, count: Any) -> None:
    window = MULTI_RANGE[algorithm](some_operator(algorithm))
    with pytest.raises(IncrementalError, match="cannot query an empty window"):
        window.query_last(count)
    window.insert(1)
    window.insert(2)
    with pytest.raises(IncrementalError, match=f"newest {count!r} partials. The window holds 2: ask for 1 to 2"):
        window.query_last(count)


def test_cards_tell_the_algorithms_apart() -> None:
    cards = [kind.card for kind in ALGORITHMS.values()]
    assert [card.name for card in cards] == list(ALGORITHMS)
    assert {card.name for card in cards if card.multi_query is not None} == set(MULTI_RANGE)
    assert set(ALGORITHMS) - set(MULTI_RANGE) == {"Panes-Inv", "TwoStacks", "DABA"}
    for kind in ALGORITHMS.values():
        doc = kind.__doc__ or ""
        assert [part for part in ("Ordering:", "Operator:", "Time:", "Space:") if part not in doc] == []


class Opaque:
    """A partial that must not be looked at."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, _: object) -> bool:
        raise AssertionError

    def __bool__(self) -> bool:
        raise AssertionError

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - {"SlickDeque-NonInv"}))
def test_partials_are_never_looked_at(algorithm: str) -> None:
    opaque = define(
        "opaque",
        lift=Opaque,
        combine=lambda x, y: Opaque(x.value + y.value),
        inverse=lambda x, y: Opaque(x.value - y.value),
        identity=Opaque(0),
        commutative=True,
    )
    window = build(algorithm, opaque)
    for held in play(window, ragged(3, 80), iter(map(Opaque, itertools.count(1)))):
        if held:
            assert window.query().value == sum(partial.value for partial in held)


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - {"SlickDeque-NonInv"}))
def test_a_partial_may_be_a_vector_over_keys(algorithm: str) -> None:
    total = define(
        "vector_sum", lift=np.asarray, combine=np.add, inverse=np.subtract, identity=np.zeros(3), commutative=True
    )
    rng = np.random.default_rng(5)
    window = build(algorithm, total)
    for held in play(window, sliding(6, 20), iter(rng.integers(0, 9, size=(30, 3)))):
        if held:
            assert window.query().tolist() == np.sum(held, axis=0).tolist()


@pytest.mark.parametrize("algorithm", ["Panes-Inv", "SlickDeque-Inv"])
def test_rounding_does_not_outlive_the_window(algorithm: str) -> None:
    # Unlike the catalog's sum this one does not count, and cannot know when nothing is left.
    plain = define("plain", lift=float, combine=add, inverse=sub, identity=0.0, commutative=True)
    window = ALGORITHMS[algorithm](plain)
    for value in (1e16, 1.0, float("nan")):
        window.insert(value)
    for _ in range(3):
        window.evict()
    window.insert(0.1)
    assert window.query() == 0.1


def test_evicted_partials_are_let_go() -> None:
    class Blob:
        pass

    kept = define("kept", lift=lambda value: value, combine=lambda x, _: x, identity=None)
    for algorithm in ("FlatFIT", "B-Int", "DABA", "FlatFAT", "TwoStacks", "Panes"):
        window = ALGORITHMS[algorithm](kept)
        blobs = [Blob() for _ in range(16)]
        alive = [weakref.ref(blob) for blob in blobs]
        for blob in blobs:
            window.insert(blob)
        window.query()
        for _ in range(16):
            window.evict()
        if algorithm == "FlatFAT":  # writes its tree when it is asked
            window.insert(None)
            window.query()
        del blobs, blob
        gc.collect()
        assert [ref for ref in alive if ref() is not None] == [], algorithm


def test_daba_keeps_its_places_in_order() -> None:
    window = DABA(agg.collect)
    rng = random.Random(4)
    for i in range(3000):
        if len(window) and rng.random() < 0.5:
            window.evict()
        else:
            window.insert((i,))
        places = [window._f, window._l, window._r, window._a, window._b, window._e]
        assert places == sorted(places)
        assert window._r - window._l == window._a - window._r  # what is left of both parts, one length
