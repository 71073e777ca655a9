"""The tutorial from its first block to its last, in an empty folder: files, commands and Python, as a reader has it."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from muntin.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "tutorial.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks() -> Iterator[tuple[str, str, int]]:
    """Give each block's kind, text and line."""
    text = PAGE.read_text(encoding="utf-8")
    for found in re.finditer(r"^```(\S[^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield found[1], found[2], text.count("\n", 0, found.start()) + 1


def run_page() -> None:
    """Run all blocks in this folder, one after the other, and say where what they give is not what the page says."""
    from muntin.testing.session import small_session

    spark = small_session()
    names: dict[str, Any] = {}
    wrong: list[str] = []
    ran: list[str] = []
    for kind, text, line in blocks():
        ran.append(kind.split()[0])
        if kind == "python":
            told: list[str] = []
            test = doctest.DocTestParser().get_doctest(text, names, f"line {line}", str(PAGE), line)
            doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append, clear_globs=False)
            names |= test.globs
            wrong += told
        elif kind == "console":
            command, _, expected = text.replace("\\\n", "").partition("\n")
            result = CliRunner().invoke(main, shlex.split(command.removeprefix("$ muntin ")), env={"COLUMNS": "100"})
            if not doctest.OutputChecker().check_output(expected, result.output, FLAGS):
                wrong.append(f"line {line}: {command}\nexpected:\n{expected}\ngot:\n{result.output}")
            wrong += [f"line {line}: exit code {result.exit_code}"] if result.exit_code else []
        else:
            Path(kind.split('"')[1]).write_text(text, encoding="utf-8")
    spark.stop()
    print("\n".join(wrong) or f"all {ran.count('python')} {ran.count('console')} {ran.count('sql')}")


@pytest.mark.slow
def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    # In a process of its own: Spark looks for files where its JVM was started.
    done = subprocess.run(
        [sys.executable, "-c", "from tests.test_tutorial import run_page; run_page()"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "all 6 4 2", done.stdout


def test_times_of_every_kind_in_the_table_are_read(spark: SparkSession) -> None:
    from muntin import sql

    table = re.findall(r"^\| (.+) \| `TIMESTAMP BY (.+?)`.* \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    columns = {
        "a time": ("column string", [("2013-01-01T05:15:00Z",), ("2013-01-01 05:15:00",)]),
        "parts": ("year int, month int, day int, hour int, minute int", [(2013, 1, 1, 5, 15), (2013, 1, 1, 5, 14)]),
        "seconds": ("column long", [(1_357_017_300,), (1_357_017_240,)]),
        "text with": ("column string", [("2013-01-01T05:15:00Z",), ("NA",), ("2013-01-01T05:14:00Z",)]),
    }
    assert len(table) == len(columns)
    for (said, expression), (known, (schema, rows)) in zip(table, columns.items(), strict=True):
        assert said.startswith(known)
        text = (
            f"SELECT System.Timestamp() AS t, COUNT(*) AS n FROM f TIMESTAMP BY {expression} GROUP BY Tumbling(hour, 1)"
        )
        (row,) = sql(text, f=spark.createDataFrame(rows, schema)).native().collect()
        assert (row["t"], row["n"]) == (datetime(2013, 1, 1, 6), 2), said
