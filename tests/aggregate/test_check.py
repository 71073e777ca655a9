"""The search for counter-examples: it finds every wrong claim, and none in the catalogue."""

from __future__ import annotations

import builtins
import math
import operator
import re
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from muntin.aggregate import catalog as agg
from muntin.aggregate.names import BUILT_IN
from muntin.errors import AggregateError
from muntin.testing import check_aggregate

if TYPE_CHECKING:
    from muntin.aggregate.algebra import AggregateFunction

FLOATS = st.floats(-1e6, 1e6, allow_subnormal=False) | st.none()


def refuted(function: AggregateFunction, values: Any = None, **options: Any) -> str:
    with pytest.raises(AggregateError) as caught:
        check_aggregate(function, values, **options)
    return str(caught.value)


@pytest.mark.parametrize("name", BUILT_IN)
def test_catalogue_keeps_its_word(name: str) -> None:
    report = check_aggregate(name, examples=60 if BUILT_IN[name].arity == 1 else 200)
    assert report.function == name
    assert not report.hints, str(report)  # every flag that holds is claimed


@pytest.mark.parametrize("name", ["sum", "avg", "min", "max", "range", "stddev", "var_pop", "geometric_mean"])
def test_catalogue_keeps_its_word_on_floats(name: str) -> None:
    check_aggregate(name, FLOATS, examples=60)


@pytest.mark.parametrize("name", ["min", "max", "range", "max_count", "arg_min", "collect_distinct", "median"])
def test_catalogue_keeps_its_word_on_nan(name: str) -> None:
    values = st.sampled_from([math.nan, 1.0, -math.inf, -0.0, 0.0])
    check_aggregate(name, st.tuples(values, values) if name == "arg_min" else values, examples=60)


def test_report_reads_well() -> None:
    assert str(check_aggregate(agg.first, examples=20)) == (
        "first: purity, identity, associative, overlap_tolerant, selects, lower hold in 20 examples"
    )
    assert str(check_aggregate(agg.median, examples=20)) == "median: nulls, commutative hold in 20 examples"
    assert str(check_aggregate(agg.theta)) == "theta: computed by Spark's sketch, nothing to check in Python"


def test_mean_of_means_is_not_associative() -> None:
    mean = agg.define("my_mean", lift=float, combine=lambda x, y: (x + y) / 2, commutative=True)
    assert refuted(mean) == (
        "`my_mean` claims associative=True, but combine(combine(a, b), c) = 0.5 and "
        "combine(a, combine(b, c)) = 0.25 for a = lift(0), b = lift(0), c = lift(1). "
        "Make combine associative: all sharing rests on it"
    )


def test_first_is_not_commutative() -> None:
    assert refuted(replace(agg.first, commutative=True)) == (
        "`first` claims commutative=True, but combine(a, b) = (0,) and combine(b, a) = (1,) "
        "for a = lift(0), b = lift(1). Correct combine, or declare commutative=False"
    )


def test_arg_max_is_not_commutative_because_of_ties() -> None:
    text = refuted(replace(agg.arg_max, commutative=True))
    assert re.search(r"for a = lift\(\((\d), 0\)\), b = lift\(\(\1, 1\)\)\.", text), text


def test_sum_is_not_idempotent() -> None:
    total = agg.define("total_of", lift=int, combine=operator.add, commutative=True, overlap_tolerant=True)
    assert refuted(total) == (
        "`total_of` claims overlap_tolerant=True, but combine(a, a) = 2 and a = 1 for a = lift(1). "
        "Correct combine, or declare overlap_tolerant=False"
    )


def test_range_does_not_select() -> None:
    text = refuted(replace(agg.range, selects=True))
    assert text.startswith(
        "`range` claims selects=True, but combine(a, b) = Extent(low=0, high=1) and "
        "a = Extent(low=0, high=0) and b = Extent(low=1, high=1) for a = lift(0), b = lift(1)"
    )


def test_wrong_inverse() -> None:
    text = refuted(replace(agg.count, inverse=operator.add))
    assert text == (
        "`count` claims an inverse, but inverse(combine(a, b), b) = 2 and a = 0 "
        "for a = identity, b = lift(0). Correct inverse, or leave it out"
    )


def test_inverse_that_fails_for_partials_of_several_events() -> None:
    def drop_last(x: tuple[Any, ...], y: tuple[Any, ...]) -> tuple[Any, ...]:
        return x[:-1] if y else x

    text = refuted(replace(agg.collect, inverse=drop_last))
    assert "for a = identity, b = combine(lift(0), lift(0))" in text


