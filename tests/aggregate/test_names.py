"""Aggregates found by name."""

from __future__ import annotations

import builtins
import re

import pytest

from muntin.aggregate import catalog as agg
from muntin.aggregate.names import ALIASES, BUILT_IN, find, resolve
from muntin.errors import AggregateError


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("min", "min"),
        ("MIN", "min"),
        (" Mean ", "avg"),
        ("ArithmeticMean", "avg"),
        ("stdev", "stddev"),
        ("stddev_samp", "stddev"),
        ("STDEVP", "stddev_pop"),
        ("stddev_pop", "stddev_pop"),
        ("var", "variance"),
        ("var_samp", "variance"),
        ("varp", "var_pop"),
        ("collect-list", "collect"),
        ("collect_set", "collect_distinct"),
        ("approx_count_distinct", "approx_distinct"),
        ("argmax", "arg_max"),
    ],
)
def test_names_and_aliases(text: str, name: str) -> None:
    assert resolve(text) is BUILT_IN[name]


def test_functions_and_applied_aggregates_resolve_to_the_function() -> None:
    mine = agg.define("mine", lift=abs, combine=builtins.max)
    assert resolve(agg.sum) is agg.sum
    assert resolve(agg.arg_max("len", "caller")) is agg.arg_max
    assert resolve(mine) is mine


def test_unknown_name_lists_the_known_and_the_nearest() -> None:
    with pytest.raises(AggregateError) as caught:
        resolve("averge")
    assert str(caught.value).startswith("unknown aggregate 'averge'. Did you mean `avg`? Known are all, any, ")
    for name in BUILT_IN:
        assert re.search(rf"\b{name}\b", str(caught.value)), name


def test_a_name_near_to_nothing_gets_no_guess() -> None:
    with pytest.raises(AggregateError, match=r"^unknown aggregate 'zzz'. Known are all"):
        resolve("zzz")


def test_pythons_own_function_is_a_likely_slip() -> None:
    with pytest.raises(AggregateError, match=r"got <built-in function min>. Write agg.min$"):
        resolve(builtins.min)  # type: ignore[arg-type]
    with pytest.raises(AggregateError, match=r"got 3. Write agg.min, agg.sum\('x'\) or 'avg'"):
        resolve(3)  # type: ignore[arg-type]


def test_aliases_lead_to_built_ins_and_hide_none() -> None:
    assert set(ALIASES.values()) <= set(BUILT_IN)
    for name, function in BUILT_IN.items():
        assert find(name) is function
    assert find("max_by") is None  # its columns stand the other way round


@pytest.mark.parametrize(
    ("name", "take"),
    [
        ("mean", "agg.avg"),
        ("average", "agg.avg"),
        ("std", "agg.stddev"),
        ("stdev", "agg.stddev"),
        ("collect_list", "agg.collect"),
        ("countDistinct", "agg.count_distinct"),
        ("medain", "agg.median"),
        ("max_by", "agg.arg_max, with the columns the other way round: max_by(x, y) is agg.arg_max('y', 'x')"),
        ("percentile", "agg.approx_quantile('x', q=0.9), or agg.median, which is exact"),
    ],
)
def test_a_name_that_the_catalogue_lacks_leads_to_the_one_it_has(name: str, take: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(agg, name)
    assert str(caught.value) == f"there is no agg.{name}: take {take}"
    assert not hasattr(agg, name)


def test_a_name_near_to_nothing_lists_the_catalogue() -> None:
    with pytest.raises(AttributeError, match=r"^there is no agg.zzz: known are all, any, .*, and agg.define makes one"):
        getattr(agg, "zzz")  # noqa: B009
    with pytest.raises(AttributeError, match=r"^module 'muntin.aggregate.catalog' has no attribute '__path__'"):
        getattr(agg, "__path__")  # noqa: B009
