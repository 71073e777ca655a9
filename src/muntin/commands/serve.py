"""`muntin serve`: a stream of files whose queries come and go while it runs."""

from __future__ import annotations

import json
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from muntin.commands.exit_codes import exits, signalled
from muntin.commands.run import parse_setting
from muntin.commands.serve_place import Place
from muntin.commands.signals import NAMES, signals
from muntin.commands.stream import events, settled
from muntin.commands.stream_job import check_folder, partitions, read_duration
from muntin.commands.stream_progress import instant
from muntin.errors import ManagerError, RunError
from muntin.manager.control import Endpoint, check_host, refuse_second
from muntin.manager.control_file import NAME as CONTROL
from muntin.manager.manager import Manager
from muntin.spark.delta import with_delta
from muntin.spark.files import FORMATS, parse_input, read
from muntin.spark.progress import waiting
from muntin.spark.reason import reason
from muntin.spark.session import session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from signal import Signals

    from pyspark.sql import SparkSession
    from rich.table import Table

    from muntin.manager.status import Status

# So long between two looks at how far the stream is.
_SECONDS: Final = 0.25


@click.command(
    short_help="Run a stream whose queries come and go.",
    epilog=f"""
    \b
    Example:
      muntin serve --input events/ --time ts --key device \\
             --watermark 10s --checkpoint ck/ --output out/ \\
             --retain 24h
    and, from another terminal,
      muntin register load --checkpoint ck/ --window 5m \\
             --agg "n=count()"
      muntin status --checkpoint ck/ --watch

    The rows of the query `load` are Parquet files below out/load. Stopped and started again with the same options, it
    goes on where it was; also after a second Ctrl-C, which breaks off the micro-batch that runs.

    {exits(0, 1, 2, 130, 143)}
    """,
)
@click.option("folder", "--input", "-i", required=True, metavar="PATH", help="The folder to which files are added.")
@click.option(
    "form",
    "--input-format",
    "--format",
    type=click.Choice(FORMATS),
    help="The format of the files, where their names do not tell.",
)
@click.option("when", "--time", required=True, metavar="COLUMN", help="The time of the events.")
@click.option("keys", "--key", "-k", multiple=True, metavar="COLUMN", help="What all queries group by; may be several.")
@click.option(
    "--watermark",
    required=True,
    metavar="DURATION",
    help="How late an event may be, such as 10s: a window is complete when an event so long past its end was seen.",
)
@click.option(
    "--checkpoint",
    "-c",
    required=True,
    metavar="PATH",
    help="The folder in which the stream remembers how far it came and which queries it has; commands find it there.",
)
@click.option("--output", "-o", required=True, metavar="PATH", help="The folder for the rows, a folder for each query.")
@click.option(
    "--retain",
    metavar="DURATION",
    help="How long slices are kept that no query needs any more, so that one which comes later can begin earlier.",
)
@click.option("--trigger", default="1s", show_default=True, metavar="DURATION", help="How often to look for files.")
@click.option(
    "--files-per-batch", "files", type=click.IntRange(min=1), metavar="N", help="How many files to read at once."
)
@click.option("--buckets", type=int, metavar="N", help="Into how many parts, a power of two, the keys are dealt out.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where commands reach the manager.")
@click.option("--port", default=0, show_default=True, type=click.IntRange(0, 65535), help="0 is any that is free.")
@click.option("--allow-remote", is_flag=True, help="Let --host be one that other machines reach, in the clear.")
@click.option("--master", default="local[*]", show_default=True, help="Where Spark runs.")
@click.option("settings", "--conf", multiple=True, metavar="NAME=VALUE", help="A setting of Spark.")
@click.option("as_data", "--json", is_flag=True, help="Print a line of JSON when it listens, and one when it stopped.")
def serve(
    folder: str,
    form: str | None,
    when: str,
    keys: tuple[str, ...],
    watermark: str,
    checkpoint: str,
    output: str,
    retain: str | None,
    trigger: str,
    files: int | None,
    buckets: int | None,
    host: str,
    port: int,
    allow_remote: bool,
    master: str,
    settings: tuple[str, ...],
    as_data: bool,
) -> None:
    """Run a stream of files whose windowed queries come and go, all by one stateful operator.

    Queries are added with `muntin register`, from any terminal of the same user, and taken away with
    `suspend`, `resume` and `drop`. A change takes effect between two micro-batches: no event is lost, none
    counts twice, and the rows of the other queries stay what they would have been.
    """
    # All that can be known to be wrong without Spark is said before Spark starts.
    for option, text in (("--watermark", watermark), ("--trigger", trigger), ("--retain", retain)):
        if text is not None:
            read_duration(option, text)
    check_host(host, allow_remote=allow_remote)
    check_folder((f"events={folder}",))
    source = parse_input(f"events={folder}", form)
    place = Place.checked(source, output, checkpoint)
    refuse_second(place.folder)
    conf = partitions(master) | dict(map(parse_setting, settings))
    if source.format == "delta":
        conf = with_delta(conf)
    with session(master, conf) as spark, _failures():
        with waiting("looking at the files that are there"):
            schema = settled(place.schema, read(spark, source).schema)
            stream = events(spark, source, schema, files)
        with waiting("starting the stream"):
            manager = Manager(
                stream,
                time=when,
                keys=keys,
                watermark=watermark,
                checkpoint=place.folder,
                sink=place.output,
                retain=retain,
                trigger=trigger,
                buckets=buckets,
            )
        with manager:
            place.keep(schema.jsonValue())
            with Endpoint(manager, place.folder, host=host, port=port, allow_remote=allow_remote) as endpoint:
                _say(as_data, _greeting(endpoint, manager.status(), checkpoint), _listening(endpoint, manager.status()))
                how, broken_off = _follow(spark, manager)
        _say(as_data, _farewell(manager.status(), how), {"stopped": how, "status": manager.status().to_dict()})
    if broken_off is not None:
        raise click.exceptions.Exit(signalled(broken_off))


