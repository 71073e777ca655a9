"""`muntin register`, `suspend`, `resume`, `drop`, `status`, `stop`: talking to a manager that `muntin serve` runs."""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from muntin.commands.exit_codes import exits
from muntin.commands.fit import for_terminal
from muntin.declare.sql.aggregate_text import parse_aggregate
from muntin.errors import ManagerError, MuntinError, SqlError
from muntin.manager.client import Client
from muntin.manager.control_file import NAME, VARIABLE
from muntin.spark.progress import waiting
from muntin.window.spec import parse_window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_STATUS_SECONDS: Final = 30.0
_WAITING: Final = "waiting for the micro-batch that runs"
# That no manager runs there, and that it refuses, are the same to whoever asks: nothing was done.
_AFTER: Final = f"\n    {exits(0, 2, 130)}\n    "
_checkpoint = click.option(
    "--checkpoint",
    "-c",
    type=click.Path(path_type=Path),
    required=True,
    envvar=VARIABLE,
    show_envvar=True,
    metavar="PATH",
    help=f"The checkpoint of the manager, or its {NAME}.",
)
_as_data = click.option("as_data", "--json", is_flag=True, help="Print the answer as JSON.")


@click.command(
    short_help="Add a query to a manager that runs.",
    epilog=f"""
    \b
    Examples:
      muntin register load --checkpoint ck/ --window 5m \\
             --agg "n=count()"
      muntin register temps -c ck/ -w 5m -w roll=1h/10m \\
             -a "low=min(temp)" \\
             -a "hot=avg(temp, filter=temp > 30)"

    With {VARIABLE}=ck/ in the environment, --checkpoint can be left out.
    {_AFTER}""",
)
@click.argument("name")
@_checkpoint
@click.option(
    "windows",
    "--window",
    "-w",
    multiple=True,
    required=True,
    metavar="[ID=]RANGE[/SLIDE][+OFFSET]",
    help="A window, as often as there are windows: 20m tumbles, 1h/10m hops by ten minutes, 1h/10m+5m is shifted by "
    "five, roll=1h/10m has an id.",
)
@click.option(
    "aggregates",
    "--agg",
    "-a",
    multiple=True,
    required=True,
    metavar="COLUMN=AGGREGATE",
    help="A column of the result, as often as there are columns: n=count(), low=min(temp), "
    "hot=count(filter=temp > 30), mean=avg(temp). Quote it from the shell.",
)
@_as_data
def register(name: str, checkpoint: Path, windows: tuple[str, ...], aggregates: tuple[str, ...], as_data: bool) -> None:
    """Add the query NAME: aggregates over windows, from the first interval that is whole.

    The answer comes when the query runs, after the micro-batch that was under way. It says from when on each
    window has rows, and how long the stream stood still.
    """
    for text in windows:
        parse_window(text)
    named = _named(aggregates)
    with waiting(_WAITING):
        answer = Client.at(checkpoint).register(name, windows, named, text=not as_data)
    _say(answer)


def _command(name: str, short: str, long: str) -> click.Command:
    """Make a command that does something to one query, by the client's method of that name."""

    def change(name: str, checkpoint: Path, as_data: bool, *, method: str = name) -> None:
        with waiting(_WAITING):
            answer = getattr(Client.at(checkpoint), method)(name, text=not as_data)
        _say(answer)

    change.__doc__ = long
    epilog = f"""
    \b
    Example:
      muntin {name} load --checkpoint ck/
    {_AFTER}"""
    decorate: Callable[[Any], click.Command] = click.command(name, short_help=short, epilog=epilog)
    return decorate(click.argument("name")(_checkpoint(_as_data(change))))


suspend = _command(
    "suspend",
    "Let a query of a manager wait.",
    """Let the query NAME wait: it gives no rows until it is resumed.

    What its open windows held is given up; the manager keeps the query in mind, over restarts too.
    """,
)
resume = _command(
    "resume",
    "Let a suspended query go on.",
    """Let the query NAME go on, from the first interval that is whole.

    The manager's retained slices count where they reach back far enough: the answer says from when on.
    """,
)
drop = _command(
    "drop",
    "Take a query away from a manager.",
    """Take the query NAME away for good. The rows that it gave stay.

    The other queries go on as if it had never been.
    """,
)


