"""Aggregates as text: the way they print, with filters and settings, and a caret where they cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from muntin import agg
from muntin.aggregate.names import BUILT_IN
from muntin.declare.sql.aggregate_text import parse_aggregate
from muntin.errors import SqlError

if TYPE_CHECKING:
    from muntin.aggregate.algebra import Aggregate


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("min(temp)", agg.min("temp")),
        ("  MIN ( temp ) ", agg.min("temp")),
        ("count()", agg.count()),
        ("count", agg.count()),
        ("count(*)", agg.count()),
        ("count(1)", agg.count()),
        ("count(temp)", agg.count("temp")),
        ("stddev_samp(x)", agg.stddev("x")),
        ("first(x)", agg.first("x")),
        ("any(ok)", agg.any("ok")),
        ("range(x)", agg.range("x")),
        ("arg_max(len, caller)", agg.arg_max("len", "caller")),
        ("sum(body.parts.size)", agg.sum("body.parts.size")),
        ("sum(`low temp`)", agg.sum("low temp")),
        ("sum(body.`low temp`)", agg.sum("body.`low temp`")),
        ("sum(date)", agg.sum("date")),
        ("approx_quantile(ms, q=0.99)", agg.approx_quantile("ms", q=0.99)),
        ("approx_quantile(ms, q=.5, k=400)", agg.approx_quantile("ms", q=0.5, k=400)),
        ("count(filter=temp > 30)", agg.count(filter="temp > 30")),
        ("count(filter='temp > 30')", agg.count(filter="temp > 30")),
        ("min(temp, filter=a > 0 and b in (1, 2))", agg.min("temp", filter="a > 0 AND b IN (1, 2)")),
        ("min(temp) FILTER (WHERE kind = 'a,b)')", agg.min("temp", filter="kind = 'a,b)'")),
        ("min(temp, filter=`a b` IS NOT NULL)", agg.min("temp", filter="NOT `a b` IS NULL")),
    ],
)
def test_what_is_written_is_what_is_meant(text: str, meant: Aggregate) -> None:
    assert parse_aggregate(text) == meant


@pytest.mark.parametrize("name", BUILT_IN)
def test_an_aggregate_that_prints_itself_is_read_back(name: str) -> None:
    function = BUILT_IN[name]
    columns = [f"column_{place}" for place in range(function.arity)]
    for meant in (function(*columns), function(*columns, filter="x > 1 AND y = 'z'", **dict(function.parameters))):
        assert parse_aggregate(repr(meant)) == meant


@pytest.mark.parametrize(
    ("text", "column", "width", "words"),
    [
        ("", 1, 1, "the aggregate is empty"),
        ("mim(temp)", 1, 3, "unknown aggregate 'mim'. Did you mean `min`?"),
        ("max_by(x, y)", 1, 6, "unknown aggregate 'max_by'"),
        ("(temp)", 1, 1, "expected the name of an aggregate"),
        ("'min'(temp)", 1, 5, "expected the name of an aggregate"),
        ("min temp", 5, 4, "expected '(' after 'min'"),
        ("min(temp", 4, 1, "never closed"),
        ("min(temp))", 10, 1, "closes nothing"),
        ("min(temp) + 1", 11, 3, "expected nothing more, or FILTER (WHERE condition)"),
        ("min(temp) FILTER (WHERE )", 19, 5, "the filter has no condition"),
        ("min(temp,)", 10, 1, "a column is missing before this"),
        ("min(,temp)", 5, 1, "a column is missing before this"),
        ("min(temp * 2)", 5, 8, "`min` reads columns by name, and this is an expression"),
        ("min('temp')", 5, 6, "`min` reads columns by name"),
        ("min(upper(temp))", 5, 11, "`min` reads columns by name"),
        ("count(DISTINCT x)", 7, 10, "write count_distinct(...)"),
        ("min()", 1, 5, "`min` takes 1 column, got 0"),
        ("min", 1, 3, "`min` takes 1 column, got 0"),
        ("min(a, b)", 1, 9, "`min` takes 1 column, got 2"),
        ("min(a, q=1)", 1, 11, "`min` has no setting 'q'"),
        ("approx_quantile(a, q=b)", 22, 1, "q must be a number or text in quotes"),
        ("approx_quantile(a, q=)", 21, 1, "q is given no value"),
        ("approx_quantile(a, q=1, q=2)", 25, 1, "q is given twice"),
        ("count(filter=x >)", 16, 1, "missing"),
        ("count(filter=x y)", 16, 1, "not expected here"),
        ("count(filter=max(x) > 1)", 14, 3, "an aggregate cannot stand in a filter"),
        ("count(filter=x in (select y from z))", 14, 22, "a query cannot stand in a filter"),
        ("count(filter=x > 1) FILTER (WHERE y)", 21, 6, "there are two filters"),
        ("count(); drop table x", 8, 1, "one aggregate at a time"),
        ("min(temp', x)", 9, 1, "never closed"),
        ("__import__('os').system('true')", 1, 10, "unknown aggregate '__import__'"),
    ],
)
def test_what_cannot_be_read_is_shown_with_a_caret(text: str, column: int, width: int, words: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse_aggregate(text)
    said, *place = str(caught.value).splitlines()
    assert words in said
    assert place == [f"  {text}", f"  {' ' * (column - 1)}{'^' * width}"]
    assert (caught.value.line, caught.value.column) == (1, column)


def test_a_filter_that_is_nested_without_end_is_refused() -> None:
    with pytest.raises(SqlError, match=r"nested too deeply|cannot be read"):
        parse_aggregate(f"count(filter={'(' * 20_000}x{')' * 20_000})")
