from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, cast
from xml.etree import ElementTree

import pytest

from muntin.errors import ShowError
from muntin.physical.choose import choose
from muntin.physical.constants import Constants
from muntin.physical.statistics import Statistics
from muntin.physical.ways import Group
from muntin.table_plan import TablePlan

if TYPE_CHECKING:
    from pathlib import Path

    from muntin import LogicalPlan, Query
    from muntin.physical.choose import Strategy
    from muntin.spark.bound import Bound


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


@pytest.mark.parametrize(("strategy", "followed"), [("arrow", False), ("jvm", True)])
def test_the_page_of_a_table_says_how_it_runs(
    paper: LogicalPlan, tmp_path: Path, strategy: Strategy, followed: bool
) -> None:
    low = Group(("low",), 1, shareable=True, columnar=True, custom=False)
    many = Statistics(rows=1e7, keys=1, span=10**13)
    way = choose(paper.windows, [low], lambda _: paper.groups[0].forest, strategy, many, Constants())
    plan = TablePlan(cast("Query", None), cast("Bound", None), lambda: paper, way)
    page = plan.plot(tmp_path / "plan.html").read_text(encoding="utf-8")
    assert "<summary>How it runs</summary>" in page
    assert f"1. {strategy}: " in page
    note = "On Spark nothing follows this tree: that is cheaper here"
    assert [note in said for said in (page, plan._repr_html_(), plan.explain())] == [not followed] * 3
    assert plan.plot(tmp_path / "plan.svg").read_text(encoding="utf-8") == paper.to_svg() + "\n"
