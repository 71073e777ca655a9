"""All windows of the batch kernels against each window folded from scratch, in plain Python from the definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.incremental.columnar_catalog import columnar
from muntin.incremental.columnar_operator import Array, Column, ColumnarOperator, Vector
from muntin.kernels import grid, strips
from muntin.kernels.windows import WindowRows, all_windows
from muntin.testing.closeness import close
from muntin.window.spec import Window

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
    """Run once with strips of their usual size, and once with strips so small that every stretch is cut."""
    if request.param == "in parts":
        monkeypatch.setattr(strips, "BATCH", 4)
        monkeypatch.setattr(strips, "PARTS", 1)
        monkeypatch.setattr(grid, "NARROW", 1)
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
