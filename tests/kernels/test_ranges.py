"""Windows as ranges of slices: any ranges, slices of unequal length, and what they cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.errors import AggregateError
from muntin.incremental.columnar_catalog import columnar
from muntin.kernels.ranges import aggregate_ranges
from muntin.kernels.windows import all_windows
from muntin.testing.closeness import close
from muntin.window.slices import pairs
from muntin.window.spec import Window

if TYPE_CHECKING:
    from muntin.incremental.columnar_operator import ColumnarOperator, Vector


@pytest.mark.parametrize(
    "kind", [("sum", "int64"), ("sum", "float64"), ("min", "float64"), ("arg_min", "int64", "int64")]
)
def test_any_ranges_are_as_folded(kind: tuple[str, ...]) -> None:
    operator = columnar(*kind)

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.integers(-9, 9), min_size=1, max_size=70), st.data())
    def check(values: list[int], data: st.DataObject) -> None:
        bounds = st.lists(st.integers(0, len(values)), min_size=2, max_size=2, unique=True).map(sorted)
        ranges = data.draw(st.lists(bounds, max_size=20))
        first, stop = (np.array([pair[end] for pair in ranges], np.int64) for end in (0, 1))
        columns = [np.array(values, kind[1]), np.arange(len(values))][: len(kind) - 1]
        found = operator.lower(aggregate_ranges(operator, operator.lift(*columns), first, stop)).to_list()
        events: list[Any] = values if len(kind) == 2 else list(zip(values, range(len(values)), strict=True))
        assert close(found, [operator.function.evaluate(events[start:end]) for start, end in ranges])

    check()


def test_windows_over_pairs_of_unequal_length() -> None:
    # W(14, 8) over time units 0 to 99: its slices are 6 and 2 long, and each window is made of three.
    window, rng = Window(14, 8), np.random.default_rng(6)
    times, values = np.arange(100), rng.integers(-99, 99, 100)
    edges = np.array(list(pairs(window).edges_between(0, 101)))
    operator = columnar("max", "int64")
    partial = operator.lift(values)
    slices = tuple(part[: len(edges) - 1] for part in operator.neutral(len(edges)))
    for at, (start, end) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        folded = partial[0][start:end].max()
        slices[0][at], slices[1][at] = folded, True
    intervals = list(window.intervals(0, int(edges[-1])))
    first = np.searchsorted(edges, [interval.start for interval in intervals])
    stop = np.searchsorted(edges, [interval.end for interval in intervals])
    assert set((stop - first).tolist()) == {3}
    found = operator.lower(aggregate_ranges(operator, slices, first, stop)).to_list()
    assert found == [int(values[(times >= i.start) & (times < i.end)].max()) for i in intervals]


@pytest.mark.parametrize("length", [12, 150, 2000])
@pytest.mark.parametrize("density", [1.0, 0.1])
def test_the_combines_per_window_do_not_grow_with_the_overlap(length: int, density: float) -> None:
    places = 0

    def counting(x: Vector, y: Vector) -> Vector:
        nonlocal places
        places += x[0].size
        return plain.merge(x, y)

    plain: ColumnarOperator = columnar("stddev", "float64")
    operator = replace(plain, merge=counting)
    panes = np.flatnonzero(np.random.default_rng(7).random(40_000) < density)
    partial = operator.lift(np.ones(len(panes)))
    (rows,) = all_windows(np.zeros(len(panes), np.int64), panes, partial, [Window(length, 1)], operator)
    # A scan in two levels takes two combines for each place and the second level's own; a window is of two halves,
    # and their join is one more.
    assert places <= 6 * len(rows)


@pytest.mark.parametrize(
    ("first", "stop", "message"),
    [
        ([0], [4], r"range 0 is \[0, 4\): each must hold a slice, and there are 3"),
        ([0, 2], [1, 2], r"range 1 is \[2, 2\)"),
        ([-1], [2], r"range 0 is \[-1, 2\)"),
        ([0.0], [1.0], r"two equal arrays of integers, got \(1,\) float64 and"),
        ([0], [1, 2], r"two equal arrays of integers, got \(1,\) int64 and \(2,\) int64"),
    ],
)
def test_bad_ranges_are_refused(first: Any, stop: Any, message: str) -> None:
    operator = columnar("count")
    with pytest.raises(AggregateError, match=message):
        aggregate_ranges(operator, operator.neutral(3), np.array(first), np.array(stop))
