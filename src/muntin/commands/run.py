"""`muntin run`: from a query in SQL and files of events to files of results."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muntin.commands.exit_codes import DIFFERENT, exits
from muntin.commands.fit import for_terminal
from muntin.commands.stream import stream
from muntin.commands.stream_job import check_folder, check_options, partitions, prepared, stream_options
from muntin.commands.stream_progress import counts
from muntin.commands.summary import Run, Target, as_dict, as_text
from muntin.declare.sql import parse_sql
from muntin.errors import MuntinError, RunError, SqlError
from muntin.from_sql import sql
from muntin.logical.optimize import OPTIMIZERS
from muntin.physical.choose import STRATEGIES
from muntin.spark.delta import with_delta
from muntin.spark.files import (
    FORMATS,
    by_suffix,
    check_output,
    exists,
    is_there,
    local_path,
    parse_input,
    read,
    writable,
    write,
)
from muntin.spark.progress import progress, waiting
from muntin.spark.reason import reason
from muntin.spark.replaced import check_replaced
from muntin.spark.session import session
from muntin.table_plan import TablePlan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from muntin.declare.sql import SelectQuery
    from muntin.logical.optimize import Optimizer
    from muntin.physical.choose import Strategy
    from muntin.query import Query
    from muntin.spark.compare import Comparison
    from muntin.spark.files import Source


@click.command(
    short_help="Run a query in SQL over files, on Spark.",
    epilog=f"""
    \b
    Examples:
      muntin run query.sql --input Input=events.parquet \\
                 --output out/
      muntin run query.sql --input Input=events.csv \\
                 --output out/ --format csv --verify
      muntin run query.sql --input Input=events/ --dry-run

    \b
    A stream of files, from which each window is written once:
      muntin run query.sql --stream --input Input=incoming/ \\
                 --output out/ --checkpoint ck/ \\
                 --watermark 10s

    It goes on until Ctrl-C; the same command then goes on where it stopped. With --trigger available-now it ends when
    all files are read, and is started again by a scheduler.

    {exits()}
    """,
)
@click.argument("query", type=click.Path(path_type=Path))
@click.option(
    "texts",
    "--input",
    "-i",
    multiple=True,
    metavar="NAME=PATH",
    help="Where the input that the query calls NAME is: a file, a folder or a pattern (events/*.csv, in quotes) of "
    "parquet, csv (with a header line), json (one record a line) or delta.",
)
@click.option("--output", "-o", metavar="PATH", help="The folder that the result goes to.")
@click.option(
    "form",
    "--format",
    "-f",
    type=click.Choice(FORMATS),
    help="The format of the result; by default as the suffix of --output says, else parquet.",
)
@click.option("--input-format", type=click.Choice(FORMATS), help="The format of the input, where names do not tell.")
@click.option("when", "--time", metavar="COLUMN", help="The time of the events, where the query has no TIMESTAMP BY.")
@click.option("--optimizer", type=click.Choice(OPTIMIZERS), default="auto", show_default=True)
@click.option("--strategy", type=click.Choice(STRATEGIES), default="auto", show_default=True)
@click.option(
    "--mode",
    type=click.Choice(["error", "overwrite"]),
    default="error",
    show_default=True,
    help="What to do where the output exists.",
)
@click.option("--verify", is_flag=True, help="Run the plan written by hand too, and compare every row.")
@click.option("--master", default="local[*]", show_default=True, help="Where Spark runs.")
@click.option("settings", "--conf", multiple=True, metavar="NAME=VALUE", help="A setting of Spark.")
@click.option("as_data", "--json", is_flag=True, help="Print the summary, or the plan of a dry run, as JSON.")
@click.option("--dry-run", is_flag=True, help="Explain the plan, and stop there.")
@stream_options
def run(
    query: Path,
    texts: tuple[str, ...],
    output: str | None,
    form: str | None,
    input_format: str | None,
    when: str | None,
    optimizer: Optimizer,
    strategy: Strategy,
    mode: str,
    verify: bool,
    master: str,
    settings: tuple[str, ...],
    as_data: bool,
    dry_run: bool,
    **streaming: Any,
) -> None:
    """Run the query in the file QUERY over files, with all of its windows sharing work.

    The query is in the dialect of Azure Stream Analytics or in Spark SQL.
    """
    # All that can be known to be wrong without Spark is said before Spark starts.
    text, parsed = _query(query, when)
    streams = check_options(streaming, mode=mode, verify=verify, strategy=strategy, dry_run=dry_run)
    if streams:
        check_folder(texts)
    source = _source(parsed, texts, input_format)
    conf = dict(map(parse_setting, settings))
    job = None
    if streams:
        job = prepared(streaming, text, parsed, when, source, output, form, optimizer, dry_run=dry_run)
        target, conf = job.target, partitions(master) | conf
    else:
        target = None if dry_run else _target(output, form, mode == "overwrite", source, query)
    if "delta" in (source.format, target and target.format):
        conf = with_delta(conf)
    with _tidied(target if job is None else None), session(master, conf) as spark:
        if job is not None:
            with _failures(query, MuntinError):
                stream(spark, job, as_data=as_data)
            return
        with waiting("reading the first rows"), _failures(query, MuntinError):
            asked = _asked(spark, text, source, target, when)
            began = time.perf_counter()
            plan = asked.plan(optimizer=optimizer, strategy=strategy)
            assert isinstance(plan, TablePlan)
            planning = time.perf_counter() - began
        if target is None:
            click.echo(json.dumps(plan.to_dict(), indent=2) if as_data else for_terminal(plan.explain()))
            return
        with _failures(query, RunError):
            found = _run(spark, plan, source, target, verify)
    found.seconds["planning"] = planning
    click.echo(json.dumps(as_dict(found), indent=2) if as_data else as_text(found))
    if found.comparison is not None and not found.comparison.equal:
        raise click.exceptions.Exit(DIFFERENT)


def _query(path: Path, when: str | None) -> tuple[str, SelectQuery]:
    """Read a query, and refuse it where it does not say what the time is."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        msg = f"cannot read the query {path}: {why}"
        raise MuntinError(msg) from error
    try:
        parsed = parse_sql(text)
    except SqlError as error:
        raise _placed(error, path) from error
    if parsed.time is None and when is None:
        msg = f"{path} does not say which column is the time: add TIMESTAMP BY column, or pass --time column"
        raise MuntinError(msg)
    return text, parsed


