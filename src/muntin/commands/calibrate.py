"""`muntin calibrate`: measure what work costs here, for the choice of strategy."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from muntin.commands.exit_codes import exits
from muntin.physical.constants import SHIPPED, calibration_path, save_constants
from muntin.spark.session import session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from muntin.physical.constants import Constants
_MEANING = {
    "scan": "us: an event read",
    "group_struct": "us: an event grouped by window()",
    "group": "us: a row grouped by an integer",
    "part": "us: one more aggregate of a row",
    "exchange": "us: a grouped row sent and grouped again",
    "copy": "us: a row copied for one more window",
    "enter": "us: a pane handed to Python",
    "place": "us: an event compared with a place of its pack of panes",
    "cell": "us: a place of a pack handed to Python",
    "leave": "us: a window handed back",
    "element": "us: a window handed back in a list of neighbours",
    "branch": "ms: one more branch",
    "stage": "ms: one more exchange",
    "python": "ms: Python workers called",
    "cores": "cores",
}


@click.command(
    short_help="Measure what work costs here, once.",
    epilog=f"""
    \b
    Examples:
      muntin calibrate
      muntin calibrate --events 500000 --dry-run
      MUNTIN_CALIBRATION=team.json muntin calibrate

    The constants go to $MUNTIN_CALIBRATION, or to muntin/calibration.json in
    the user's configuration folder, and every later plan uses them.

    {exits(0, 1, 2, 130)}
    """,
)
@click.option("--events", default=3_000_000, show_default=True, type=click.IntRange(min=10_000), help="Events to read.")
@click.option("--repeats", default=3, show_default=True, type=click.IntRange(min=1), help="Runs of each plan.")
@click.option("--master", default="local[*]", show_default=True, help="Where Spark runs.")
@click.option("as_data", "--json", is_flag=True, help="Print the constants as JSON.")
@click.option("--dry-run", is_flag=True, help="Measure and print, but keep nothing.")
def calibrate(events: int, repeats: int, master: str, as_data: bool, dry_run: bool) -> None:
    """Measure the constants of the cost model on this machine or cluster, and keep them.

    Takes about two minutes on an idle machine. A busy one gives constants that mislead.
    """
    from muntin.spark.calibrate import calibrate as measure

    with session(master) as spark:
        cores = spark.sparkContext.defaultParallelism
        found = measure(spark, cores=cores, events=events, repeats=repeats, track=_track)
    kept = None if dry_run else save_constants(found)
    if as_data:
        click.echo(json.dumps(asdict(found), indent=2))
    else:
        click.echo(table(found))
        click.echo(f"kept in {kept}" if kept else f"not kept; would go to {calibration_path()}")


def _track(rounds: list[int]) -> Iterable[int]:
    """Show how far it is, on a terminal."""
    from rich.console import Console
    from rich.progress import track

    return track(rounds, "measuring", console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())


def table(found: Constants) -> str:
    """Write constants beside those that ship."""
    lines = [f"{'constant':<14}{'here':>8}{'shipped':>9}  meaning"]
    for name, meaning in _MEANING.items():
        lines.append(f"{name:<14}{getattr(found, name):>8.2f}{getattr(SHIPPED, name):>9.2f}  {meaning}")
    return "\n".join(lines)
