"""A plan as a page that needs nothing else: totals, drawings before and after, every window, and the JSON."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from html import escape
from string import Template
from typing import TYPE_CHECKING, Final

from muntin.show.draw import draw_after, draw_before
from muntin.show.json import to_dict
from muntin.show.model import view
from muntin.show.number import number
from muntin.show.palette import DARK, LIGHT, MONO, drawing_style, variables
from muntin.show.svg import after_caption, before_caption, element, told

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from muntin.logical.cost import Number
    from muntin.logical.plan import Plan
    from muntin.show.model import GroupView, NodeView, PlanView

_JSON: Final = 1_000_000  # characters at most; exact costs can have thousands of digits each
_INDENTS: Final = 12  # levels at most by which a row of the table is indented

_STYLE: Final = Template("""\
.muntin{$light;color-scheme:light dark;background:var(--mu-paper);color:var(--mu-ink);
font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;padding:1.5rem;
text-align:left;overflow-wrap:anywhere}
@media (prefers-color-scheme:dark){.muntin{$dark}}
.muntin *{box-sizing:border-box}
.muntin h1,.muntin h2,.muntin h3,.muntin p,.muntin figure{margin:0;color:inherit}
.muntin h1{font-size:1.35rem}
.muntin h2{font-size:1.1rem;margin-top:2.25rem}
.muntin .mu-note{color:var(--mu-soft)}
.muntin .mu-totals{display:flex;flex-wrap:wrap;gap:.25rem 1rem;align-items:baseline;margin-top:1rem}
.muntin .mu-big{font-size:2rem;font-weight:650;line-height:1.2;font-variant-numeric:tabular-nums}
.muntin .mu-saved{color:var(--mu-accent);font-weight:650}
.muntin .mu-bars{display:grid;grid-template-columns:max-content minmax(4rem,28rem) max-content;gap:.3rem .8rem;
align-items:center;margin-top:1rem;font-size:.9rem}
.muntin .mu-track{height:.7rem;border-radius:.35rem;background:var(--mu-source)}
.muntin .mu-fill{height:100%;min-width:2px;border-radius:.35rem;background:var(--mu-line)}
.muntin .mu-chosen{font-weight:650}
.muntin .mu-chosen .mu-fill{background:var(--mu-accent)}
.muntin .mu-number{font-variant-numeric:tabular-nums;text-align:right}
.muntin .mu-pair{display:flex;flex-wrap:wrap;gap:1.75rem 3rem;margin-top:1.25rem;align-items:flex-start}
.muntin figure{max-width:100%;min-width:0}
.muntin figcaption{margin-bottom:.75rem}
.muntin figcaption b{display:block}
.muntin .mu-scroll{overflow:auto;max-width:100%}
.muntin figure .mu-scroll{max-height:52rem}
.muntin .mu-scroll:focus-visible{outline:2px solid var(--mu-accent);outline-offset:2px}
.muntin svg{display:block;max-width:none}
.muntin table{border-collapse:collapse;margin:1.5rem 0 0;font-size:.9rem;color:inherit}
.muntin caption{text-align:left;color:var(--mu-soft);padding-bottom:.4rem}
.muntin th,.muntin td{text-align:left;padding:.3rem 1rem .3rem 0;border-bottom:1px solid var(--mu-source);
white-space:nowrap;background:none}
.muntin td.mu-ids{white-space:normal;min-width:11rem;max-width:26rem}
.muntin thead th{color:var(--mu-soft);font-weight:500;border-bottom-color:var(--mu-line)}
.muntin tbody th{font-weight:650}
.muntin th.mu-number,.muntin td.mu-number{text-align:right}
.muntin .mu-mark{color:var(--mu-dashed);border:1px dashed var(--mu-dashed);border-radius:.3rem;padding:0 .35rem}
.muntin details{margin-top:2rem}
.muntin summary{cursor:pointer}
.muntin pre{font:12px/1.45 $mono;overflow:auto;max-height:32rem;background:var(--mu-box);color:inherit;
padding:1rem;border-radius:.5rem;margin:.75rem 0 0}
""")


def to_html(plan: Plan, *, costs: Mapping[str, Number] | None = None, said: Mapping[str, str] | None = None) -> str:
    """Make a page of a plan, without scripts and without anything from elsewhere.

    `said` are texts by their headings, which come after the drawings.

    >>> from muntin import agg, optimize, tumbling
    >>> page = to_html(optimize([tumbling("20m")], agg.min))
    >>> page.splitlines()[0], "<title>muntin plan</title>" in page, "<script" in page
    ('<!doctype html>', True, False)
    """
    page_style = f"html{{{variables(LIGHT)}}}\nbody{{margin:0;background:var(--mu-paper)}}\n"
    page_style += f"@media (prefers-color-scheme:dark){{html{{{variables(DARK)}}}}}\n"
    page_style += "body>.muntin{max-width:96rem;margin:0 auto}\n"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            "<title>muntin plan</title>",
            f"<style>\n{page_style}{_style()}</style>",
            "</head>",
            "<body>",
            *_main("main", plan, costs, said),
            "</body>",
            "</html>",
            "",
        ]
    )


def to_fragment(plan: Plan, said: Mapping[str, str] | None = None) -> str:
    """Make the same as one element, for a notebook; its style stays within it.

    `said` are texts by their headings, which come after the drawings.
    """
    return "\n".join([f"<style>\n{_style()}</style>", *_main("div", plan, None, said)])


def to_fragments(text: str, parts: Mapping[str, Plan]) -> str:
    """Make one element of several plans: what is said of all of them, and each under its heading.

    >>> from muntin import agg, optimize, tumbling
    >>> page = to_fragments("two < three", {"tree 1": optimize([tumbling("20m")], agg.min)})
    >>> page.count("<style>"), "two &lt; three" in page, "<h2>tree 1</h2>" in page
    (1, True, True)
    """
    lines = [f"<style>\n{_style()}</style>", '<div class="muntin">', f"<pre>{escape(text)}</pre>"]
    for heading, plan in parts.items():
        lines += [f"<h2>{escape(heading)}</h2>", *_main("div", plan, None)]
    return "\n".join([*lines, "</div>"])


def _style() -> str:
    style = _STYLE.substitute(light=variables(LIGHT), dark=variables(DARK), mono=MONO)
    # Only within: a notebook may hold drawings that stand alone, with colours of their own.
    return style + re.sub(r"^", ".muntin ", drawing_style(variables=True).rstrip(), flags=re.MULTILINE) + "\n"


def _main(
    tag: str, plan: Plan, costs: Mapping[str, Number] | None, said: Mapping[str, str] | None = None
) -> Iterator[str]:
    shown = view(plan, costs=costs, before=True)
    yield f'<{tag} class="muntin">'
    yield from _header(shown)
    for group in shown.groups:
        yield from _group(group, several=len(shown.groups) > 1)
    for heading, words in (said or {}).items():
        yield f"<details open><summary>{escape(heading)}</summary><pre>{escape(words)}</pre></details>"
    text = json.dumps(to_dict(plan, costs=costs), indent=2)
    if len(text) > _JSON:
        text = f"{number(len(text))} characters, too many for this page. plan.plot('plan.json') writes them to a file."
    yield f"<details><summary>The plan as JSON</summary><pre>{escape(text)}</pre></details>"
    yield f"</{tag}>"


def _header(shown: PlanView) -> Iterator[str]:
    yield "<header>"
    yield "<h1>muntin plan</h1>"
    yield f'<p class="mu-note">{escape(shown.title)}</p>'
    if shown.hint:
        yield f'<p class="mu-note">{escape(shown.hint)}</p>'
    said = ", ".join(filter(None, [f"optimizer {shown.optimizer}", shown.proof]))
    yield (
        f'<p class="mu-totals"><span class="mu-big">{number(shown.baseline)} → {number(shown.cost)}</span>'
        f'<span>items read</span><span class="mu-saved">{escape(shown.saving)}</span>'
        f'<span class="mu-note">{escape(said)}</span></p>'
    )
    if len(shown.costs) > 1:
        yield '<div class="mu-bars" role="list" aria-label="Items read by optimizer">'
        most = max(cost for _, cost in shown.costs)
        for name, cost in shown.costs:
            yield _bar(name, cost, most, chosen=name == shown.optimizer)
        yield "</div>"
    yield "</header>"


def _bar(name: str, cost: Number, most: Number, *, chosen: bool) -> str:
    width = int(Fraction(cost) / Fraction(most) * 1000) / 10
    kind = ' class="mu-chosen"' if chosen else ""
    return (
        f'<div role="listitem" style="display:contents"{kind}><span>{escape(name)}</span>'
        f'<span class="mu-track" aria-hidden="true"><span class="mu-fill" style="display:block;width:{width}%">'
        f'</span></span><span class="mu-number">{number(cost)}</span></div>'
    )


def _group(group: GroupView, *, several: bool) -> Iterator[str]:
    names = escape(", ".join(group.aggregates))
    yield "<section>"
    if several:
        read = f"{number(group.baseline)} → {number(group.cost)} items"
        said = ", ".join(filter(None, [read, group.saving, group.proof]))
        yield f"<h2>{names}: {escape(said)}</h2>"
    else:
        yield f"<h2>{names}</h2>"
    yield f'<p class="mu-note">{escape(group.reason)}</p>'
    yield '<div class="mu-pair">'
    before = element(draw_before(group), f"Before: {before_caption(group)}", f"{len(group.before.nodes)} windows")
    after = element(draw_after(group), f"After: {after_caption(group)}", told(group))
    yield _figure(f"Before: {number(group.baseline)} items", before_caption(group), before)
    yield _figure(f"After: {number(group.cost)} items", after_caption(group), after)
    yield "</div>"
    yield from _table(group)
    yield "</section>"


def _figure(heading: str, caption: str, drawing: str) -> str:
    return (
        f'<figure><figcaption><b>{escape(heading)}</b> <span class="mu-note">{escape(caption)}</span></figcaption>\n'
        f'<div class="mu-scroll" tabindex="0" role="group" aria-label="{escape(heading)}">\n{drawing}\n</div></figure>'
    )


def _table(group: GroupView) -> Iterator[str]:
    offsets = any(node.shape.offset for node in group.after.nodes)
    heads = ["Window", "Id", "Range", "Slide", *(["Offset"] if offsets else []), "Reads from"]
    numbers = ["Instances", "× reads", "= cost", "Share"]
    yield '<div class="mu-scroll" tabindex="0" role="group" aria-label="All windows">'
    yield "<table><caption>What each window reads over the period</caption><thead><tr>"
    yield "".join(f'<th scope="col">{head}</th>' for head in heads)
    yield "".join(f'<th scope="col" class="mu-number">{head}</th>' for head in numbers)
    yield "</tr></thead><tbody>"
    yield from (_row(node, offsets) for node in group.after.nodes)
    yield "</tbody></table></div>"


def _row(node: NodeView, offsets: bool) -> str:
    shape = node.shape
    name = '<span class="mu-mark">factor</span>' if node.factor else escape(node.name)
    lengths = [shape.range_text, shape.slide_text, *([shape.offset_text] if offsets else [])]
    cells = [f"<td>{escape(text)}</td>" for text in (*lengths, node.reads_from)]
    figures = [number(node.instances), f"× {number(node.reads)}", f"= {number(node.cost)}", node.share]
    indent = min(node.depth, _INDENTS)
    return (
        f'<tr><th scope="row" style="padding-left:{indent}em">{escape(shape.label)}</th><td class="mu-ids">{name}</td>'
        + "".join(cells)
        + "".join(f'<td class="mu-number">{escape(figure)}</td>' for figure in figures)
        + "</tr>"
    )
