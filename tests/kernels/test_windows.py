"""All windows of the batch kernels against each window folded from scratch, in plain Python from the definition."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.errors import AggregateError
from muntin.incremental.columnar_catalog import columnar
from muntin.incremental.columnar_operator import Array, Column, ColumnarOperator, Vector
from muntin.kernels import grid, scan, strips
from muntin.kernels.table import pane_table
from muntin.kernels.windows import WindowRows, all_windows, window_batches
from muntin.testing.closeness import close
from muntin.window.spec import Window

if TYPE_CHECKING:
    from collections.abc import Callable

INT_MAX = 2**63 - 1
KINDS = [
    ("count", "int64"),
    ("sum", "int64"),
    ("sum", "float64"),
    ("min", "int64"),
    ("min", "float64"),
    ("max", "float64"),
    ("avg", "float64"),
    ("range", "float64"),
    ("stddev", "float64"),
    ("max_count", "float64"),
    ("any", "bool"),
    ("all", "bool"),
    ("arg_max", "float64", "int64"),
    ("arg_min", "int64", "int64"),
]
SPECIAL = [0.0, -0.0, 1.5, -2.0, 1e16, math.inf, -math.inf, math.nan]
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "float64": st.sampled_from(SPECIAL) | st.floats(-100, 100),
    "int64": st.integers(-4, 4) | st.integers(-(2**40), 2**40),
    "bool": st.booleans(),
}
BY_NUMPY: dict[str, Callable[[Array], Any]] = {
    "sum": np.sum,
    "min": np.min,
    "max": np.max,
    "stddev": lambda values: np.std(values, ddof=1),
}
Events = dict[tuple[int, int], Any]


def operator_of(kind: tuple[str, ...]) -> ColumnarOperator:
    return columnar(kind[0]) if kind[0] == "count" else columnar(*kind)


def lifted(operator: ColumnarOperator, kind: tuple[str, ...], values: list[Any]) -> Vector:
    columns = []
    for place, dtype in enumerate(kind[1:]):
        found = [value if len(kind) == 2 else value[place] for value in values]
        valid = np.array([value is not None for value in found], np.bool_)
        columns.append(Column(np.array([0 if value is None else value for value in found], dtype), valid))
    return operator.lift(*columns)


def columns_of(events: Events) -> tuple[Array, Array, list[Any]]:
    order = sorted(events)
    keys = np.array([key for key, _ in order], np.int64)
    panes = np.array([pane for _, pane in order], np.int64)
    return keys, panes, [events[row] for row in order]


def oracle(operator: ColumnarOperator, events: Events, window: Window) -> dict[tuple[int, int], Any]:
    """Fold each window's events by the scalar aggregate: the definition, event by event."""
    inside: dict[tuple[int, int], list[Any]] = {}
    for key, pane in sorted(events):
        for interval in window.containing(pane):
            inside.setdefault((key, interval.start), []).append(events[key, pane])
    return {place: operator.function.evaluate(values) for place, values in sorted(inside.items())}


def same(found: Any, expected: Any) -> bool:
    if isinstance(found, float) and isinstance(expected, float) and math.isfinite(expected):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-6)
    return close(found, expected)


def check_rows(operator: ColumnarOperator, rows: WindowRows, expected: dict[tuple[int, int], Any]) -> None:
    assert list(zip(rows.keys.tolist(), rows.starts.tolist(), strict=True)) == list(expected)
    for found, (place, wanted) in zip(operator.lower(rows.partial).to_list(), expected.items(), strict=True):
        assert same(found, wanted), (place, found, wanted)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    size = draw(st.integers(1, 24))
    slide = draw(st.sampled_from([1, size]) | st.integers(1, size))
    return Window(size, slide, offset=draw(st.integers(0, slide)))


