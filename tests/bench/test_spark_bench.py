from __future__ import annotations

import csv
import doctest
import json
import multiprocessing
import time
from dataclasses import replace
from html import unescape
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from click.testing import CliRunner

from bench import (
    correlation,
    features,
    fit,
    forum,
    never_slower,
    processes,
    registry,
    report,
    stages,
    table1,
    table2,
    table3,
    table4,
    tables,
)
from bench.forum import ByHand
from bench.workloads import table_setups
from muntin import Statistics, tumbling
from muntin.cli import main
from muntin.errors import MuntinError
from muntin.physical.constants import SHIPPED
from muntin.physical.cost import Prices

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import ModuleType

    from bench.report import Report

T = TypeVar("T")


def track(jobs: Sequence[T], _: str, /) -> Sequence[T]:
    return jobs


def reading(setup: str, number: int, plan: str, **figures: Any) -> tables.Reading:
    given: dict[str, Any] = {
        "runs": 3,
        "seconds": 2.0,
        "planning": 0.5,
        "executing": 1.5,
        "native": 6.0,
        "ways": "arrow",
        "predicted": 1.0,
        "predicted_native": 4.0,
        "paper_cost": None,
    }
    return tables.Reading(setup, number, plan, **(given | figures))


@pytest.mark.parametrize("module", [correlation, never_slower, processes, registry, stages, tables])
def test_doctests(module: ModuleType) -> None:
    outcome = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0
    assert outcome.failed == 0


# --- the tables


@pytest.mark.parametrize("table", [table1.TABLE, table2.TABLE, table3.TABLE, table4.TABLE])
def test_a_table_has_the_papers_setups_and_figures_in_order(table: tables.PaperTable) -> None:
    assert list(table.figures) == [setup.name for setup in table_setups(*table.sizes)]
    for mean_without, max_without, mean_with, max_with in table.figures.values():
        assert 1 < mean_without < max_without
        assert mean_without < mean_with < max_with


def test_a_boost_counts_planning_and_can_leave_it_out() -> None:
    found = reading("R-5-tumbling", 0, "auto")
    assert found.boost == 3.0
    assert found.bare_boost == 4.0


def test_quick_measures_less_unless_told_how_many_events() -> None:
    assert tables.scale(quick=True, events=None) == tables.Scale(1_000_000, 3, 2, 2, 1.0, few=100_000)
    assert tables.scale(quick=False, events=7).events == 7
    assert [tables.scale(quick=False, events=events).few for events in (7, None)] == [10_000, 1_000_000]
    assert tables.scale(quick=False, events=None).sets == 10


# --- correlation


def speedups() -> list[tables.Reading]:
    found = []
    # Seeds that draw three different sets.
    for number, factor in {0: 1.0, 1: 2.0, 3: 3.0}.items():
        found += [
            reading("S-5-hopping", number, "mincost", executing=6.0, paper_cost=12.0),
            reading("S-5-hopping", number, "factor", executing=6.0 / factor, paper_cost=12.0 / factor),
            reading("S-5-hopping", number, "auto", executing=6.0 / factor**2, predicted=4.0 / factor),
        ]
    return found


def test_points_pair_the_papers_costs_and_the_predicted_seconds_with_what_was_seen() -> None:
    points = correlation.points(speedups())
    paper = [p for p in points if p.model == "paper"]
    assert [(p.predicted, p.observed) for p in paper] == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]
    autos = [p for p in points if (p.model, p.plan) == ("physical", "auto")]
    assert [(p.predicted, p.observed) for p in autos] == [(1.0, 1.0), (2.0, 4.0), (3.0, 9.0)]
    assert correlation.pearson(paper) == pytest.approx(1.0)
    assert correlation.pearson(autos) == pytest.approx(0.9897, abs=1e-4)
    assert correlation.pearson(paper[:1]) is None


