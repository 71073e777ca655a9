"""docs/papers.md: every file, function and test that it names exists, and nothing that the papers number is missing."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs/papers.md").read_text()
ROMAN = {"I": 1, "II": 2, "III": 3, "IV": 4}
# What each paper numbers, and how far: counted in the papers themselves.
NUMBERED = {
    "Factor windows": {
        "Definition": 6,
        "Theorem": 9,
        "Algorithm": 6,
        "Equation": 9,
        "Example": 8,
        "Table": 4,
        "Figure": 22,
    },
    "General incremental": {"Algorithm": 3, "Table": 4, "Figure": 12},
    "Multi-query": {"Equation": 7, "Example": 2, "Table": 4, "Figure": 23},
    "Window subsumption": {"Definition": 1, "Algorithm": 1, "Figure": 12},
}


@cache
def names(path: Path) -> frozenset[str]:
    """List the functions and classes of a file, methods too."""
    kinds = ast.FunctionDef | ast.ClassDef
    return frozenset(node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds))


def place(name: str) -> Path:
    """Find a file that is named from the root, or from the package."""
    return ROOT / name if name.startswith(("tests/", "bench/")) else ROOT / "src/muntin" / name


def rows(paper: str) -> list[list[str]]:
    (section,) = re.findall(rf"^## {paper}.*?(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    found = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return found[2:]


def test_every_file_function_and_test_exists() -> None:
    found = re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", TEXT)
    assert len(found) > 200
    for file, name in found:
        assert place(file).is_file(), file
        assert not name or name in names(place(file)), f"{file}::{name}"


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_row_names_a_test(paper: str) -> None:
    for row in rows(paper):
        assert len(row) == 3, row
        assert "tests/" in row[2] or row[2] == "as Table I", row


@pytest.mark.parametrize("paper", NUMBERED)
def test_nothing_that_the_paper_numbers_is_missing(paper: str) -> None:
    said = " ; ".join(row[0] for row in rows(paper))
    for kind, last in NUMBERED[paper].items():
        assert numbers(kind, said) == set(range(1, last + 1)), kind


def numbers(kind: str, text: str) -> set[int]:
    """Read `Figure 3`, `Figures 8 and 9` and `Equations 3 to 7`."""
    found: set[int] = set()
    for first, joint, second in re.findall(rf"{kind}s? (\d+|[IV]+)\b(?: (and|to) (\d+|[IV]+)\b)?", text):
        low = ROMAN.get(first) or int(first)
        high = (ROMAN.get(second) or int(second)) if second else low
        found |= set(range(low, high + 1)) if joint == "to" else {low, high}
    return found
