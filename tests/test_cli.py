from __future__ import annotations

import errno
import json
import os
import pty
import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

import muntin
from bench.registry import BENCHMARKS
from muntin.cli import main
from muntin.commands import plan as plan_command

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PAPER = ("plan", "--window", "20m", "--window", "30m", "--window", "40m", "--agg", "min", "--unit", "minute")
COSTS = {"none": 360, "mincost": 246, "factor": 150, "exact": 150, "auto": 150}


def run(*arguments: str, **options: Any) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="muntin", **options)


def refused(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit)
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("muntin: error: ")
    return lines[0].removeprefix("muntin: error: ")


def shell(arguments: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    environment = os.environ | options.pop("env", {})
    command = [sys.executable, "-m", "muntin", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env=environment, timeout=60, check=False, **options
    )


def as_json(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    content: dict[str, Any] = json.loads(result.stdout)
    return content


# --- the contract of `plan --format json`


def test_json_gives_the_costs_of_the_papers_example_7() -> None:
    result = shell([*PAPER, "--rate", "1", "--format", "json"])
    assert (result.returncode, result.stderr) == (0, "")
    content = json.loads(result.stdout)
    assert content["cost"] == COSTS
    assert list(content["cost"]) == ["none", "mincost", "factor", "exact", "auto"]
    assert all(type(cost) is int for cost in content["cost"].values())
    assert content["optimizer"] == "auto"
    windows = {w["id"]: (w["range"], w["slide"], w["factor"], w["parent"]) for w in content["windows"]}
    assert windows == {
        "tumbling_10m": (10, 10, True, None),
        "tumbling_20m": (20, 20, False, "tumbling_10m"),
        "tumbling_30m": (30, 30, False, "tumbling_10m"),
        "tumbling_40m": (40, 40, False, "tumbling_20m"),
    }


@pytest.mark.parametrize("optimizer", ["none", "mincost", "factor", "exact", "auto"])
def test_json_names_the_optimizer_and_its_windows_add_up_to_its_cost(optimizer: str) -> None:
    content = as_json(*PAPER, "--optimizer", optimizer)
    assert content["optimizer"] == optimizer
    assert content["cost"] == COSTS
    assert sum(w["cost"] for w in content["windows"]) == COSTS[optimizer]


def test_plain_integers_ids_slides_and_offsets_reach_the_plan() -> None:
    content = as_json("plan", "-w", "roll=60/10+5", "-w", "20", "-a", "max", "--optimizer", "none")
    windows = {w["id"]: (w["range"], w["slide"], w["offset"]) for w in content["windows"]}
    assert windows == {"roll": (60, 10, 5), "tumbling_20": (20, 20, 0)}


def test_rate_and_unit_reach_the_costs() -> None:
    assert as_json(*PAPER, "--rate", "10")["cost"]["none"] == 3600
    assert as_json("plan", "-w", "20", "-w", "30", "-w", "40", "-a", "min", "--unit", "10")["cost"]["none"] == 36


def test_fractions_are_exact_text() -> None:
    costs = as_json("plan", "-w", "7", "-w", "5", "-a", "min", "--rate", "1/3")["cost"]
    assert costs["none"] == "70/3"


def test_the_steady_period_counts_every_firing() -> None:
    windows = ("plan", "-w", "24h/1h", "-a", "min")
    assert as_json(*windows)["cost"]["none"] == 24
    assert as_json(*windows, "--period", "steady")["cost"]["none"] == 24 * 24


def test_sharing_and_covers_reach_the_optimizer() -> None:
    windows = ("plan", "-w", "1/1", "-w", "720/1", "-w", "1440/1", "-a", "min", "--period", "steady")
    dense, sparse = (as_json(*windows, "--no-compare", "--covers", c)["cost"] for c in ("dense", "sparse"))
    assert sparse["auto"] < dense["auto"]
    alone = as_json(*windows, "--sharing", "none")
    assert set(alone["cost"].values()) == {alone["cost"]["none"]}


def test_without_comparison_only_the_baseline_and_the_chosen_cost_are_given() -> None:
    assert as_json(*PAPER, "--optimizer", "mincost", "--no-compare")["cost"] == {"none": 360, "mincost": 246}


def test_an_optimum_that_is_not_proved_in_time_is_null(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_command, "PROOF_SECONDS", 1e-9)
    # 300 candidates are weighed at the least: these windows have more.
    windows = [word for i in (97, 89, 83, 79, 73) for word in ("-w", str(20 * i))]
    assert as_json("plan", *windows, "-a", "min")["cost"]["exact"] is None
    text = run("plan", *windows, "-a", "min").stdout
    assert "exact not proved in 1e-09 s" in " ".join(text.split())


def test_an_optimizer_that_cannot_plan_the_aggregate_is_null() -> None:
    costs = as_json("plan", "-w", "20m", "-w", "40m", "-a", "median", "--unit", "minute")["cost"]
    assert costs == {"none": 80, "mincost": None, "factor": None, "exact": None, "auto": 80}
    assert "mincost not possible" in run("plan", "-w", "20m", "-a", "median").stdout


# --- text and the other formats


def test_text_shows_the_tree_and_all_costs() -> None:
    result = run(*PAPER)
    assert result.stderr == ""
    assert "└─ 10m  factor" in result.stdout
    assert result.stdout.endswith("\n\ncosts: none 360; mincost 246; factor 150; exact 150; auto 150\n")
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_text_without_comparison_has_no_costs_line() -> None:
    assert "costs: " not in run(*PAPER, "--no-compare").stdout


def test_in_a_narrow_terminal_the_costs_and_the_help_are_broken_between_words() -> None:
    narrow = run(*PAPER, "--rate", "1000000007", env={"COLUMNS": "60"}).stdout
    costs = narrow[narrow.index("costs: ") :]
    assert len(costs.splitlines()) > 1
    assert max(map(len, costs.splitlines())) <= 60
    text = shell(["plan", "--help"], env={"COLUMNS": "60"}).stdout
    prose = text[: text.index("Examples:")]
    assert max(map(len, prose.splitlines())) <= 60


def test_a_terminal_without_box_characters_gets_ascii() -> None:
    result = shell(PAPER, env={"PYTHONIOENCODING": "ascii"})
    assert result.returncode == 0, result.stderr
    assert result.stdout.isascii()
    assert "`- 10m  factor" in result.stdout


def test_long_plans_are_cut_and_all_shows_the_rest() -> None:
    windows = [word for i in range(1, 61) for word in ("-w", str(i))]
    arguments = ("plan", *windows, "-a", "min", "--optimizer", "none", "--no-compare")
    cut = run(*arguments).stdout
    assert "20 more" in cut
    assert "--all shows all" in cut
    assert "limit=None" not in cut
    full = run(*arguments, "--all").stdout
    assert all(f"tumbling_{i} " in full for i in range(1, 61))


def test_mermaid_is_a_flowchart() -> None:
    assert run(*PAPER, "--format", "mermaid").stdout.startswith("flowchart")


def test_svg_is_well_formed() -> None:
    root = ET.fromstring(run(*PAPER, "--format", "svg").stdout)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_html_is_a_page_with_all_costs() -> None:
    page = run(*PAPER, "--format", "html").stdout
    assert page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>")
    assert "mincost" in page


def test_expression_writes_one_for_each_aggregate() -> None:
    text = run(*PAPER, "--agg", "arg_max", "--format", "expression", "--optimizer", "mincost").stdout
    assert text.count("Input") == 2
    assert "w => w.Min()" in text
    assert "w => w.ArgMax()" in text


# --- files


@pytest.mark.parametrize(
    ("name", "start"), [("plan.json", "{"), ("plan.mmd", "flowchart"), ("plan.svg", "<svg"), ("plan.txt", "min over 3")]
)
def test_out_takes_the_format_from_the_suffix(tmp_path: Path, name: str, start: str) -> None:
    result = run(*PAPER, "--out", str(tmp_path / name))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", f"wrote {tmp_path / name}\n")
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert text.startswith(start)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_format_overrules_the_suffix(tmp_path: Path) -> None:
    run(*PAPER, "--out", str(tmp_path / "plan.txt"), "--format", "json")
    assert json.loads((tmp_path / "plan.txt").read_text())["cost"] == COSTS


def test_out_does_not_write_over_a_file_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("mine")
    message = f"{path} exists already: give --out another name, or pass --force to write over it"
    assert refused(*PAPER, "--out", str(path)) == message
    assert path.read_text() == "mine"
    assert run(*PAPER, "--out", str(path), "--force").exit_code == 0
    assert json.loads(path.read_text())["cost"] == COSTS


def test_a_file_that_appears_during_the_search_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.json"

    def slow(*arguments: Any, **options: Any) -> muntin.LogicalPlan:
        path.write_text("mine")
        return muntin.optimize(*arguments, **options)

    monkeypatch.setattr(plan_command, "optimize", slow)
    assert "exists already" in refused(*PAPER, "--out", str(path))
    assert path.read_text() == "mine"


def test_out_into_a_missing_folder_or_with_an_unknown_suffix_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "plan.txt"
    assert refused(*PAPER, "--out", str(path)) == (
        f"cannot write {path}: {os.strerror(errno.ENOENT)}. "
        "Give --out a file in a folder that exists and may be written to"
    )
    assert refused(*PAPER, "--out", "plan.png") == (
        "the suffix of plan.png tells no format: use one of .txt, .json, .mmd, .svg, .html, or say which with --format"
    )
    assert refused(*PAPER, "--out", str(tmp_path)) == (
        f"Invalid value for '--out' / '-o': File '{tmp_path}' is a directory. See `muntin plan --help`"
    )


# --- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-a min", "there is no window: give at least one, for example --window 20m. See `muntin plan --help`"),
        ("-w 20m", "there is no aggregate: give at least one, for example --agg min. See `muntin plan --help`"),
        ("-w 5/0 -a min", "slide must be positive, got 0: a window needs 0 < slide <= range"),
        ("-w -5 -a min", "range must be positive, got -5: a window needs 0 < slide <= range"),
        ("-w 0m -a min", "range must be positive, got 0s: a window needs 0 < slide <= range"),
        (
            "-w 10m/20m -a min",
            "slide 20m is longer than range 10m: events between two intervals would belong to none. "
            "Make the slide at most the range",
        ),
        ("-w -5m -a min", "duration '-5m' is negative: ranges, slides and offsets count forward. ..."),
        ("-w 20x -a min", "unknown unit 'x' in duration '20x'. Write a number and a unit, for example '15m', ..."),
        ("-w = -a min", "cannot read '=' as a window. Write RANGE or RANGE/SLIDE, for example 20m, 1h/10m or 10/2"),
        (
            "-w 20m -w 20m -a min",
            "window id 'tumbling_20m' stands twice: tumbling('20m') and tumbling('20m'). "
            "Give each window an id of its own as in ID=20m",
        ),
        (
            "-w 20 -w 20m -a min",
            "Window(20, 20) and tumbling('20m') cannot stand in one set: one counts microseconds, the other a plain "
            "unit. Declare all of them with durations, or none",
        ),
        ("-w 20m -a medain", "unknown aggregate 'medain'. Did you mean `median`? Known are all, any, ..."),
        (
            "-w 1h/10m -a sum --sharing covered",
            "`sum` cannot be shared under 'covered': where a parent's intervals overlap, an event would count more "
            "than once. Use --sharing partitioned, or leave it out",
        ),
        (
            "-w 1h -a median --optimizer exact",
            "`median` cannot be shared between windows: it has no bounded partial. Use a sketch such as "
            "`approx_quantile` or `approx_distinct`, or pass --sharing none to run it natively",
        ),
        (
            "-w 1000003us -w 1d -a min --optimizer exact",
            "optimizer 'exact' looks at every multiple of the widest common pane, and the longest range here has more "
            "than 2**31 of them (1us). Use --optimizer auto or factor",
        ),
        (
            "-w 20m -a min --rate 0",
            "rate must be a positive number of events per unit, such as 1, 100 or '3/2', got '0'",
        ),
        ("-w 20m -a min --unit fortnight", "unknown unit 'fortnight': expected one of week, day, hour, minute, ..."),
        (
            "-w 20m -a min --unit hour",
            "unit hour does not divide every range, slide and distance between offsets of the windows "
            "(tumbling('20m') for one). Use a unit that divides 20m",
        ),
        (
            "-w 20 -a min --unit minute",
            "unit 'minute' goes with durations, but Window(20, 20) is in plain integers: its unit is 1",
        ),
        (
            "-w 20m -a min --optimizer best",
            "Invalid value for '--optimizer': 'best' is not one of 'none', 'mincost', 'factor', 'exact', 'auto'. ...",
        ),
        (
            "-w 20m -a min --format png",
            "Invalid value for '--format' / '-f': 'png' is not one of 'text', 'json', 'mermaid', 'svg', 'html', ...",
        ),
        ("-w 20m -a min query.sql", "Got unexpected extra argument (query.sql). See `muntin plan --help`"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments: str, message: str) -> None:
    said = refused("plan", *arguments.split())
    start, cut, _ = message.partition("...") if message.endswith("...") else (message, "", "")
    assert said.startswith(start) if cut else said == message


def test_an_unknown_command_is_refused() -> None:
    assert refused("plot").startswith("No such command 'plot'")


def test_errors_reach_standard_error_of_a_real_process() -> None:
    result = shell(["plan", "-w", "0", "-a", "min"])
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "muntin: error: range must be positive, got 0: a window needs 0 < slide <= range\n"


def test_an_unexpected_error_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        message = "a defect"
        raise RuntimeError(message)

    monkeypatch.setattr(plan_command, "optimize", broken)
    result = run(*PAPER)
    assert result.exit_code == 1
    assert isinstance(result.exception, RuntimeError)


# --- the program


def test_help_teaches() -> None:
    top = shell(["--help"]).stdout
    assert "Exit codes:" in top
    assert "plan" in top
    assert shell([]).stdout == top
    text = shell(["plan", "-h"]).stdout
    assert "Examples:" in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_examples_of_the_help_run(tmp_path: Path) -> None:
    text = shell(["plan", "--help"]).stdout.replace("\\\n", " ")
    examples = [line.split()[1:] for line in text.splitlines() if line.strip().startswith("muntin plan")]
    assert len(examples) == 4
    for example in examples:
        result = shell(example, cwd=tmp_path)
        assert result.returncode == 0, (example, result.stderr)
    assert (tmp_path / "plan.html").exists()


def test_version() -> None:
    result = shell(["--version"])
    assert (result.returncode, result.stdout) == (0, f"muntin {muntin.__version__}\n")


@pytest.mark.parametrize("form", ["text", "html"])  # less and more than a buffer holds
def test_a_closed_pipe_is_silent(form: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        command = [sys.executable, "-m", "muntin", *PAPER, "--format", form]
        result = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (1, b"")


def test_a_terminal_sees_that_the_search_is_under_way_on_standard_error_only() -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "muntin", *PAPER, "--format", "json"]
    result = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=theirs, timeout=60, check=False, env=os.environ | {"TERM": "xterm"}
    )
    os.close(theirs)
    said = os.read(ours, 65536).decode()
    os.close(ours)
    assert "looking for a plan over 3 windows" in said
    assert json.loads(result.stdout)["cost"] == COSTS


# --- bench


def test_bench_lists_the_benchmarks() -> None:
    result = run("bench", "--list")
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(BENCHMARKS)


def test_bench_without_or_with_an_unknown_name_names_the_known() -> None:
    known = f"Known are {', '.join(BENCHMARKS)}, and all; `muntin bench --list` describes them"
    assert refused("bench") == f"which benchmark? {known}"
    assert refused("bench", "speed") == f"there is no benchmark 'speed'. {known}"


def test_bench_outside_of_a_checkout_says_where_benchmarks_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(muntin, "__file__", str(tmp_path / "lib" / "site" / "muntin" / "__init__.py"))
    assert refused("bench", "gap") == (
        f"benchmarks come with the source checkout, and muntin runs from {tmp_path / 'lib' / 'site' / 'muntin'}. "
        "In a checkout, run `pip install -e .` and then `muntin bench`"
    )
