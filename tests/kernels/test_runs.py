"""Runs of windows, stretches of panes and columns of even runs, each against a loop."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.incremental.columnar_catalog import columnar
from muntin.incremental.columnar_runs import reduce_even, reduce_runs, starts_of_runs
from muntin.kernels.arrow_rows import LEAVE
from muntin.kernels.runs import LONGEST, batches, in_lists, run_starts
from muntin.kernels.stretches import tumbling_starts
from muntin.kernels.table import pane_table
from muntin.window.spec import Window


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-20, 20)), unique=True, max_size=60), st.integers(1, 3))
def test_a_run_is_one_unit_and_one_slide_after_another(rows: list[tuple[int, int]], slide: int) -> None:
    units, starts = (np.array(column, np.int64) for column in zip(*sorted(rows), strict=True)) if rows else ([], [])
    units, starts = np.asarray(units, np.int64), np.asarray(starts, np.int64) * slide
    fresh = [
        at for at in range(len(rows)) if at == 0 or units[at] != units[at - 1] or starts[at] != starts[at - 1] + slide
    ]
    firsts = run_starts(units, starts, slide)
    assert firsts.tolist() == fresh
    (lists,) = in_lists([pa.array(starts)], firsts, len(starts))
    # What Spark makes of it: the first start, and a slide for each place.
    again = [int(starts[first]) + slide * at for first, run in zip(firsts, lists.to_pylist(), strict=True)
             for at in range(len(run))]  # fmt: skip
    assert again == starts.tolist() == lists.flatten().to_pylist()


def test_runs_and_batches_are_bounded() -> None:
    rows = 3 * LONGEST + 1
    firsts = run_starts(np.zeros(rows, np.int64), np.arange(rows), 1)
    assert firsts.tolist() == [0, LONGEST, 2 * LONGEST, 3 * LONGEST]
    assert [(part.start, part.stop) for part in batches(LEAVE + 1)] == [(0, LEAVE), (LEAVE, LEAVE + 1)]
    assert list(batches(0)) == []


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(-40, 60)), unique=True, max_size=120),
    st.integers(1, 9),
    st.integers(0, 8),
)
def test_windows_over_stretches_begin_where_panes_say(rows: list[tuple[int, int]], size: int, offset: int) -> None:
    rows.sort()
    keys, panes = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    table = pane_table(keys, panes, (np.ones(len(rows), np.int64),), columnar("count"))
    window = Window(size, size, offset % size)
    every = (panes - window.offset) // size
    starts = starts_of_runs(keys, every)
    found, at = tumbling_starts(table, window)
    assert at.tolist() == starts.tolist()
    assert found.tolist() == every[starts].tolist()


@pytest.mark.parametrize("name", ["min", "sum", "avg"])
@given(st.integers(0, 2**32), st.integers(1, 70), st.integers(1, 600), st.integers(0, 3))
def test_even_runs_come_to_what_runs_come_to(name: str, seed: int, length: int, runs: int, odd: int) -> None:
    draw = np.random.default_rng(seed)
    lengths = np.full(runs, length)
    lengths[draw.integers(0, runs, odd)] = draw.integers(1, 2 * length + 1, odd)
    operator = columnar(name, "int64")
    partial = operator.lift(draw.integers(-(2**40), 2**40, int(lengths.sum())))
    starts = np.cumsum(lengths) - lengths
    for found, wanted in zip(
        reduce_even(operator, partial, starts), reduce_runs(operator, partial, starts), strict=True
    ):
        assert found.dtype == wanted.dtype
        assert found.tolist() == wanted.tolist()
