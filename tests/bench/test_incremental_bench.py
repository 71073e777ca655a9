from __future__ import annotations

import csv
import doctest
import json
import xml.etree.ElementTree as ET
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from click.testing import CliRunner

from bench import (
    incremental,
    incremental_breakeven,
    incremental_columnar,
    incremental_intervals,
    incremental_kernels,
    incremental_memory,
    incremental_ranges,
    incremental_reactive,
    incremental_slides,
    incremental_structures,
)
from bench.incremental_columnar import Goal
from bench.measure import Spread, machine
from bench.report import Report, as_text, write
from muntin.aggregate import catalog
from muntin.cli import main
from muntin.incremental.panes import Panes
from muntin.incremental.reactive_fifo import FifoBuffer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import ModuleType

T = TypeVar("T")
SVG = "{http://www.w3.org/2000/svg}"
CASES = tuple(case for case in incremental_breakeven.CASES if case.name in ("Count", "Max", "ArgMax<Double>"))
TINY = incremental.Scale(
    incremental_structures.Scale(sizes=(1, 8, 64), repeats=2, seconds=0.0005),
    incremental_breakeven.Scale(CASES, searches=2, limit=80, seconds=0.0002, repeats=2),
    incremental_reactive.Scale(sizes=(8, 64), repeats=2, seconds=0.0005),
    incremental_memory.Scale(sizes=(8, 1 << 14), repeats=1, algorithms=("Panes", "DABA")),
    incremental_columnar.Scale(keys=50, panes=16, repeats=2),
    incremental_kernels.Scale(shapes=((1, 4000), (4, 1000)), repeats=2),
    incremental_ranges.Scale(sizes=(1, 8, 64), repeats=2, seconds=0.0005),
    incremental_intervals.Scale(sizes=(8, 64), repeats=2, tuples=64),
)
PARTS = {
    "incremental-constant": {"aggregate", "algorithm", "window", "slides", "runs", "slides_per_s", "processor"},
    "incremental-trees": {"aggregate", "algorithm", "window", "slides", "runs", "slides_per_s", "processor"},
    "incremental-latency": {"aggregate", "algorithm", "window", "slides", "p50_us", "p99_us", "p999_us", "max_us"},
    "incremental-break-even": {"function", "recomputed_by", "times_as_fast", "search", "window", "paper"},
    "incremental-per-tuple": {"aggregate", "firing", "window", "tuples", "runs", "us_per_tuple", "by_the_clock"},
    "incremental-columnar": {"aggregate", "algorithm", "way", "runs", "ns_per_key_and_slide", "least", "most"},
    "incremental-kernels": {"aggregate", "dtype", "keys", "panes", "windows", "from", "runs", "M_panes_per_s"},
    "incremental-memory": {"algorithm", "window", "before_bytes", "resident_bytes", "peak_bytes"},
    "incremental-ranges": {"aggregate", "algorithm", "window", "slides", "runs", "slides_per_s", "processor"},
    "incremental-intervals": {"algorithm", "firing", "window", "tuples", "runs", "us_per_tuple", "most"},
}


def track(jobs: Sequence[T], _: str, /) -> Sequence[T]:
    return jobs


@pytest.fixture(scope="module")
def found() -> Report:
    return incremental.measure(TINY, track)


def part(report: Report, name: str) -> list[dict[str, Any]]:
    (table,) = (each.measurements for each in report.parts if each.name == f"incremental-{name}")
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


@pytest.mark.parametrize(
    "module",
    [
        incremental,
        incremental_breakeven,
        incremental_memory,
        incremental_ranges,
        incremental_reactive,
        incremental_slides,
        incremental_structures,
    ],
)
def test_doctests(module: ModuleType) -> None:
    outcome = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0
    assert outcome.failed == 0


# --- the reports

FORMS = ("md", "csv", "svg", "json")


def test_every_section_is_written_with_its_fields(found: Report, tmp_path: Path) -> None:
    assert {each.name for each in found.parts} == PARTS.keys()
    for each in (found, *found.parts):
        paths = write(each, tmp_path)
        wanted = [f"{name}.{suffix}" for name in (*(part.name for part in each.parts), each.name) for suffix in FORMS]
        assert [path.name for path in paths] == wanted
        markdown, comma, svg, as_json = (path.read_text(encoding="utf-8") for path in paths[-4:])
        rows = list(csv.DictReader(line for line in comma.splitlines() if not line.startswith("# ")))
        assert len(rows) == len(json.loads(as_json)["measurements"]) > 0
        assert PARTS.get(each.name, {"section", "of", "figure", "value"}) <= rows[0].keys()
        assert "| threads | 1 |" in markdown or each.name == "incremental-memory"
        assert all(table.title in markdown for table in each.tables)
        marks = [path for path in ET.fromstring(svg).iter(f"{SVG}path") if path.find(f"{SVG}title") is not None]
        assert marks


