from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from bench import gap, stamp, tables
from bench.evidence import page, runs
from bench.evidence.reports import read
from bench.evidence.runs import Asked, Outcome
from bench.evidence.steps import STEPS, Step
from bench.report import write
from muntin.cli import main
from tests.bench.test_evidence import NOW, shown, sped_up, stamped
from tests.bench.test_incremental_bench import track
from tests.bench.test_spark_bench import reading, speedups

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Have a report of the smallest gap."""
    folder = tmp_path_factory.mktemp("report")
    write(gap.measure(gap.Scale(sizes=(3,), sets=1), track), folder, NOW)
    return folder


def kept(folder: Path, **asked: Any) -> float | None:
    return runs.seconds_kept(Step("gap", 10), Asked(folder, **({"quick": True} | asked)), None)


def test_a_report_is_kept_while_settings_code_and_versions_are_the_same(tiny: Path, tmp_path: Path) -> None:
    def fresh() -> None:
        for suffix in ("json", "svg"):
            (tmp_path / f"gap.{suffix}").write_bytes((tiny / f"gap.{suffix}").read_bytes())

    assert kept(tmp_path) is None
    fresh()
    assert kept(tmp_path) == 7.0
    assert kept(tmp_path, quick=False) is None
    for changed in ({"code": "other"}, {"options": {"sets": 1}}, {"versions": {**NOW.versions, "numpy": "1"}}):
        fresh()
        stamped(tmp_path / "gap.json", **changed)
        assert kept(tmp_path) is None, changed


def test_the_code_is_that_of_package_and_benchmarks_but_not_of_the_page(tmp_path: Path) -> None:
    for name in ("src/muntin/a.py", "bench/b.py", "bench/evidence/c.py", "docs/d.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    before = stamp.code(tmp_path)
    for name in ("bench/evidence/c.py", "docs/d.md"):
        (tmp_path / name).write_text("2")
        assert stamp.code(tmp_path) == before
    for name in ("src/muntin/a.py", "bench/b.py"):
        (tmp_path / name).write_text("2")
        assert stamp.code(tmp_path) != before
        before = stamp.code(tmp_path)


def silent(_: float) -> None:
    pass


def test_a_benchmark_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    found = runs.outcome(Step("gap", 0), Asked(tmp_path, quick=True), silent)
    assert found.status == "failed"
    assert re.fullmatch(r"it was stopped after \d+ s: gap\.log has its output", found.message)
    assert read(tmp_path, "gap") is None


def test_a_quick_run_leaves_out_what_another_has(tmp_path: Path) -> None:
    (step,) = [step for step in STEPS if step.name == "table4"]
    assert runs.outcome(step, Asked(tmp_path, quick=True), silent).status == "left out"
    write(sped_up(3.0), tmp_path, NOW)
    told = page.assemble(tmp_path, [Outcome("table4", "left out", None, step.instead)], quick=True)
    assert shown(told, "factor-windows", "Table IV").report == "table1"


@pytest.fixture
def folder(tiny: Path, tmp_path: Path) -> Path:
    """Have a report of gap that need not be measured again, and a table1.csv that correlation cannot read."""
    for suffix in ("json", "svg", "md", "csv"):
        (tmp_path / f"gap.{suffix}").write_bytes((tiny / f"gap.{suffix}").read_bytes())
    (tmp_path / "table1.csv").write_text("a,b\n1,2\n")
    return tmp_path


def test_a_benchmark_that_fails_is_told_and_the_rest_is_there(folder: Path) -> None:
    chosen = ["--only", "gap", "--only", "correlation", "--out", str(folder)]
    first = CliRunner().invoke(main, ["bench", "all", "--quick", "--json", *chosen])
    assert first.exit_code == 1
    assert "1 of 2 benchmarks failed: correlation" in first.stderr
    told = {each["name"]: each for each in json.loads(first.stdout)["benchmarks"]}
    assert (told["gap"]["status"], told["gap"]["seconds"]) == ("kept", 7.0)
    assert told["correlation"]["status"] == "failed"
    assert "table1.csv does not hold the measurements of table1 ('native_s')" in told["correlation"]["message"]
    assert told["table1"]["status"] == "not run"
    assert (folder / "correlation.log").is_file()
    written = (folder / "index.html").read_text()
    assert "does not hold the measurements of table1" in written
    assert "Algorithm 3 and the optimum" in written
    assert json.loads((folder / "all.json").read_text())["benchmarks"][0]["name"] == STEPS[0].name

    with (folder / "table1.csv").open("w", newline="") as file:
        csv.writer(file).writerows([tables.COLUMNS, *tables.rows(speedups())])
    second = CliRunner().invoke(main, ["bench", "all", "--quick", *chosen])
    assert second.exit_code == 0, second.output
    assert re.search(r"^correlation +done", second.stdout, re.M)
    assert not (folder / "correlation.log").exists()
    assert "Failed:" not in (folder / "index.html").read_text()
    told = json.loads((folder / "all.json").read_text())
    (figure,) = (e for e in told["exhibits"] if (e["paper"], e["exhibit"]) == ("factor-windows", "Figure 19"))
    # Of four families one has three window sets, and all together; the others have none.
    assert figure["as good"] + figure["short"] == 4

    third = CliRunner().invoke(main, ["bench", "all", "--quick", *chosen])
    assert re.search(r"^correlation +kept", third.stdout, re.M)
    # Other measurements of table1, and it is found out anew.
    with (folder / "table1.csv").open("a", newline="") as file:
        csv.writer(file).writerows(tables.rows([reading("R-5-hopping", 0, plan) for plan in tables.PLANS]))
    (correlation,) = (step for step in STEPS if step.name == "correlation")
    assert runs.seconds_kept(correlation, Asked(folder, quick=True), folder / "table1.csv") is None


def test_a_run_that_is_broken_off_leaves_a_page_and_no_process(folder: Path) -> None:
    def alive() -> list[str]:
        told = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True).stdout
        return [line for line in told.splitlines() if str(folder) in line]

    (folder / "table1.csv").unlink()
    command = [*runs.COMMAND, "all", "--quick", "--only", "gap", "--only", "subsume", "--out", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            until = time.monotonic() + 120
            while not any(" bench subsume " in line for line in alive()):
                assert time.monotonic() < until
                time.sleep(0.05)
            process.send_signal(signal.SIGTERM)
            _, told = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 143, told
    assert told.endswith("muntin: stopped by SIGTERM\n")
    assert "gap: kept" in told
    assert f"wrote {folder / 'index.html'}" in told
    assert "Traceback" not in told
    assert "Algorithm 3 and the optimum" in (folder / "index.html").read_text()
    assert alive() == []


def test_what_another_benchmark_has_to_give_is_missed(tmp_path: Path) -> None:
    (step,) = (step for step in STEPS if step.name == "correlation")
    found = runs.outcome(step, Asked(tmp_path, quick=True), silent)
    assert (found.status, found.message) == (
        "failed",
        "it reads table1.csv, which is not there: table1 has no report",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["all", "--only", "speed"], "--only speed: there is no such benchmark. Known are optimizer, gap"),
        (["all", "--skip", "speed"], "--skip speed: there is no such benchmark"),
        (["all", "--only", "gap", "--skip", "gap"], "--only and --skip leave no benchmark to run"),
        (["all", "--events", "9"], "bench all takes no --events"),
        (["all", "--sets", "9"], "bench all takes no --sets"),
        (["gap", "--only", "gap"], "--only belongs to `muntin bench all`"),
        (["gap", "--again"], "--again belongs to `muntin bench all`"),
        (["gap", "--sets", "1"], "the benchmark 'gap' takes no --sets; those that do are table1, table2"),
        (["all", "--out", "{file}/report"], "cannot write reports into"),
    ],
)
def test_what_cannot_be_asked_is_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    given = [each.replace("{file}", str(tmp_path / "file")) for each in arguments]
    result = CliRunner().invoke(main, ["bench", *given])
    assert result.exit_code == 2
    assert message in result.stderr
