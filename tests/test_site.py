"""The documents build into a site: strictly, with every page in its navigation, and nothing fetched from elsewhere."""

from __future__ import annotations

import doctest
import re
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from scripts import site as maker
from scripts.site import FRONT, ROOT, build, gather
from tests.studio.chromium import FOUND, Chromium


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


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.slow
@pytest.mark.skipif(FOUND is None, reason="the site is looked at in Chromium, and there is none on PATH")
def test_the_site_in_a_browser_follows_light_and_dark_is_searched_and_fits(site: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server, Chromium() as page:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{server.server_port}/"
        page.go(f"{here}concepts.html")
        # Back and forth: what was chosen at the first visit must not stick, as the drawings follow the system too.
        for scheme, shown in (("light", "default"), ("dark", "slate"), ("light", "default")):
            page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            page.wait(f"document.body.dataset.mdColorScheme === {shown!r}")
        page.js("document.querySelector('.md-search__button').click()")
        found = (
            "[...document.querySelectorAll('*')].filter(e => e.shadowRoot).map(e => e.shadowRoot.textContent).join()"
        )
        page.wait(f"({found}) !== ''")
        page.send("Input.insertText", text="watermark")
        page.wait(f"/\\d+ results/.test({found})")
        for name in ("index", "papers", "performance"):
            page.size(390, 900)
            page.go(f"{here}{name}.html")
            page.wait("document.readyState === 'complete'")
            assert page.js("document.documentElement.scrollWidth") <= 390, name
        assert page.complaints() == []
        assert [url for url in page.fetched() if not url.startswith((here, "data:", "blob:"))] == []
        server.shutdown()


def test_doctests() -> None:
    ran = doctest.testmod(maker)
    assert ran.attempted > 0
    assert ran.failed == 0
