"""Every aggregate against a computation from scratch, however the events are split and bracketed."""

from __future__ import annotations

import builtins
import math
import pickle
import random
import statistics
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregate import catalog as agg
from muntin.aggregate.names import BUILT_IN
from muntin.errors import AggregateError

if TYPE_CHECKING:
    from muntin.aggregate.algebra import AggregateFunction

Oracle = Callable[[list[Any]], Any]

NUMBERS = st.none() | st.integers(-3, 3) | st.integers(-(10**6), 10**6)
TRUTHS = st.none() | st.booleans()
TEXTS = st.none() | st.text("ab", max_size=2)
PAIRS = st.tuples(st.none() | st.integers(-3, 3), TEXTS)


def present(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def unless_empty(compute: Oracle, empty: Any = None, *, least: int = 1) -> Oracle:
    def oracle(values: list[Any]) -> Any:
        found = present(values)
        return compute(found) if len(found) >= least else empty

    return oracle


def root_of_product(values: list[int]) -> float:
    if any(value < 0 for value in values):
        return math.nan
    return 0.0 if 0 in values else statistics.geometric_mean(values)


def arg_of(pick: Callable[..., Any]) -> Oracle:
    def oracle(pairs: list[Any]) -> Any:
        found = [pair for pair in pairs if pair[0] is not None]
        return pick(found, key=lambda pair: pair[0])[1] if found else None  # Python's min and max keep the first

    return oracle


ORACLES: dict[str, tuple[st.SearchStrategy[Any], Oracle]] = {
    "count": (NUMBERS, lambda values: len(present(values))),
    "sum": (NUMBERS, unless_empty(builtins.sum)),
    "min": (NUMBERS, unless_empty(builtins.min)),
    "max": (NUMBERS, unless_empty(builtins.max)),
    "avg": (NUMBERS, unless_empty(lambda values: float(Fraction(builtins.sum(values), len(values))))),
    "geometric_mean": (NUMBERS, unless_empty(root_of_product)),
    "variance": (NUMBERS, unless_empty(statistics.variance, least=2)),
    "var_pop": (NUMBERS, unless_empty(statistics.pvariance)),
    "stddev": (NUMBERS, unless_empty(statistics.stdev, least=2)),
    "stddev_pop": (NUMBERS, unless_empty(statistics.pstdev)),
    "range": (NUMBERS, unless_empty(lambda values: builtins.max(values) - builtins.min(values))),
    "min_count": (NUMBERS, unless_empty(lambda values: values.count(builtins.min(values)), 0)),
    "max_count": (NUMBERS, unless_empty(lambda values: values.count(builtins.max(values)), 0)),
    "arg_min": (PAIRS, arg_of(builtins.min)),
    "arg_max": (PAIRS, arg_of(builtins.max)),
    "any": (TRUTHS, unless_empty(builtins.any)),
    "all": (TRUTHS, unless_empty(builtins.all)),
    "first": (NUMBERS, lambda values: values[0] if values else None),
    "last": (NUMBERS, lambda values: values[-1] if values else None),
    "collect": (NUMBERS, present),
    "collect_distinct": (NUMBERS, lambda values: list(dict.fromkeys(present(values)))),
    "concat": (TEXTS, unless_empty("".join)),
    "median": (NUMBERS, unless_empty(lambda values: float(statistics.median(values)))),
    "count_distinct": (NUMBERS, lambda values: len(set(present(values)))),
}

EVALUATED = [f for f in BUILT_IN.values() if not f.sketch]
SHARED = [f for f in EVALUATED if f.shareable]


def bracketed(function: AggregateFunction, partials: list[Any], rng: random.Random) -> Any:
    """Combine neighbours in a random order: any bracketing of the sequence."""
    partials = list(partials) or [function.identity]
    while len(partials) > 1:
        i = rng.randrange(len(partials) - 1)
        partials[i : i + 2] = [function.combine(partials[i], partials[i + 1])]
    return partials[0]


def agree(result: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(result, float):
        both_nan = math.isnan(result) and math.isnan(expected)
        return both_nan or math.isclose(result, expected, rel_tol=1e-9, abs_tol=1e-9)
    return type(result) is type(expected) and bool(result == expected)


def expected_of(oracle: Oracle, function: AggregateFunction, values: list[Any]) -> Any:
    expected = oracle(values)
    spread = function.name.startswith(("var", "stddev"))
    return float(expected) if spread and expected is not None else expected


def test_every_evaluable_aggregate_has_an_oracle() -> None:
    assert set(ORACLES) == {f.name for f in EVALUATED}


@pytest.mark.parametrize("function", EVALUATED, ids=lambda f: f.name)
def test_evaluate(function: AggregateFunction) -> None:
    inputs, oracle = ORACLES[function.name]

    @settings(max_examples=30, deadline=None)
    @given(st.lists(inputs, max_size=20))
    def check(values: list[Any]) -> None:
        assert agree(function.evaluate(values), expected_of(oracle, function, values))

    check()


@pytest.mark.parametrize("function", SHARED, ids=lambda f: f.name)
def test_any_split_and_bracketing(function: AggregateFunction) -> None:
    inputs, oracle = ORACLES[function.name]

    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.lists(inputs, max_size=5), max_size=8), st.integers())
    def check(pieces: list[list[Any]], seed: int) -> None:
        rng = random.Random(seed)
        partials = [bracketed(function, list(map(function.lift, piece)), rng) for piece in pieces]
        result = function.lower(bracketed(function, partials, rng))
        assert agree(result, expected_of(oracle, function, [value for piece in pieces for value in piece]))

    check()


