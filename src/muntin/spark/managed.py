"""A version of a manager's queries as one streaming query: rows marked with the query they are of, for its sink."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as T

from muntin.aggregate import catalog as agg
from muntin.errors import ManagerError, QueryError
from muntin.manager.history import Position
from muntin.manager.registry import Shape
from muntin.many_stream import QUERY, check_keys
from muntin.physical.streaming import assemblies, slice_rate
from muntin.query import Query
from muntin.share.together import together
from muntin.spark.bound import bind
from muntin.spark.marked import marked, parted
from muntin.spark.panes import parts_of
from muntin.spark.reason import first_and_root, own_words
from muntin.spark.streaming import arrow_schema, check_buckets, check_watermark, lay_out, stream
from muntin.stream.forms import Forms
from muntin.stream.labels import buckets_for
from muntin.stream_plan import refusal_of
from muntin.window.slices import common_measure
from muntin.window.spec import tumbling

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from muntin.manager.asked import Asked
    from muntin.manager.registry import Version
    from muntin.query import Events
    from muntin.share.together import Together
    from muntin.spark.bound import Bound
    from muntin.window.spec import Window


@dataclass(frozen=True, slots=True)
class Managed:
    """A plan that follows another over the same state: slices go by microseconds, whatever the windows' panes are."""

    cuts: tuple[Window, ...]
    """Windows that are not computed, and at whose edges slices begin all the same."""
    since: tuple[int | None, ...]
    """The first start of each window that is computed."""
    retain: int
    forms: tuple[tuple[tuple[str, T.DataType], ...], ...]
    """The partials' columns of all plans there were, by names that tell them apart."""
    current: int
    identity: Mapping[str, Any]
    """What all the plans have in common, and a checkpoint must agree with."""

    def columns(self, stored: pa.Schema, heads: int) -> Forms:
        """Say how slices of any plan are read: `stored` are today's columns, of which `heads` are in all of them."""
        own = [stored.field(place) for place in range(heads)]
        names = [(*(field.name for field in own), *(name for name, _ in form)) for form in self.forms]
        others = [arrow_schema([T.StructField(name, kind) for name, kind in form]) for form in self.forms]
        schemas = [pa.schema([*own, *form]) for form in others]
        schemas[self.current] = stored
        return Forms(tuple(names), tuple(schemas), self.current)


def partial_columns(bound: Bound) -> tuple[tuple[str, T.DataType], ...]:
    """Name the columns of a query's partials, so that another query with the same partials names them alike."""
    found = []
    for column, part in parts_of(bound, bound.recipes).values():
        assert part.lane is not None
        assert part.single is not None
        single = part.single()
        fields = {name: take(single).alias(f"{column}_{name}") for name, take in part.lane.stream_fields.items()}
        kinds = bound.events.select(*fields.values()).schema.fields
        found += [(f"{part.name} {name}", kind.dataType) for name, kind in zip(fields, kinds, strict=True)]
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Queries looked at before anything is stopped: what they compute together, and in which columns."""

    part: Together
    bound: Bound
    columns: tuple[tuple[str, Any], ...]
    """The partials' columns: names, and types as Spark's JSON."""
    cuts: tuple[Window, ...]

    def shape(self, retain: int) -> Shape:
        """Say what slices are like."""
        needs = {}
        for member in self.part.members:
            parts = [part for own in member.aggregates.values() for part in self.bound.recipes[own].parts]
            lanes = [(part.name, part.lane) for part in parts if part.lane is not None]
            needs[member.name] = frozenset(f"{name} {field}" for name, lane in lanes for field in lane.stream_fields)
        return Shape(self.part.windows, self.windows, self.columns, needs, retain)

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows at whose edges slices begin."""
        return (*self.part.windows, *self.cuts)


def check(events: Events, asked: Asked) -> None:
    """Refuse a query that cannot run on a stream."""
    try:
        why = refusal_of(bind(_query(events, asked)))
    except QueryError as error:
        msg = f"query {asked.name!r}: {error}"
        raise ManagerError(msg) from error
    if why:
        msg = f"query {asked.name!r} cannot be computed by the manager's one operator: {why}"
        raise ManagerError(msg)


def prepare(events: Events, queries: Sequence[Asked], retain: int) -> Prepared:
    """Take queries together; the slices of what is suspended are cut and filled too, where slices are retained."""
    wanted = [query for query in queries if query.running or retain]
    part = together({each.name: _query(events, each) for each in wanted})
    running = {query.name for query in wanted if query.running}
    computed = {own for member in part.members if member.name in running for own, _ in member.windows}
    cuts = tuple(window for window in part.windows if window.id not in computed)
    part = replace(part, windows=tuple(window for window in part.windows if window.id in computed))
    bound = bind(Query(events.source, events.time, events.keys, part.windows, part.aggregates, events.watermark))
    columns = tuple((name, kind.jsonValue()) for name, kind in partial_columns(bound))
    return Prepared(part, bound, columns, cuts)


