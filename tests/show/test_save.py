from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from muntin.errors import ShowError

if TYPE_CHECKING:
    from pathlib import Path

    from muntin import LogicalPlan


def test_the_ending_chooses_the_form(paper: LogicalPlan, tmp_path: Path) -> None:
    written = {
        suffix: paper.plot(tmp_path / f"plan{suffix}").read_text(encoding="utf-8")
        for suffix in (".html", ".svg", ".mmd", ".txt", ".json")
    }
    assert written[".html"] == paper.to_html()
    assert ElementTree.fromstring(written[".svg"]).get("role") == "img"
    assert written[".mmd"] == paper.to_mermaid() + "\n"
    assert written[".txt"] == paper.explain(limit=None) + "\n"
    assert json.loads(written[".json"]) == paper.to_dict()


def test_the_path_comes_back_and_capitals_do(paper: LogicalPlan, tmp_path: Path) -> None:
    target = tmp_path / "PLAN.SVG"
    assert paper.plot(str(target)) == target
    assert target.exists()


def test_any_plan_can_be_written(nasty: LogicalPlan, huge: LogicalPlan, tmp_path: Path) -> None:
    for suffix in (".html", ".svg", ".mmd", ".txt", ".json"):
        for plan in (nasty, huge):
            assert plan.plot(tmp_path / f"plan{suffix}").stat().st_size > 0


def test_costs_are_passed_on(paper: LogicalPlan, tmp_path: Path) -> None:
    written = paper.plot(tmp_path / "plan.json", costs={"mincost": 246}).read_text()
    assert json.loads(written)["cost"]["mincost"] == 246


@pytest.mark.parametrize(("name", "suffix"), [("plan.png", ".png"), ("plan", "")])
def test_unknown_ending(paper: LogicalPlan, tmp_path: Path, name: str, suffix: str) -> None:
    target = tmp_path / name
    text = f"cannot draw a plan as {suffix!r} ({target}): use .html, .svg, .mmd, .txt or .json"
    with pytest.raises(ShowError, match=f"^{re.escape(text)}$"):
        paper.plot(target)


def test_missing_folder(paper: LogicalPlan, tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "plan.svg"
    text = f"cannot write {target}: there is no folder {target.parent}. Make it first"
    with pytest.raises(ShowError, match=f"^{re.escape(text)}$"):
        paper.plot(target)


def test_a_folder_in_the_way(paper: LogicalPlan, tmp_path: Path) -> None:
    (tmp_path / "plan.svg").mkdir()
    with pytest.raises(ShowError, match=r"cannot write .*plan\.svg: Is a directory"):
        paper.plot(tmp_path / "plan.svg")