def test_measurements_of_table1_are_read_back_and_drawn_where_they_belong(tmp_path: Path) -> None:
    found = speedups()
    path = tmp_path / "table1.csv"
    with path.open("w", newline="") as file:
        file.write("# benchmark: table1\n# events: 5,000\n")
        csv.writer(file).writerows([tables.COLUMNS, *tables.rows(found)])
    again, events = correlation.read(path)
    assert events == 5_000
    assert [replace(r, executing=round(r.executing, 9)) for r in again] == [
        replace(r, executing=round(r.executing, 9)) for r in found
    ]
    told = correlation.run(quick=True, track=track, data=path)
    drawn = [p for p in told.chart.panels if p.title.startswith("S-hopping: paper")]
    marks = {
        (round(4.0 * place / correlation.STEPS, 2), value)
        for series in drawn[0].series
        if series.name == "factor / mincost"
        for place, value in enumerate(series.values)
        if value is not None
    }
    assert marks == {(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)}
    assert "S-hopping: paper's model, r = 1.00" in unescape(report.as_svg(told))
    rows = {row[0]: row for row in told.tables[0].rows}
    assert rows["all"][1] == 3
    assert rows["all"][2] == pytest.approx(1.0)
    assert rows["R-hopping"][2] is None
    path.write_text("a,b\n1,2\n")
    with pytest.raises(MuntinError, match=r"does not hold the measurements of table1 \('native_s'\): give --data"):
        correlation.read(path)


def test_a_window_set_that_is_drawn_again_is_not_a_second_measurement() -> None:
    again = [replace(r, set=2) for r in speedups() if r.set == 0]
    assert fit.once([*speedups(), *again]) == speedups()
    ours, others = fit.halves(speedups())
    assert ({r.set for r in ours}, {r.set for r in others}) == ({0, 3}, {1})


def test_constants_are_fitted_to_half_of_the_sets_and_tested_on_the_other() -> None:
    """What was seen is made by other constants: the fit finds what those predict for sets that it did not see."""
    true = replace(SHIPPED, scan=0.3, group_struct=0.02, exchange=0.5, place=0.008, leave=1.1, stage=20.0)
    plans = {"native": "", "mincost": "jvm", "auto": "arrow"}
    names = ("R-10-tumbling", "S-5-tumbling", "R-5-hopping", "S-10-hopping")
    made = [
        fit.Run(name, number, plan, 1.0, ways) for name in names for number in range(4) for plan, ways in plans.items()
    ]
    seen = [replace(run, seconds=fit.predict(run, 10_000_000, true)) for run in made]
    ours, others = fit.halves(seen)
    assert {run.set for run in ours} == {0, 2}
    found = fit.fit(ours, 10_000_000)
    off = [max(fit.predict(run, 10_000_000, SHIPPED) / run.seconds, 0) for run in others]
    left = [fit.predict(run, 10_000_000, found) / run.seconds for run in others]
    assert max(off) > 1.5 or min(off) < 1 / 1.5
    assert 0.9 < min(left) <= max(left) < 1.1


def test_a_run_is_predicted_as_it_was_planned() -> None:
    run = fit.Run("S-5-tumbling", 0, "auto", 1.0, "arrow")
    windows = tuple(tumbling(f"{w.range}s") for w in table_setups(5)[2].windows(0))
    prices = Prices(Statistics(10_000_000, 1, 10_000_000_000_000), SHIPPED, packable=True, listable=True)
    assert fit.predict(run, 10_000_000, SHIPPED) == prices.sweep(windows).seconds
    assert fit.predict(replace(run, plan="native"), 10_000_000, SHIPPED) == prices.native(windows).seconds


# --- never slower


