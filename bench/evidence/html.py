"""The page as HTML that needs nothing else: no scripts, nothing from elsewhere, light and dark, wide and narrow."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final

from bench.chart import COLOURS, draw
from bench.evidence.exhibit import said
from bench.evidence.page import goals, missing
from bench.evidence.steps import STEPS
from bench.report import Table, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bench.evidence.exhibit import Paper
    from bench.evidence.page import Page, Shown
    from bench.evidence.reports import Measured
    from bench.report import Cell

TITLE: Final = "muntin beside the papers"
# The charts' colours, once more for a dark page; their other colours are greys, by their use.
_DARK: Final = ("#4aa8e0", "#f08a4b", "#2cc79a", "#e3a3c6", "#8fcff0")
_GREYS: Final = {
    'rect[fill="#fff"]': "fill:var(--card)",
    "text": "fill:var(--ink)",
    'text[fill="#555"],text[fill="#666"]': "fill:var(--soft)",
    'text[stroke="#fff"]': "stroke:var(--card)",
    'line[stroke="#e4e4e4"]': "stroke:var(--rule)",
}
_STYLE: Final = """\
:root{color-scheme:light dark;--paper:#fff;--card:#fff;--ink:#1d2329;--soft:#59636e;--rule:#dfe3e8;--link:#0b62b0;
--good:#116a3b;--bad:#a33a00;--note:#fff6e0}
@media (prefers-color-scheme:dark){:root{--paper:#12161b;--card:#171c22;--ink:#e4e8ec;--soft:#9aa5b1;--rule:#323a44;
--link:#79b8f3;--good:#5fce93;--bad:#f2a172;--note:#2b2614}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
main{max-width:72rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}
h2{font-size:1.25rem;margin:3rem 0 .5rem;padding-top:.75rem;border-top:1px solid var(--rule)}
h3{font-size:1.05rem;margin:2.25rem 0 .25rem}
h4{font-size:.95rem;margin:1.25rem 0 .25rem}
p{margin:.4rem 0;max-width:60rem}
a{color:var(--link)}
.soft{color:var(--soft)}
.good{color:var(--good)}
.short{color:var(--bad)}
.warn{background:var(--note);padding:.5rem .75rem;border-radius:.4rem;max-width:60rem}
nav ul{columns:18rem;padding-left:1.1rem;margin:.25rem 0 .75rem}
nav li{break-inside:avoid}
.scroll{overflow-x:auto;max-width:100%;margin:.75rem 0}
.scroll:focus-visible,summary:focus-visible,a:focus-visible{outline:2px solid var(--link);outline-offset:2px}
table{border-collapse:collapse;font-size:.87rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding-bottom:.3rem}
th,td{padding:.25rem .9rem .25rem 0;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top;
overflow-wrap:normal}
thead th{color:var(--soft);font-weight:500;vertical-align:bottom}
tbody th{font-weight:500;white-space:nowrap}
tbody th.long,td.long{white-space:normal;min-width:14rem}
tbody th.group{font-weight:650;padding-top:.9rem}
td.n,th.n{text-align:right}
td.n{white-space:nowrap}
svg{display:block;max-width:100%;min-width:34rem;height:auto;background:var(--card)}
details{margin:.75rem 0}
summary{cursor:pointer;color:var(--link)}
code{font:.92em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
@media print{details{display:block}svg{min-width:0}}
"""


def to_html(page: Page) -> str:
    """Write the page."""
    style = _STYLE + _chart_style()
    body = [
        *_head(page),
        *_contents(page),
        *_overview(page),
        *_short(page),
        *(line for paper, several in page.papers for line in _paper(page, paper, several)),
        *_beyond(page),
        *_benchmarks(page),
    ]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{TITLE}</title>",
            f"<style>\n{style}</style></head><body><main>",
            *body,
            "</main></body></html>\n",
        ]
    )


def _chart_style() -> str:
    greys = "".join(
        f"{','.join(f'svg {each}' for each in chosen.split(','))}{{{rule}}}\n" for chosen, rule in _GREYS.items()
    )
    dark = "".join(
        f'svg [fill="{light}"]{{fill:{dark}}}svg [stroke="{light}"]{{stroke:{dark}}}\n'
        for light, dark in zip(COLOURS, _DARK, strict=True)
    )
    return f"{greys}@media (prefers-color-scheme:dark){{\n{dark}}}\n"


def _head(page: Page) -> Iterator[str]:
    yield f"<h1>{TITLE}</h1>"
    yield (
        "<p>Every table and figure of the papers' evaluations, and what this package measures in its place. "
        f"Regenerate: <code>muntin bench all{' --quick' if page.quick else ''} --out report/</code>.</p>"
    )
    reports = list(page.reports.values())
    if reports:
        dates = sorted(str(each.machine["date"]) for each in reports)
        machine = max(reports, key=lambda each: str(each.machine["date"])).machine
        memory = f", {machine['memory_gib']} GiB" if machine.get("memory_gib") else ""
        told = f"{machine['cpu']}, {machine['cores']} cores{memory}, {machine['os']}, Python {machine['python']}"
        yield f"<p>Machine: {escape(told)}. Measured {escape(dates[0])}"
        yield f" to {escape(dates[-1])}.</p>" if dates[0] != dates[-1] else ".</p>"
        yield _versions(reports)
    for warning in page.warnings:
        yield f'<p class="warn">{_text(warning)}</p>'


def _versions(reports: Iterable[Measured]) -> str:
    stamps = [each.stamp for each in reports if each.stamp]
    if not stamps:
        return ""
    several: dict[str, dict[str, None]] = {}
    for stamp in stamps:
        for name, number in stamp.versions.items():
            several.setdefault(name, {})[number] = None
    told = ", ".join(f"{name} {' and '.join(numbers)}" for name, numbers in several.items())
    codes = " and ".join(dict.fromkeys(f"{s.code}{f' (commit {s.commit})' if s.commit else ''}" for s in stamps))
    return f"<p>Versions: {escape(told)}. Code: {escape(codes)}.</p>"


def _contents(page: Page) -> Iterator[str]:
    yield '<nav aria-label="Contents"><h4>Contents</h4><ul>'
    yield '<li><a href="#overview">Overview</a></li><li><a href="#short">Where it falls short</a></li>'
    for paper, several in page.papers:
        yield f'<li><a href="#{paper.key}">{escape(paper.title)}</a><ul>'
        for each in several:
            yield f'<li><a href="#{_anchor(paper, each)}">{escape(each.exhibit.name)}</a></li>'
        yield "</ul></li>"
    yield '<li><a href="#beyond">Beyond the papers</a><ul>'
    for name in page.beyond:
        yield f'<li><a href="#beyond-{name}">{name}</a></li>'
    yield '</ul></li><li><a href="#benchmarks">The benchmarks, and how they were run</a></li></ul></nav>'


def _anchor(paper: Paper, each: Shown) -> str:
    return re.sub(r"[^a-z0-9]+", "-", f"{paper.key}-{each.exhibit.name}".lower())


def _overview(page: Page) -> Iterator[str]:
    placed = sum(each.counterpart is not None for _, several in page.papers for each in several)
    everything = sum(len(several) for _, several in page.papers)
    yield f'<h2 id="overview">Overview</h2><p>{placed} of {everything} entries have a counterpart here.</p>'
    yield '<div class="scroll" tabindex="0"><table><thead><tr><th>in the paper</th><th>benchmark</th>'
    yield "<th>beside the paper</th></tr></thead><tbody>"
    for paper, several in page.papers:
        yield f'<tr><th colspan="3" class="group">{escape(paper.title)}</th></tr>'
        for each in several:
            link = f'<a href="#{_anchor(paper, each)}">{escape(each.exhibit.name)}</a>: {escape(each.exhibit.shows)}'
            yield f'<tr><td class="long">{link}</td><td>{_report_link(each.report)}</td>'
            yield f'<td class="long">{_text(each.verdict)}</td></tr>'
    yield "</tbody></table></div>"


def _short(page: Page) -> Iterator[str]:
    yield '<h2 id="short">Where it falls short</h2>'
    found = page.short()
    if not found:
        yield "<p>Nowhere, in what was measured.</p>"
    for paper, each in found:
        assert each.counterpart is not None
        link = f'<a href="#{_anchor(paper, each)}">{escape(paper.title)}, {escape(each.exhibit.name)}</a>'
        yield f"<p>{link}: {_text(said(each.counterpart.held))}</p>"
    for name, report in page.reports.items():
        for table in report.tables:
            told = goals(table)
            if "Not met" in told:
                yield f'<p><a href="#run-{name}">{name}</a>, {_text(_lower(table.title))}: {_text(told)}</p>'


def _lower(title: str) -> str:
    return f"{title[0].lower()}{title[1:]}"


def _paper(page: Page, paper: Paper, several: tuple[Shown, ...]) -> Iterator[str]:
    yield f'<section><h2 id="{paper.key}">{escape(paper.title)}</h2>'
    by = f"{paper.authors}. " if paper.authors else ""
    yield f'<p class="soft">{escape(by)}The paper measured: {escape(paper.measured)}. {escape(paper.also)}</p>'
    for each in several:
        yield f'<h3 id="{_anchor(paper, each)}">{escape(each.exhibit.name)}: {escape(each.exhibit.shows)}</h3>'
        yield from _exhibit(page, each)
    yield "</section>"


def _exhibit(page: Page, each: Shown) -> Iterator[str]:
    ours = each.counterpart
    if ours is None or each.report is None:
        yield f'<p class="soft">{_text(each.line)}</p>'
        return
    report = page.reports[each.report]
    if ours.held:
        kind = "short" if any(held.verdict == "short" for held in ours.held) else "good"
        yield f'<p class="{kind}">{_text(said(ours.held))}</p>'
    for remark in ours.remarks:
        yield f"<p>{_text(remark)}</p>"
    if report.busy:
        yield f'<p class="warn">{_text(report.busy)}</p>'
    for table in ours.tables:
        yield _table(table)
    for chart in ours.charts:
        yield _picture(draw(chart, caption="", description=f"{chart.title}: {chart.measure}"))
    for name in ours.pictures:
        yield _picture((report.parts.get(name) or report).svg)
    if ours.reasons:
        yield "<details><summary>What the benchmark says of its figures</summary>"
        yield from (f"<p>{_text(reason)}</p>" for reason in ours.reasons)
        yield "</details>"
    yield f'<p class="soft">From {_report_link(each.report)}, {escape(str(report.machine["date"]))}.</p>'


def _beyond(page: Page) -> Iterator[str]:
    yield '<section><h2 id="beyond">Beyond the papers</h2>'
    for name in page.beyond:
        report = page.reports.get(name)
        yield f'<h3 id="beyond-{name}">{name}: {escape(report.title) if report else "no report"}</h3>'
        if report is None:
            yield f'<p class="soft">{_text(missing(name, page.outcomes))}</p>'
            continue
        if report.busy:
            yield f'<p class="warn">{_text(report.busy)}</p>'
        for table in report.tables:
            yield _table(table)
            told = goals(table)
            if told:
                yield f'<p class="{"short" if "Not met" in told else "good"}">Goals: {_text(told)}</p>'
        yield from (f"<p>{_text(note)}</p>" for note in report.notes)
        yield _picture(report.svg)
        yield f'<p class="soft">From {_report_link(name)}, {escape(str(report.machine["date"]))}.</p>'
    yield "</section>"


def _benchmarks(page: Page) -> Iterator[str]:
    yield '<section><h2 id="benchmarks">The benchmarks, and how they were run</h2>'
    rows: list[tuple[Cell, ...]] = []
    total = 0.0
    for step in STEPS:
        outcome, report = page.outcomes.get(step.name), page.reports.get(step.name)
        seconds = report.stamp.seconds if report and report.stamp else outcome.seconds if outcome else None
        total += seconds or 0.0
        status = outcome.status if outcome else "from before" if report else "not run"
        load = report.machine["load"] if report else None
        rows.append((step.name, status, seconds, step.budget if page.quick else None, load))
    rows.append(("all", "", total, sum(step.budget for step in STEPS) if page.quick else None, None))
    yield _table(
        Table("Seconds that each took", ("benchmark", "status", "seconds", "budget of --quick", "load"), tuple(rows))
    )
    yield (
        '<p class="soft">Status: done in this run; kept, as its report of the same settings, code and versions was '
        "there already; from before, not asked for this time; left out of a quick run; failed. The load is that of "
        "the last minute when the figures were complete.</p>"
    )
    for step in STEPS:
        yield f'<h3 id="run-{step.name}">{step.name}</h3>'
        report = page.reports.get(step.name)
        if report is None:
            yield f'<p class="soft">{_text(missing(step.name, page.outcomes))}</p>'
            continue
        files = " ".join(f'<a href="{step.name}.{suffix}">{suffix}</a>' for suffix in ("md", "csv", "json", "svg"))
        yield f"<p>{escape(report.title)}. Every measurement: {files}</p>"
        options = {} if report.stamp is None else dict(report.stamp.options)
        told = {**report.machine, **report.settings, **options}
        yield f"<details><summary>Settings and machine of {step.name}</summary>"
        yield _table(Table("", ("setting", "value"), tuple(told.items())))
        yield "</details>"
        if step.name not in page.beyond:
            yield f"<details><summary>All tables and notes of {step.name}</summary>"
            yield from (_table(table) for table in report.tables)
            yield from (f"<p>{_text(note)}</p>" for note in report.notes)
            yield "</details>"
    yield "</section>"


def _report_link(name: str | None) -> str:
    return f'<a href="#run-{name}">{name}</a>' if name else "none"


def _table(table: Table) -> str:
    numbers = [_numeric(row[i] for row in table.rows) for i in range(len(table.columns))]
    head = "".join(
        f'<th scope="col"{" class=n" if number else ""}>{_text(name)}</th>'
        for name, number in zip(table.columns, numbers, strict=True)
    )
    rows = ["".join(_cell(i, cell, numbers[i]) for i, cell in enumerate(row)) for row in table.rows]
    caption = f"<caption>{_text(table.title)}</caption>" if table.title else ""
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    label = escape(table.title or "settings", quote=True)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table>{caption}'
        f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )


def _numeric(cells: Iterable[Cell]) -> bool:
    """Tell whether a column lines up on the right: all figures, or texts that start with one."""
    present = [cell for cell in cells if cell is not None]
    return bool(present) and all(re.match(r"[-+<>= ]*[\d.]|never$|-$", shown(cell)) for cell in present)


def _cell(place: int, cell: Cell, number: bool) -> str:
    text = shown(cell)
    long = " class=long" if len(text) > 40 else ""
    if place == 0:
        return f'<th scope="row"{long}>{_text(text)}</th>'
    return f"<td{' class=n' if number and not long else long}>{_text(text)}</td>"


def _picture(svg: str) -> str:
    title = re.search(r"<title>(.*?)</title>", svg, re.S)
    label = f' aria-label="{escape(title[1], quote=True)}"' if title else ""
    return f'<div class="scroll" tabindex="0" role="region"{label}>{svg.strip()}</div>'


def _text(text: str) -> str:
    """Escape, and set what stands in backquotes as code.

    >>> _text("`a < b` holds")
    '<code>a &lt; b</code> holds'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(str(text), quote=False))