def build(prepared: Prepared, version: Version, identity: Mapping[str, Any], retain: int) -> DataFrame:
    """Build the streaming DataFrame of a version: `query`, `window_id`, `window`, keys, aggregates."""
    part, bound = prepared.part, prepared.bound
    running = {query.name: query for query in version.running}
    part = replace(part, members=tuple(member for member in part.members if member.name in running))
    firsts: dict[str, list[int | None]] = {window.id: [] for window in part.windows}
    own: dict[tuple[str, str], int] = {}
    for member in part.members:
        query = running[member.name]
        starts = {window.id: start.at for window, start in zip(query.windows, query.starts, strict=True)}
        for there, called in member.windows:
            at = starts[called]
            firsts[there].append(at)
            if at is not None:
                own[member.name, called] = at
    since = {there: None if None in ats else min(at for at in ats if at is not None) for there, ats in firsts.items()}
    managed = Managed(
        prepared.cuts,
        tuple(since[window.id] for window in part.windows),
        retain,
        tuple(tuple((name, _type(kind)) for name, kind in form) for form in version.forms),
        version.form,
        identity,
    )
    width = common_measure(prepared.windows)
    pane = (width, part.windows[0].offset % width)
    trees = [number for number, each in enumerate(assemblies(part.windows)) if each.tree]
    rows = stream(lay_out(bound, trees, pane, "append", identity["buckets"], managed))
    # A window that several queries ask for is computed from where the first of them has it.
    return marked(part, (bound.query.keys,), rows, own, bound.instant)


def start(
    rows: DataFrame, part: Together, checkpoint: str, trigger: Mapping[str, Any], sink: Callable[..., None]
) -> StreamingQuery:
    """Start the streaming query: `sink` gets the name, the rows and the number of the micro-batch for each query."""

    def write(batch: DataFrame, number: int) -> None:
        kept = batch.persist()
        try:
            there = {row[0] for row in kept.select(QUERY).distinct().collect()}
            for name, frame in parted(part, kept, there).items():
                sink(name, frame, number)
        finally:
            kept.unpersist()

    writer = rows.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    return writer.trigger(**trigger).start()


def position(checkpoint: Path, delay: int) -> Position:
    """Find how far a stream that does not run has come, from what Spark wrote when a micro-batch was done.

    Spark's watermark is the time of the latest event, in whole milliseconds, less the delay.
    """
    folder = checkpoint / "commits"
    done = [int(path.name) for path in folder.glob("*") if path.name.isdigit()] if folder.is_dir() else []
    if not done:
        return Position(-1)
    path = folder / str(max(done))
    try:
        watermark = int(json.loads(path.read_text(encoding="utf-8").splitlines()[1])["nextBatchWatermarkMs"])
    except (ValueError, IndexError, KeyError) as error:
        msg = f"{path} does not say how far the stream has come: {error!r}"
        raise ManagerError(msg) from error
    return Position(max(done), watermark * 1000, (watermark + delay // 1000 + 1) * 1000)


def failure(query: StreamingQuery) -> str:
    """Say in a line why a streaming query ended."""
    error = query.exception()
    if error is None:
        return "it was stopped by somebody else"
    first, root = first_and_root(error)
    return own_words(error) or (first if root in first else f"{first}: {root}")


def default_buckets(events: Events, buckets: int | None) -> int:
    """Choose into how many parts the keys are dealt out: as asked for, or as Spark's partitions suggest."""
    if not events.keys:
        return 1
    if buckets is not None:
        return check_buckets(buckets)
    return buckets_for(int(events.source.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200))


def key_types(events: Events) -> list[str]:
    """Name the keys and their types; a stream without them, or without its time, is refused."""
    check_keys(events.keys)
    # Counting needs no column of its own.
    bound = bind(
        Query(events.source, events.time, events.keys, (tumbling("1s"),), (("n", agg.count()),), events.watermark)
    )
    check_watermark(bound)
    return [f"{name} {bound.key_type(name).simpleString()}" for name in events.keys]


def explained(prepared: Prepared, running: Sequence[Asked]) -> str:
    """Say what is computed, for whom, and how windows are put together."""
    part, windows = prepared.part, prepared.part.windows
    names = {window.id: window for window in windows}
    lines = [
        f"{len(running)} queries by one stateful operator: {len(windows)} windows, {len(part.aggregates)} aggregates",
        f"slices: {float(slice_rate(prepared.windows) * 3_600_000_000):,.6g} an hour",
    ]
    own = {query.name for query in running}
    for member in part.members:
        if member.name in own:
            shown = ", ".join(f"{called} ({names[there]})" for there, called in member.windows)
            lines.append(f"  {member.name}: {shown}")
    for each in assemblies(windows):
        way = "from a tree over slices" if each.tree else "slice by slice"
        lines.append(f"{each.window!s:<24}{each.slices:>8,.0f} slices, {way}")
    return "\n".join(lines)


def _query(events: Events, asked: Asked) -> Query:
    return Query(events.source, events.time, events.keys, asked.windows, asked.aggregates, events.watermark)


def _type(kind: Any) -> T.DataType:
    return T.StructField.fromJson({"name": "_", "type": kind, "nullable": True}).dataType
