from __future__ import annotations

import csv
import doctest
import json
import xml.etree.ElementTree as ET
from itertools import pairwise, product
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import subsume, subsume_groups, subsume_memory, subsume_sum
from bench.registry import BENCHMARKS, benchmark
from bench.report import Report, as_text, write
from bench.subsume_groups import CLASSES, drawn, fewest_groups
from muntin.share.subsume import ending_at_slides, slides_with, subsumable, subsume_windows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from muntin import Window

T = TypeVar("T")
TINY = subsume.Scale(
    subsume_groups.Scale(windows=(30, 60), draws=2, embedded=1),
    subsume_memory.Scale(windows=(30, 60), classes=("medium",), rate=2, units=3),
    subsume_sum.Scale(windows=50, rates=(2, 5), units=3, separate_units=2),
)
scopes = st.lists(
    st.builds(lambda slide, times: (slide * times, slide), st.sampled_from([1, 2, 3, 4, 6]), st.integers(1, 4)),
    min_size=1,
    max_size=4,
)


def track(jobs: Sequence[T], _: str, /) -> Sequence[T]:
    return jobs


@pytest.fixture(scope="module")
def found() -> Report:
    return subsume.measure(TINY, track)


def test_doctests() -> None:
    outcome = doctest.testmod(subsume_groups, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_it_is_in_the_registry() -> None:
    assert "subsume" in BENCHMARKS
    assert benchmark("subsume") is subsume.run


def test_the_report_is_written_in_all_forms(found: Report, tmp_path: Path) -> None:
    paths = write(found, tmp_path)
    assert {path.suffix for path in paths} == {".md", ".csv", ".json", ".svg"}
    ET.parse(tmp_path / "subsume.svg")
    assert json.loads((tmp_path / "subsume.json").read_text())["benchmark"] == "subsume"
    lines = [line for line in (tmp_path / "subsume.csv").read_text().splitlines() if not line.startswith("#")]
    assert {row["part"] for row in csv.DictReader(lines)} == {"groups", "memory", "sum"}


def test_text_names_the_paper_as_the_source_of_its_words(found: Report) -> None:
    text = as_text(found)
    assert "paper (C++, Xeon 2.13 GHz)" in text
    assert "orders of magnitude" in text


def test_all_windows_are_grouped_and_separate_ones_hold_more(found: Report) -> None:
    tables = {table.title: table for table in found.tables}
    for row in tables["All windows at once (Figure 10)"].rows:
        assert row[4] <= row[2] <= row[1]  # type: ignore[operator]
    for title, table in tables.items():
        if title.startswith("Held for all windows"):
            assert all(row[4] > 1 for row in table.rows)  # type: ignore[operator]


@pytest.mark.parametrize("kind", CLASSES)
def test_draws_keep_to_their_class_and_to_their_seed(kind: str) -> None:
    windows = drawn(kind, 2000, 7)
    assert windows == drawn(kind, 2000, 7) != drawn(kind, 2000, 8)
    assert {window.slide for window in windows} == set(range(1, CLASSES[kind] + 1))
    assert all(window.slide < window.range <= 60 for window in windows)
    assert all((window.offset + window.range) % window.slide == 0 for window in windows)


@settings(deadline=None, max_examples=60)
@given(scopes)
def test_fewest_groups_is_the_least_of_all_partitions(pool: list[tuple[int, int]]) -> None:
    windows = [ending_at_slides(*scope, f"w{i}") for i, scope in enumerate(pool)]
    least = min(
        len(set(places))
        for places in product(range(len(windows)), repeat=len(windows))
        if all(is_group([w for w, p in zip(windows, places, strict=True) if p == place]) for place in set(places))
    )
    assert fewest_groups(windows) == least <= len(subsume_windows(windows))


def is_group(windows: list[Window]) -> bool:
    """Tell whether windows can stand in one group: for each range one that all others of it follow, in a chain."""
    levels = []
    for size in sorted({window.range for window in windows}):
        same = [window for window in windows if window.range == size]
        hosts = [host for host in same if all(slides_with(window, host) for window in same)]
        if not hosts:
            return False
        levels.append(hosts[0])
    return all(subsumable(below, above) for below, above in pairwise(levels))