@pytest.mark.parametrize("function", [f for f in SHARED if f.overlap_tolerant], ids=lambda f: f.name)
def test_ordered_overlapping_covers(function: AggregateFunction) -> None:
    inputs, oracle = ORACLES[function.name]

    @settings(max_examples=40, deadline=None)
    @given(st.lists(inputs, min_size=1, max_size=15), st.integers())
    def check(values: list[Any], seed: int) -> None:
        rng = random.Random(seed)
        start, end, partials = 0, 0, []
        while end < len(values):  # starts and ends grow, and no interval begins after the last one ended
            start, end = rng.randint(start, end), rng.randint(end + 1, len(values))
            partials.append(function.fold(values[start:end]))
        assert agree(function.lower(bracketed(function, partials, rng)), expected_of(oracle, function, values))

    check()


@pytest.mark.parametrize("function", [f for f in SHARED if not f.overlap_tolerant], ids=lambda f: f.name)
def test_overlap_shows_in_the_others(function: AggregateFunction) -> None:
    texts = function.name == "concat"
    wrong = 0
    for values in [list("abc")] if texts else [[1, 1, 5], [1, 5, 5]]:
        twice = function.combine(function.fold(values[:-1]), function.fold(values[1:]))
        wrong += function.lower(twice) != function.evaluate(values)
    assert wrong


@pytest.mark.parametrize("function", [f for f in SHARED if f.invertible], ids=lambda f: f.name)
def test_inverse_takes_away_the_later_part(function: AggregateFunction) -> None:
    inputs, oracle = ORACLES[function.name]
    inverse = function.inverse
    assert inverse is not None

    @settings(max_examples=30, deadline=None)
    @given(st.lists(inputs, max_size=10), st.lists(inputs, max_size=10))
    def check(kept: list[Any], gone: list[Any]) -> None:
        whole = function.combine(function.fold(kept), function.fold(gone))
        result, expected = (
            function.lower(inverse(whole, function.fold(gone))),
            expected_of(oracle, function, kept),
        )
        if function.name in {"variance", "var_pop", "stddev", "stddev_pop"} and expected is not None:
            spread = builtins.max(map(abs, present(kept + gone)))
            power = 1 if function.name.startswith("stddev") else 2
            # what is left of a difference of squares: about half the digits of the spread
            assert math.isclose(result, expected, rel_tol=1e-6, abs_tol=(1e-6 * spread) ** power)
        else:
            assert agree(result, expected)

    check()


@pytest.mark.parametrize("function", [f for f in SHARED if f.evictable], ids=lambda f: f.name)
def test_subtract_on_evict_over_a_long_stream(function: AggregateFunction) -> None:
    rng = random.Random(7)
    values = [rng.uniform(1, 100) for _ in range(2000)]
    inverse = function.inverse
    assert inverse is not None
    running = function.fold(values[:50])
    for i in range(50, len(values)):
        running = function.combine(inverse(running, function.lift(values[i - 50])), function.lift(values[i]))
    fresh = function.evaluate(values[-50:])
    assert math.isclose(function.lower(running), fresh, rel_tol=1e-9)


@pytest.mark.parametrize("function", SHARED, ids=lambda f: f.name)
def test_a_window_of_nulls_only(function: AggregateFunction) -> None:
    null = (None, None) if function.arity == 2 else None
    zero = {"count", "min_count", "max_count"}
    listed = {"collect", "collect_distinct"}
    expected: Any = 0 if function.name in zero else [] if function.name in listed else None
    assert function.evaluate([null, null]) == expected
    assert function.evaluate([]) == expected


