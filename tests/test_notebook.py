"""The notebook of the examples: it runs, every plan in it shows itself as a picture, and what is stored was shown."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

from muntin import hopping
from muntin.share.subsume import subsume_windows
from muntin.share.subsume_group import Grouping
from scripts.notebook import NOTEBOOK, drawn, executed

if TYPE_CHECKING:
    from pathlib import Path

SHOWN = 6  # plans and groups that end a cell
DRAWN = 5  # of them those that are one drawing


def outputs(book: Any) -> list[dict[str, Any]]:
    return [output["data"] for cell in book.cells for output in cell.get("outputs", []) if "data" in output]


@pytest.mark.slow
# What Jupyter does with its own sockets and loops is not ours to mend.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::RuntimeWarning")
def test_the_notebook_runs_and_plans_are_pictures(tmp_path: Path) -> None:
    book = executed(tmp_path)
    pictures = [data for data in outputs(book) if "<svg" in data.get("text/html", "")]
    assert len(pictures) == SHOWN
    for data in pictures:
        assert "<script" not in data["text/html"]
        if "image/svg+xml" in data:
            ET.fromstring(data["image/svg+xml"])
    told = "".join(data["text/html"] for data in pictures)
    assert "How it runs" in told
    assert "one stateful operator" in told
    assert "tree 1: load, heat" in told
    kept = outputs(drawn(book))
    assert sum("image/svg+xml" in data and "text/html" not in data for data in kept) == DRAWN


def test_the_stored_notebook_has_its_pictures_and_no_place_of_this_machine() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    book = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(book)
    assert sum("image/svg+xml" in data for data in outputs(book)) == DRAWN
    assert not any(output.get("output_type") == "error" for cell in book.cells for output in cell.get("outputs", []))
    assert len(text) < 400_000
    for place in (str(NOTEBOOK.parents[1]), "/home/", "/tmp/"):
        assert place not in text


def test_groups_are_drawn_and_none_is_text() -> None:
    groups = subsume_windows([hopping("8m", slide="2m", id="<b>")])
    shown = groups._repr_html_()
    assert shown is not None
    assert "<svg" in shown
    assert "<b>" not in shown
    assert groups._repr_svg_() == groups.to_svg()
    empty = Grouping()
    assert (empty._repr_html_(), empty._repr_svg_()) == (None, None)