def _say(as_data: bool, text: str, values: Mapping[str, Any]) -> None:
    # Whoever reads lines of JSON from a pipe waits for each of them; click flushes.
    click.echo(json.dumps(values) if as_data else text)


def _follow(spark: SparkSession, manager: Manager) -> tuple[str, Signals | None]:
    """Show how far a manager is until it ends: by what it was stopped, and what broke off its batch, if anything."""
    with _live() as show, signals() as asked:
        while not asked:
            show(manager.status())
            try:
                ended = manager.wait(_SECONDS)
            except ManagerError as error:
                raise RunError(str(error)) from error
            if ended:
                return "muntin stop", None
        click.echo("stopping after the batch that runs; again Ctrl-C stops at once", err=True)
        stopping = threading.Thread(target=manager.stop, name="muntin-stop")
        stopping.start()
        while stopping.is_alive():
            stopping.join(_SECONDS)
            if len(asked) > 1:
                for query in spark.streams.active:
                    query.stop()
        return NAMES[asked[0]], asked[0] if len(asked) > 1 else None


def _greeting(endpoint: Endpoint, status: Status, checkpoint: str) -> str:
    """Say where a manager listens, what it does already, and how to go on."""
    names = [f"{query.name} ({query.activity})" for query in status.queries]
    return "\n".join(
        [
            f"listening  on {endpoint.control.address}, for whoever may read {Path(checkpoint) / CONTROL}",
            f"queries    {', '.join(names) or 'none yet: events wait until there is one'}",
            f'add one    muntin register NAME --checkpoint {checkpoint} --window 5m --agg "n=count()"',
            f"watch      muntin status --checkpoint {checkpoint} --watch",
            "stop       Ctrl-C; the same command then goes on with the same queries",
        ]
    )


def _listening(endpoint: Endpoint, status: Status) -> dict[str, Any]:
    return {"listening": endpoint.control.address, "status": status.to_dict()}


def _farewell(status: Status, how: str) -> str:
    count = len(status.queries)
    queries = "no query" if not count else "1 query" if count == 1 else f"{count:,} queries"
    return f"stopped by {how}; the same command goes on with {queries}"


@contextmanager
def _live() -> Iterator[Callable[[Status], None]]:
    """Show the status in place while this lasts; nothing where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield lambda status: None
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), transient=True) as shown:
        yield lambda status: shown.update(table(status.to_dict()))


def table(status: Mapping[str, Any]) -> Table:
    """Lay a status out as one line under its headings."""
    from rich.table import Table

    queries = status["queries"]
    waiting = sum(query["activity"] == "suspended" for query in queries)
    rate, mark, slices = (status[name] for name in ("rows_per_second", "watermark", "slices"))
    cells = {
        "stream": status["state"],
        "queries": f"{len(queries):,}" + (f", {waiting:,} suspended" if waiting else ""),
        "batch": "" if status["batch"] < 0 else f"{status['batch']:,}",
        "rows/s": "" if rate is None else f"{rate:,.0f}",
        "watermark": "" if mark is None else instant(mark.removesuffix("+00:00")),
        "open slices": "" if slices is None else f"{slices:,}",
    }
    found = Table(*cells, box=None, header_style="dim", padding=(0, 2, 0, 0))
    found.add_row(*cells.values())
    return found


@contextmanager
def _failures() -> Iterator[None]:
    """Say what Spark says is wrong without the way through the JVM."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        msg = f"Spark could not run the stream: {reason(error)}"
        raise RunError(msg) from error
