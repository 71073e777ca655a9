"""The documents agree with the code where no doctest can see it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from muntin.aggregate.names import BUILT_IN
from muntin.incremental import ALGORITHMS

ROOT = Path(__file__).parent.parent
SAYS = {"covered": "any cover", "partitioned": "partitions", "none": "events only"}


def test_the_catalogue_lists_every_aggregate_with_its_laws() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", (ROOT / "docs/aggregates.md").read_text(), re.MULTILINE)
    listed = {name: [cell.strip() for cell in cells.split("|")] for name, cells in rows}
    assert listed.keys() == BUILT_IN.keys()
    for name, f in BUILT_IN.items():
        yes = ["yes" if law else "" for law in (f.invertible, f.commutative)]
        assert listed[name] == [f.kind, SAYS[f.sharing], *yes, "yes" if f.bounded else "no"]


@pytest.mark.parametrize("page", [*sorted(ROOT.glob("docs/*.md")), ROOT / "README.md"], ids=lambda p: p.name)
def test_links_and_named_files_exist(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\[[^\]\"]+\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), target
    for name in re.findall(r"`((?:src|tests|bench|docs)/[\w/.]+)`", text):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`((?:window|aggregate|logical|show|incremental|kernels)/\w+\.py)`", text):
        assert (ROOT / "src/muntin" / name).exists(), name


def test_the_table_of_algorithms_is_their_cards() -> None:
    text = (ROOT / "docs/incremental.md").read_text()
    for name, algorithm in ALGORITHMS.items():
        card = algorithm.card
        cells = (name, card.needs, card.amortised, card.worst, card.multi_query or "–", card.space)
        assert f"| {' | '.join(cells)} |" in text