def _source(parsed: SelectQuery, texts: tuple[str, ...], form: str | None) -> Source:
    """Find the input that the query reads among those given."""
    found = [parse_input(text, form) for text in texts]
    names = ", ".join(source.name for source in found) or "none"
    mine = [source for source in found if source.name.lower() == parsed.source.lower()]
    if len(mine) > 1:
        msg = f"input {mine[0].name} is given {len(mine)} times: give it once, a folder may hold many files"
        raise MuntinError(msg)
    if not mine or len(found) > 1:
        only = f"Pass --input {parsed.source}=PATH and no other"
        msg = f"the query reads {parsed.source}, and the inputs given are: {names}. {only}"
        raise MuntinError(msg)
    return mine[0]


def _target(output: str | None, form: str | None, overwrite: bool, source: Source, query: Path) -> Target:
    if output is None:
        msg = "there is nowhere to write: pass --output PATH, or --dry-run to see the plan alone"
        raise MuntinError(msg)
    # What is in a folder that will be replaced says nothing of the format that is wanted.
    found = form or by_suffix(output) or "parquet"
    check_output(output, found, [source], overwrite=overwrite)
    place = local_path(output)
    if place is not None and place.resolve() in (query.resolve(), *query.resolve().parents):
        msg = f"output {output} is or holds the query {query}, which would be destroyed: choose another --output"
        raise MuntinError(msg)
    if place is not None and overwrite:
        check_replaced(output, place)
    return Target(output, found, overwrite)


def parse_setting(text: str) -> tuple[str, str]:
    """Read NAME=VALUE.

    >>> parse_setting("spark.sql.session.timeZone=UTC")
    ('spark.sql.session.timeZone', 'UTC')
    """
    name, equals, value = text.partition("=")
    if not name.strip() or not equals:
        msg = (
            f"cannot read the setting {text!r}: write NAME=VALUE, for example spark.sql.session.timeZone=Europe/Berlin"
        )
        raise MuntinError(msg)
    return name.strip(), value.strip()


