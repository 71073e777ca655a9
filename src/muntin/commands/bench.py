"""`muntin bench`: run a benchmark of the source checkout and write its report."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

import muntin
from muntin.commands.exit_codes import exits
from muntin.commands.fit import for_terminal
from muntin.errors import MuntinError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

T = TypeVar("T")


def _names(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Complete the name of a benchmark, where there are any."""
    try:
        return [name for name in _registry().BENCHMARKS if name.startswith(begun)]
    except MuntinError:
        return []


@click.command(
    short_help="Run a benchmark and write its report.",
    epilog=f"""
    \b
    Examples:
      muntin bench --list
      muntin bench optimizer --quick
      muntin bench gap --out report/
      muntin bench table1 --events 1000000 --out report/
      muntin bench gap --quick --json | jq .tables

    {exits(0, 1, 2, 130)}
    """,
)
@click.argument("name", required=False, shell_complete=_names)
@click.option("listing", "--list", is_flag=True, help="List the benchmarks.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("report"),
    show_default=True,
    metavar="FOLDER",
    help="Where NAME.md, .csv, .json and .svg go; those of an earlier run are written over.",
)
@click.option("--quick", is_flag=True, help="Measure less: a check that takes minutes at most, not figures to quote.")
@click.option(
    "--events", type=click.IntRange(min=1), metavar="N", help="How many events, for a benchmark that runs on Spark."
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="Data to measure with, for a benchmark that takes some: see --list.",
)
@click.option("as_data", "--json", is_flag=True, help="Print the report, or the list, as JSON.")
def bench(
    name: str | None, listing: bool, out: Path, quick: bool, events: int | None, data: Path | None, as_data: bool
) -> None:
    """Run the benchmark NAME of a source checkout, print its tables and write its report."""
    registry = _registry()
    known: dict[str, str] = dict(registry.BENCHMARKS)
    if listing:
        width = max(map(len, known))
        lines = "\n".join(f"{each:<{width}}  {summary}" for each, summary in known.items())
        click.echo(json.dumps(known, indent=2) if as_data else for_terminal(lines, indent=width + 2))
        return
    if name is None or name not in known:
        problem = "which benchmark?" if name is None else f"there is no benchmark {name!r}."
        msg = f"{problem} Known are {', '.join(known)}; `muntin bench --list` describes them"
        raise MuntinError(msg)
    report = registry.benchmark(name)(quick=quick, track=_track, **_options(registry, name, events=events, data=data))
    writer = importlib.import_module("bench.report")
    click.echo(writer.as_json(report).rstrip() if as_data else writer.as_text(report))
    try:
        paths = writer.write(report, out)
    except OSError as error:
        msg = f"cannot write the report into {out}: {error.strerror}. Give --out a folder that may be written to"
        raise MuntinError(msg) from error
    click.echo(f"wrote {', '.join(map(str, paths))}", err=True)


def _options(registry: Any, name: str, **given: object) -> dict[str, object]:
    """Keep the options that were given, and refuse those that the benchmark does not take."""
    told = {option: value for option, value in given.items() if value is not None}
    for option in told.keys() - registry.options(name):
        takers = ", ".join(each for each in registry.BENCHMARKS if option in registry.options(each))
        msg = f"the benchmark {name!r} takes no --{option}; those that do are {takers}"
        raise MuntinError(msg)
    return told


def _registry() -> Any:
    """Import the benchmarks from beside the package: they are not part of what is installed."""
    checkout = Path(muntin.__file__).resolve().parents[2]
    if not (checkout / "bench" / "registry.py").is_file():
        msg = (
            f"benchmarks come with the source checkout, and muntin runs from {Path(muntin.__file__).parent}. "
            "In a checkout, run `pip install -e .` and then `muntin bench`"
        )
        raise MuntinError(msg)
    # First, because others install packages of the name `bench` too.
    sys.path.insert(0, str(checkout))
    return importlib.import_module("bench.registry")


def _track(jobs: Sequence[T], label: str, /) -> Iterable[T]:
    """Go through jobs with a progress bar on standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        return jobs
    from rich.console import Console
    from rich.progress import track

    return track(jobs, label, console=Console(stderr=True), transient=True)
