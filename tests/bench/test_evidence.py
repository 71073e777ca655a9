from __future__ import annotations

import doctest
import json
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from bench import gap, incremental, optimizer, stamp, subsume, table1, table4, tables, weave, weave_plans
from bench.chart import Chart, Panel, Series
from bench.evidence import exhibit, html, multi_query, page, steps
from bench.evidence.exhibit import Exhibit, Held, counted, said
from bench.evidence.reports import read
from bench.evidence.runs import Outcome
from bench.evidence.steps import QUICK_SECONDS, STEPS
from bench.registry import BENCHMARKS
from bench.report import Report, Table, write
from bench.stamp import Stamp
from tests.bench.test_incremental_bench import TINY as INCREMENTAL
from tests.bench.test_incremental_bench import track
from tests.bench.test_spark_bench import reading
from tests.share.test_subsume_bench import TINY as SUBSUME
from tests.share.test_weave_bench import TINY as WEAVE

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

NOW = Stamp(quick=True, options={}, seconds=7.0)


@pytest.mark.parametrize("module", [exhibit, html, multi_query, page, stamp, steps])
def test_doctests(module: ModuleType) -> None:
    outcome = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0
    assert outcome.failed == 0


# --- the papers


def test_every_table_and_figure_of_the_papers_has_one_place() -> None:
    def numbers(last: int) -> set[str]:
        return {str(number) for number in range(1, last + 1)}

    wanted = {
        "factor-windows": {"Table": {"I", "II", "III", "IV"}, "Figure": numbers(22)},
        "reactive-aggregator": {"Table": numbers(4), "Figure": numbers(12)},
        "multi-query-optimization": {"Table": {*numbers(4), "in 5.2"}, "Figure": numbers(23)},
        "window-subsumption": {"Table": set(), "Figure": numbers(12)},
    }
    assert [paper.key for paper in page.PAPERS] == list(wanted)
    for paper in page.PAPERS:
        for kind, every in wanted[paper.key].items():
            listed = [number for each in paper.exhibits if each.kind == kind for number in each.numbers]
            assert sorted(listed) == sorted(every), (paper.key, kind)


def test_every_benchmark_is_run_and_every_exhibit_knows_its_own() -> None:
    assert {step.name for step in STEPS} == set(BENCHMARKS)
    named = {name for paper in page.PAPERS for each in paper.exhibits for name in each.benchmarks}
    assert named <= set(BENCHMARKS)
    order = [step.name for step in STEPS]
    for step in STEPS:
        assert step.reads in (None, "readings") or order.index(step.reads) < order.index(step.name)


def test_the_budgets_of_a_quick_run_fit_into_its_time() -> None:
    assert sum(step.budget for step in STEPS) <= QUICK_SECONDS
    assert all(step.budget or step.instead for step in STEPS)


def test_an_exhibit_has_a_counterpart_or_a_reason() -> None:
    with pytest.raises(ValueError, match="Table I needs a benchmark and how it is placed, or why there is none"):
        Exhibit("Table", ("I",), "boosts")
    with pytest.raises(ValueError, match="Table I needs"):
        Exhibit("Table", ("I",), "boosts", ("table1",))


# --- what the figures say


@pytest.mark.parametrize(
    ("held", "verdict"),
    [
        (Held("", 2.0, 2.0), "as good"),
        (Held("", 2.0, 1.9), "short"),
        (Held("", 2.0, 1.9, "less"), "as good"),
        (Held("", 2.0, 2.1, "less"), "short"),
        (Held("", 2.0, None, "less"), "short"),
        (Held("", None, 2.0, "less"), "as good"),
        (Held("", None, None, "less"), "as good"),
        (Held("", 2.0, None), "unknown"),
        (Held("", 100.0, 76.0, "like"), "as good"),
        (Held("", 100.0, 126.0, "like"), "short"),
    ],
)
def test_ours_is_held_against_the_papers(held: Held, verdict: str) -> None:
    assert held.verdict == verdict


def test_what_falls_short_is_named_with_both_figures() -> None:
    held = [Held("Sum", 370, 4000, "less"), Held("Max", 260, None, "less"), Held("Mean", 10, 10, "less")]
    assert said(held) == (
        "As good as the paper or better in 1 of 3. Short: Sum: 4,000 against 370; Max: never against 260."
    )
    assert said([Held("a", 1.0, 1.1, "like", " %")]) == "Like the paper in 1 of 1."
    assert said([]) == ""
    assert counted([Held("a", 1.0, None)]) == "nothing to compare"