def test_wrong_identity() -> None:
    most = agg.define("most", lift=abs, combine=builtins.max, identity=5, commutative=True)
    assert refuted(most) == (
        "`most` claims a neutral identity, but combine(identity, a) = 5 and a = 0 for a = lift(0). "
        "Give an identity that changes nothing, or none at all to have one added"
    )


def test_identity_that_is_wrong_on_the_right_only() -> None:
    power = agg.define("minus", lift=int, combine=lambda x, y: x if y == 1 else y, identity=1)
    assert "combine(a, identity)" in refuted(replace(power, identity=0))


def test_null_that_is_counted() -> None:
    rows = replace(agg.count, lift=lambda _: 1)
    assert refuted(rows).startswith("`count` claims ignores_nulls=True, but combine(lift(None), a) = 1 and a = 0")


def test_lower_that_fails_on_nulls_only() -> None:
    mean = agg.define(
        "my_mean",
        lift=lambda v: (1, v),
        combine=lambda x, y: (x[0] + y[0], x[1] + y[1]),
        lower=lambda total: total[1] / total[0],
        identity=(0, 0),
        commutative=True,
    )
    assert refuted(mean) == (
        "`my_mean`: lower(a) raises ZeroDivisionError: division by zero for a = identity. "
        "Let lower take every partial; a window of nulls only has the identity"
    )


def test_combine_that_changes_its_operands() -> None:
    def extend(x: list[int], y: list[int]) -> list[int]:
        x.extend(y)
        return x

    bag = agg.define("bag", lift=lambda v: [v], combine=extend)
    text = refuted(bag)
    assert text.startswith(
        "`bag` claims partials that never change, but a after combine(a, b) and combine(b, a) = [0, 0] "
        "and a before = [0] for a = lift(0), b = lift(0)"
    )
    # The same where lift hands out the event itself.
    lists = agg.define("lists", lift=lambda v: v, combine=extend)
    assert "and a before = [] for a = lift([]), b = lift([0])." in refuted(lists, st.lists(st.integers()))


def test_flags_that_hold_and_are_not_claimed_are_hinted_at() -> None:
    report = check_aggregate(agg.define("most", lift=abs, combine=builtins.max))
    assert report.hints == ("commutative", "overlap_tolerant", "selects")
    assert "not claimed, yet never contradicted: commutative, overlap_tolerant, selects" in str(report)


def test_holistic_functions_are_checked_on_all_values() -> None:
    careless = replace(agg.median, whole=len)
    assert refuted(careless) == (
        "`median` claims ignores_nulls=True, but whole([*a, None]) = 1 and whole(a) = 0 for a = []. "
        "Leave nulls out of the values, or declare ignores_nulls=False"
    )


def test_samples_serve_as_values() -> None:
    total = agg.define("total_of", lift=int, combine=operator.add, overlap_tolerant=True)
    assert "for a = lift(7)" in refuted(total, [7, 8])
    check_aggregate(total, [0])  # blind samples see nothing


@dataclass(frozen=True)
class Weight:
    total: float


def test_floats_inside_dataclasses_and_mappings_may_round() -> None:
    def add(x: dict[str, Weight], y: dict[str, Weight]) -> dict[str, Weight]:
        return {"w": Weight(x["w"].total + y["w"].total)}

    boxed = agg.define("boxed", lift=lambda v: {"w": Weight(v)}, combine=add, commutative=True)
    check_aggregate(boxed, [0.1, 0.2, 0.3])
    exact = refuted(boxed, [0.1, 0.2, 0.3], equal=operator.eq)
    assert "claims associative=True" in exact


def test_the_same_seed_finds_the_same_example() -> None:
    mean = agg.define("my_mean", lift=float, combine=lambda x, y: (x + y) / 2)
    assert refuted(mean, st.integers(), seed=4) == refuted(mean, st.integers(), seed=4)


def test_values_that_no_default_fits() -> None:
    spans = agg.define("spans", lift=lambda v: v.days, combine=operator.add)
    assert refuted(spans).startswith("`spans` takes neither integers nor strings: 1 raises AttributeError")
    unfit: list[Any] = [[], "ab", 3]
    for values in unfit:
        assert refuted(agg.sum, values).startswith("values must be a Hypothesis strategy or a list of sample")
    assert refuted(agg.sum, examples=0) == "examples must be at least 1, got 0"


def test_arrays_need_an_equal_of_their_own() -> None:
    import numpy as np

    vectors = agg.define("vectors", lift=lambda v: np.array([v, v]), combine=operator.add, commutative=True)
    assert "cannot compare partials of type ndarray" in refuted(vectors)
    check_aggregate(vectors, equal=lambda x, y: (x is None and y is None) or np.array_equal(x, y))


def test_missing_hypothesis_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    assert refuted(agg.sum) == (
        "check_aggregate searches with Hypothesis, which is not installed: pip install hypothesis"
    )
