"""What a stream is asked to do: the options of `muntin run --stream`, and all that is refused before Spark starts."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, get_args

import click

from muntin.commands.stream_manifest import Manifest, committed, described, find, refuse_damage
from muntin.commands.summary import Target
from muntin.duration import format_duration, parse_duration
from muntin.errors import DurationError, MuntinError, StateError
from muntin.spark.files import check_output, format_of, local_path
from muntin.spark.session import NO_SPARK
from muntin.stream.layout import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from muntin.declare.sql import SelectQuery
    from muntin.logical.optimize import Optimizer
    from muntin.spark.files import Source

NOW: Final = "available-now"
_OPTIONS: Final = (
    click.option(
        "--stream", is_flag=True, help="Read the input as a stream: the files that are there, and all to come."
    ),
    click.option(
        "--checkpoint",
        metavar="PATH",
        help="The folder in which a stream remembers how far it came: the next start goes on from there.",
    ),
    click.option(
        "--watermark",
        metavar="DURATION",
        help="How late an event of a stream may be, such as 10s: a window is complete when an event so long past its "
        "end was seen.",
    ),
    click.option(
        "--trigger",
        metavar=f"{NOW}|DURATION",
        help=f"When a stream reads: {NOW} reads all there is, and ends; 5s looks every five seconds. By default it "
        "looks again at once, until Ctrl-C.",
    ),
    click.option(
        "--output-mode",
        type=click.Choice(get_args(Mode)),
        help="What a stream writes: each window once when it is complete (append, the default), windows after each "
        "change (update), or for each key its complete windows in one wide row (latest).",
    ),
    click.option(
        "--buckets",
        type=int,
        metavar="N",
        help="Into how many parts, a power of two, a stream's keys are dealt out; a checkpoint keeps its number.",
    ),
    click.option(
        "--files-per-batch",
        type=click.IntRange(min=1),
        metavar="N",
        help="How many new files a stream reads at once, at most.",
    ),
)


def stream_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that are for streams."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Job:
    """A query over a stream, as the options say; without a target it is explained only."""

    text: str
    parsed: SelectQuery
    when: str | None
    source: Source
    watermark: int
    checkpoint: str
    trigger: Mapping[str, Any]
    mode: Mode
    optimizer: Optimizer
    buckets: int | None = None
    files: int | None = None
    target: Target | None = None
    manifest: Manifest | None = None
    """What the checkpoint belongs to, where it is there already."""

    @property
    def place(self) -> Path | None:
        """The checkpoint on this machine; None where it is elsewhere."""
        return local_path(self.checkpoint)

    def said(self, buckets: int | None) -> dict[str, Any]:
        """Say what must stay the same from start to start."""
        assert self.target is not None
        return described(
            self.parsed,
            self.parsed.time or self.when or "",
            watermark=format_duration(self.watermark),
            mode=self.mode,
            input=f"{absolute(self.source.path)} ({self.source.format})",
            output=absolute(self.target.path),
            format=self.target.format,
            buckets=buckets,
        )


def check_options(given: Mapping[str, Any], *, mode: str, verify: bool, strategy: str, dry_run: bool) -> bool:
    """Tell whether a stream is asked for; refuse options that do not go together."""
    if not given["stream"]:
        unused = [name for name, value in given.items() if value]
        if unused:
            msg = f"--{unused[0].replace('_', '-')} is for streams: add --stream, or leave it out"
            raise MuntinError(msg)
        return False
    if verify:
        msg = (
            "--verify compares the rows with those of the plan written by hand, once: a stream has no end, leave it out"
        )
        raise MuntinError(msg)
    if mode == "overwrite":
        msg = "a stream adds to its output: --mode overwrite would destroy what its checkpoint says is written"
        raise MuntinError(msg)
    if strategy != "auto":
        msg = f"--strategy {strategy} is for tables: leave it out with --stream, and --dry-run shows how it will run"
        raise MuntinError(msg)
    if given["watermark"] is None:
        msg = "a stream must know how late events may be, or no window is ever complete: pass --watermark 10s"
        raise MuntinError(msg)
    if given["checkpoint"] is None and not dry_run:
        msg = "a stream needs a folder to remember how far it came: pass --checkpoint PATH, which need not exist yet"
        raise MuntinError(msg)
    return True


def check_folder(texts: tuple[str, ...]) -> None:
    """Refuse an input that is no folder with files in it: the first of them tell what the columns are."""
    for text in texts:
        name, _, path = (part.strip() for part in text.partition("="))
        place = local_path(path) if path else None
        if place is None or "*" in path or not place.exists():
            continue
        if not place.is_dir():
            msg = f"input {name}: {path} is a file, and a stream reads a folder to which files are added"
            raise MuntinError(msg)
        hidden = ("_", ".")
        for _, folders, files in os.walk(place):
            folders[:] = [each for each in folders if not each.startswith(hidden)]
            if any(not each.startswith(hidden) for each in files):
                break
        else:
            msg = f"input {name}: {path} has no files yet, so its columns are not known: start when the first is there"
            raise MuntinError(msg)


def prepared(
    given: Mapping[str, Any],
    text: str,
    parsed: SelectQuery,
    when: str | None,
    source: Source,
    output: str | None,
    form: str | None,
    optimizer: Optimizer,
    *,
    dry_run: bool,
) -> Job:
    """Make a job of the options, and refuse all that can be known to be wrong before Spark starts."""
    try:
        from muntin.spark.streaming import check_buckets
    except ImportError as error:
        raise MuntinError(NO_SPARK) from error
    watermark = read_duration("--watermark", given["watermark"])
    trigger: dict[str, Any] = {"processingTime": "0 seconds"}
    if given["trigger"] == NOW:
        trigger = {"availableNow": True}
    elif given["trigger"] is not None:
        every = read_duration("--trigger", given["trigger"], f"{NOW}, or ")
        trigger = {"processingTime": f"{every // 1000} milliseconds"}
    if given["buckets"] is not None:
        check_buckets(given["buckets"])
    job = Job(
        text,
        parsed,
        when,
        source,
        watermark,
        given["checkpoint"] or "",
        trigger,
        given["output_mode"] or "append",
        optimizer,
        given["buckets"],
        given["files_per_batch"],
    )
    return job if dry_run else _placed(job, output, form)


def _placed(job: Job, output: str | None, form: str | None) -> Job:
    """Settle where a job writes and what its checkpoint says."""
    if output is None:
        msg = "there is nowhere to write: pass --output PATH, or --dry-run to see the plan alone"
        raise MuntinError(msg)
    check_apart(job.checkpoint, output=output, input=job.source.path)
    manifest = None if job.place is None else find(job.place)
    known = None if manifest is None else manifest.plan.get("format")
    target = Target(output, form or known or format_of(output) or "parquet", overwrite=False)
    # Whether an output may be there is for the checkpoint to say.
    check_output(output, target.format, [job.source], overwrite=True)
    job = replace(job, target=target, manifest=manifest)
    if manifest is not None:
        assert job.place is not None
        kept = manifest.plan.get("buckets")
        manifest.refuse(job.said(kept if job.buckets is None else job.buckets))
        refuse_damage(job.place)
        job = replace(job, buckets=kept)
    _check_written(job, local_path(output))
    return job


def check_apart(checkpoint: str, **others: str) -> None:
    """Refuse a checkpoint that lies in another folder of the stream's, or the other in it."""
    place = local_path(checkpoint)
    for what, path in others.items():
        other = local_path(path)
        if place is None or other is None:
            continue
        mine, theirs = place.resolve(), other.resolve()
        if mine == theirs or mine in theirs.parents or theirs in mine.parents:
            msg = f"the checkpoint {checkpoint} and the {what} {path} lie in one another: give it a folder of its own"
            raise MuntinError(msg)


