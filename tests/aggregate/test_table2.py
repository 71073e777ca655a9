"""The algebraic properties of Table 2 (Tangwongsan et al.), literally, and those that the optimizer reads."""

from __future__ import annotations

import pytest

from muntin.aggregate import catalog as agg
from muntin.aggregate.names import BUILT_IN, resolve

TABLE_2 = """
Count            | x | x | x
Sum              | x | x | x
Max              | x |   | x
Min              | x |   | x
ArithmeticMean   | x | x | x
GeometricMean    | x | x | x
MaxCount         | x |   | x
MinCount         | x |   | x
SampleStdDev     | x | x | x
PopulationStdDev | x | x | x
ArgMax           | x |   |
ArgMin           | x |   |
Collect          | x | x |
"""

ROWS = [[cell.strip() for cell in line.split("|")] for line in TABLE_2.strip().splitlines()]


@pytest.mark.parametrize(("operation", "associative", "invertible", "commutative"), ROWS)
def test_flags_are_those_of_the_paper(operation: str, associative: str, invertible: str, commutative: str) -> None:
    function = resolve(operation)
    assert function.associative == bool(associative)
    assert function.invertible == bool(invertible)
    assert function.commutative == bool(commutative)


def test_table_has_thirteen_operations() -> None:
    assert len({resolve(row[0]).name for row in ROWS}) == 13


def named(**flags: object) -> set[str]:
    return {f.name for f in BUILT_IN.values() if all(getattr(f, key) == value for key, value in flags.items())}


def test_overlapping_covers_serve_exactly_these() -> None:
    assert named(sharing="covered") == {
        *("min", "max", "range", "any", "all", "arg_min", "arg_max", "first", "last"),
        *("collect_distinct", "approx_distinct", "theta"),
    }


def test_holistic_functions_share_nothing() -> None:
    assert named(sharing="none") == named(kind="holistic") == {"median", "count_distinct"}


def test_unbounded_partials() -> None:
    assert named(bounded=False) == {"collect", "collect_distinct", "concat", "median", "count_distinct"}


def test_selecting_functions() -> None:
    assert named(selects=True) == {"min", "max", "any", "all", "arg_min", "arg_max", "first", "last"}


def test_taxonomy() -> None:
    """Gray's classes as section III-A of the factor windows paper places them."""
    assert {agg.min.kind, agg.max.kind, agg.count.kind, agg.sum.kind} == {"distributive"}
    assert {agg.avg.kind, agg.stddev.kind} == {"algebraic"}
    assert agg.median.kind == "holistic"


def test_order_bars_subtract_on_evict() -> None:
    assert agg.collect.invertible
    assert not agg.collect.evictable
    assert agg.sum.evictable
    assert not agg.max.evictable


def test_sketches_are_declared_shareable() -> None:
    assert named(sketch=True) == {"approx_distinct", "theta", "approx_quantile"}
    assert agg.approx_quantile.sharing == "partitioned"
