"""The documents agree with the code where no doctest can see it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from conftest import _ON_SPARK
from muntin.aggregate.define import define
from muntin.aggregate.names import BUILT_IN
from muntin.declare.sql import parse_sql
from muntin.incremental import ALGORITHMS
from muntin.show.palette import DARK, LIGHT
from scripts.drawings import IMAGES, drawings
from tests.test_tutorial import PAGE as TUTORIAL

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("docs/*.md")), ROOT / "README.md", ROOT / "CHANGELOG.md"]
SAYS = {"covered": "any cover", "partitioned": "partitions", "none": "events only"}


def test_the_catalogue_lists_every_aggregate_with_its_laws() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", section("docs/aggregates.md", "The catalogue"), re.MULTILINE)
    listed = {name: [cell.strip() for cell in cells.split("|")] for name, cells in rows}
    assert listed.keys() == BUILT_IN.keys()
    for name, f in BUILT_IN.items():
        yes = ["yes" if law else "" for law in (f.invertible, f.commutative)]
        assert listed[name] == [f.kind, SAYS[f.sharing], *yes, "yes" if f.bounded else "no"]


def test_the_document_lists_every_argument_of_define() -> None:
    cells = re.findall(r"^\| (`.+?) \|", section("docs/aggregates.md", "Your own"), re.MULTILINE)
    listed = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert listed == set(inspect.signature(define).parameters) - {"name"}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_and_named_files_exist(page: Path) -> None:
    text = without_code(page.read_text())
    for target, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)", text):
        led_to = page.parent / target if target else page
        assert led_to.exists(), target
        if anchor:
            assert anchor in anchors(led_to), f"{target}#{anchor}"
    for name in re.findall(r"`((?:src|tests|bench|docs|scripts)/[\w/.-]+)`", text):
        assert (ROOT / name).exists(), name
    for name in re.findall(
        r"`((?:window|aggregate|logical|share|physical|show|incremental|kernels|spark)/\w+\.py)`", text
    ):
        assert (ROOT / "src/muntin" / name).exists(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_no_python_block_escapes_the_tests(page: Path) -> None:
    # A block without prompts is no example to doctest, and one that the closing fence follows directly would be
    # taken for a part of the expected answer.
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    for block in blocks:
        assert block.startswith(">>> "), block
        assert block.endswith("\n\n"), block
    if any("SparkSession" in block for block in blocks):
        assert page.name in _ON_SPARK or page == TUTORIAL  # which has a Spark of its own


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_queries_in_sql_are_read(page: Path) -> None:
    for block in re.findall(r"^```sql\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        assert parse_sql(block).windows, block


def test_the_drawings_are_what_the_package_draws_today() -> None:
    drawn = drawings()
    assert {path.name for path in IMAGES.glob("*.svg")} == drawn.keys(), "run `make drawings`"
    for name, svg in drawn.items():
        assert (IMAGES / name).read_text() == svg, f"{name}: run `make drawings`"
        colours = set(re.findall(r"#[0-9a-f]{6}", svg))
        assert colours == {*LIGHT.values(), *DARK.values()}, "a colour that does not follow light and dark"
    shown = {name for page in PAGES for name in re.findall(r"images/([\w-]+\.svg)", page.read_text())}
    assert shown == drawn.keys()


def section(page: str, heading: str) -> str:
    (text,) = re.findall(rf"^## {heading}$(.*?)(?=^## |\Z)", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    return str(text)


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """List the headings as GitHub names them in addresses."""
    headings = re.findall(r"^#+ (.+)$", without_code(page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def test_the_table_of_algorithms_is_their_cards() -> None:
    text = (ROOT / "docs/incremental.md").read_text()
    for name, algorithm in ALGORITHMS.items():
        card = algorithm.card
        cells = (name, card.needs, card.amortised, card.worst, card.multi_query or "–", card.space)
        assert f"| {' | '.join(cells)} |" in text
