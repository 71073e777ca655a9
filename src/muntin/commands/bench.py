"""`muntin bench`: run a benchmark of the source checkout, or all, and write what was found."""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

import muntin
from muntin.commands.bench_all import bench_all, writable
from muntin.commands.exit_codes import exits
from muntin.commands.fit import for_terminal
from muntin.errors import MuntinError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

T = TypeVar("T")
ALL = "all"


def _names(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Complete the name of a benchmark, where there are any."""
    try:
        return [name for name in (*_registry().BENCHMARKS, ALL) if name.startswith(begun)]
    except MuntinError:
        return []


@click.command(
    short_help="Run a benchmark, or all, and write a report.",
    epilog=f"""
    \b
    Examples:
      muntin bench --list
      muntin bench all --quick --out report/
      muntin bench optimizer --quick
      muntin bench gap --out report/
      muntin bench table1 --events 1000000 --out report/
      muntin bench gap --quick --json | jq .tables

    {exits(0, 1, 2, 130, 143)}
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
    help="Where NAME.md, .csv, .json and .svg go, and index.html of all; an earlier NAME is written over.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Measure less: a check that takes minutes at most, 20 for all, not figures to quote.",
)
@click.option(
    "--events", type=click.IntRange(min=1), metavar="N", help="How many events, for a benchmark that runs on Spark."
)
@click.option(
    "--sets", type=click.IntRange(min=1), metavar="N", help="How many window sets of each kind, for table1 to table4."
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="Data to measure with, for a benchmark that takes some: see --list. For all: readings.",
)
@click.option("only", "--only", multiple=True, metavar="NAME", help="all: run this one; may be repeated.")
@click.option("skip", "--skip", multiple=True, metavar="NAME", help="all: leave this one out; may be repeated.")
@click.option("--again", is_flag=True, help="all: run also what has a report of the same settings and code in --out.")
@click.option("as_json", "--json", is_flag=True, help="Print what was found, or the list, as JSON.")
def bench(
    name: str | None,
    listing: bool,
    out: Path,
    quick: bool,
    events: int | None,
    sets: int | None,
    data: Path | None,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    again: bool,
    as_json: bool,
) -> None:
    """Run the benchmark NAME of a source checkout, print its tables and write its report.

    NAME may be `all`: every benchmark in turn, each in a process of its own, and one page, index.html, with the tables
    and figures of the papers beside what was found. Reports that are there already are kept, so that it can be broken
    off and gone on with; table1 to table4, which take an hour or more, go on where they were.
    """
    registry = _registry()
    known: dict[str, str] = dict(registry.BENCHMARKS)
    if listing:
        width = max(map(len, known))
        lines = "\n".join(f"{each:<{width}}  {summary}" for each, summary in known.items())
        click.echo(json.dumps(known, indent=2) if as_json else for_terminal(lines, indent=width + 2))
        return
    if name == ALL:
        for option, number in {"--events": events, "--sets": sets}.items():
            if number is not None:
                msg = f"bench all takes no {option}: a benchmark alone does, and --quick makes all of them smaller"
                raise MuntinError(msg)
        bench_all(out, quick=quick, only=only, skip=skip, again=again, data=data, as_json=as_json)
        return
    for option, wanted in {"--only": only, "--skip": skip, "--again": again}.items():
        if wanted:
            msg = f"{option} belongs to `muntin bench all`"
            raise MuntinError(msg)
    if name is None or name not in known:
        problem = "which benchmark?" if name is None else f"there is no benchmark {name!r}."
        msg = f"{problem} Known are {', '.join(known)}, and all; `muntin bench --list` describes them"
        raise MuntinError(msg)
    start = time.monotonic()
    given = _options(registry, name, events=events, sets=sets, data=data)
    writable(out)
    kept = {"keep": out} if registry.keeps(name) else {}
    report = registry.benchmark(name)(quick=quick, track=_track, **given, **kept)
    writer, stamps = importlib.import_module("bench.report"), importlib.import_module("bench.stamp")
    options = given | ({"data": stamps.named(data)} if data else {})
    stamp = stamps.Stamp(quick, options, round(time.monotonic() - start, 2))
    click.echo(writer.as_json(report, stamp) if as_json else writer.as_text(report))
    try:
        paths = writer.write(report, out, stamp)
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
