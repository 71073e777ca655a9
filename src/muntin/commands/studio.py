"""`muntin studio`: plans in the browser, from a page that this machine serves to itself."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import webbrowser
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from muntin.commands.exit_codes import exits
from muntin.commands.signals import signals
from muntin.manager.control_file import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECONDS: Final = 0.1


@click.command(
    short_help="Paste a query into a page in the browser and see its plan.",
    epilog=f"""
    \b
    Examples:
      muntin studio
      muntin studio --port 8765 --no-browser
      muntin studio --manager ck/

    {exits(0, 2)}
    """,
)
@click.option("--host", default="127.0.0.1", show_default=True, help="A name or an address of this machine's own.")
@click.option("--port", default=0, show_default=True, type=click.IntRange(0, 65535), help="0 is any that is free.")
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open the page in the browser.")
@click.option(
    "--manager",
    type=click.Path(path_type=Path),
    envvar=VARIABLE,
    show_envvar=True,
    metavar="CHECKPOINT",
    help="The checkpoint of a manager that muntin serve runs: the page then shows and changes its queries.",
)
@click.option("as_data", "--json", is_flag=True, help="Print where it is as one line of JSON.")
def studio(host: str, port: int, browser: bool, manager: Path | None, as_data: bool) -> None:
    """Serve a page on this machine: paste an Azure Stream Analytics or Spark SQL query, or build a window set.

    It shows what reads what before and after, costs, slices and the plan that Spark would run. Only whoever has
    the address with its token gets anything; nothing is fetched from elsewhere.
    """
    from muntin.studio.server import Studio

    with Studio(host=host, port=port, manager=manager) as opened, signals() as asked:
        told = {"url": opened.url, "port": opened.port, "token": opened.token}
        click.echo(json.dumps(told) if as_data else f"muntin studio is at {opened.url}\nCtrl-C stops it")
        with _opened(opened.url, wanted=browser and _has_screen()):
            while not asked:
                time.sleep(_SECONDS)


def _has_screen() -> bool:
    """Tell whether a browser would have a window: in a terminal alone it would take the terminal over."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextmanager
def _opened(url: str, *, wanted: bool) -> Iterator[None]:
    """Open a page by a file that leads to it: on a command line, other users could read the token."""
    if not wanted:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="muntin-studio-") as folder:
        page = Path(folder) / "open.html"
        page.write_text(
            f'<!doctype html><meta charset="utf-8"><title>muntin studio</title>'
            f'<meta http-equiv="refresh" content="0; url={escape(url)}"><a href="{escape(url)}">muntin studio</a>\n',
            encoding="utf-8",
        )
        webbrowser.open(page.as_uri())
        yield
