from __future__ import annotations

import csv
import doctest
import gc
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

import pytest
from click.testing import CliRunner

from bench import chart, gap, measure, optimizer, registry, report, workloads
from bench.chart import Chart, Panel, Series
from bench.report import Report, Table
from muntin.cli import main

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import ModuleType

T = TypeVar("T")
MACHINE = ("cpu", "cores", "memory_gib", "os", "python", "muntin", "numpy", "date")
SVG = "{http://www.w3.org/2000/svg}"


def track(jobs: Sequence[T], _: str, /) -> Sequence[T]:
    return jobs


@pytest.fixture(scope="module")
def times() -> Report:
    return optimizer.measure(optimizer.Scale(sizes=(2, 3), sets=2, repeats=2, many=20, many_repeats=1), track)


@pytest.fixture(scope="module")
def gaps() -> Report:
    return gap.measure(gap.Scale(sizes=(3,), sets=1), track)


@pytest.mark.parametrize("module", [chart, measure, registry, report, workloads])
def test_doctests(module: ModuleType) -> None:
    outcome = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0
    assert outcome.failed == 0


# --- measure


def test_tasks_run_in_turn_and_every_other_round_goes_backwards() -> None:
    ran: list[str] = []
    tasks = {name: lambda name=name: ran.append(name) for name in "abc"}
    timed = measure.interleave(tasks, repeats=3)
    assert "".join(ran) == "abc" + "abc" + "cba" + "abc"
    assert [len(timed[name].seconds) for name in "abc"] == [3, 3, 3]


def test_a_task_with_fewer_runs_takes_part_in_the_last_rounds() -> None:
    ran: list[str] = []
    tasks = {name: lambda name=name: ran.append(name) for name in "abc"}
    timed = measure.interleave(tasks, repeats={"a": 3, "b": 1, "c": 2}, warm_up=False)
    assert "".join(ran) == "a" + "ca" + "abc"
    assert [len(timed[name].seconds) for name in "abc"] == [3, 1, 2]


def test_the_warm_up_is_not_counted_and_can_be_left_out() -> None:
    ran: list[int] = []
    timed = measure.interleave({"a": lambda: ran.append(1)}, repeats=2, warm_up=False)
    assert len(ran) == len(timed["a"].seconds) == 2


def test_a_task_that_used_up_its_time_sits_out_but_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("bench.measure.time.perf_counter", lambda: clock[0])

    def takes(seconds: float) -> str:
        clock[0] += seconds
        return f"took {seconds}"

    tasks = {"long": lambda: takes(7), "short": lambda: takes(1)}
    timed = measure.interleave(tasks, repeats=4, seconds=2.5, before=lambda: takes(100))
    assert timed["long"].seconds == (7,)
    assert timed["short"].seconds == (1, 1, 1)
    assert timed["short"].result == "took 1"


def test_a_failing_task_leaves_the_garbage_collector_on() -> None:
    def fails() -> None:
        assert not gc.isenabled()
        raise KeyError

    with pytest.raises(KeyError):
        measure.interleave({"a": fails}, repeats=1)
    assert gc.isenabled()
    with pytest.raises(ValueError, match="must run once at least, got repeats=0"):
        measure.interleave({"a": fails}, repeats=0)


def test_a_busy_machine_is_told_in_the_report(gaps: Report) -> None:
    quiet, busy = (replace(gaps, machine=replace(gaps.machine, cores=2, load=load)) for load in (1.9, 4.5))
    warning = "Provisional: the machine was busy with other work (load 4.5 on 2 cores)."
    for form in (report.as_text, report.as_markdown, report.as_json, report.as_svg):
        assert warning in form(busy)
        assert "Provisional" not in form(quiet)