# --- the page


def sped_up(boost: float, events: int = 1_000_000) -> Report:
    """Make up a report of Table I in which `auto` is so many times as fast as native, and other plans half of that."""
    found = [
        reading(setup, number, plan, native=6.0, seconds=6.0 / (boost if plan == "auto" else boost / 2))
        for setup in table1.TABLE.figures
        for number in range(3)
        for plan in tables.PLANS
    ]
    chart = Chart("Table I", "times", (Panel("R", ("5",), (Series("auto", (boost,)),)),))
    settings = {"events": events, "sets per setup": 3, "runs per set and plan": 2}
    measured = Table("measurements", tables.COLUMNS, tables.rows(found))
    return Report("table1", "Table I", settings, (), measured, chart, ("Trill has one core.",))


def shown(found: page.Page, paper: str, name: str) -> page.Shown:
    return next(
        each for known, several in found.papers if known.key == paper for each in several if each.exhibit.name == name
    )


def test_boosts_are_held_against_the_table_of_as_many_events(tmp_path: Path) -> None:
    write(sped_up(3.0), tmp_path, NOW)
    found = page.assemble(tmp_path, [], quick=True)
    first, last = (shown(found, "factor-windows", name) for name in ("Table I", "Table IV"))
    for each, table in ((first, table1.TABLE), (last, table4.TABLE)):
        assert each.counterpart is not None
        assert {held.what: (held.paper, held.verdict) for held in each.counterpart.held} == {
            setup: (row[2], "as good" if row[2] <= 3.0 else "short") for setup, row in table.figures.items()
        }
    assert first.counterpart is not None
    assert last.counterpart is not None
    assert "Over 1,000,000 events; the paper has 10,000,000." in first.counterpart.remarks
    assert not any(remark.startswith("Over") for remark in last.counterpart.remarks)
    told = html.to_html(found)
    below = sum(row[2] > 3.0 for row in table1.TABLE.figures.values())
    assert f"As good as the paper or better in {8 - below} of 8. Short: R-5-hopping: 3.00x against 3.26x" in told
    assert "Trill has one core." in told


def test_a_better_run_says_so(tmp_path: Path) -> None:
    write(sped_up(20.0), tmp_path, NOW)
    found = page.assemble(tmp_path, [], quick=True)
    assert shown(found, "factor-windows", "Table I").verdict == "as good as the paper or better in 8 of 8"
    assert found.short() == []
    assert "Nowhere, in what was measured." in html.to_html(found)


def test_throughput_is_drawn_for_each_window_set(tmp_path: Path) -> None:
    write(sped_up(3.0), tmp_path, NOW)
    ours = shown(page.assemble(tmp_path, [], quick=True), "factor-windows", "Figures 11 and 14").counterpart
    assert ours is not None
    assert [chart.title for chart in ours.charts] == ["Throughput, 5 windows", "Throughput, 10 windows"]
    panel = ours.charts[0].panels[0]
    assert panel.title == "R-5-tumbling"
    rates = {series.name: series.values for series in panel.series}
    assert rates["native"] == pytest.approx([1 / 6] * 3)
    assert rates["auto"] == pytest.approx([0.5] * 3)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the benchmarks that need no Spark, each at its smallest, and write their reports."""
    folder = tmp_path_factory.mktemp("report")
    small = tuple(replace(each, values=each.values[:2]) for each in weave_plans.EXPERIMENTS)
    write(optimizer.measure(optimizer.Scale((2, 3), 2, 1, 20, 1), track), folder, NOW)
    write(gap.measure(gap.Scale(sizes=(3,), sets=1), track), folder, NOW)
    memory = replace(INCREMENTAL.memory, algorithms=("Panes", "SlickDeque-Inv", "Reactive Aggregator (FIFO)"))
    write(incremental.measure(replace(INCREMENTAL, memory=memory), track), folder, NOW)
    write(subsume.measure(SUBSUME, track), folder, NOW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weave_plans, "EXPERIMENTS", small)
        write(weave.measure(WEAVE, track), folder, NOW)
    return folder


def test_all_that_is_measured_without_spark_finds_its_place(tiny: Path) -> None:
    found = page.assemble(tiny, [], quick=True)
    assert set(found.reports) == {"optimizer", "gap", "incremental", "weave", "subsume"}
    for paper, several in found.papers:
        for each in several:
            if set(each.exhibit.benchmarks) & set(found.reports):
                assert each.counterpart is not None, (paper.key, each.exhibit.name, each.line)
                assert each.counterpart.tables, each.exhibit.name
                assert all(table.rows for table in each.counterpart.tables), each.exhibit.name
            elif each.exhibit.benchmarks:
                assert each.line.startswith("The benchmark "), each.exhibit.name
    even = shown(found, "reactive-aggregator", "Table 3").counterpart
    assert even is not None
    # The tiny run goes to windows of 80: of its three functions, none is ten times as fast there.
    assert {held.what: held.ours for held in even.held}["Max, 10 times as fast"] is None


def stamped(path: Path, **changed: Any) -> None:
    content = json.loads(path.read_text())
    content["run"] |= changed
    path.write_text(json.dumps(content))


class Pieces(HTMLParser):
    """The names in a page, where it links to, and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            elif name == "href" and value:
                self.links.append(value)
            elif name in ("src", "srcset", "action", "xlink:href") or (name == "style" and value):
                self.loaded.append(f"{name}={value}")


