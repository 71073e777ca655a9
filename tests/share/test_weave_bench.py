from __future__ import annotations

import csv
import doctest
import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, TypeVar

import pyarrow
import pytest
from pyarrow import parquet

from bench import weave, weave_f1, weave_plans, weave_runs, weave_series
from bench.report import Report, as_text, write
from bench.weave_plans import EXPERIMENTS, Reading
from bench.weave_runs import MAX, SUM, Ran
from muntin.errors import MuntinError
from muntin.incremental import ALGORITHMS
from muntin.share.queries import query_set
from muntin.share.weave import weave as woven
from muntin.share.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import ModuleType

T = TypeVar("T")
TINY = weave.Scale(
    1,
    weave_f1.Scale(longest_slide=10_000, queries=(5, 20), many=(100,), repeats=1, planned_slide=1_000),
    weave_runs.Scale(load=Workload(queries=12, longest_slide=20, overlap=10), draws=1, seconds=0.001),
    2_000,
)


def track(jobs: Sequence[T], _: str, /) -> Sequence[T]:
    return jobs


@pytest.fixture(scope="module")
def found() -> Report:
    small = tuple(
        weave_plans.Experiment(e.number, e.parameter, e.symbol, e.values[:2], e.paper) for e in weave_plans.EXPERIMENTS
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weave_plans, "EXPERIMENTS", small)
        return weave.measure(TINY, track)


@pytest.mark.parametrize("module", [weave_plans, weave_series])
def test_doctests(module: ModuleType) -> None:
    outcome = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_the_report_is_written_in_all_forms(found: Report, tmp_path: Path) -> None:
    paths = write(found, tmp_path)
    assert {path.suffix for path in paths} == {".md", ".csv", ".json", ".svg"}
    ET.parse(tmp_path / "weave.svg")
    assert json.loads((tmp_path / "weave.json").read_text())["benchmark"] == "weave"
    lines = [line for line in (tmp_path / "weave.csv").read_text().splitlines() if not line.startswith("#")]
    assert {row["part"] for row in csv.DictReader(lines)} == {"plans", "edges", "planning", "runs"}
    text = as_text(found)
    for title in ("SlickDeque over Panes", "Trees in a plan", "Experiment 6: WeaveShare", "Experiment 7: TriWeave"):
        assert title in text


def test_the_papers_figures_stand_beside_ours_and_are_not_ours(found: Report) -> None:
    headline = next(t for t in found.tables if t.title.startswith("SlickDeque over Panes"))
    assert [row[1] for row in headline.rows] == ["5,000", "4,300", "270,000", "3,000", "4,200"]
    assert headline.columns[1] == "paper"
    assert all(row[1] != row[2] for row in headline.rows)
    trees = next(t for t in found.tables if t.title.startswith("Trees in a plan"))
    assert [row[1] for row in trees.rows] == [16.0, 15.7, 10.3, 4.8]


def test_experiments_change_one_parameter_of_table_4() -> None:
    middle = Workload(queries=100, longest_slide=1_000, overlap=10_000, rate=1, skew=0)
    assert middle == weave_plans.MIDDLE
    for experiment in EXPERIMENTS:
        low, high = experiment.load(experiment.values[0]), experiment.load(experiment.values[-1])
        for name in ("queries", "longest_slide", "overlap", "rate", "skew"):
            changed = getattr(low, name) != getattr(high, name)
            assert changed == (name == experiment.parameter)
            assert changed or getattr(low, name) == getattr(middle, name)