def test_first_and_last_take_a_null_for_a_value() -> None:
    assert agg.first.evaluate([None, 1]) is None
    assert agg.last.evaluate([1, None]) is None
    assert not agg.first.ignores_nulls


def test_count_without_a_column_counts_rows() -> None:
    rows: list[dict[str, object]] = [{"x": 1}, {"x": None}]
    assert agg.count.evaluate(agg.count().value(row) for row in rows) == 2
    assert agg.count.evaluate(agg.count("x").value(row) for row in rows) == 1


NAN = math.nan


def test_nan_is_the_greatest_value() -> None:
    values = [1.0, NAN, math.inf, NAN, -math.inf]
    for shuffled in (values, values[::-1]):
        assert agg.min.evaluate(shuffled) == -math.inf
        assert math.isnan(agg.max.evaluate(shuffled))
        assert agg.max_count.evaluate(shuffled) == 2
        assert agg.min_count.evaluate(shuffled) == 1
        assert math.isnan(agg.range.evaluate(shuffled))
    assert math.isnan(agg.min.evaluate([NAN, None]))
    assert agg.arg_max.evaluate([(math.inf, "inf"), (NAN, "first"), (NAN, "second")]) == "first"
    assert agg.arg_min.evaluate([(NAN, "nan"), (math.inf, "inf")]) == "inf"
    assert agg.median.evaluate([NAN, 1.0, 2.0]) == 2.0


def test_distinct_values_as_spark_sees_them() -> None:
    values = [NAN, 0.0, float("nan"), -0.0, 1.0]
    assert agg.count_distinct.evaluate(values) == 3
    assert len(agg.collect_distinct.evaluate(values)) == 3
    assert agg.collect_distinct.evaluate([[1, 2], [1, 2], [2, 1]]) == [[1, 2], [2, 1]]


def test_nan_spreads_through_sums_and_moments() -> None:
    functions: list[AggregateFunction] = [agg.sum, agg.avg, agg.geometric_mean, agg.var_pop, agg.stddev]
    for function in functions:
        assert math.isnan(function.evaluate([1.0, NAN, 2.0])), function
    spread: AggregateFunction = agg.var_pop
    assert math.isnan(spread.evaluate([NAN]))
    assert math.isnan(spread.evaluate([math.inf]))


def test_ties_go_to_the_first_event() -> None:
    assert agg.arg_max.evaluate([(3, "ada"), (3, "bob"), (1, "cy")]) == "ada"
    assert agg.arg_min.evaluate([(3, "ada"), (1, "bob"), (1, "cy")]) == "bob"
    assert agg.arg_max.evaluate([(None, "ada"), (3, None)]) is None


def test_other_types_that_can_be_ordered() -> None:
    assert agg.min.evaluate(["b", "a"]) == "a"
    assert agg.max.evaluate([b"b", None, b"a"]) == b"b"
    assert agg.concat.evaluate([b"b", b"a"]) == b"ba"
    assert agg.range.evaluate([Decimal("1.5"), Decimal("0.25")]) == Decimal("1.25")


@pytest.mark.parametrize("function", BUILT_IN.values(), ids=lambda f: f.name)
def test_functions_are_values(function: AggregateFunction) -> None:
    restored = pickle.loads(pickle.dumps(function))
    assert restored == function
    assert hash(restored) == hash(function)
    assert repr(function) == f"<aggregate {function.name}>"
    assert getattr(agg, function.name) is function


def test_catalog_exports_every_aggregate() -> None:
    assert set(agg.__all__) == set(BUILT_IN) | {"define"}


@pytest.mark.parametrize("name", ["approx_distinct", "theta", "approx_quantile"])
def test_sketches_are_not_evaluated_here(name: str) -> None:
    with pytest.raises(AggregateError, match=f"`{name}` is computed by Spark's .* sketch and has no Python form"):
        BUILT_IN[name].evaluate([1, 2])


@pytest.mark.parametrize(("name", "instead"), [("median", "approx_quantile"), ("count_distinct", "approx_distinct")])
def test_holistic_functions_refuse_to_combine(name: str, instead: str) -> None:
    function = BUILT_IN[name]
    assert function.instead == instead
    for refused in (function.lift, function.combine, function.lower):
        with pytest.raises(AggregateError, match=f"`{name}` cannot be shared .* Use `{instead}`"):
            refused(1, 2)  # type: ignore[call-arg]
