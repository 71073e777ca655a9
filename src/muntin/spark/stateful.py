"""A bucket of keys as Spark's stateful processor: state variables, timers, and what goes in and out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from muntin.errors import StateError
from muntin.stream.blob import decode, encode
from muntin.stream.bucket import advance
from muntin.stream.clock import Clock
from muntin.stream.differ import difference

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.streaming.stateful_processor import (
        ExpiredTimerInfo,
        MapState,
        StatefulProcessorHandle,
        TimerValues,
        ValueState,
    )

    from muntin.stream.bucket import Schemas, Told
    from muntin.stream.gather import Gather
    from muntin.stream.layout import Layout

# The names of the state variables, which a checkpoint keeps.
CLOCK, PLAN, SLICES = "clock", "plan", "slices"
# What leaves: rows in blobs, and one report of a bucket, without rows, of what it keeps.
OUTPUT = "rows binary, slices bigint, nodes bigint"
# So many rows at most leave in one blob.
_MOST = 1 << 16


class Windows(StatefulProcessor):
    """Keep the slices of buckets of keys, and let windows leave as the watermark passes them."""

    def __init__(self, layout: Layout, schemas: Schemas, plan: str) -> None:
        self.layout, self.schemas, self.plan = layout, schemas, plan

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state; Spark calls it in each task."""
        self._handle = handle
        self._clock: ValueState = handle.getValueState(CLOCK, "packed binary")
        self._plan: ValueState = handle.getValueState(PLAN, "plan string")
        self._slices: MapState = handle.getMapState(SLICES, "level int, pane bigint", "rows binary")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        """Take what a micro-batch brought for a bucket."""
        told = self._advance([(bytes(row[1]), bytes(row[2])) for row in rows], timerValues)
        kept = told.clock.kept
        nodes = sum(len(numbers) for level, numbers in kept.items() if level > 0)
        # Every bucket hears of every micro-batch with data, so the reports of one add up to all that is kept.
        yield Row(rows=None, slices=len(kept[0]), nodes=nodes)
        yield from _leaving(told)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        """Let windows leave where the watermark moved without data for it."""
        yield from _leaving(self._advance([], timerValues, fired=True))

    def close(self) -> None:
        """Leave the state to Spark."""

    def _advance(self, blobs: list[tuple[bytes, bytes]], times: TimerValues, *, fired: bool = False) -> Told:
        # Asked first: of a value that is not there Spark warns in its log.
        packed = self._clock.get() if self._clock.exists() else None
        clock = None if packed is None else Clock.unpack(bytes(packed[0]))
        self._check(new=clock is None)
        watermark = times.getCurrentWatermarkInMs() * 1000
        told = advance(self.layout, self.schemas, _Kept(self._slices), clock, blobs, batch_number(), watermark)
        self._remember(clock, told, fired=fired)
        return told

    def _remember(self, before: Clock | None, told: Told, *, fired: bool) -> None:
        timer = None if before is None else before.timer
        if told.clock.timer != timer:
            # One that fired is gone already.
            if timer is not None and not fired:
                self._handle.deleteTimer(timer)
            if told.clock.timer is not None:
                self._handle.registerTimer(told.clock.timer)
        self._clock.update((told.clock.pack(),))

    def _check(self, *, new: bool) -> None:
        """Refuse the state of another query."""
        if new:
            self._plan.update((self.plan,))
            return
        found = self._plan.get()
        text = "{}" if found is None else found[0]
        if text != self.plan:
            raise StateError(difference(json.loads(text), json.loads(self.plan)))


def _leaving(told: Told) -> Iterator[Row]:
    for batch in told.leaving:
        for start in range(0, batch.num_rows, _MOST):
            yield Row(rows=encode(batch.slice(start, _MOST)), slices=None, nodes=None)


class _Kept:
    """Spark's state as a place for blobs."""

    def __init__(self, state: MapState) -> None:
        self._state = state

    def get(self, level: int, index: int) -> bytes | None:
        """Read a blob."""
        found = self._state.getValue((level, index))
        return None if found is None else bytes(found[0])

    def put(self, level: int, index: int, blob: bytes) -> None:
        """Write a blob."""
        self._state.updateValue((level, index), (blob,))

    def remove(self, level: int, index: int) -> None:
        """Forget a blob."""
        self._state.removeKey((level, index))


def batch_number() -> int:
    """Find the number of the micro-batch that a task belongs to."""
    context = TaskContext.get()
    number = None if context is None else context.getLocalProperty("streaming.sql.batchId")
    if number is None:
        msg = "Spark does not say which micro-batch this is: windows over a stream need a streaming query"
        raise StateError(msg)
    return int(number)


class Gathered:
    """Combine what a task reads, in `mapInArrow`."""

    def __init__(self, gather: Gather, schema: pa.Schema) -> None:
        self.gather, self.schema = gather, schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn events into blobs for buckets."""
        context = TaskContext.get()
        first = context is None or context.partitionId() == 0
        yield from self.gather((batch.cast(self.schema) for batch in batches), first=first)


class Unpacked:
    """Make rows of blobs again, in `mapInArrow`."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn blobs into windows."""
        for batch in batches:
            # A report has no rows.
            for blob in batch.column(0).drop_null():
                yield decode(blob.as_py(), self.schema)
