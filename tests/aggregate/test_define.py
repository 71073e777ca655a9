"""Aggregates that users write."""

from __future__ import annotations

import builtins
import operator
import pickle
from typing import Any

import pytest

from muntin.aggregate import catalog as agg
from muntin.errors import AggregateError
from muntin.testing import check_aggregate


def test_an_identity_is_added_where_none_is_given() -> None:
    product = agg.define("product", lift=float, combine=operator.mul, commutative=True)
    assert product.identity is None
    assert product.evaluate([2, None, 3]) == 6.0
    assert product.evaluate([None]) is None
    assert product.sharing == "partitioned"
    assert product.kind == "distributive"
    check_aggregate(product)


def test_a_given_identity_is_lowered_for_nulls_only() -> None:
    length = agg.define(
        "total_length",
        lift=len,
        combine=operator.add,
        lower=str,
        identity=0,
        inverse=operator.sub,
        commutative=True,
    )
    assert length.evaluate([None]) == "0"
    assert length.evaluate(["ab", "c"]) == "3"
    assert length.kind == "algebraic"
    assert length.evictable
    check_aggregate(length)


def test_selecting_implies_tolerating_overlap() -> None:
    longest = agg.define("longest", lift=len, combine=builtins.max, commutative=True, selects=True)
    assert longest.overlap_tolerant
    check_aggregate(longest)


def test_several_columns() -> None:
    weighted = agg.define(
        "weighted",
        lift=lambda pair: (pair[0] * pair[1], pair[1]),
        combine=lambda x, y: (x[0] + y[0], x[1] + y[1]),
        lower=lambda total: total[0] / total[1] if total[1] else None,
        commutative=True,
        arity=2,
    )
    assert weighted.evaluate([(1, 1), (None, None), (4, 2)]) == 3.0
    assert weighted("price", "volume").columns == ("price", "volume")
    check_aggregate(weighted)


def test_nulls_reach_lift_on_request() -> None:
    nulls = agg.define("nulls", lift=lambda v: int(v is None), combine=operator.add, identity=0, ignores_nulls=False)
    assert nulls.evaluate([1, None, None]) == 2
    assert not nulls.ignores_nulls


def test_definitions_of_named_functions_are_values() -> None:
    first = agg.define("product", lift=abs, combine=operator.mul)
    again = agg.define("product", lift=abs, combine=operator.mul)
    assert first == again == pickle.loads(pickle.dumps(first))
    assert hash(first) == hash(again)
    listed = agg.define("bag", lift=list, combine=operator.add, identity=[])
    assert hash(listed) == hash(agg.define("bag", lift=list, combine=operator.add, identity=[]))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"name": ""}, "an aggregate needs a name, got ''"),
        ({"name": 3}, "an aggregate needs a name, got 3"),
        ({"name": "Mean"}, "`Mean` is taken by the built-in agg.avg. Choose another, such as 'my_Mean'"),
        ({"lift": 3}, "`mine`: lift must be a function, got 3"),
        ({"combine": None}, "`mine`: combine must be a function, got None"),
        ({"lower": "x"}, "`mine`: lower must be a function, got 'x'"),
        ({"inverse": 1}, "`mine`: inverse must be a function of two partials or None, got 1"),
        ({"inverse": operator.sub}, "`mine` has an inverse, so it needs an identity"),
        ({"arity": -1}, "`mine`: arity is the number of columns, 0 or more, got -1"),
        ({"arity": True}, "`mine`: arity is the number of columns, 0 or more, got True"),
        (
            {"inverse": operator.sub, "identity": 0, "overlap_tolerant": True},
            "`mine` claims overlap_tolerant=True and has an inverse",
        ),
    ],
)
def test_bad_definitions(change: dict[str, Any], text: str) -> None:
    arguments: dict[str, Any] = {"name": "mine", "lift": abs, "combine": operator.add}
    with pytest.raises(AggregateError, match=text):
        agg.define(**arguments | change)
