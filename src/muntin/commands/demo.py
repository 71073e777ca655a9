"""`muntin demo`: a week of sensors, ten windows, both plans on this machine."""

from __future__ import annotations

import json
import statistics
import tempfile
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from muntin.aggregate import catalog as agg
from muntin.commands.exit_codes import DIFFERENT, exits
from muntin.commands.fit import fitted, width
from muntin.commands.summary import verdict
from muntin.errors import MuntinError
from muntin.query import windows
from muntin.show.bars import bars
from muntin.spark.progress import progress
from muntin.spark.session import session
from muntin.table_plan import TablePlan
from muntin.testing.iot import DAYS, readings
from muntin.window.spec import hopping, tumbling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from muntin.query import Query
    from muntin.spark.compare import Comparison

EVENTS: Final = 2_000_000
DEVICES: Final = 50
ROUNDS: Final = 2
WINDOWS: Final = (
    *(tumbling(length) for length in ("5m", "10m", "15m", "30m", "1h", "6h")),
    hopping("30m", slide="5m"),
    hopping("1h", slide="10m"),
    hopping("3h", slide="30m"),
    hopping("24h", slide="3h"),
)


@click.command(
    short_help="Compare the shared plan with the one written by hand, on made-up sensors.",
    epilog=f"""
    \b
    Examples:
      muntin demo
      muntin demo --out demo/ --json | jq .seconds

    {exits(0, 1, 2, 3, 130)}
    """,
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("report/demo"),
    show_default=True,
    metavar="FOLDER",
    help="Where plan.html and times.svg go.",
)
@click.option("--master", default="local[*]", show_default=True, help="Where Spark runs.")
@click.option("--events", type=click.IntRange(1_000), default=EVENTS, hidden=True)
@click.option("as_data", "--json", is_flag=True, help="Print times, rows and files as JSON.")
def demo(out: Path, master: str, events: int, as_data: bool) -> None:
    """Make a week of 2 million sensor readings, and aggregate them over ten windows in two ways.

    Takes a minute or two, and shows the plan, both times, and that the rows agree.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"cannot write into {out}: {error.strerror}. Give --out a folder that may be written to"
        raise MuntinError(msg) from error
    say = (lambda text: None) if as_data else _say
    with session(master) as spark, tempfile.TemporaryDirectory(prefix="muntin-demo-") as folder:
        say(f"Making {events:,} readings of {DEVICES} devices over {DAYS} days, some of them late, some missing.")
        with progress(spark, "writing parquet"):
            readings(spark, events, devices=DEVICES).write.parquet(f"{folder}/events")
        query = ask(spark.read.parquet(f"{folder}/events"))
        plan = query.plan()
        assert isinstance(plan, TablePlan)
        if not as_data:
            click.echo(f"\n{fitted(plan.explain(), width())}\n")
        # The events of one device are enough to start workers and to have the JVM compile what the plans use.
        with progress(spark, "warming up"):
            few = ask(query.source.where("device = 'device-00'"))
            _ran(few.native())
            _ran(few.plan(strategy="arrow").run())
            _ran(few.plan(strategy="jvm").run())
        times = _raced(spark, {"native": query.native(), "muntin": plan.run()})
        comparison = _compared(spark, plan, query)
    page, chart = plan.plot(out / "plan.html"), out / "times.svg"
    chart.write_text(_chart(times, events), encoding="utf-8")
    if as_data:
        click.echo(json.dumps(_as_dict(times, comparison, events, [page, chart]), indent=2))
    else:
        _tell(times, comparison)
        _say(f"wrote {page} and {chart}")
    if not comparison.equal:
        raise click.exceptions.Exit(DIFFERENT)


def ask(frame: DataFrame) -> Query:
    """Declare the demo's query: five aggregates of each device over ten windows."""
    return (
        windows(frame, time="ts", keys="device")
        .over(*WINDOWS)
        .agg(
            low=agg.min("temperature"),
            high=agg.max("temperature"),
            mean=agg.avg("temperature"),
            readings=agg.count(),
            spread=agg.stddev("temperature"),
        )
    )


def _raced(spark: SparkSession, frames: dict[str, DataFrame]) -> dict[str, float]:
    """Run frames in turn, so that what else the machine does falls on all of them; the medians of their times."""
    times: dict[str, list[float]] = {name: [] for name in frames}
    for turn in range(ROUNDS):
        for name, frame in frames.items():
            with progress(spark, f"{name}, run {turn + 1} of {ROUNDS}"):
                times[name].append(_ran(frame))
    return {name: statistics.median(found) for name, found in times.items()}


def _ran(frame: DataFrame) -> float:
    """Compute all rows and throw them away; the seconds that it took."""
    began = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


def _compared(spark: SparkSession, plan: TablePlan, query: Query) -> Comparison:
    from muntin.spark.compare import compare

    ours, theirs = plan.run().persist(), query.native().persist()
    with progress(spark, "comparing all rows"):
        found = compare(ours, theirs, query.keys)
    for frame in (ours, theirs):
        frame.unpersist()
    return found


def _tell(times: dict[str, float], comparison: Comparison) -> None:
    most = max(times.values())
    room = max(10, width() - 22)
    for name, seconds in times.items():
        click.echo(f"{name:<8}{seconds:>8.2f} s  {'#' * max(1, round(room * seconds / most))}")
    _say(
        f"muntin takes {_ratio(times)}: medians of {ROUNDS} runs in turn, after a warm-up, of results computed and "
        "not written."
    )
    _say(f"{verdict(comparison)[:1].upper()}{verdict(comparison)[1:]}.")
    for example in comparison.examples:
        _say(f"- {example}")


def _as_dict(times: dict[str, float], comparison: Comparison, events: int, files: list[Path]) -> dict[str, Any]:
    return {
        "events": events,
        "devices": DEVICES,
        "windows": [{"id": name, "rows": ours, "native": theirs} for name, ours, theirs in comparison.rows],
        "rounds": ROUNDS,
        "seconds": times,
        "verify": {"equal": comparison.equal, "differing": comparison.differing},
        "files": [str(file) for file in files],
    }


def _ratio(times: dict[str, float]) -> str:
    ratio = times["native"] / times["muntin"]
    return f"1/{ratio:.1f} of native's time" if ratio >= 1 else f"{1 / ratio:.1f} times as long as native"


def _chart(times: dict[str, float], events: int) -> str:
    note = f"{events:,} events of {DEVICES} devices, {len(WINDOWS)} windows, 5 aggregates; seconds, local Spark"
    named = {"native": "native: a groupBy per window", "muntin": "muntin: one shared plan"}
    return bars(f"Ten windows: {_ratio(times)}", note, [(named[name], s, f"{s:.2f} s") for name, s in times.items()])


def _say(text: str) -> None:
    click.echo(textwrap.fill(text, width(), break_long_words=False, break_on_hyphens=False))
