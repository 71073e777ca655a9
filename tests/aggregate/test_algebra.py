"""Aggregates as values: application to columns, and claims that contradict one another."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import cast

import pytest

from muntin.aggregate import catalog as agg
from muntin.aggregate.algebra import Aggregate
from muntin.errors import AggregateError


def test_application() -> None:
    applied = agg.min("temp")
    assert applied == Aggregate(agg.min, ("temp",))
    assert hash(applied) == hash(agg.min("temp"))
    assert applied != agg.max("temp")
    assert str(agg.approx_quantile("ms", q=0.9)) == "approx_quantile(ms, q=0.9)"
    assert agg.sum("x", filter="x > 0").filter == "x > 0"


def test_a_star_counts_events_as_in_sql() -> None:
    assert agg.count("*") == agg.count()
    assert agg.count("*", filter="x > 0") == agg.count(filter="x > 0")
    assert agg.min("*").columns == ("*",)


def test_values_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        agg.min.name = "max"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: agg.min(), r"`min` takes 1 column, got 0: \(\)"),
        (lambda: agg.sum("a", "b"), r"`sum` takes 1 column, got 2: \('a', 'b'\)"),
        (lambda: agg.arg_max("len"), r"`arg_max` takes 2 columns, got 1: \('len',\)"),
        (lambda: agg.count("a", "b"), r"`count` takes 0 to 1 columns, got 2"),
        (
            lambda: agg.min(cast("str", 3)),
            r"`min` takes columns by name or as Spark expressions, got 3. Write for example min\('temp'\)",
        ),
        (lambda: agg.min(""), r"`min` takes columns by name or as Spark expressions, got ''"),
        (lambda: agg.min("x", q=1), r"`min` has no setting 'q': it takes none"),
        (lambda: agg.theta("x", q=1), r"`theta` has no setting 'q': it takes only lg_k"),
    ],
)
def test_wrong_application(call: object, text: str) -> None:
    assert callable(call)
    with pytest.raises(AggregateError, match=text):
        call()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"overlap_tolerant": True}, "`sum` claims overlap_tolerant=True and has an inverse"),
        ({"selects": True}, "`sum` claims selects=True and overlap_tolerant=False"),
        (
            {"overlap_tolerant": True, "associative": False},
            "`sum` claims overlap_tolerant=True without associative=True",
        ),
        (
            {"kind": "holistic"},
            "`sum` is holistic: it has no partial to combine. Declare it with associative=False",
        ),
    ],
)
def test_contradictory_claims(change: dict[str, object], text: str) -> None:
    with pytest.raises(AggregateError, match=text):
        replace(agg.sum, **change)  # type: ignore[arg-type]


def test_without_associativity_nothing_is_shared() -> None:
    loose = replace(agg.sum, associative=False)
    assert not loose.shareable
    assert loose.sharing == "none"


def test_settings_join_defaults_and_call() -> None:
    assert agg.approx_distinct("x").settings == {"lg_k": 12}
    assert agg.approx_distinct("x", lg_k=10).settings == {"lg_k": 10}
