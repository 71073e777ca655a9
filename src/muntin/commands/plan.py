"""`muntin plan`: from windows and aggregates to a plan in any of its forms."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args

import click

from muntin.api import optimize
from muntin.commands.exit_codes import exits
from muntin.commands.fit import for_terminal
from muntin.errors import MuntinError, ShowError
from muntin.logical.cost import Period
from muntin.logical.optimize import OPTIMIZERS
from muntin.logical.relation import Covers, Sharing
from muntin.logical.rewrite import expression
from muntin.show.number import number
from muntin.window.spec import parse_window

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from muntin.api import LogicalPlan
    from muntin.logical.cost import Number
    from muntin.window.spec import Window

# The cost of a plan by optimizer, or why there is none.
Costs: TypeAlias = "Mapping[str, Number | str]"
FORMATS: Final = ("text", "json", "mermaid", "svg", "html", "expression")
SUFFIXES: Final = MappingProxyType(
    {"": "text", ".txt": "text", ".json": "json", ".mmd": "mermaid", ".svg": "svg", ".html": "html"}
)
PROOF_SECONDS: Final = 1


@click.command(
    short_help="Find the cheapest plan for aggregates over several windows.",
    epilog=f"""
    \b
    Examples:
      The costs of the plan, with every other optimizer's:
        muntin plan -w 20m -w 30m -w 40m --agg min
      Windows of 1, 12 and 24 hours, renewed every ten
      minutes, 100 events a second:
        muntin plan -w 1h/10m -w 12h/10m -w 24h/10m \\
               -a avg -a max --rate 6000 --unit minute
      Plain integers in any unit, as JSON:
        muntin plan -w 20 -w 30 -w 40 -a sum \\
               --optimizer factor --json
      A page with the graph before and after:
        muntin plan -w 20m -w 30m -w 40m -a min \\
               --out plan.html

    {exits(0, 1, 2, 130)}
    """,
)
@click.option(
    "windows",
    "--window",
    "-w",
    multiple=True,
    metavar="[ID=]RANGE[/SLIDE][+OFFSET]",
    help="A window, as often as there are windows: 20m tumbles, 1h/10m hops by ten minutes, 1h/10m+5m is shifted "
    "by five, roll=1h/10m has an id. Durations (20m, 1h30m, 250ms) or plain integers (20, 60/10).",
)
@click.option(
    "aggregates",
    "--agg",
    "-a",
    multiple=True,
    metavar="NAME",
    help="An aggregate, as often as there are aggregates: min, max, sum, count, avg, stddev, median, ...",
)
@click.option(
    "--optimizer",
    type=click.Choice(OPTIMIZERS),
    default="auto",
    show_default=True,
    help="none: every window reads the events. mincost: windows read each other. factor: with factor windows. "
    "exact: all candidates, proved optimal where 60 s suffice. auto: exact while quick, never worse than factor.",
)
@click.option("--rate", default="1", show_default=True, help="Events per unit of time: 1, 100, 0.5 or 3/2.")
@click.option(
    "--unit", help="The unit of time: hour, minute, second, ms, ... By default the longest that divides all lengths."
)
@click.option(
    "--period",
    type=click.Choice(get_args(Period)),
    default="paper",
    show_default=True,
    help="paper: count the intervals that fit in one period. steady: count the long run.",
)
@click.option(
    "--sharing",
    type=click.Choice(get_args(Sharing)),
    help="Overrule what the aggregates allow: any cover, exact partitions, or no sharing.",
)
@click.option(
    "--covers",
    type=click.Choice(get_args(Covers)),
    help="Combine all intervals of a parent (dense, the paper's way) or the fewest (sparse, exact and auto's way).",
)
@click.option(
    "form",
    "--format",
    "-f",
    type=click.Choice(FORMATS),
    help="How to show the plan; by default as the suffix of --out says, else text.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write to a file: .txt, .json, .mmd, .svg or .html, or any name with --format.",
)
@click.option("as_data", "--json", is_flag=True, help="The same as --format json.")
@click.option("--force", is_flag=True, help="Write over a file that exists.")
@click.option(
    "--compare/--no-compare",
    default=True,
    show_default=True,
    help=f"Show the costs of all optimizers, exact where it is proved within {PROOF_SECONDS} s.",
)
@click.option("every", "--all", is_flag=True, help="Show every window in the text, however many there are.")
def plan(
    windows: tuple[str, ...],
    aggregates: tuple[str, ...],
    form: str | None,
    out: Path | None,
    force: bool,
    compare: bool,
    every: bool,
    as_data: bool,
    unit: str | None,
    **options: Any,
) -> None:
    """Find the cheapest plan for aggregates over several windows."""
    if as_data and form not in (None, "json"):
        msg = f"--json and --format {form} are two forms: leave one of them out"
        raise click.UsageError(msg, click.get_current_context())
    form = "json" if as_data else form or _form_of(out)
    if out is not None and out.exists() and not force:
        raise ShowError(_exists(out))
    found = _windows(windows)
    if not aggregates:
        msg = "there is no aggregate: give at least one, for example --agg min"
        raise click.UsageError(msg, click.get_current_context())
    # Plain integers have a plain unit.
    size = int(unit) if unit and unit.isdecimal() and not found[0].timed else unit
    ask = partial(optimize, found, aggregates, unit=size, **options)
    with _waiting(f"looking for a plan over {len(found):,} windows"):
        chosen = ask()
        costs = compared(chosen, ask) if compare else None
    text = written(chosen, form, costs, limit=None if every else 40, plain=out is None and _is_plain())
    if out is None:
        click.echo(for_terminal(text) if form == "text" else text)
    else:
        _write(out, text, force)


def compared(plan: LogicalPlan, ask: Callable[..., LogicalPlan]) -> Costs:
    """Plan anew with each other optimizer; `ask` takes the keywords `optimizer` and `seconds`."""
    costs: dict[str, Number | str] = {}
    for name in OPTIMIZERS:
        if name == "none":
            # Two ids of one window count twice here, though no plan would compute them twice.
            costs[name] = plan.baseline_cost
            continue
        if name == plan.optimizer:
            costs[name] = plan.cost
            continue
        try:
            other = ask(optimizer=name, seconds=PROOF_SECONDS if name == "exact" else None)
        except MuntinError:
            costs[name] = "not possible"
        else:
            unproved = name == "exact" and other.gap != 0
            costs[name] = f"not proved in {PROOF_SECONDS} s" if unproved else other.cost
    return costs


def written(plan: LogicalPlan, form: str, costs: Costs | None, *, limit: int | None, plain: bool) -> str:
    """Write a plan in one of the formats; `plain` draws text in ASCII."""
    known = None if costs is None else {name: cost for name, cost in costs.items() if not isinstance(cost, str)}
    if form == "json":
        content = plan.to_dict(costs=known)
        if costs is not None:
            content["cost"] = {name: content["cost"].get(name) for name in costs}
        return json.dumps(content, indent=2)
    if form == "mermaid":
        return plan.to_mermaid()
    if form == "svg":
        return plan.to_svg()
    if form == "html":
        return plan.to_html(costs=known)
    if form == "expression":
        named = [(group.forest, f) for group in plan.groups for f in group.functions]
        return "\n\n".join(expression(forest, _capitals(f.name)) for forest, f in named)
    text = plan.explain(limit=limit, ascii=plain).replace("(limit=None shows all)", "(--all shows all)")
    return text if costs is None else f"{text}\n\n{_cost_line(costs)}"


def _cost_line(costs: Costs) -> str:
    shown = [f"{name} {cost if isinstance(cost, str) else number(cost)}" for name, cost in costs.items()]
    # Blanks that do not break keep each name with its cost.
    line = "costs: " + "; ".join(part.replace(" ", "\0") for part in shown)
    width = min(80, shutil.get_terminal_size().columns)
    return textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False).replace("\0", " ")


def _windows(texts: tuple[str, ...]) -> list[Window]:
    if not texts:
        msg = "there is no window: give at least one, for example --window 20m"
        raise click.UsageError(msg, click.get_current_context())
    return [parse_window(text) for text in texts]


def _form_of(out: Path | None) -> str:
    suffix = "" if out is None else out.suffix.lower()
    if suffix not in SUFFIXES:
        known = ", ".join(filter(None, SUFFIXES))
        msg = f"the suffix of {out} tells no format: use one of {known}, or say which with --format"
        raise ShowError(msg)
    return SUFFIXES[suffix]


def _write(out: Path, text: str, force: bool) -> None:
    try:
        with out.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text.rstrip("\n") + "\n")
    except FileExistsError as error:
        raise ShowError(_exists(out)) from error
    except OSError as error:
        msg = f"cannot write {out}: {error.strerror}. Give --out a file in a folder that exists and may be written to"
        raise ShowError(msg) from error
    click.echo(f"wrote {out}", err=True)


def _exists(out: Path) -> str:
    return f"{out} exists already: give --out another name, or pass --force to write over it"


def _capitals(name: str) -> str:
    """Write a name as the paper's expressions do: `arg_max` is ArgMax."""
    return "".join(part.capitalize() for part in name.split("_"))


def _is_plain() -> bool:
    """Tell whether standard output cannot show the lines of a tree."""
    try:
        "└├─│…".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return True
    return False


def _waiting(what: str) -> AbstractContextManager[object]:
    """Show on a terminal that the search is under way; nothing elsewhere."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)
