"""The page in a headless Chromium, clicked and typed through as a person would; MUNTIN_SHOTS keeps the pictures."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from muntin.studio.server import Studio
from tests.studio.chromium import FOUND, Chromium

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(FOUND is None, reason="the studio's page is tested in Chromium, and there is none on PATH"),
]
DONE = "document.querySelector('#said')?.textContent.startsWith('Planned')"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with Chromium() as opened:
        yield opened


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Chromium]:
    """Give the browser with nothing left of the test before, and see that it had nothing to complain of."""
    chromium.events.clear()
    chromium.size(1280, 900)
    yield chromium
    assert chromium.complaints() == []


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    with Studio() as opened:
        yield opened


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("MUNTIN_SHOTS") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def opened(browser: Chromium, studio: Studio) -> None:
    browser.go(studio.url)
    browser.wait("!document.querySelector('#locked').hidden || document.querySelector('#optimizer').options.length")
    # What a test before typed is gone, with what the page made of it.
    browser.js("sessionStorage.removeItem('muntin-studio-form')")
    browser.send("Page.navigate", url="about:blank")
    browser.wait("location.protocol === 'about:'")
    browser.events.clear()
    browser.go(studio.url)
    browser.wait(DONE)


def planned(browser: Chromium, figures: str) -> None:
    browser.wait(f"document.querySelector('#figures').textContent === {json.dumps(figures)}")
    browser.wait("!document.querySelector('#answer').classList.contains('stale')")


# --- the way in


def test_the_token_leaves_the_address_and_a_reload_still_works(browser: Chromium, studio: Studio) -> None:
    opened(browser, studio)
    assert studio.token not in browser.js("location.href + document.documentElement.outerHTML")
    browser.send("Page.reload")
    browser.wait(DONE)


def test_without_the_token_the_page_is_locked(browser: Chromium, studio: Studio) -> None:
    browser.go(studio.address)
    browser.js("sessionStorage.clear()")
    browser.go(f"{studio.address}?token=wrong")
    browser.wait("!document.querySelector('#locked').hidden")
    assert "open the address that muntin studio printed" in browser.text("#locked")
    assert browser.js("document.querySelector('main').hidden")
    # The browser itself notes the refusal: that is the one complaint there may be.
    assert all("401" in complaint for complaint in browser.complaints())
    browser.events.clear()


def test_nothing_is_fetched_from_elsewhere(browser: Chromium, studio: Studio) -> None:
    opened(browser, studio)
    assert browser.fetched()
    assert all(address.startswith(studio.address) for address in browser.fetched())


# --- a window set


def test_a_window_set_is_built_and_its_plan_follows(browser: Chromium, studio: Studio, shots: Path) -> None:
    opened(browser, studio)
    planned(browser, "360 → 150")
    assert browser.text("#factors") == "Factor windows: 10m"
    assert browser.js("document.querySelectorAll('#view-graph svg').length") == 2
    browser.look(shots / "graph-light.png")
    browser.look(shots / "graph-dark.png", dark=True)
    browser.look(shots / "narrow-light.png", width=390, height=844)
    browser.look(shots / "narrow-dark.png", width=390, height=844, dark=True)
    assert browser.js("document.documentElement.scrollWidth <= innerWidth"), "the narrow page scrolls sideways"
    browser.look(shots / "graph-light.png")
    # A fourth window, by the button and the keyboard.
    browser.click("#add-window")
    assert browser.js("document.activeElement.getAttribute('aria-label')") == "range of window 4"
    browser.send("Input.insertText", text="1h")
    browser.key("Tab")
    browser.send("Input.insertText", text="10m")
    browser.wait("document.querySelector('#title').textContent.includes('4 windows')")
    browser.click("#windows tr:nth-child(4) button")
    planned(browser, "360 → 150")


def test_rate_and_optimizer_change_the_plan_at_once(browser: Chromium, studio: Studio) -> None:
    opened(browser, studio)
    browser.choose("#set", "Nothing in common: 15, 17 and 19")
    browser.wait("document.querySelector('#factors').textContent === 'No factor windows'")
    browser.write("#rate", "100")
    browser.wait("document.querySelector('#factors').textContent === 'Factor windows: 1'")
    assert float(browser.js("document.querySelector('#rate-slider').value")) == 2
    browser.choose("#optimizer", "none")
    browser.wait("document.querySelector('#factors').textContent === 'No factor windows'")
    assert browser.text("#saving") == "nothing saved"
    browser.click("#rate-slider")
    browser.key("ArrowRight")
    browser.wait("document.querySelector('#title').textContent.includes('178 events')")
    browser.choose("#optimizer", "factor")
    browser.wait("document.querySelector('#proof').textContent.includes('optimizer factor')")


def test_answers_come_in_the_order_of_the_questions(browser: Chromium, studio: Studio) -> None:
    opened(browser, studio)
    for text in ("1", "12", "123", "1234"):
        browser.write("#rate", text)
    browser.wait("document.querySelector('#title').textContent.includes('1,234 events')")
    time.sleep(1)
    assert "1,234 events" in browser.text("#title")


def test_every_view(browser: Chromium, studio: Studio, shots: Path) -> None:
    opened(browser, studio)
    browser.click("#tab-costs")
    browser.wait("document.querySelectorAll('#costs [role=listitem]').length === 5")
    assert "mincost" in browser.text("#costs")
    assert browser.js("document.querySelectorAll('#cost-tables tbody tr').length") == 4
    browser.look(shots / "costs-light.png")
    browser.click("#tab-slices")
    assert browser.js("document.querySelectorAll('#slices svg').length") == 1
    assert "pairs" in browser.text("#slices-table")
    browser.look(shots / "slices-light.png")
    browser.look(shots / "slices-dark.png", dark=True)
    browser.look(shots / "slices-light.png")
    browser.click("#tab-explain")
    assert "└─ 10m  factor" in browser.text("#explain")
    browser.click("#tab-json")
    assert json.loads(browser.text("#json"))["cost"]["auto"] == 150
    browser.click("#tab-code")
    assert "[tumbling('20m'), tumbling('30m')" in browser.text("#code")
    assert browser.text("#command") == "muntin plan -w 20m -w 30m -w 40m -a min --unit minute"
    browser.look(shots / "code-light.png")


# --- SQL


def test_a_query_is_read_and_a_mistake_in_it_is_shown_with_its_place(
    browser: Chromium, studio: Studio, shots: Path
) -> None:
    opened(browser, studio)
    browser.click("#tab-sql")
    browser.wait("document.querySelector('#view-graph').textContent.includes('Azure Stream Analytics')")
    planned(browser, "360 → 150")
    browser.look(shots / "sql-light.png")
    browser.choose("#example", "Spark SQL: one window")
    browser.wait("document.querySelector('#view-graph').textContent.includes('Spark SQL')")
    text = browser.js("document.querySelector('#sql').value")
    browser.write("#sql", text.replace("40 minutes', '10", "40 minuts', '10"))
    browser.wait("!document.querySelector('#error').hidden")
    assert browser.text("#error p").startswith("line 4, column 21: unknown unit 'minuts'")
    assert set(browser.text("#error pre").splitlines()[1].strip()) == {"^"}
    # The last plan stays, and shows that it is not this one's.
    assert browser.js("document.querySelector('#answer').classList.contains('stale')")
    browser.look(shots / "error-light.png")
    browser.look(shots / "error-dark.png", dark=True)
    browser.look(shots / "error-light.png")
    browser.click("#error-place")
    start = browser.js("document.querySelector('#sql').selectionStart")
    assert browser.js("document.querySelector('#sql').value")[start:].startswith("'40 minuts")
    browser.write("#sql", text)
    browser.wait("document.querySelector('#error').hidden")
    # A refusal is a plain 400, which the browser notes.
    assert all("400" in complaint for complaint in browser.complaints())
    browser.events.clear()


def test_markup_in_a_query_stays_text(browser: Chromium, studio: Studio) -> None:
    opened(browser, studio)
    browser.click("#tab-sql")
    nasty = "<img src=x onerror=document.title=1><script>document.title=2</script>"
    browser.write(
        "#sql", f"SELECT MIN(x) AS m FROM i TIMESTAMP BY t GROUP BY Windows(Window('{nasty}', Tumbling(minute, 5)))"
    )
    browser.wait("document.querySelector('#view-graph').textContent.includes('onerror')")
    browser.write("#sql", f"SELECT '{nasty}")
    browser.wait("!document.querySelector('#error').hidden")
    assert browser.js("document.title") == "muntin studio"
    assert browser.js("document.querySelectorAll('#result img, #result script').length") == 0
    browser.events.clear()


# --- by keyboard alone


def test_all_is_reached_by_keyboard_and_nothing_traps(browser: Chromium, studio: Studio) -> None:
    opened(browser, studio)
    browser.js("document.activeElement.blur()")
    seen: list[str] = []
    for _ in range(60):
        browser.key("Tab")
        where = browser.js(
            "((e) => e === document.body ? '' : e.id || e.getAttribute('aria-label') || e.textContent)"
            "(document.activeElement)"
        )
        if where == "" and seen:
            break
        outlined = browser.js("getComputedStyle(document.activeElement).outlineStyle")
        assert where == "" or outlined != "none", where
        seen.append(where)
    for wanted in (
        "tab-plan",
        "help-button",
        "tab-form",
        "range of window 1",
        "Remove window 3",
        "add-window",
        "aggregates",
        "optimizer",
        "rate",
        "period",
        "tab-graph",
    ):
        assert wanted in seen, (wanted, seen)
    assert seen[0] == "Skip to the plan"
    assert "tab-manager" not in seen  # arrows lead there
    # Out of the query too, which takes tabs in other editors.
    browser.click("#tab-sql")
    browser.click("#sql")
    browser.key("Tab")
    assert browser.js("document.activeElement.id") == "optimizer"


def test_shortcuts(browser: Chromium, studio: Studio) -> None:
    opened(browser, studio)
    browser.js("document.querySelector('#tab-form').focus()")
    browser.key("ArrowRight")
    assert browser.js("document.activeElement.id") == "tab-sql"
    browser.wait("document.querySelector('#view-graph').textContent.includes('Azure')")
    browser.key("ArrowLeft")
    for number, view in ((4, "explain"), (2, "costs"), (1, "graph")):
        browser.key(str(number), alt=True)
        assert not browser.js(f"document.querySelector('#view-{view}').hidden")
    browser.key("?", shift=True)
    assert browser.js("document.querySelector('#help').open")
    browser.key("Escape")
    browser.wait("!document.querySelector('#help').open")
    browser.click("#windows tr:nth-child(1) input")
    browser.key("?", shift=True)
    assert not browser.js("document.querySelector('#help').open")
    browser.key("Enter")
    assert browser.js("document.activeElement.getAttribute('aria-label')") == "range of window 2"
    browser.click("#help-button")
    assert browser.js("document.querySelector('#help').open")
    browser.click("#help button")
    browser.wait("!document.querySelector('#help').open")
    browser.events.clear()


def test_every_field_has_a_name_and_errors_are_announced(browser: Chromium, studio: Studio) -> None:
    opened(browser, studio)
    nameless = browser.js(
        "[...document.querySelectorAll('input, select, textarea, button')].filter(e => !(e.labels && e.labels.length)"
        " && !e.getAttribute('aria-label') && !e.textContent.trim()).map(e => e.outerHTML)"
    )
    assert nameless == []
    for box in ("error", "spark-error", "manager-error", "locked"):
        assert browser.js(f"document.getElementById('{box}').getAttribute('role')") == "alert"


# --- Spark


def test_the_spark_plan(browser: Chromium, studio: Studio, shots: Path, spark: SparkSession) -> None:
    opened(browser, studio)
    browser.click("#tab-spark")
    browser.click("#spark")
    browser.wait("!document.querySelector('#spark-answer').hidden", 60)
    assert "== Physical Plan ==" in browser.text("#spark-plan")
    assert browser.js("document.querySelector('#schema').placeholder").startswith("`ts` timestamp")
    browser.look(shots / "spark-light.png")
    browser.write("#schema", "ts double")
    browser.key("Enter", ctrl=True)
    browser.wait("!document.querySelector('#spark-error').hidden")
    assert "the key 'device': there is no such column" in browser.text("#spark-error")
    browser.events.clear()


# --- the manager


def test_without_a_manager_the_tab_says_how_to_get_one(browser: Chromium, studio: Studio) -> None:
    opened(browser, studio)
    browser.click("#tab-manager")
    assert "muntin studio --manager ck/" in browser.text("#manager-none")
    assert browser.js("document.querySelector('#manager-some').hidden")


def events(folder: Path, minute: int) -> None:
    rows = [{"ts": f"2026-01-01T{minute // 60:02}:{minute % 60:02}:{second:02}Z", "device": "ab"[second % 2],
             "temp": round(20 + 8 * math.sin(minute / 2) + second % 7 / 2, 1)} for second in range(60)]  # fmt: skip
    part = folder / f".{minute}.json"
    part.write_text("\n".join(map(json.dumps, rows)))
    part.rename(folder / f"{minute:04}.json")


def test_a_running_manager(browser: Chromium, tmp_path: Path, shots: Path) -> None:
    source, checkpoint = tmp_path / "in", tmp_path / "ck"
    source.mkdir()
    events(source, 0)
    command = [
        *(sys.executable, "-m", "muntin", "serve", "--input", str(source), "--time", "ts", "--key", "device"),
        *(
            "--watermark",
            "10s",
            "--checkpoint",
            str(checkpoint),
            "--output",
            str(tmp_path / "out"),
            "--master",
            "local[2]",
        ),
        *("--conf", "spark.sql.shuffle.partitions=2", "--buckets", "2"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stdout is not None
            assert serving.stdout.readline().startswith("listening"), serving.stderr and serving.stderr.read()
            with Studio(manager=checkpoint) as studio:
                opened(browser, studio)
                manage(browser, source, shots)
                browser.send("Page.navigate", url="about:blank")
                browser.wait("location.protocol === 'about:'")
                browser.events.clear()
        finally:
            serving.terminate()
            serving.communicate(timeout=60)


def manage(browser: Chromium, source: Path, shots: Path) -> None:
    browser.click("#tab-manager")
    browser.wait("document.querySelector('#facts').textContent.includes('idle')")
    # What is wrong is said, and stays to be read.
    browser.write("#query-name", "load")
    browser.write("#query-windows", "1x")
    browser.write("#query-aggregates", "n=count(), low=min(temp)")
    browser.click("#register button.main")
    browser.wait("document.querySelector('#manager-error').textContent.includes('unknown unit')")
    for name, windows in (("load", "1m, 2m"), ("roll", "5m/1m")):
        browser.write("#query-name", name)
        browser.write("#query-windows", windows)
        browser.click("#register button.main")
        browser.wait(f"document.querySelector('#manager-said').textContent.startsWith('{name} registered')", 120)
    for minute in range(1, 16):
        events(source, minute)
    browser.wait("document.querySelectorAll('#results .mu-line').length === 3", 120)
    assert browser.js("[...document.querySelector('#key').options].map(o => o.value)") == ["a", "b"]
    browser.choose("#column", "low")
    browser.wait("document.querySelector('#results svg').getAttribute('aria-label') === 'low by window'", 30)
    browser.look(shots / "manager-light.png", height=1100)
    browser.look(shots / "manager-dark.png", height=1100, dark=True)
    browser.look(shots / "manager-narrow.png", width=390, height=1400)
    assert browser.js("document.documentElement.scrollWidth <= innerWidth")
    browser.look(shots / "manager-light.png", height=1100)
    browser.click("[data-change='suspend load']")
    browser.wait("document.querySelector('[data-change=\"resume load\"]')", 120)
    browser.click("[data-change='resume load']")
    browser.wait("document.querySelector('[data-change=\"suspend load\"]')", 120)
    browser.click("[data-change='drop roll']")
    browser.click("#sure button[value=no]")
    browser.wait("!document.querySelector('#sure').open")
    assert browser.js("document.querySelector('[data-change=\"drop roll\"]') !== null")
    # Kept, and asked again before the browser has told of the dialog's end: the second answer counts.
    browser.js(
        "for (const where of ['[data-change=\"drop roll\"]', '#sure button[value=no]', '[data-change=\"drop roll\"]'])"
        " document.querySelector(where).click()"
    )
    browser.click("#sure button[value=yes]")
    browser.wait("document.querySelector('[data-change=\"drop roll\"]') === null", 120)
    browser.click("#manager-explain-box summary")
    browser.wait("document.querySelector('#manager-explain').textContent.includes('tumbling_1m')", 60)