def test_the_page_needs_nothing_else_and_all_its_links_lead_somewhere(tiny: Path) -> None:
    told = html.to_html(page.assemble(tiny, [Outcome("table1", "failed", 3.0, "no <room>")], quick=True))
    pieces = Pieces()
    pieces.feed(told)
    assert not pieces.tags & {"script", "link", "img", "iframe", "object", "embed"}
    assert not pieces.loaded
    assert "@import" not in told
    assert "url(" not in told
    assert len(pieces.ids) == len(set(pieces.ids))
    for link in pieces.links:
        assert (link[1:] in pieces.ids) if link.startswith("#") else (tiny / link).is_file(), link
    assert "The benchmark table1 failed: no &lt;room&gt;." in told
    assert told.count("<svg") >= 10
    assert 'name="viewport"' in told
    assert "prefers-color-scheme:dark" in told


def test_a_report_that_cannot_be_laid_out_costs_only_its_own_place(tiny: Path, tmp_path: Path) -> None:
    for path in tiny.iterdir():
        if path.name.startswith(("weave.", "gap.")):
            (tmp_path / path.name).write_bytes(path.read_bytes())
    content = json.loads((tmp_path / "weave.json").read_text())
    content["tables"] = [table for table in content["tables"] if not table["title"].startswith("Trees")]
    (tmp_path / "weave.json").write_text(json.dumps(content))
    found = page.assemble(tmp_path, [], quick=True)
    assert shown(found, "multi-query-optimization", "Table in 5.2").line.startswith(
        "The report of weave cannot be laid beside it (LookupError: weave has no table 'Trees in a plan', only 'Goals'"
    )
    assert shown(found, "multi-query-optimization", "Figure 16").counterpart is not None


def test_half_a_report_is_none(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "gap.svg").write_text("<svg/>")
    (tmp_path / "gap.json").write_text((tiny / "gap.json").read_text()[:500])
    assert read(tmp_path, "gap") is None
    assert read(tmp_path, "never") is None


def test_reports_of_different_code_and_amounts_are_warned_of(tiny: Path, tmp_path: Path) -> None:
    for name in ("gap", "weave"):
        for suffix in ("json", "svg"):
            (tmp_path / f"{name}.{suffix}").write_bytes((tiny / f"{name}.{suffix}").read_bytes())
    stamped(tmp_path / "gap.json", code="0123456789ab", quick=False)
    (warning, *_) = [each for each in page.assemble(tmp_path, [], quick=True).warnings if "different code" in each]
    assert "0123456789ab: gap" in warning
    assert f"{NOW.code}: weave" in warning
    assert any("in full: gap" in each for each in page.assemble(tmp_path, [], quick=True).warnings)


def test_a_busy_machine_is_warned_of(tmp_path: Path) -> None:
    found = sped_up(3.0)
    write(replace(found, machine=replace(found.machine, load=40.0)), tmp_path, NOW)
    made = page.assemble(tmp_path, [], quick=True)
    assert any("provisional; it may be that of the benchmark before: table1 (load 40.0)" in w for w in made.warnings)
    assert made.reports["table1"].notes == ("Trill has one core.",)