def test_ratios_trees_and_distances_by_hand() -> None:
    def reading(technique: str, cost: float, optimizer: str = "weave", trees: int = 2) -> Reading:
        return Reading(4, 1, 0, "paper", optimizer, technique, cost, trees)

    readings = [
        reading("Panes", 600),
        reading("Panes", 400),
        reading("SlickDeque-Inv", 10),
        reading("SlickDeque-NonInv", 5, trees=4),
        *(reading(name, 7, "triweave") for name in ("Panes", "SlickDeque-Inv", "SlickDeque-NonInv")),
    ]
    experiment = weave_plans.Experiment(4, "rate", "λ", (1,), 3_000)
    costs = weave_plans.costs(readings)
    assert weave_plans.ratio(costs, experiment, "weave") == 500 / 5
    assert weave_plans.ratio(costs, experiment, "triweave") == 1
    assert weave_plans.average_trees(readings, "SlickDeque") == (2 + 4 + 2 + 2) / 4
    weave = (500, 10, 5)
    assert weave_plans.apart(readings) == pytest.approx(
        (sum(max(cost, 7) / min(cost, 7) - 1 for cost in weave) / 3, 500 / 7 - 1)
    )


def test_deviations_by_hand() -> None:
    def ran(cost: float, seconds: float) -> Ran:
        return Ran(0, "due", "weave", "Panes", 1, cost, 1.0, seconds, 1.0)

    # Estimated 1 and 0.5, actual 1 and 0.25 of the largest.
    two = [ran(1, 2), ran(2, 8)]
    assert weave_runs.deviations(two) == ((0 + 1) / 2, (0 + 0.25) / 2)
    assert weave_runs.in_order(two)
    assert not weave_runs.in_order([ran(1, 8), ran(2, 2)])


def test_greedy_by_bit_set_finds_the_plan_of_f1() -> None:
    for seed in range(3):
        bundles = query_set(Workload(30, 360, overlap=20).windows(seed)).bundles
        slow = weave_f1.woven_by_bit_set(bundles, weave_f1.PANES)
        assert {frozenset(t.places) for t in slow} == {
            frozenset(t.places) for t in woven(bundles, weave_f1.PANES).trees
        }


def test_plain_operators_are_legal_where_they_are_used() -> None:
    for name in weave_plans.TABLED:
        ALGORITHMS[name](SUM if name == "SlickDeque-Inv" else MAX)


def test_series_are_made_up_or_read(tmp_path: Path) -> None:
    assert weave_series.made_up(500) == weave_series.made_up(500)
    assert len(set(weave_series.made_up(500))) > 100
    file = tmp_path / "readings.csv"
    file.write_text("time,power\n1,2.5\n2,5\nlate,\n3,nan\n")
    series, what = weave_series.from_file(file, 5)
    assert series == [500_000, 1_000_000, 500_000, 1_000_000, 500_000]
    assert "readings.csv" in what
    file.write_text("power\n")
    with pytest.raises(MuntinError, match="two at least are needed"):
        weave_series.from_file(file, 5)
    with pytest.raises(MuntinError, match="cannot read"):
        weave_series.from_file(tmp_path / "none.csv", 5)


def test_series_are_read_from_parquet(tmp_path: Path) -> None:
    file = tmp_path / "readings.parquet"
    parquet.write_table(pyarrow.table({"ts": [1, 2, 3, 4], "mf01": [7.0, None, float("nan"), 9.0]}), file)
    series, what = weave_series.from_file(file, 4)
    assert (series, what) == ([7, 9, 7, 9], "readings.parquet: 2 readings, repeated 2 times")
    parquet.write_table(pyarrow.table({"ts": [1, 2]}), file)
    with pytest.raises(MuntinError, match="with a column mf01 of numbers"):
        weave_series.from_file(file, 3)
    file.write_text("no parquet")
    with pytest.raises(MuntinError, match="cannot be read as parquet"):
        weave_series.from_file(file, 3)
    with pytest.raises(MuntinError, match="cannot be read as parquet"):
        weave_series.from_file(tmp_path / "none.parquet", 3)


def test_data_of_ones_own_are_run_on(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("\n".join(str(17 * i % 101) for i in range(300)))
    series, _ = weave_series.from_file(file, 2_000)
    (ran, *_), *_ = (job() for job in weave_runs.jobs(TINY.executed, series)[:1])
    assert ran.throughput > 0
    assert ran.results == pytest.approx(sum(1 / w.slide for w in set(TINY.executed.load.windows(0))))
