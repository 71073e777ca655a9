from __future__ import annotations

import json
import random
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from muntin import Window, agg, hopping, optimize, tumbling
from muntin.show.model import WHOLE_GRAPH, view

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from muntin import LogicalPlan

SVG = "{http://www.w3.org/2000/svg}"
PLANS = ["paper", "several", "nasty", "fractions", "huge", "chain"]
VOID = {"meta", "br", "hr", "link", "img", "input"}


class Page(HTMLParser):
    """Read a page strictly: every element closes, in order; keep what was said and what would be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in {"src", "href", "srcset", "action"}]
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    return page


def texts(root: Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def boxes(root: Element, kind: str) -> list[Element]:
    return [element for element in root.iter(f"{SVG}rect") if element.get("class") == kind]


@pytest.mark.parametrize("name", PLANS)
def test_svg_is_well_formed_and_shows_every_window_before_and_after(name: str, request: pytest.FixtureRequest) -> None:
    plan: LogicalPlan = request.getfixturevalue(name)
    root = ElementTree.fromstring(plan.to_svg())
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    distinct = len(set(plan.windows)) * len(plan.groups)
    factors = sum(len(group.forest.factor_windows) for group in plan.groups)
    assert len(boxes(root, "mu-box")) == 2 * distinct
    assert len(boxes(root, "mu-factor")) == factors
    assert len(boxes(root, "mu-source")) == 2 * len(plan.groups)


def test_svg_shows_costs_and_multipliers(paper: LogicalPlan) -> None:
    root = ElementTree.fromstring(paper.to_svg())
    said = texts(root)
    assert [said.count(cost) for cost in ("120", "12", "6")] == [4, 2, 1]
    assert sorted(text for text in said if text.startswith("×")) == sorted(
        ["×20", "×30", "×40", "×2", "×10", "×2", "×2", "×3"]  # before, the cover of 40 by 20, and after
    )
    assert "before: 360 items" in said
    assert "after: 150 items" in said


@pytest.mark.parametrize("name", PLANS)
def test_text_stays_in_its_box(name: str, request: pytest.FixtureRequest) -> None:
    plan: LogicalPlan = request.getfixturevalue(name)
    root = ElementTree.fromstring(plan.to_svg())
    checked = 0
    for group in root.iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        if rect is None or rect.get("class") not in {"mu-box", "mu-factor"}:
            continue
        left, right = float(rect.get("x", "")), float(rect.get("x", "")) + float(rect.get("width", ""))
        spans: dict[str, list[tuple[float, float]]] = {}
        for text in group.findall(f"{SVG}text"):
            kinds = (text.get("class") or "").split()
            # DejaVu Sans Mono, the widest in use: 0.602 em; wide characters count twice.
            em = 0.602 * (11 if "mu-small" in kinds else 13)
            width = em * sum(2 if ord(char) > 0x2E80 else 1 for char in text.text or "")
            x = float(text.get("x", ""))
            start = x - width if "mu-end" in kinds else x
            spans.setdefault(text.get("y", ""), []).append((start, start + width))
        for row in spans.values():
            (start, end), (other, last) = sorted(row)
            assert left < start
            assert end + 4 < other
            assert last < right
            checked += 1
    assert checked >= 2 * len(set(plan.windows))


def overlapping(root: Element) -> int:
    """Count pairs of boxes of one drawing that overlap."""
    found = 0
    for group in root.iter(f"{SVG}g"):
        rects = [r for child in group.findall(f"{SVG}g") for r in child.findall(f"{SVG}rect[@rx]")]
        places = sorted(tuple(float(r.get(key, "")) for key in ("y", "height", "x", "width")) for r in rects)
        for i, (y, height, x, width) in enumerate(places):
            for other_y, _, other_x, other_width in places[i + 1 :]:
                if other_y >= y + height:
                    break
                found += x < other_x + other_width and other_x < x + width
    return found


@pytest.mark.parametrize("name", PLANS)
def test_boxes_do_not_overlap(name: str, request: pytest.FixtureRequest) -> None:
    plan: LogicalPlan = request.getfixturevalue(name)
    assert overlapping(ElementTree.fromstring(plan.to_svg())) == 0


def test_everything_lies_on_the_page(several: LogicalPlan) -> None:
    """Walk the drawing with its shifts: no box sticks out of the view."""
    root = ElementTree.fromstring(several.to_svg())
    left, top, width, height = (float(part) for part in root.get("viewBox", "").split())
    assert (float(root.get("width", "")), float(root.get("height", ""))) == (width, height)

    def walk(element: Element, x: float, y: float) -> None:
        shift = re.fullmatch(r"translate\((\S+) (\S+)\)", element.get("transform", ""))
        if shift:
            x, y = x + float(shift[1]), y + float(shift[2])
        if element.tag == f"{SVG}rect" and element.get("class") != "mu-paper":
            assert left <= x + float(element.get("x", ""))
            assert x + float(element.get("x", "")) + float(element.get("width", "")) <= left + width
            assert top <= y + float(element.get("y", ""))
            assert y + float(element.get("y", "")) + float(element.get("height", "")) <= top + height
        for child in element:
            walk(child, x, y)

    walk(root, 0, 0)


@pytest.mark.parametrize("name", PLANS)
def test_html_is_well_formed_and_needs_nothing_else(name: str, request: pytest.FixtureRequest) -> None:
    plan: LogicalPlan = request.getfixturevalue(name)
    text = plan.to_html()
    page = read(text)
    assert text.startswith("<!doctype html>")
    assert "<title>muntin plan</title>" in text
    assert page.fetched == []
    assert "script" not in page.tags
    assert not re.search(r"url\(|@import", text)
    rows = sum(len(group.forest.nodes) + 1 for group in plan.groups)
    assert page.tags.count("tr") == rows
    assert page.tags.count("svg") == 2 * len(plan.groups)
    for group in plan.groups:
        assert group.reason in page.text


def test_html_shows_totals_and_costs_by_optimizer(paper: LogicalPlan) -> None:
    page = read(paper.to_html(costs={"mincost": 246, "exact": 150}))
    assert {"360 → 150", "58.3 % less (2.4x)", "246", "mincost", "× 10", "= 120"} <= set(page.text)
    widths = re.findall(r"display:block;width:([\d.]+)%", paper.to_html(costs={"mincost": 246}))
    assert widths == ["100.0", "68.3", "41.6"]


def test_html_holds_the_json_unless_it_is_too_long(paper: LogicalPlan, several: LogicalPlan) -> None:
    for plan in (paper, several):
        assert json.dumps(plan.to_dict(), indent=2) in "".join(read(plan.to_html()).text)
    sizes = {random.Random(i).randrange(10**12, 10**13) for i in range(200)}
    long = optimize([Window(size, size) for size in sizes], agg.sum, optimizer="mincost")
    assert len(json.dumps(long.to_dict())) > 1_000_000 > len(long.to_html())
    assert "characters, too many for this page. plan.plot('plan.json') writes them to a file." in "".join(
        read(long.to_html()).text
    )


def test_user_text_is_escaped(nasty: LogicalPlan) -> None:
    for text in (nasty.to_html(), nasty.to_svg(), nasty._repr_html_()):
        assert "<script" not in text
        assert "a<b>" not in text
        assert "\x07" not in text
        assert "\u202e" not in text
    assert """a<b>&"c"'d', twin""" in read(nasty.to_html()).text


def test_a_notebook_gets_an_element_whose_style_stays_within(paper: LogicalPlan) -> None:
    text = paper._repr_html_()
    page = read(text)
    assert not {"html", "body", "head", "title"} & set(page.tags[: page.tags.index("svg")])
    style = text[text.index("<style>") + 7 : text.index("</style>")]
    selectors = re.findall(r"(?:^|[}{])\s*([^{}@]+)\{", style)
    assert len(selectors) > 30
    assert all(part.startswith(".muntin") for one in selectors for part in one.split(","))


def test_the_graph_before_is_whole_while_small() -> None:
    windows = [Window(2**i, 2**i) for i in range(1, WHOLE_GRAPH + 1)]
    (group,) = view(optimize(windows, agg.min, optimizer="none", sharing="covered"), before=True).groups
    assert len(group.before.edges) == WHOLE_GRAPH * (WHOLE_GRAPH - 1) // 2
    assert {edge.reads for edge in group.before.edges if edge.parent == "tumbling_2"} == {
        2**i for i in range(1, WHOLE_GRAPH)
    }


def test_the_graph_before_is_the_transitive_reduction_when_large() -> None:
    windows = [Window(r, r) for r in range(1, 41)]
    (group,) = view(optimize(windows, agg.min, optimizer="mincost"), before=True).groups
    assert group.before.reduced
    # Of the divisors of a number, those nearest to it: the number without one of its prime factors.
    primes = [p for p in range(2, 41) if all(p % q for q in range(2, p))]
    expected = {(r // p, r) for r in range(1, 41) for p in primes if r % p == 0}
    ranges = {f"tumbling_{r}": r for r in range(1, 41)}
    assert {(ranges[e.parent or ""], ranges[e.child]) for e in group.before.edges} == expected


def test_before_counts_coinciding_windows_twice() -> None:
    plan = optimize([tumbling("20m"), tumbling("20m", id="twin"), hopping("1h", "20m")], agg.min, optimizer="mincost")
    (group,) = view(plan, before=True).groups
    assert sum(node.cost for node in group.before.nodes) == plan.baseline_cost == group.baseline
    assert [node.copies for node in group.before.nodes] == [2, 1]
    assert sum(node.cost for node in group.after.nodes) == plan.cost