@st.composite
def pane_indices(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Draw keys and panes: dense stretches, gaps between them, sparse ones."""
    rows: list[tuple[int, int]] = []
    for key in draw(st.lists(st.integers(0, 5), unique=True, max_size=4)):
        pane = draw(st.integers(-50, 50))
        for _ in range(draw(st.integers(1, 3))):
            step = draw(st.sampled_from([1, 1, 2, 7]))
            count = draw(st.integers(1, 14))
            rows += [(key, pane + place * step) for place in range(count)]
            pane += count * step + draw(st.sampled_from([0, 0, 1, 5, 40]))
    return rows


@pytest.fixture(params=["whole", "in parts"])
def batch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run once with sizes as they are, and once with strips and scans so small that every stretch is cut."""
    if request.param == "in parts":
        monkeypatch.setattr(strips, "BATCH", 4)
        monkeypatch.setattr(strips, "PARTS", 1)
        monkeypatch.setattr(grid, "NARROW", 1)
        monkeypatch.setattr(scan, "_SHORT", 2)
    return str(request.param)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_every_window_is_as_folded_from_its_events(kind: tuple[str, ...], batch: str) -> None:
    operator = operator_of(kind)
    values = [st.none() | VALUES[dtype] for dtype in kind[1:]]
    value = values[0] if len(values) == 1 else st.tuples(*values)

    @settings(max_examples=40, deadline=None)
    @given(st.data(), pane_indices(), st.lists(windows(), min_size=1, max_size=2))
    def check(data: st.DataObject, places: list[tuple[int, int]], asked: list[Window]) -> None:
        drawn = data.draw(st.lists(value, min_size=len(places), max_size=len(places)))
        events: Events = dict(zip(places, drawn, strict=True))
        keys, panes, ordered = columns_of(events)
        found = all_windows(keys, panes, lifted(operator, kind, ordered), asked, operator)
        for window, rows in zip(asked, found, strict=True):
            check_rows(operator, rows, oracle(operator, events, window))

    check()


@pytest.mark.parametrize("window", [Window(5, 5), Window(6, 2), Window(7, 3), Window(9, 1, offset=0)])
def test_no_rows_give_no_windows(window: Window) -> None:
    operator = columnar("sum", "float64")
    nothing = np.array([], np.int64)
    (rows,) = all_windows(nothing, nothing, operator.neutral(0), [window], operator)
    assert len(rows) == 0 and [len(part) for part in rows.partial] == [0, 0]


@pytest.mark.parametrize("window", [Window(5, 5, offset=2), Window(6, 2), Window(7, 3, offset=1), Window(1440, 1)])
@pytest.mark.parametrize("pane", [-3, 0, 2**40])
def test_one_row_is_in_every_window_around_it(window: Window, pane: int) -> None:
    operator = columnar("max", "int64")
    (rows,) = all_windows(np.array([4]), np.array([pane]), operator.lift(np.array([9])), [window], operator)
    assert rows.starts.tolist() == [interval.start for interval in window.containing(pane)]
    assert set(rows.keys.tolist()) == {4}
    assert set(operator.lower(rows.partial).to_list()) == {9}


@pytest.mark.parametrize("name", ["sum", "min", "max", "stddev"])
@pytest.mark.parametrize("density", [1.0, 0.6, 0.05])
def test_long_stretches_in_parts(name: str, density: float, monkeypatch: pytest.MonkeyPatch) -> None:
    # 1,440-fold overlap, cut into parts; the oracle reduces each window of a dense array with NumPy.
    monkeypatch.setattr(strips, "BATCH", 1000)
    monkeypatch.setattr(strips, "PARTS", 1)
    rng = np.random.default_rng(3)
    length, span = 1440, 9000
    there = rng.random((2, span)) < density
    there[:, [0, -1]] = True  # so that the windows of both keys are known beforehand
    values = rng.normal(1e3, 10.0, (2, span))
    keys, panes = np.nonzero(there)
    operator = columnar(name, "float64")
    (rows,) = all_windows(keys, panes - 500, operator.lift(values[there]), [Window(length, 1)], operator)
    assert rows.starts.tolist() == 2 * list(range(1 - length - 500, span - 500))
    padded = np.pad(np.where(there, values, np.nan), ((0, 0), (length - 1, length - 1)), constant_values=np.nan)
    views = np.lib.stride_tricks.sliding_window_view(padded, length, axis=1)[:, ::97]
    found = operator.lower(rows.partial).values.reshape(2, -1)[:, ::97].ravel()
    for value, view in zip(found.tolist(), views.reshape(-1, length), strict=True):
        inside = view[~np.isnan(view)]
        if len(inside) > 1:
            assert math.isclose(value, BY_NUMPY[name](inside), rel_tol=1e-9), (value, inside)


def test_keys_of_unequal_length_share_a_grid() -> None:
    rng = np.random.default_rng(4)
    lengths = rng.integers(20, 40, 50)
    keys = np.repeat(np.arange(50, dtype=np.int32), lengths)
    panes = np.concatenate([np.arange(start, start + size) for start, size in enumerate(lengths.tolist())])
    values = rng.integers(-9, 9, len(keys))
    operator, window = columnar("sum", "int64"), Window(30, 1)
    (rows,) = all_windows(keys, panes, operator.lift(values), [window], operator)
    assert rows.keys.dtype == np.int32
    events = dict(zip(zip(keys.tolist(), panes.tolist(), strict=True), values.tolist(), strict=True))
    check_rows(operator, rows, oracle(operator, events, window))


def test_integer_sums_overflow_only_where_the_window_does() -> None:
    operator, keys, panes = columnar("sum", "int64"), np.zeros(4, np.int64), np.arange(4)
    values = np.array([INT_MAX, -INT_MAX - 1, INT_MAX, -5])
    (pairs,) = all_windows(keys, panes, operator.lift(values), [Window(2, 1)], operator)
    assert operator.lower(pairs.partial).to_list() == [INT_MAX, -1, -1, INT_MAX - 5, -5]
    (triples,) = all_windows(keys, panes, operator.lift(np.full(4, INT_MAX)), [Window(3, 1)], operator)
    with pytest.raises(AggregateError, match=r"sum\(int64\) overflows 64-bit integers at place 1"):
        operator.lower(triples.partial)


def test_the_largest_floats_leave_no_trace_behind_them() -> None:
    # Differences of prefixes would give 0 for the small values after the large, and NaN for all after an infinity.
    operator = columnar("sum", "float64")
    values = np.array([1e300, 1.0, 2.0, math.inf, 4.0, 5.0, math.nan, 7.0, 8.0])
    (rows,) = all_windows(np.zeros(9, np.int64), np.arange(9), operator.lift(values), [Window(2, 1)], operator)
    found = operator.lower(rows.partial).to_list()
    assert found[2:4] == [3.0, math.inf] and found[5] == 9.0 and found[8:] == [15.0, 8.0]


@pytest.mark.parametrize("window", [Window(4, 4), Window(50, 1), Window(12, 5)])
def test_batches_are_the_whole_in_pieces(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strips, "BATCH", 40)
    rng = np.random.default_rng(5)
    keys = np.sort(rng.integers(0, 5, 400))
    panes = np.concatenate([np.sort(rng.choice(300, n, replace=False)) for n in np.bincount(keys).tolist()])
    operator = columnar("avg", "float64")
    partial = operator.lift(rng.random(400))
    (whole,) = all_windows(keys, panes, partial, [window], operator)
    batches = list(window_batches(pane_table(keys, panes, partial, operator), window, operator))
    assert window.tumbling or len(batches) > 5
    np.testing.assert_array_equal(np.concatenate([batch.keys for batch in batches]), whole.keys)
    np.testing.assert_array_equal(np.concatenate([batch.starts for batch in batches]), whole.starts)
    for place, part in enumerate(whole.partial):
        np.testing.assert_array_equal(np.concatenate([batch.partial[place] for batch in batches]), part)


def test_a_range_that_cannot_be_counted_is_refused() -> None:
    operator = columnar("count")
    with pytest.raises(AggregateError, match=r"at most 2\*\*61 can be counted. Use wider panes"):
        all_windows(np.array([0]), np.array([0]), (np.array([1]),), [Window(2**62, 1)], operator)


def test_more_windows_than_any_memory_holds_are_refused() -> None:
    # Their number, as a 64-bit integer, would wrap around to nothing.
    operator, keys = columnar("count"), np.arange(8)
    with pytest.raises(AggregateError, match=r"1.84e\+19 windows of 2305843009213693952 panes hold an event: too many"):
        all_windows(keys, 0 * keys, (keys,), [Window(2**61, 1)], operator)


def test_starts_of_long_slides() -> None:
    # Panes of a nanosecond and slides of days: the windows of a strip, laid end to end, reach beyond 2**63.
    operator, slide = columnar("count"), 1 << 57
    keys = np.arange(1000)
    panes = np.where(keys % 2, 3 * slide // 4, 0)
    (rows,) = all_windows(keys, panes, (np.ones(1000, np.int64),), [Window(3 * slide // 2, slide)], operator)
    assert rows.keys.tolist() == [key for key in range(1000) for _ in range(1 if key % 2 else 2)]
    assert rows.starts.tolist() == 500 * [-slide, 0, 0]