@click.command(
    short_help="Show a manager's queries and how far its stream is.",
    epilog=f"""
    \b
    Examples:
      muntin status --checkpoint ck/
      muntin status --checkpoint ck/ --watch
      muntin status --checkpoint ck/ --json | jq .watermark
      muntin status --checkpoint ck/ --explain
    {_AFTER}""",
)
@_checkpoint
@click.option("--watch", is_flag=True, help="Look again and again, until Ctrl-C or the end of the manager.")
@click.option(
    "--every",
    type=click.FloatRange(min=0.1),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="How long --watch waits between two looks.",
)
@click.option("--explain", is_flag=True, help="Say what the queries share, and how their windows are computed.")
@_as_data
def status(checkpoint: Path, watch: bool, every: float, explain: bool, as_data: bool) -> None:
    """Show a manager's queries, from when on they have rows, and how far its stream is.

    With --json and --watch there is one line for each look.
    """
    if explain and (watch or as_data):
        msg = "--explain is text, and told once: leave --watch and --json out"
        raise click.UsageError(msg, click.get_current_context())
    client = Client.at(checkpoint, seconds=_STATUS_SECONDS)
    if explain:
        click.echo(for_terminal(client.explain()))
    elif watch:
        # Ctrl-C is how a look that has no end ends: nothing is broken off by it.
        with suppress(KeyboardInterrupt):
            _watch(_looks(client, checkpoint, every, text=not as_data))
    else:
        _say(client.status(text=not as_data))


@click.command(
    short_help="Stop a manager, gently.",
    epilog=f"""
    \b
    Example:
      muntin stop --checkpoint ck/
    {_AFTER}""",
)
@_checkpoint
@_as_data
def stop(checkpoint: Path, as_data: bool) -> None:
    """Stop a manager after the micro-batch that runs.

    `muntin serve` with the same checkpoint goes on where it stopped, with the same queries.
    """
    with waiting(_WAITING):
        answer = Client.at(checkpoint).stop(text=not as_data)
    _say(answer)


def _named(texts: tuple[str, ...]) -> dict[str, str]:
    """Part columns from their aggregates, and refuse what cannot be read before anybody is asked."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, aggregate = (part.strip() for part in text.partition("="))
        if not equals or not name or "(" in name:
            msg = f"cannot read --agg {text!r}: write COLUMN=AGGREGATE, for example low=min(temp)"
            raise MuntinError(msg)
        if name in found:
            msg = f"--agg {name} is given twice: {found[name]} and {aggregate}. Give each column a name of its own"
            raise MuntinError(msg)
        try:
            parse_aggregate(aggregate)
        except SqlError as error:
            placed = SqlError(f"--agg {name}, {error}")
            placed.line, placed.column = error.line, error.column
            raise placed from error
        found[name] = aggregate
    return found


def _say(answer: Any) -> None:
    click.echo(for_terminal(answer) if isinstance(answer, str) else json.dumps(answer, indent=2))


def _looks(client: Client, checkpoint: Path, every: float, *, text: bool) -> Iterator[Any]:
    """Look again and again; a manager that was stopped, and tidied up, ends it."""
    while True:
        try:
            found = client.status(text=text)
        except ManagerError:
            if (checkpoint if checkpoint.name == NAME else checkpoint / NAME).exists():
                raise
            click.echo("the manager has stopped", err=True)
            return
        yield found
        time.sleep(every)


def _watch(looks: Iterator[Any]) -> None:
    """Show text in place on a terminal, and one below the other elsewhere; values as a line each."""
    first = next(looks, None)
    if not isinstance(first, str) or not sys.stdout.isatty():
        for found in chain([] if first is None else [first], looks):
            click.echo(f"{found}\n" if isinstance(found, str) else json.dumps(found))
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(), auto_refresh=False) as shown:
        for found in chain([first], looks):
            shown.update(Text(found), refresh=True)
