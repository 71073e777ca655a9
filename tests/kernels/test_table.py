"""What a table of panes takes, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from muntin.errors import AggregateError
from muntin.incremental.columnar_catalog import columnar
from muntin.kernels import table
from muntin.kernels.table import OTHER, pane_table

COUNT = columnar("count")


def test_rows_of_one_key_and_pane_are_combined_in_order() -> None:
    best = columnar("arg_max", "int64", "int64")
    partial = best.lift(np.array([5, 5, 7, 1]), np.array([10, 11, 12, 13]))
    found = pane_table(np.array([0, 0, 0, 1]), np.array([3, 3, 4, 4]), partial, best)
    assert (found.keys.tolist(), found.panes.tolist()) == ([0, 0, 1], [3, 4, 4])
    assert best.lower(found.partial).to_list() == [10, 12, 13]


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
def test_breaks_are_where_no_pane_follows_on(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CHUNK", chunk)
    keys, panes = np.array([0, 0, 0, 0, 2, 2, 5]), np.array([-3, -2, 0, 1, 2, 9, 10])
    found = pane_table(keys, panes, (np.ones(7, np.int64),), COUNT)
    assert found.breaks.tolist() == [2, 4, 5, 6]
    assert found.jumps.tolist() == [2, OTHER, 7, OTHER]


@pytest.mark.parametrize(
    ("keys", "panes", "n", "message"),
    [
        ([0, 0], [1, 0], [1, 1], r"row 1 \(key 0, pane 0\) comes after \(key 0, pane 1\)"),
        ([0, 1, 0], [1, 1, 2], [1, 1, 1], r"row 2 \(key 0, pane 2\) comes after \(key 1, pane 1\)"),
        ([0, 0], [1], [1, 1], r"2 key codes, 1 panes and 2 partials: each row needs all three"),
        ([0.0], [1], [1], r"key codes are a 1-d array of signed integers, got 1-d float64"),
        ([0], [[1]], [1], r"panes are a 1-d array of signed integers, got 2-d int64"),
        ([0], [1], [1.0], r"component `n` of count\(\) is a 1-d array of int64, got 1-d float64"),
        ([0], [2**61 + 1], [1], r"within ±2\*\*61, got 2305843009213693953 to"),
        ([0], [-(2**63)], [1], r"within ±2\*\*61, got -9223372036854775808 to"),
    ],
)
def test_bad_columns_are_refused(keys: Any, panes: Any, n: Any, message: str) -> None:
    with pytest.raises(AggregateError, match=message):
        pane_table(np.array(keys), np.array(panes), (np.array(n),), COUNT)
