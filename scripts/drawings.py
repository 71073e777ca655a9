"""Write the drawings of the documents into docs/images: `python -m scripts.drawings`. The package draws them all."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from muntin import Window, agg, hopping, optimize, tumbling
from muntin.incremental.flatfat import FlatFAT
from muntin.incremental.twostacks import TwoStacks
from muntin.show.adaptive import adaptive
from muntin.show.bands import draw_cover, draw_event
from muntin.show.structures import draw_stacks, draw_tree
from muntin.show.svg import to_svg
from muntin.studio.timeline import timeline

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
MINUTE: Final = 60_000_000


def drawings() -> dict[str, str]:
    """Draw each of them, by the name of its file."""
    tumblings = [tumbling("20m"), tumbling("30m"), tumbling("40m")]
    four = [*tumblings, hopping("1h", slide="10m")]
    plan = optimize(tumblings, agg.min, optimizer="factor", unit="minute")
    rolling = [hopping("1h", slide="10m"), hopping("4h", slide="10m"), tumbling("1h")]
    chain = optimize(rolling, agg.sum, unit="minute", rate=100, period="steady")
    tree = FlatFAT.new(max, [3, 9, 4, 1, 7, 2, 5, 6])
    tree.update([(2, 8)])
    stacks = TwoStacks(agg.max)
    for price in (5, 3, 9, 4, 1):
        stacks.insert(price)
    stacks.evict()
    for price in (7, 2):
        stacks.insert(price)
    found = {
        "event": draw_event(four, at=65 * MINUTE, span=120 * MINUTE),
        "factor-windows": to_svg(plan, stacked=True),
        "cover-tiles": draw_cover(Window(12, 4), Window(6, 2)),
        "cover-overlaps": draw_cover(Window(10, 2), Window(6, 2)),
        "hopping-factors": to_svg(chain, stacked=True),
        "slices": timeline([Window(14, 8)], margin=16).svg,
        "flatfat": draw_tree(tree, changed=[2]),
        "twostacks": draw_stacks(stacks),
    }
    return {f"{name}.svg": adaptive(svg) + "\n" for name, svg in found.items()}


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for name, svg in drawings().items():
        (IMAGES / name).write_text(svg, encoding="utf-8")
        print(IMAGES / name)