def test_the_main_report_lists_the_figures_of_all_sections(found: Report) -> None:
    rows = found.measurements.rows
    assert {row[0] for row in rows} == PARTS.keys()
    wanted = {(name, column) for name, columns in PARTS.items() for column in columns if "_" in column}
    assert {("incremental-columnar", "ns_per_key_and_slide"), ("incremental-break-even", "window")} <= {
        (row[0], row[2]) for row in rows
    }
    assert {(name, column) for name, column in wanted if column not in ("recomputed_by", "times_as_fast")} <= {
        (row[0], row[2]) for row in rows
    }


def test_the_terminal_shows_it_in_eighty_columns(found: Report) -> None:
    lines = as_text(found).splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("What the figures say. ") for line in lines)


def test_the_benchmark_runs_from_the_command_line(
    found: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[incremental.Scale] = []

    def measured(scale: incremental.Scale, _: object) -> Report:
        asked.append(scale)
        return found

    monkeypatch.setattr(incremental, "measure", measured)
    for options in ([], ["--quick"]):
        result = CliRunner().invoke(main, ["bench", "incremental", *options, "--out", str(tmp_path)])
        assert result.exit_code == 0, result.output
    assert asked == [incremental.Scale(), incremental.QUICK]
    written = {path.name for path in tmp_path.iterdir()}
    assert {"incremental.md", "incremental.csv", "incremental.json", "incremental.svg"} <= written


def test_a_section_tells_the_load_at_its_busiest(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = machine()
    loads = iter((1.0, 5.5, 0.5))
    monkeypatch.setattr(incremental, "machine", lambda: replace(seen, load=next(loads)))
    watch = incremental.Watch(track)
    assert list(watch(["a", "b"], "jobs")) == ["a", "b"]
    assert watch.machine.load == 5.5


def test_the_whole_report_tells_the_load_of_the_busiest_section(found: Report) -> None:
    loads = [each.machine.load for each in found.parts]
    assert found.machine.load == max(load for load in loads if load is not None)


# --- slides


def test_every_legal_structure_is_measured_at_every_size(found: Report) -> None:
    rows = [*part(found, "constant"), *part(found, "trees")]
    legal = {
        (aggregate, name, size)
        for aggregate, function in incremental_structures.AGGREGATES.items()
        for name in incremental_structures.contenders(function)
        for size in TINY.structures.sizes
    }
    assert {(row["aggregate"], row["algorithm"], row["window"]) for row in rows} == legal
    assert len(rows) == len(legal) == 3 * (10 + 9 + 10 + 9)
    assert {(row["aggregate"], row["algorithm"], row["window"]) for row in part(found, "latency")} == legal
    for row in rows:
        assert 0 < row["slowest"] <= row["slides_per_s"] <= row["fastest"]


def test_slides_come_in_whole_rounds(found: Report) -> None:
    rows = [row for row in part(found, "constant") if row["algorithm"] in ("TwoStacks", "FlatFIT")]
    assert len(rows) == 2 * 4 * 3
    for row in rows:
        assert row["slides"] % (row["window"] + (row["algorithm"] == "FlatFIT")) == 0


def test_percentiles_are_ordered_and_need_slides_enough(found: Report) -> None:
    for row in part(found, "latency"):
        shown = [row[name] for name in ("p50_us", "p99_us", "p999_us", "max_us") if row[name] is not None]
        assert shown == sorted(shown)
        assert (row["p99_us"] is None) == (row["slides"] < 100)
        assert (row["p999_us"] is None) == (row["slides"] < 1000)


def test_what_takes_too_long_is_left_out_from_there_on_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = incremental_structures._planned

    def slow(stream: incremental_structures.Stream, size: int, seconds: float) -> tuple[int, float]:
        return (1, 99.0) if (stream.algorithm, size) == ("Panes", 8) else planned(stream, size, seconds)

    monkeypatch.setattr(incremental_structures, "_planned", slow)
    readings = incremental_structures.measure(TINY.structures, track)
    panes = [r for r in readings if r.algorithm == "Panes"]
    assert [(r.aggregate, r.window, r.rate is None) for r in panes] == [
        (aggregate, size, size == 8) for aggregate in incremental_structures.AGGREGATES for size in (1, 8)
    ]
    (told,) = incremental_slides.left_out(readings)
    assert "Panes on sum from 8" in told
    assert told in incremental_slides.sentences(readings)
    assert incremental_slides.reports(TINY.structures, readings)[1].notes[-1] == told


def test_a_structure_that_computes_something_else_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(Panes[Any]):
        def query(self) -> Any:
            return self.query_last(1)

    monkeypatch.setattr(
        incremental_structures, "contenders", lambda function: {"Forgetful": lambda: Forgetful(function)}
    )
    with pytest.raises(AssertionError, match=r"Forgetful gave .* for sum of 8, a fold gives"):
        incremental_structures.measure(TINY.structures, track)


# --- the Reactive Aggregator


@pytest.mark.parametrize("edge", [1, 10, 11, 319, 320, 321, 5_555])
def test_the_smallest_window_is_found_to_the_nearest_ten(edge: int) -> None:
    asked: list[int] = []

    def holds(size: int) -> bool:
        asked.append(size)
        return size >= edge

    assert incremental_breakeven.smallest(holds, limit=20_000) == -(-edge // 10) * 10
    assert all(size % 10 == 0 for size in asked)
    near = incremental_breakeven.smallest(holds, limit=20_000, nearest=0.1)
    assert near is not None
    assert edge <= near <= max(edge + 10, edge / 0.9 + 10)


def test_break_even_points_stand_beside_those_of_the_paper(found: Report) -> None:
    (table,) = (table for table in found.tables if "Table 3" in table.title)
    assert [(row[0], row[1], row[4]) for row in table.rows] == [
        ("Count", "never", "never"),
        ("Max", 260, 5200),
        ("ArgMax<Double>", 250, 5810),
    ]
    rows = part(found, "break-even")
    assert len(rows) == 3 * 2 * 2 * 2
    assert all(row["window"] is None or (row["window"] % 10 == 0 and row["window"] <= 80) for row in rows)


@pytest.mark.parametrize(
    ("name", "window", "wanted"),
    [
        ("Count", [3, 1, 2], 3),
        ("Sum", [3, 1, 2], 6),
        ("Max<Double>", [3.0, 1.0], 3.0),
        ("ArithmeticMean", [3, 1, 2], 2.0),
        ("MinCount", [3, 1, 1], 2),
        ("SampleStdDev", [1, 3], pytest.approx(2**0.5)),
        ("PopulationStdDev", [1, 3], 1.0),
        ("ArgMax", [(3, 7), (1, 8)], 7),
        ("Collect", [3, 1, 2], [3, 1, 2]),
    ],
)
def test_both_ways_to_recompute_give_the_result(name: str, window: list[Any], wanted: object) -> None:
    (case,) = (case for case in incremental_breakeven.CASES if case.name == name)
    assert case.builtin(deque(window)) == wanted
    assert case.function.evaluate(window) == wanted


def test_the_middle_search_is_never_where_most_found_nothing() -> None:
    def middle(*sizes: int | None) -> int | None:
        return incremental_breakeven.Reading(CASES[0], "combine", 1, sizes).median

    assert (middle(30, 10, 20), middle(None, 10, None), middle(None, 10, 20)) == (20, None, 20)


def test_cost_per_tuple_is_taken_where_the_window_allows_it(found: Report) -> None:
    rows = {(row["aggregate"], row["window"], row["firing"]): row for row in part(found, "per-tuple")}
    small = {"m = 1", "m = 4", "m = n/4", "m = n"}
    for aggregate in ("max", "stddev"):
        assert {firing for a, n, firing in rows if (a, n) == (aggregate, 8)} == small
        at_64 = {firing for a, n, firing in rows if (a, n) == (aggregate, 64)}
        assert at_64 == small | {"m = 64", "m = n/16", incremental_reactive.OSCILLATING}
    assert rows["max", 64, "m = 64"]["tuples"] % 64 == 0


def test_a_round_of_oscillation_doubles_and_halves_the_capacity() -> None:
    capacities = []

    class Watched(FifoBuffer[Any]):
        def query(self) -> Any:
            capacities.append(self.capacity)
            return super().query()

    window = Watched(catalog.max, 8)
    for value in range(64):
        window.insert(value)
    came = incremental_reactive.oscillate(window, iter(range(1000)), 64, 0.0)
    assert capacities == [128] + [64] * (came - 1)
    assert len(window) == 64


# --- ranges and base intervals


def test_every_range_is_answered_by_the_structures_that_can(found: Report) -> None:
    rows = part(found, "ranges")
    wanted = {(name, size) for name in incremental_ranges.structures() for size in TINY.ranges.sizes}
    assert {(row["algorithm"], row["window"]) for row in rows} == wanted
    assert {name for name, _ in wanted} == {"Panes", "FlatFAT", "B-Int", "FlatFIT", "SlickDeque-NonInv"}


def test_a_wrong_answer_for_a_range_stops_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Panes, "query_last", lambda self, count: -count)
    with pytest.raises(AssertionError, match=r"Panes gave \[-1.* for the ranges of 1, a fold gives"):
        incremental_ranges.measure(TINY.ranges, track)


def test_base_intervals_are_fired_as_the_reactive_aggregator_is(found: Report) -> None:
    rows = part(found, "intervals")
    fired = {(row["algorithm"], row["window"], row["firing"]) for row in rows}
    assert {firing for _, size, firing in fired if size == 8} == {"m = 1", "m = n/4", "m = n"}
    assert len(fired) == 2 * (3 + 4)
    assert all(row["tuples"] >= TINY.intervals.tuples and row["us_per_tuple"] > 0 for row in rows)


# --- memory


def test_a_larger_window_takes_more_memory(found: Report) -> None:
    rows = {(row["algorithm"], row["window"]): row for row in part(found, "memory")}
    for name in ("Panes", "DABA"):
        for size in (8, 1 << 14):
            row = rows[name, size]
            assert 0 < row["before_bytes"] <= row["peak_bytes"]
            assert row["resident_bytes"] <= row["peak_bytes"]
        # Three numbers in a named tuple, and a pointer to it, take more than 100 bytes.
        added = rows[name, 1 << 14]["resident_bytes"] - rows[name, 1 << 14]["before_bytes"]
        assert added > 100 * (1 << 14)


def test_where_the_system_does_not_tell_memory_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental_memory, "STATUS", tmp_path / "status")
    assert incremental_memory.measure(TINY.memory, track) == []
    assert incremental_memory.sentences([]) == (
        f"Memory was not measured: there is no {tmp_path / 'status'} on this system.",
    )


# --- columnar and kernels


def columnar(cost: float, plain: float) -> list[incremental_columnar.Reading]:
    return [
        incremental_columnar.Reading(aggregate, name, way, 1, 1, Spread(each, each, each, each), each, each / 2)
        for aggregate in incremental_columnar.OVER
        for name in incremental_columnar.PUBLIC
        for way, each in (("vectors", cost), ("plain", plain))
    ]


@pytest.mark.parametrize(
    ("cost", "met"),
    [
        (9.9, {"FlatFAT": "yes", "TwoStacks": "yes", "DABA": "yes", "FlatFIT": "yes"}),
        (12.0, {"FlatFAT": "yes", "TwoStacks": "within", "DABA": "no", "FlatFIT": "yes"}),
        (30.0, {"FlatFAT": "yes", "TwoStacks": "no", "DABA": "no", "FlatFIT": "no"}),
        (250.0, {"FlatFAT": "no", "TwoStacks": "no", "DABA": "no", "FlatFIT": "no"}),
    ],
)
def test_goals_per_key(cost: float, met: dict[str, str]) -> None:
    *each, least = incremental_columnar.goals(columnar(cost, 100.001 * cost))
    assert {goal.what.partition(",")[0]: goal.met for goal in each} == met
    assert least.found == pytest.approx(100.001)
    assert least.met == "yes"
    assert incremental_columnar.goals(columnar(cost, 99 * cost))[-1].met == "no"


def test_columnar_costs_are_per_key_and_plain_ones_per_slide(found: Report) -> None:
    rows = part(found, "columnar")
    assert {(row["algorithm"], row["way"]) for row in rows if row["aggregate"] == "sum"} == {
        (name, way) for name in incremental_columnar.COLUMNAR for way in incremental_columnar.WAYS
    }
    assert {row["algorithm"] for row in rows if row["aggregate"] == "max"} == {*incremental_columnar.PUBLIC}
    assert all(0 < row["least"] <= row["ns_per_key_and_slide"] <= row["most"] for row in rows)


def test_kernels_count_panes_and_windows(found: Report) -> None:
    rows = part(found, "kernels")
    assert len(rows) == 2 * 4 * 2
    for row in rows:
        # Windows that begin before the first pane hold it too: one less than the range of them for each key.
        assert row["windows"] == row["keys"] * (row["panes"] + 1440 - 1)


def test_a_kernel_goal_is_met_from_fifty_million_on() -> None:
    rate = Spread(50.0, 50.0, 50.0, 50.0)
    reading = incremental_kernels.Reading("min", "int64", 1, 10, 10, "columns", 1, rate, 50.0, 60.0)
    slower = replace(reading, rate=replace(rate, median=49.9))
    assert [goal.met for goal in incremental_kernels.goals([reading, slower])] == ["yes", "no"]
    assert incremental_kernels.goals([replace(reading, way="table")]) == []


def test_the_judgement_counts_and_names() -> None:
    goals = [Goal("a", 1, 1, "< 2", "yes"), Goal("b", 20, 10, "< 10-30", "within"), Goal("c", 3, 1.5, "< 2", "no")]
    assert incremental.judgement(goals) == (
        "1 of 3 goals met. Within the range of the public figures: b 20, < 10-30. "
        "Missed: c 3 (on the processor 1.5), goal < 2."
    )
    assert incremental.judgement(goals[:1]) == "1 of 1 goals met."


def test_parts_are_reports(found: Report) -> None:
    assert all(isinstance(each, Report) for each in found.parts)
    assert len({each.name for each in found.parts}) == len(found.parts)