def test_spread_of_ten_readings() -> None:
    found = measure.spread([10, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    assert (found.median, found.p90, found.largest, found.mean) == (5.5, 9, 10, 5.5)
    with pytest.raises(ValueError, match="no readings were taken"):
        measure.spread([])


# --- the reports


@pytest.mark.parametrize("name", ["times", "gaps"])
def test_every_form_is_written_with_its_provenance(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    found: Report = request.getfixturevalue(name)
    paths = report.write(found, tmp_path / "new" / "folder")
    assert [path.suffix for path in paths] == [".md", ".csv", ".svg", ".json"]
    markdown, comma, svg, as_json = (path.read_text(encoding="utf-8") for path in paths)
    content = json.loads(as_json)
    assert set(MACHINE) <= content["machine"].keys()
    assert content["settings"]["rate"] == 1
    assert len(content["measurements"]) == len(found.measurements.rows) > 0
    head = [line for line in comma.splitlines() if line.startswith("# ")]
    assert {line[2:].partition(":")[0] for line in head} >= {*MACHINE, *found.settings, "benchmark"}
    rows = list(csv.DictReader(line for line in comma.splitlines() if not line.startswith("# ")))
    assert [row["setup"] for row in rows] == [row["setup"] for row in content["measurements"]]
    for key in (*MACHINE, *found.settings):
        assert f"| {key} |" in markdown
    assert all(table.title in markdown for table in found.tables)
    root = ET.fromstring(svg)
    description = root.findtext(f"{SVG}desc") or ""
    for part in (found.machine.cpu, found.machine.os, found.machine.numpy, found.machine.date, "sets per setup"):
        assert part in description
    assert max(map(len, report.as_text(found).splitlines())) <= 80


def test_the_optimizer_report_has_every_setup_set_and_optimizer(times: Report) -> None:
    columns = times.measurements.columns
    rows = [dict(zip(columns, row, strict=True)) for row in times.measurements.rows]
    paper = {(r["setup"], r["windows"], r["set"], r["optimizer"]) for r in rows if r["setup"] in optimizer.FAMILIES}
    assert paper == {
        (family, size, seed, name)
        for family in optimizer.FAMILIES
        for size in (2, 3)
        for seed in (0, 1)
        for name in ("mincost", "factor", "auto", "exact")
    }
    large = {(r["setup"], r["aggregate"], r["optimizer"]) for r in rows if r["setup"] not in optimizer.FAMILIES}
    assert len(large) == len(workloads.many_windows(2, 0)) * 2 * 2
    for row in rows:
        assert isinstance(row["ms"], float)
        assert isinstance(row["processor_ms"], float)
        assert row["ms"] > 0
    goals = times.tables[0]
    assert [row[2] for row in goals.rows] == ["< 10", "< 100", "< 2,000", "< 2,000"]
    assert {row[3] for row in goals.rows} <= {"yes", "no"}


def test_the_gap_report_orders_the_plans_as_they_must_be(gaps: Report) -> None:
    rows = [dict(zip(gaps.measurements.columns, row, strict=True)) for row in gaps.measurements.rows]
    assert len(rows) == 2 * 4
    for row in rows:
        boosts = [row[f"boost {name}"] for name in ("mincost", "factor", "exact dense", "exact sparse")]
        if row["proved exact dense"] and row["proved exact sparse"]:
            assert boosts == sorted(boosts)  # type: ignore[type-var]
            assert row["gap sparse"] >= row["gap dense"] >= 0  # type: ignore[operator]


def test_a_gap_is_the_cost_above_the_optimum() -> None:
    boosts = {"factor": Fraction(360, 150), "exact dense": Fraction(360, 100), "exact sparse": Fraction(360, 150)}
    reading = gap.Reading("R", 0, "min", boosts, {}, {})
    assert reading.gap("exact dense") == 0.5
    assert reading.gap("exact sparse") == 0


def test_a_table_refuses_a_row_of_another_width() -> None:
    with pytest.raises(ValueError, match="table 'times' has 2 columns, but a row of 1"):
        Table("times", ("setup", "ms"), (("R-5",),))


def test_the_benchmark_runs_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gaps: Report
) -> None:
    asked: list[bool] = []

    def run(*, quick: bool, track: measure.Track) -> Report:
        asked.append(quick)
        return replace(gaps, title="".join(track(["a", "b"], "jobs")))

    monkeypatch.setattr(gap, "run", run)
    result = CliRunner().invoke(main, ["bench", "gap", "--quick", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert asked == [True]
    assert result.stdout.startswith("ab\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gap.csv", "gap.json", "gap.md", "gap.svg"]
    assert all(str(path) in result.stderr for path in tmp_path.iterdir())
    (tmp_path / "file").touch()
    result = CliRunner().invoke(main, ["bench", "gap", "--out", str(tmp_path / "file" / "below")])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"muntin: error: cannot write reports into {tmp_path / 'file' / 'below'}: ")
    # It is said before anything is measured.
    assert asked == [True]


# --- charts


def drawn(picture: Chart) -> ET.Element:
    return ET.fromstring(chart.draw(picture, caption="on <this> & that", description="d"))


def heights(root: ET.Element, title: str) -> list[float]:
    """Read where the marks of a series stand, by the tooltips."""
    found = []
    for path in root.iter(f"{SVG}path"):
        tooltip = path.findtext(f"{SVG}title") or ""
        if tooltip.startswith(title):
            place = re.fullmatch(r"translate\(([\d.]+),([\d.]+)\)", path.attrib["transform"])
            assert place is not None
            found.append(float(place[2]))
    return found


@pytest.mark.parametrize("log", [True, False])
def test_larger_figures_stand_higher_and_missing_ones_nowhere(log: bool) -> None:
    series = Series("a<b", (1.0, None, 10.0, 100.0), (2.0, None, 20.0, 200.0))
    root = drawn(Chart("T", "ms", (Panel("p", ("w", "x", "y", "z"), (series,), lines=True),), log=log))
    one, ten, hundred = heights(root, "a<b")
    assert one > ten > hundred
    if log:
        assert one - ten == pytest.approx(ten - hundred, abs=0.2)


def test_all_panels_have_one_scale() -> None:
    low, high = (Panel(name, ("x",), (Series(name, (value,)),)) for name, value in (("low", 3.0), ("high", 30.0)))
    ticks = [e.text for e in drawn(Chart("T", "ms", (low, high))).iter(f"{SVG}text") if e.get("text-anchor") == "end"]
    assert ticks[: len(ticks) // 2] == ticks[len(ticks) // 2 :]
    assert ticks[0] == "0"
    assert float(ticks[-1] or 0) >= 30