def _asked(spark: SparkSession, text: str, source: Source, target: Target | None, when: str | None) -> Query:
    """Bind the query to its input, and refuse what cannot be written: before any job over the events."""
    if target is not None and local_path(target.path) is None and not target.overwrite and is_there(spark, target.path):
        raise MuntinError(exists(target.path))
    # In capitals no name is that of one of `sql`'s own parameters.
    query = sql(text, time=when, watermark=None, **{source.name.upper(): read(spark, source)})
    if target is not None:
        writable(query.native(), target.format)
    return query


def _run(spark: SparkSession, plan: TablePlan, source: Source, target: Target, verify: bool) -> Run:
    from muntin.spark.execute import execute, shown

    result = execute(plan.bound, plan.physical)
    seconds: dict[str, float] = {}
    comparison = None
    if verify:
        result, comparison = _verified(spark, plan, result, seconds)
    began = time.perf_counter()
    frame, counted = _observed(plan, shown(plan.query, result))
    with progress(spark, "writing" if verify else "running"):
        write(writable(frame, target.format), target.path, target.format, overwrite=target.overwrite)
    seconds["running"] = seconds.get("shared", 0.0) + time.perf_counter() - began
    with progress(spark, "counting rows"):
        events = _counted(spark, source, target)
    result.unpersist()
    rows, *by_window = counted.get.values()
    ids = [window.id for window in plan.query.windows]
    return Run(plan, source, target, events, rows, dict(zip(ids, by_window, strict=False)), seconds, comparison)


def _counted(spark: SparkSession, source: Source, target: Target) -> int:
    """Count what was read. An input that is gone meanwhile is no refusal: the result is there."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return read(spark, source).count()
    except (MuntinError, PySparkException, Py4JError) as error:
        why = str(error) if isinstance(error, MuntinError) else reason(error)
        msg = f"the result is written to {target.path}, but the rows of its input cannot be counted: {why}"
        raise RunError(msg) from error


def _verified(
    spark: SparkSession, plan: TablePlan, result: DataFrame, seconds: dict[str, float]
) -> tuple[DataFrame, Comparison]:
    """Compute both plans' rows, each once and the same way, and compare them."""
    from muntin.spark.compare import compare
    from muntin.spark.native import native

    ours, theirs = result.persist(), native(plan.bound).persist()
    for name, frame in (("shared", ours), ("native", theirs)):
        began = time.perf_counter()
        with progress(spark, f"{name} plan"):
            frame.write.format("noop").mode("overwrite").save()
        seconds[name] = time.perf_counter() - began
    with progress(spark, "comparing"):
        comparison = compare(ours, theirs, plan.query.keys)
    theirs.unpersist()
    return ours, comparison


def _observed(plan: TablePlan, frame: DataFrame) -> tuple[DataFrame, Any]:
    """Count rows as they are written: all, and those of each window where the result says which."""
    from pyspark.sql import Observation

    observation = Observation()
    ids = [window.id for window in plan.query.windows]
    return frame.observe(observation, *counts(frame.columns, plan.query.outputs, ids)), observation


@contextmanager
def _tidied(target: Target | None) -> Iterator[None]:
    """Take away the empty folder that Spark leaves of a write that failed: the next run would find the output there."""
    place = None if target is None else local_path(target.path)
    new = place is not None and not place.exists()
    try:
        yield
    except BaseException:
        if new and place is not None:
            # Only if it is empty: what somebody else wrote there meanwhile is theirs.
            with suppress(OSError):
                place.rmdir()
        raise


@contextmanager
def _failures(path: Path, kind: type[MuntinError]) -> Iterator[None]:
    """Say what Spark says is wrong without the way through the JVM."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except SqlError as error:
        raise _placed(error, path) from error
    except (PySparkException, Py4JError) as error:
        why = reason(error)
        if "CAST_INVALID_INPUT" in why and '"TIMESTAMP"' in why:
            # Text that TIMESTAMP BY names is cast to a time, and Spark does not say which column it was.
            why += " If it is the column of TIMESTAMP BY: TRY_CAST(column AS datetime) leaves such rows out."
        msg = f"Spark could not run the query: {why}"
        raise kind(msg) from error


def _placed(error: SqlError, path: Path) -> SqlError:
    """Name the file of a query that has an error."""
    placed = SqlError(f"{path}, {error}" if error.line else f"{path}: {error}")
    placed.line, placed.column = error.line, error.column
    return placed
