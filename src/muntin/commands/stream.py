"""`muntin run --stream`: files that keep coming, and windows written as the watermark passes them, each once."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

import click

from muntin.commands.exit_codes import signalled
from muntin.commands.fit import for_terminal
from muntin.commands.signals import NAMES, signals
from muntin.commands.stream_job import doubled
from muntin.commands.stream_manifest import NEW, Manifest, as_options, refuse_columns
from muntin.commands.stream_progress import COUNTED, Streamed, Totals, as_dict, as_text, counts, live
from muntin.errors import MuntinError, RunError
from muntin.from_sql import sql
from muntin.spark.files import READ, WRITE, is_there, local_path, read, spark_path, uncoloned, writable
from muntin.spark.progress import waiting
from muntin.spark.reason import first_and_root, own_words
from muntin.stream_plan import StreamPlan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from signal import Signals

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

    from muntin.commands.stream_job import Job
    from muntin.spark.files import Source

# So long between two looks at how far a stream is.
_SECONDS: Final = 0.2


def stream(spark: SparkSession, job: Job, *, as_data: bool) -> None:
    """Run a job until it ends or is stopped, and say what it came to."""
    with waiting("looking at the files that are there"):
        schema = settled(job.manifest.schema if job.manifest else None, read(spark, job.source).schema)
        asked = sql(
            job.text,
            time=job.when,
            watermark=f"{job.watermark}us",
            # In capitals no name is that of one of `sql`'s own parameters.
            **{job.source.name.upper(): events(spark, job.source, schema, job.files)},
        )
        plan = asked.plan(optimizer=job.optimizer)
        assert isinstance(plan, StreamPlan)
    if job.target is None:
        click.echo(json.dumps(plan.to_dict(), indent=2) if as_data else for_terminal(plan.explain()))
        return
    why = plan.native_why(job.mode)
    if why and job.mode != "append":
        msg = f"--output-mode {job.mode} needs the shared plan, and this query runs by Spark's own aggregates: {why}"
        raise MuntinError(msg)
    began = time.perf_counter()
    query = _start(spark, job, plan, schema)
    totals, signals_seen = _follow(query, Totals(plan.operators(job.mode)))
    stopped = NAMES[signals_seen[0]] if signals_seen else ""
    found = Streamed(plan, job.source, job.target, job.checkpoint, totals, time.perf_counter() - began, stopped)
    error = query.exception()
    if error is not None:
        raise RunError(_failure(error, job.checkpoint)) from error
    click.echo(json.dumps(as_dict(found), indent=2) if as_data else as_text(found))
    # To be stopped is the end of a stream that has no other, unless a batch was broken off.
    if len(signals_seen) > 1 or (signals_seen and "availableNow" in job.trigger):
        raise click.exceptions.Exit(signalled(signals_seen[0]))


def settled(kept_as: Mapping[str, Any] | None, found: StructType) -> StructType:
    """Settle the columns of an input: those of the first start, where there was one, unless they changed."""
    from pyspark.sql.types import StructType

    if kept_as is None:
        return found
    kept = StructType.fromJson(dict(kept_as))
    before, now = ([(field.name, field.dataType.simpleString()) for field in one.fields] for one in (kept, found))
    refuse_columns(before, now)
    return kept


def events(spark: SparkSession, source: Source, schema: StructType, files: int | None = None) -> DataFrame:
    """Read an input as a stream, at most so many new files at once."""
    reader = spark.readStream.format(source.format).options(**READ[source.format])
    # A delta table knows its columns, and takes none from outside.
    reader = reader if source.format == "delta" else reader.schema(schema)
    return (reader if files is None else reader.option("maxFilesPerTrigger", files)).load(spark_path(source))


def _start(spark: SparkSession, job: Job, plan: StreamPlan, schema: StructType) -> StreamingQuery:
    from muntin.spark.checkpoint import clear_torn
    from muntin.stream.labels import buckets_for

    assert job.target is not None
    buckets = job.buckets
    if buckets is None:
        buckets = buckets_for(int(spark.conf.get("spark.sql.shuffle.partitions", "200") or 200))
    result = plan.stream(mode=job.mode, buckets=buckets)
    ids = [window.id for window in plan.query.windows]
    counted = result.observe(COUNTED, *counts(result.columns, plan.query.outputs, ids))
    rows = writable(counted, job.target.format)
    if job.place is not None and job.manifest is None:
        if local_path(job.target.path) is None and is_there(spark, job.target.path):
            raise MuntinError(doubled(job))
        Manifest(job.text, job.said(buckets), schema.jsonValue()).write(job.place)
        clear_torn(job.place)
    return (
        rows.writeStream.format(job.target.format)
        .options(**WRITE[job.target.format])
        .option("path", uncoloned(job.target.path))
        .option("checkpointLocation", uncoloned(job.checkpoint))
        .outputMode("append")
        .trigger(**job.trigger)
        .start()
    )


def _follow(query: StreamingQuery, totals: Totals) -> tuple[Totals, list[Signals]]:
    """Show how far a query is until it ends; when asked to stop, let the batch that runs come to its end.

    What it comes to, and the signals that asked it to stop, if any did.
    """
    asked_at: int | None = None
    idle = False
    with live() as show, signals() as asked:
        while query.isActive:
            time.sleep(_SECONDS)
            totals = totals.catch_up(query)
            show(totals)
            if not asked:
                continue
            if asked_at is None:
                # The batch before may have ended since the last look.
                totals = totals.catch_up(query)
                asked_at = totals.last
                click.echo("stopping after the batch that runs; again Ctrl-C stops at once", err=True)
            # Between two batches, and while the next is made ready, a query looks idle too: only twice counts.
            was_idle, status = idle, query.status
            idle = not status["isTriggerActive"] or not status["isDataAvailable"]
            if (idle and was_idle) or totals.last > asked_at or len(asked) > 1:
                query.stop()
    return totals.catch_up(query), asked


def _failure(error: BaseException, checkpoint: str) -> str:
    """Say why a stream failed, and what to do."""
    own = own_words(error)
    if own is not None:
        return as_options(own)
    first, root = first_and_root(error)
    why = first if root in first else f"{first}: {root}"
    if "STATE_STORE" in first or checkpoint in root:
        return f"the checkpoint cannot be read: {why}. Put {checkpoint} back from a copy, or {NEW}"
    return f"the stream failed: {why}. What is written stands, and the next start goes on from {checkpoint}"
