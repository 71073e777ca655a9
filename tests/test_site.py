"""The documents build into a site: strictly, with every page in its navigation, and nothing fetched from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from scripts.site import FRONT, ROOT, build, gather


class Fetched(HTMLParser):
    """What a browser would fetch for a page by itself: all but the links that somebody follows."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.urls += [value or "" for name, value in attrs if name == "src" or (tag == "link" and name == "href")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site") / "site"
    ended = build(target)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return target


def test_every_page_is_built_and_in_the_navigation(site: Path) -> None:
    pages = {page.stem for page in ROOT.glob("docs/*.md")} | {Path(page).stem for page in FRONT.values()}
    assert {page.stem for page in site.glob("*.html")} == pages | {"404"}
    navigation = set(re.findall(r"^ .*: ([\w-]+)\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert navigation == pages, f"name each page once under `nav` in mkdocs.yml: {sorted(navigation ^ pages)}"
    assert "<h1" in (site / "index.html").read_text()


def test_pages_fetch_nothing_from_elsewhere_and_what_they_fetch_is_there(site: Path) -> None:
    for page in site.glob("*.html"):
        found = Fetched()
        found.feed(page.read_text())
        assert found.urls
        for url in found.urls:
            assert not re.match(r"\w+:|//", url), (page.name, url)
            if page.name != "404.html":  # its addresses begin at the root of wherever the site is served
                assert (site / url.partition("#")[0]).exists(), (page.name, url)


def test_a_link_that_leads_nowhere_stops_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(folder: Path) -> None:
        gather(folder)
        with (folder / "limits.md").open("a") as page:
            page.write("\n[nowhere](batch.md#no-such-heading)\n")

    monkeypatch.setattr("scripts.site.gather", broken)
    ended = build(tmp_path / "site")
    assert ended.returncode != 0
    assert "anchor does not exist" in ended.stdout + ended.stderr
    assert not (tmp_path / "site").exists()
