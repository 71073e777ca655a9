"""The benchmark of the manager: queries change at random, the program is killed, and no row is lost or doubled."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest

from bench import manager
from bench.manager import Scale
from bench.registry import BENCHMARKS, benchmark
from bench.report import as_text

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


def track(jobs: Sequence[T], _: str, /) -> Sequence[T]:
    return jobs


@pytest.mark.slow
def test_changes_and_kills_lose_no_row_and_double_none() -> None:
    # It compares every row itself, and raises where one differs.
    report = manager.measure(Scale(changes=6, kills=2, files=30, events=40), track)
    said = as_text(report)
    assert "6 changes of the queries on a running stream, 2 kills" in said
    compared = report.settings["rows compared"]
    assert isinstance(compared, int)
    assert compared > 100
    assert [row[0] for row in report.tables[0].rows][-1] == "all"


def test_it_is_in_the_registry() -> None:
    assert "manager" in BENCHMARKS
    assert benchmark("manager") is manager.run
