from __future__ import annotations

import math
import re
import time
from fractions import Fraction
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from muntin import Window, hopping, tumbling
from muntin.studio.chart import chart
from muntin.studio.results import Series
from muntin.studio.timeline import tick, timeline
from muntin.window.slices import cutty, pairs, panes

SVG = "{http://www.w3.org/2000/svg}"
SETS = {
    "paper": (tumbling("20m"), tumbling("30m"), tumbling("40m")),
    "pairs": (Window(14, 8), Window(3, 3)),
    "offsets": (hopping("1h", "10m", offset="5m"), tumbling("7m", offset="3m")),
    "rolling": (hopping("24h", "1m"), hopping("12h", "7m")),
    "one": (Window(1, 1),),
    "huge": (Window(10**29 + 1, 10**29), Window(7, 7)),
    "many": tuple(Window(n, n) for n in range(1, 60)),
}


@pytest.mark.parametrize("name", SETS)
def test_drawings_are_well_formed_and_stay_within_their_paper(name: str) -> None:
    drawn = timeline(SETS[name])
    root = ElementTree.fromstring(drawn.svg)
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    for rect in root.iter(f"{SVG}rect"):
        x, y, w, h = (float(rect.attrib[part]) for part in ("x", "y", "width", "height"))
        assert left <= x <= x + w <= left + width
        assert top <= y <= y + h <= top + height
    assert len(list(root.iter())) < 6_000


def test_slices_begin_where_a_window_begins_or_ends() -> None:
    windows = SETS["pairs"]
    root = ElementTree.fromstring(timeline(windows).svg)
    upright = [each.attrib["d"] for each in root.iter(f"{SVG}path") if each.get("class") == "mu-arc"]
    places = [float(re.match(r"M([\d.]+)", d)[1]) for d in upright]  # type: ignore[index]
    scale = (places[-1] - places[0]) / 24
    assert [round((place - places[0]) / scale) for place in places] == [*pairs(*windows).edges, 24]


def test_intervals_of_a_window_are_where_they_are() -> None:
    root = ElementTree.fromstring(timeline([Window(10, 4, 1)]).svg)
    hints = [each.text for each in root.iter(f"{SVG}title")][1:]
    # 0 to 12 is shown: one interval reaches in from before 0 for each of the offsets -7 and -3.
    assert [hint for hint in hints if " to " in (hint or "")] == ["1 to 11", "5 to 15", "9 to 19"]
    assert len(hints) == 5


@pytest.mark.parametrize("name", ["paper", "pairs", "offsets"])
def test_counts_are_those_of_the_slices(name: str) -> None:
    windows = SETS[name]
    drawn = timeline(windows)
    period = math.lcm(*(window.slide for window in windows))
    for each, cutting in zip(drawn.counts, (panes, pairs, cutty), strict=True):
        slicing = cutting(*windows)
        assert int(each.per_period.replace(",", "")) == slicing.count_between(0, period)
        assert [Fraction(text) for text in each.per_window] == [slicing.per_window(window) for window in windows]


def test_what_cannot_be_counted_soon_is_not_counted() -> None:
    primes = [p for p in range(2, 130) if all(p % q for q in range(2, p))]
    began = time.process_time()
    drawn = timeline([Window(p, p) for p in primes])
    assert time.process_time() - began < 0.7
    assert drawn.counts[1].per_period == "too many to count"
    assert "7 more windows are not drawn" in drawn.caption


def test_a_factor_window_is_dashed() -> None:
    root = ElementTree.fromstring(timeline(SETS["paper"], [tumbling("10m")]).svg)
    assert sum(each.get("class") == "mu-factor" for each in root.iter(f"{SVG}rect")) == 12


@pytest.mark.parametrize("span", [1, 7, 1_000, 59_999_999, 3_600_000_000, 86_400_000_000 * 400, 10**25])
@pytest.mark.parametrize("timed", [True, False])
def test_at_most_nine_ticks_fit(span: int, timed: bool) -> None:
    assert 1 <= -(-span // tick(span, timed=timed)) <= 9


def test_a_chart_has_a_line_for_each_window_and_names_it() -> None:
    series = [
        Series("load", f"tumbling_{n}m", tuple((n * i * 60_000_000, 40.0 - i * i + n / 100) for i in range(5)))
        for n in (1, 5, 10)
    ]
    root = ElementTree.fromstring(chart(series, "n"))
    lines = [each for each in root.iter(f"{SVG}path") if "mu-line" in each.get("class", "")]
    assert [each.get("class") for each in lines] == ["mu-line mu-line-0", "mu-line mu-line-1", "mu-line mu-line-2"]
    assert len(list(root.iter(f"{SVG}circle"))) == 15
    names = [each for each in root.iter(f"{SVG}text") if each.get("class", "").startswith("mu-name")]
    assert [each.text for each in names] == ["load tumbling_1m", "load tumbling_5m", "load tumbling_10m"]
    heights = sorted(float(each.attrib["y"]) for each in names)
    assert all(b - a >= 14 for a, b in pairwise(heights))


@pytest.mark.parametrize(
    "values", [[], [float("nan")], [float("inf"), 1.0], [5.0], [0.0, 0.0], [-1e300, 1e300], [1e-12, 2e-12]]
)
def test_odd_values_are_drawn_or_left_out(values: list[float]) -> None:
    drawn = chart([Series("q", "w", tuple((i, value) for i, value in enumerate(values)))], "x")
    assert "nan" not in drawn
    assert "inf" not in drawn
    if drawn:
        ElementTree.fromstring(drawn)
