"""What all commands have in common: help that teaches, JSON, -v, exit codes, completion, and the page about them."""

from __future__ import annotations

import json
import logging
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from bench.registry import BENCHMARKS
from muntin.cli import main
from muntin.commands import plan as plan_command
from muntin.commands.completion import SHELLS
from muntin.commands.exit_codes import EXIT_CODES
from muntin.errors import RunError
from scripts.commands import MARK, PAGE, reference

if TYPE_CHECKING:
    from collections.abc import Callable

COMMANDS = sorted(main.commands)
# Of a terminal of 60 columns click leaves two free.
NARROW = 58
PLAN = ("plan", "-w", "20m", "-w", "30m", "-a", "min")


def run(*arguments: str, **options: Any) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="muntin", **options)


# --- the page, and the help that it shows


def test_the_page_says_what_the_commands_say() -> None:
    by_hand, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    assert mark
    assert PAGE.read_text(encoding="utf-8") == by_hand + reference(), "run python -m scripts.commands"


def test_the_page_lists_every_exit_code() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## Exit codes")[2].partition("\n## ")[0]
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)] == list(EXIT_CODES)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_teaches_by_example_says_how_it_ends_and_fits_a_narrow_terminal(name: str) -> None:
    said = run(name, "--help", terminal_width=NARROW).stdout
    examples = said[said.index("Example") :]
    assert re.search(rf"^ +(source <\()?muntin {name}\b", examples, re.MULTILINE)
    codes = said[said.index("Exit codes:") :]
    assert {int(code) for code in re.findall(r"^ +(\d+) ", codes, re.MULTILINE)} <= set(EXIT_CODES)
    assert max(map(len, said.splitlines())) <= 60
    assert "-v, --verbose" in said
    # A script for a shell is no report.
    assert ("--json" in said) == (name != "completion")


def test_the_help_of_all_fits_a_narrow_terminal() -> None:
    assert max(map(len, run("--help", terminal_width=NARROW).stdout.splitlines())) <= 60


def test_a_plan_fits_a_narrow_terminal() -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "muntin", "plan", "-w", "1h/10m", "-w", "24h/10m", "-a", "avg", "--rate", "9000"]
    environment = os.environ | {"COLUMNS": "60", "TERM": "dumb"}
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, env=environment, timeout=60, check=False)
    os.close(theirs)
    said = os.read(ours, 65_536).decode()
    os.close(ours)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "hopping_1h_10m" in said
    assert "costs: none " in said
    assert max(map(len, said.splitlines())) <= 60


# --- JSON


def test_json_is_a_format_of_a_plan() -> None:
    assert json.loads(run(*PLAN, "--json").stdout) == json.loads(run(*PLAN, "--format", "json").stdout)
    refused = run(*PLAN, "--json", "--format", "svg")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--json and --format svg are two forms" in refused.stderr


def test_benchmarks_are_listed_and_report_as_json() -> None:
    assert json.loads(run("bench", "--list", "--json").stdout) == dict(BENCHMARKS)


def test_the_studio_says_where_it_is_as_json() -> None:
    command = [sys.executable, "-m", "muntin", "studio", "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        process.terminate()
        out, err = process.communicate(timeout=20)
    assert told["url"] == f"http://127.0.0.1:{told['port']}/?token={told['token']}"
    assert (process.returncode, out, err) == (0, "", "")


# --- what is logged


def test_nothing_is_logged_unless_asked_for() -> None:
    log = logging.getLogger("muntin")
    assert any(isinstance(handler, logging.NullHandler) for handler in log.handlers)
    quiet = run(*PLAN, "--json")
    assert quiet.stderr == ""
    # -v is what people decide by, -vv how it came about; both on standard error.
    for options in (("-vv",), ("-v", "-v")):
        loud = run(*PLAN, "--json", *options)
        assert loud.stdout == quiet.stdout
        assert re.search(r"^\d\d:\d\d:\d\d muntin\.api: <plan by auto: min over ", loud.stderr, re.MULTILINE)
    assert run(*PLAN, "-v").stderr == ""
    assert run("-v", *PLAN, "-v").stderr == run("-vv", *PLAN).stderr != ""
    # What one command asked for is over with it.
    assert [type(handler) for handler in log.handlers] == [logging.NullHandler]
    assert run(*PLAN, "--json").stderr == ""


# --- how it ends


def raising(error: BaseException) -> Callable[..., None]:
    def broken(*_: object, **__: object) -> None:
        raise error

    return broken


def test_work_that_failed_and_what_is_refused_end_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("plan", "-w", "20x", "-a", "min").exit_code == 2
    monkeypatch.setattr(plan_command, "optimize", raising(RunError("the disk is full")))
    failed = run(*PLAN)
    assert (failed.exit_code, failed.stderr) == (1, "muntin: error: the disk is full\n")


def test_ctrl_c_ends_with_130_and_one_line() -> None:
    code = (
        "import time, muntin.commands.plan as plan\n"
        "from muntin.cli import main\n"
        "def slow(*_, **__):\n"
        "    print('searching', flush=True)\n"
        "    time.sleep(60)\n"
        "plan.optimize = slow\n"
        "main()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, *PLAN], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "searching\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, "muntin: stopped by Ctrl-C\n")


# --- completion


@pytest.mark.parametrize("shell", sorted(SHELLS))
def test_the_script_of_each_shell_asks_muntin(shell: str) -> None:
    result = run("completion", shell)
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"_MUNTIN_COMPLETE={shell}_complete" in result.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes_commands_options_values_and_benchmarks() -> None:
    muntin = os.path.dirname(sys.executable)
    script = (
        "source <(muntin completion bash) || exit 1\n"
        'ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _muntin_completion muntin; '
        'echo "${COMPREPLY[@]}"; }\n'
        "ask muntin re\n"
        "ask muntin plan --opt\n"
        "ask muntin plan --optimizer m\n"
        "ask muntin bench ga\n"
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True, text=True, timeout=120, check=False,
        env=os.environ | {"PATH": f"{muntin}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.stdout.splitlines() == ["register resume", "--optimizer", "mincost", "gap"], done.stderr
