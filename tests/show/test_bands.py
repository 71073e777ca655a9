from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import pytest

from muntin import Window, hopping, tumbling
from muntin.show.bands import draw_cover, draw_event

SVG = "{http://www.w3.org/2000/svg}"
SETS = {
    "units": ([Window(20, 20), Window(30, 30), Window(60, 10)], 65, 120),
    "offsets": ([Window(14, 8, offset=3), Window(6, 6, offset=1)], 0, 48),
    "times": ([tumbling("20m"), hopping("1h", slide="10m", offset="5m")], 3_900_000_000, 7_200_000_000),
}


def bars(svg: str, *kinds: str) -> list[tuple[float, float, float, float]]:
    root = ElementTree.fromstring(svg)
    found = [rect for rect in root.iter(f"{SVG}rect") if rect.get("class") in kinds]
    return [tuple(float(rect.attrib[part]) for part in ("x", "y", "width", "height")) for rect in found]  # type: ignore[misc]


@pytest.mark.parametrize("name", SETS)
def test_the_intervals_that_hold_the_event_are_filled_and_no_others(name: str) -> None:
    windows, at, span = SETS[name]
    svg = draw_event(windows, at, span)
    filled, all_ = bars(svg, "mu-bar"), bars(svg, "mu-bar", "mu-box")
    assert len(filled) == sum(len(list(window.containing(at))) for window in windows)
    # From the definition: m * slide + offset for every m, while it meets [0, span).
    reach = {window: range(-window.range, span) for window in windows}
    assert len(all_) == sum(
        len(range((window.offset - first) % window.slide + first, reach[window].stop, window.slide))
        for window, first in ((window, reach[window].start + 1) for window in windows)
    )
    assert len(bars(svg, "mu-costly")) == 1
    line = ElementTree.fromstring(svg).findall(f"{SVG}path")[-1].attrib["d"]
    x = float(line[1:].split()[0])
    assert all(left - 1 <= x <= left + width + 1 for left, _, width, _ in filled)


@pytest.mark.parametrize("name", SETS)
def test_no_bar_lies_on_another(name: str) -> None:
    for a, b in combinations(bars(draw_event(*SETS[name]), "mu-bar", "mu-box", "mu-factor", "mu-costly"), 2):
        apart = a[0] + a[2] <= b[0] or b[0] + b[2] <= a[0] or a[1] + a[3] <= b[1] or b[1] + b[3] <= a[1]
        assert apart, (a, b)


def test_a_cover_is_drawn_whole_sparse_and_tiled() -> None:
    # All four, and the fewest that tile; 10/2 has no tiles among 6/2, so its fewest two overlap.
    assert len(bars(draw_cover(Window(12, 4), Window(6, 2)), "mu-box")) == 4 + 2
    assert len(bars(draw_cover(Window(10, 2), Window(6, 2)), "mu-box")) == 3 + 2
    # Of a tumbling parent every interval is needed: they are the tiles.
    assert len(bars(draw_cover(Window(40, 20), Window(20, 20)), "mu-box")) == 2 + 2