def _check_written(job: Job, output: Path | None) -> None:
    """Refuse an output that does not go with its checkpoint: rows would be there twice, or not at all."""
    if job.place is None or output is None:
        return
    assert job.target is not None
    if job.manifest is None:
        # A start that failed early leaves empty folders.
        if output.is_file() or any(each.is_file() for each in output.rglob("*")):
            raise MuntinError(doubled(job))
        return
    log = output / ("_delta_log" if job.target.format == "delta" else "_spark_metadata")
    if committed(job.place) and not log.is_dir():
        msg = (
            f"the checkpoint {job.checkpoint} has rows written to {job.target.path}, and they are gone. "
            "Put the output back with all that was in it, or start with a new checkpoint, which reads all files again"
        )
        raise StateError(msg)


def doubled(job: Job) -> str:
    """Say that an output is there of which a checkpoint knows nothing."""
    assert job.target is not None
    return (
        f"output {job.target.path} is there already, and the checkpoint {job.checkpoint} is new: all files would be "
        "read again, and rows be there twice. Choose another --output, or the --checkpoint that belongs to this one"
    )


def partitions(master: str) -> dict[str, str]:
    """Choose how many tasks follow a micro-batch's shuffle: each costs time, so on this machine one for each core.

    >>> partitions("local[3]"), partitions("yarn")
    ({'spark.sql.shuffle.partitions': '3'}, {})
    """
    local = re.fullmatch(r"local\[(\d+|\*)(,\s*\d+)?\]", master)
    if local is None:
        return {}
    cores = str(os.cpu_count() or 1) if local[1] == "*" else local[1]
    return {"spark.sql.shuffle.partitions": cores}


def read_duration(option: str, text: str, others: str = "") -> int:
    """Read the duration that an option was given.

    >>> read_duration("--trigger", "soon")
    Traceback (most recent call last):
    ...
    muntin.errors.MuntinError: cannot read --trigger 'soon': give a duration, for example 10s or 1h30m
    """
    try:
        return parse_duration(text)
    except DurationError as error:
        msg = f"cannot read {option} {text!r}: give {others}a duration, for example 10s or 1h30m"
        raise MuntinError(msg) from error


def absolute(path: str) -> str:
    """Give a path on this machine in full, so that it means the same from any folder."""
    place = local_path(path)
    return path if place is None else str(place.resolve())