def test_forty_workloads_of_every_kind_the_same_each_time() -> None:
    drawn = never_slower.workloads(never_slower.Scale())
    assert drawn == never_slower.workloads(never_slower.Scale())
    assert len(drawn) == 40
    kinds = {kind: [w for w in drawn if w.kind == kind] for kind in never_slower.KINDS}
    assert {len(w.windows) for w in kinds["one window"]} == {1}
    assert {len(w.windows) for w in kinds["two windows"]} == {2}
    assert max(w.events for w in kinds["few events"]) <= 10_000
    assert min(w.keys for w in kinds["many keys"]) >= 100_000
    assert {w.keys for w in kinds["one key"]} == {1}
    overlaps = {window.range // window.slide for w in kinds["hopping"] for window in w.windows}
    assert 20 < max(overlaps) <= 60
    assert {len(w.aggregates) for w in drawn} >= {1, 2, 3}
    assert {"first_name", "amount"} <= {name for w in drawn for name in w.aggregates}
    assert min(w.events for w in drawn) < 1_000
    assert max(w.events for w in drawn) > 1_000_000


def test_the_report_tells_how_exact_it_is() -> None:
    drawn = never_slower.workloads(never_slower.Scale(each=1))[:2]
    good = never_slower.Reading(drawn[0], 9, native=1.0, again=1.05, auto=1.08, executing=0.9, ways="native")
    poor = never_slower.Reading(drawn[1], 9, native=1.0, again=1.2, auto=1.5, executing=1.09, ways="jvm")
    told = never_slower._report(never_slower.Scale(), [good, poor], {})
    assert "With planning counted, 1 of 2 workloads" in told.notes[0]
    assert "without it, 2." in told.notes[0]
    assert "its own time in 1 of 2, and 1.20 times at the most" in told.notes[1]
    assert told.tables[1].rows[0] == ("two windows 0", drawn[1].events, 1.0, 1.5, 1.09, 1.2, "jvm")
    assert max(map(len, report.as_text(told).splitlines())) <= 80


# --- the forum's case


def test_the_extrapolation_counts_the_fixed_time_once() -> None:
    assert ByHand(100, 50.0, 60.0).whole == 50.0 + 100 * 10.0
    assert ByHand(100, 50.0, 40.0).whole == 50.0
    assert ByHand(1, 50.0, 60.0).whole == 60.0
    assert ByHand(100, 50.0, None).whole is None


def test_window_is_given_up_when_its_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def limited(few: str, path: str, limit: float) -> tuple[float | None, float | None, str]:
        asked.append(path)
        return (5.0, None, "did not end") if path == "whole" else (5.0, 7.0, "")

    monkeypatch.setattr(forum, "_limited", limited)
    assert forum._by_hand("few", "whole", "part", forum.Scale()) == ByHand(100, 5.0, 7.0, "did not end")
    assert forum._by_hand("few", "small", "part", forum.Scale()) == ByHand(1, 5.0, 7.0)
    assert forum._by_hand("few", "whole", "part", forum.Scale(whole=False)) == ByHand(100, 5.0, 7.0, "was not tried")
    assert asked == ["whole", "part", "small", "part"]


def answers(few: str, path: str, told: Any) -> None:
    told.send(1.5)
    if path == "dies":
        raise SystemExit(3)
    if path == "hangs":
        time.sleep(60)
    told.send(2.5)


def test_a_process_that_dies_is_not_said_to_have_taken_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forum, "native_seconds", answers)
    # Forked, because a process that is spawned would import the function by a name that tests do not have.
    fork = multiprocessing.get_context("fork")
    monkeypatch.setattr("bench.forum.multiprocessing.get_context", lambda _: fork)
    assert forum._limited("few", "ends", 5.0) == (1.5, 2.5, "")
    assert forum._limited("few", "dies", 5.0) == (1.5, None, "failed with exit code 3")
    assert forum._limited("few", "hangs", 0.5) == (1.5, None, "did not end within 0 s")


def test_the_report_says_how_window_came_out() -> None:
    said = [
        forum._told_by_hand(hand)
        for hand in (
            forum.SKIPPED,
            ByHand(1, 5.0, 7.0),
            ByHand(1, None, None, "did not end within 9 s, not even on ten events"),
            ByHand(100, 5.0, None, "did not end within 9 s", "failed with exit code -9"),
            ByHand(100, 5.0, 7.0, "did not end within 9 s"),
        )
    ]
    assert said[0] == "window() was left out."
    assert "as measured" in said[1]
    assert said[2] == "window() over all events did not end within 9 s, not even on ten events."
    assert said[3].endswith("Over 1/100 of the visitors it failed with exit code -9.")
    assert "would be 700 s" in said[4]


def test_the_frames_of_over_are_as_long_as_the_windows() -> None:
    text = features.over_events("t", "s")
    assert [f"RANGE BETWEEN {seconds} PRECEDING" in text for seconds in (3_599, 43_199, 86_399)] == [True] * 3
    assert "RANGE BETWEEN 1439 PRECEDING" in features.over_panes("t", "m")


# --- the command line


def test_options_go_to_the_benchmarks_that_take_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[dict[str, object]] = []
    told = correlation.report(correlation.points(speedups()), {})

    def run(*, quick: bool, track: object, events: int | None = None, data: object = None) -> Report:
        asked.append({"quick": quick, "events": events, "data": data})
        return told

    monkeypatch.setattr(table2, "run", run)
    out = ["--out", str(tmp_path)]
    assert CliRunner().invoke(main, ["bench", "table2", "--events", "9", *out]).exit_code == 0
    assert CliRunner().invoke(main, ["bench", "table2", "--quick", "--data", str(tmp_path), *out]).exit_code == 0
    assert asked == [{"quick": False, "events": 9, "data": None}, {"quick": True, "events": None, "data": tmp_path}]
    assert json.loads((tmp_path / "correlation.json").read_text())["benchmark"] == "correlation"
    refused = CliRunner().invoke(main, ["bench", "gap", "--events", "9"])
    assert refused.exit_code == 2
    assert "the benchmark 'gap' takes no --events; those that do are table1, table2" in refused.stderr
