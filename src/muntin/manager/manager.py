"""The manager: windowed queries that are registered, suspended, resumed and dropped while their stream runs."""

from __future__ import annotations

import logging
import threading
import time as clock
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from muntin.duration import parse_duration
from muntin.errors import ManagerError
from muntin.manager.asked import asked
from muntin.manager.registry import Registry, Version
from muntin.manager.sink import Folder, local, sink_of
from muntin.manager.status import Change, Status, seen_in
from muntin.query import windows as declare
from muntin.share.subsume import subsume_windows
from muntin.stream.version import VERSION
from muntin.window.spec import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import timedelta
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from pyspark.sql import Column, DataFrame

    from muntin.manager.asked import Asked
    from muntin.spark.managed import Prepared

_LOG: Final = logging.getLogger(__name__)
# How often to look whether a micro-batch is over, and how long to wait for the first after a change, in seconds.
_LOOK: Final = 0.02
_PATIENCE: Final = 60.0
_SPARK: Final = "spark"
_REGISTRY: Final = "registry"


class Manager:
    """Run windowed queries over one stream, all by one stateful operator, and change them while it runs.

    Every change takes effect between two micro-batches, from the same checkpoint: no event is lost or counted twice,
    and the rows of other queries are what they would have been. A window that comes while the stream runs begins with
    the first interval all of whose events are there: `status()` says which. With `retain`, slices stay in the state for
    that long although no window needs them, so that a window that comes later can begin earlier.

    `checkpoint` is a folder of the manager's own: what is registered is kept in it, and comes back with the next
    manager that is given it, after a crash too. `sink` is a folder, which gets the rows of each query as Parquet files
    under its name; or a function that is called with a query's name, its rows as a DataFrame, and the number of the
    micro-batch. As with Spark's `foreachBatch` a micro-batch may come again after a crash, with the same number.

    While no query runs the stream waits, and events stay where they come from.
    """

    def __init__(
        self,
        stream: DataFrame,
        *,
        time: str | Column,
        keys: str | Column | Sequence[str | Column] = (),
        watermark: str | timedelta,
        checkpoint: str | Path,
        sink: str | Path | Callable[[str, DataFrame, int], None],
        retain: str | timedelta | None = None,
        trigger: str | timedelta = "1s",
        buckets: int | None = None,
    ) -> None:
        self._events = declare(stream, time=time, keys=keys, watermark=watermark)
        if self._events.covered is not None:
            taken = ", ".join(repr(key) for key in self._events.keys if key in self._events.covered.made)
            msg = f"the key {taken} is an expression named like a column, which queries may read: give it another name"
            raise ManagerError(msg)
        if not stream.isStreaming:
            msg = (
                "a manager's queries come and go while a stream runs, and this DataFrame is a table: "
                "use spark.readStream"
            )
            raise ManagerError(msg)
        self._retain = 0 if retain is None else parse_duration(retain)
        self._trigger = _trigger(trigger)
        self._folder = local(checkpoint, "checkpoint")
        self._sink = sink_of(sink)
        self._spark = stream.sparkSession
        self._lock = threading.RLock()
        self._query: Any = None
        self._stopped = False
        self._failure = ""
        self._pauses: list[float] = []
        self._registered: dict[str, float] = {}
        self._first_rows: dict[str, float] = {}
        self._registry = Registry(self._folder / _REGISTRY, self._identity(buckets))
        try:
            if isinstance(self._sink, Folder) and not self._registry.version.number:
                self._sink.refuse_rows()
            self._recover()
        except BaseException:
            self._registry.close()
            raise

    # What users do

    def register(self, name: str, windows: Window | Sequence[Window], aggregates: Mapping[str, object]) -> Change:
        """Add a query: `register("hourly", [tumbling("1h")], {"n": agg.count(), "low": agg.min("temp")})`."""
        from muntin.spark.managed import check

        with self._lock:
            self._check()
            known = self._registry.version
            if any(query.name.lower() == str(name).lower() for query in known.queries):
                msg = f"there is a query {name!r} already: drop it first, or choose another name"
                raise ManagerError(msg)
            new = asked(name, windows if isinstance(windows, Window) else list(windows), aggregates)
            check(self._events, new)
            self._registered[name] = clock.monotonic()
            self._first_rows.pop(name, None)
            return self._change("registered", [*known.queries, new], new)

    def suspend(self, name: str) -> Change:
        """Stop computing a query, and keep it in mind; what its open windows held is given up."""
        return self._changed(name, "suspended", running=True)

    def resume(self, name: str) -> Change:
        """Compute a suspended query again, from the first interval all of whose events are there."""
        return self._changed(name, "resumed", running=False)

    def drop(self, name: str) -> Change:
        """Forget a query. What it gave stays where it is."""
        with self._lock:
            self._check()
            query = self._registry.version.find(name)
            rest = [each for each in self._registry.version.queries if each.name != name]
            self._registered.pop(name, None)
            return self._change("dropped", rest, replace(query, starts=()))

    def status(self) -> Status:
        """Say what runs, from when on, and how the stream does; it does not wait for a change under way."""
        version, query = self._registry.version, self._query
        state, failure = self._state(query)
        seen = seen_in(None if query is None else query.lastProgress, version.now)
        pauses, first = tuple(self._pauses), dict(self._first_rows)
        return Status(state, version.number, version.queries, *seen, pauses, first, failure)

    def explain(self) -> str:
        """Say what the queries share: the windows that are computed, how, and which lie within which."""
        with self._lock:
            running = self._registry.version.running
            if not running:
                return "no query runs"
            from muntin.spark.managed import explained, prepare

            prepared = prepare(self._events, self._registry.version.queries, self._retain)
            groups = subsume_windows(prepared.part.windows)
            return "\n".join([explained(prepared, running), "", "nested windows:", groups.explain()])

    def read(self, name: str) -> DataFrame:
        """Read what a query has given to the sink so far, where that is a folder."""
        if not isinstance(self._sink, Folder):
            msg = "the sink is a function: what became of the rows is not known here"
            raise ManagerError(msg)
        found: DataFrame = self._sink.read(self._spark, name)
        return found

    def process_available(self) -> None:
        """Wait until all events that are there now have been through; not for sources that never rest."""
        query = self._query
        if query is not None:
            query.processAllAvailable()
        self._check()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the manager is stopped, or so long; True if it was. Raises what the stream failed with."""
        end = None if seconds is None else clock.monotonic() + seconds
        while not self._stopped:
            # Stopped by another thread just now, it has ended as it should.
            self._check(stopping=True)
            if end is not None and clock.monotonic() >= end:
                return False
            clock.sleep(0.1)
        return True

    def stop(self) -> None:
        """Stop the stream after the micro-batch that runs, and let another manager have the checkpoint."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            _LOG.info("%s: stopping after the micro-batch that runs", self._folder)
            try:
                with suppress(ManagerError):
                    self._halt()
            finally:
                self._registry.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        version = self._registry.version
        return f"<manager of {len(version.queries)} queries, {len(version.running)} running, version {version.number}>"

    # How changes come about

    def _changed(self, name: str, done: str, *, running: bool) -> Change:
        with self._lock:
            self._check()
            version = self._registry.version
            query = version.find(name)
            if query.running != running:
                msg = f"{name} is {query.activity} already"
                raise ManagerError(msg)
            new = query.suspended() if running else query.started(())
            if not running:
                self._registered[name] = clock.monotonic()
                self._first_rows.pop(name, None)
            return self._change(done, [new if each.name == name else each for each in version.queries], new)

    def _change(self, done: str, queries: Sequence[Asked], query: Asked) -> Change:
        """Stop between two micro-batches, write the new version, and go on with it."""
        from muntin.spark.managed import position

        # All that can be wrong with queries shows here, while the stream still runs.
        prepared, before = self._prepared(queries), self._registry.version
        shape = None if prepared is None else prepared.shape(self._retain)
        before.check(shape)
        ran = self._query is not None
        halted = self._halt()
        try:
            now = position(self._folder / _SPARK, self._late)
            version = before.followed(queries, now, shape)
            self._registry.write(version)
            self._start(version, prepared)
        except Exception as error:
            self._restore(before)
            msg = f"{query.name} could not be {done}, and all runs as before: {error}"
            raise ManagerError(msg) from error
        pause = self._pause(halted) if ran and self._query is not None else None
        if pause is not None:
            self._pauses.append(pause)
            _LOG.debug("the stream stood still for %.2f s", pause)
        _LOG.info("%s %s: version %d after micro-batch %d", query.name, done, version.number, now.batch)
        kept = next((each for each in version.queries if each.name == query.name), query)
        return Change(done, kept, version.number, pause)

    def _restore(self, before: Version) -> None:
        """Go on with the version before: nothing ran by the new one yet, so the old still goes with the state."""
        now = self._registry.version
        if now is not before:
            self._registry.write(replace(before, number=now.number + 1, forms=now.forms))
        self._start(self._registry.version, self._prepared(before.queries))

    def _recover(self) -> None:
        """Go on with the queries that are on disk."""
        from muntin.spark.managed import check, position

        version, now = self._registry.version, position(self._folder / _SPARK, self._late)
        if now.batch < version.now.batch:
            msg = (
                f"the registry in {self._folder} was written after micro-batch {version.now.batch}, and Spark's own "
                f"checkpoint beside it has come to {now.batch}: it is gone, or older. Put it back, or start with a new "
                "checkpoint and a new sink"
            )
            raise ManagerError(msg)
        if version.running:
            for query in version.running:
                check(self._events, query)
            prepared = self._prepared(version.queries)
            assert prepared is not None
            shape = prepared.shape(self._retain)
            if not version.fits(shape):
                # Another `retain`: windows that come later must not count on slices that are gone by then.
                self._registry.write(version.followed(version.queries, now, shape))
            self._start(self._registry.version, prepared)
        version = self._registry.version
        _LOG.info("%s: version %d, %d queries, %d of them running", self._folder, version.number,
                  len(version.queries), len(version.running))  # fmt: skip

    def _prepared(self, queries: Sequence[Asked]) -> Prepared | None:
        from muntin.spark.managed import prepare

        return prepare(self._events, queries, self._retain) if any(query.running for query in queries) else None

    def _start(self, version: Version, prepared: Prepared | None) -> None:
        from muntin.spark.checkpoint import clear_torn
        from muntin.spark.managed import build, position, start

        self._query = None
        if prepared is None:
            return
        checkpoint = self._folder / _SPARK
        clear_torn(checkpoint)
        if isinstance(self._sink, Folder):
            self._sink.clear(position(checkpoint, self._late).batch)
        rows = build(prepared, version, self._registry.identity, self._retain)
        members = {query.name for query in version.running}
        part = replace(prepared.part, members=tuple(m for m in prepared.part.members if m.name in members))
        self._query = start(rows, part, str(checkpoint), self._trigger, self._give)

    def _give(self, name: str, rows: Any, batch: int) -> None:
        try:
            self._sink(name, rows, batch)
        except Exception as error:
            # On its way through Spark the message would become that of another error.
            self._failure = f"the sink failed at micro-batch {batch} of {name}: {type(error).__name__}: {error}"
            raise
        began = self._registered.get(name)
        if began is not None:
            self._first_rows.setdefault(name, clock.monotonic() - began)

    def _halt(self) -> float:
        """Stop the streaming query where a micro-batch has just ended, or none runs; say when that was.

        One that began a moment ago is broken off: Spark runs it again, with the same events.
        """
        query = self._query
        if query is None:
            return clock.monotonic()
        seen = _batch(query)
        while query.isActive and query.status["isTriggerActive"] and _batch(query) == seen:
            clock.sleep(_LOOK)
        self._check(stopping=True)
        # Others look at the query meanwhile: one that is stopped on purpose must not look failed to them.
        self._query, halted = None, clock.monotonic()
        query.stop()
        return halted

    def _pause(self, halted: float) -> float | None:
        """Wait until the stream goes on, and say how long it stood still."""
        query, patience = self._query, clock.monotonic() + _PATIENCE
        while clock.monotonic() < patience:
            self._check()
            if query.status["isTriggerActive"] or query.lastProgress is not None or not query.isActive:
                return clock.monotonic() - halted
            clock.sleep(_LOOK)
        return None

    def _check(self, *, stopping: bool = False) -> None:
        """Refuse to go on with a stream that failed, or was stopped."""
        if self._stopped and not stopping:
            msg = "this manager was stopped: make another one with the same checkpoint, and it goes on"
            raise ManagerError(msg)
        state, failure = self._state(self._query)
        if state == "failed":
            msg = (
                f"the stream failed: {failure}. What is written stands; mend the cause, and a new manager with the "
                "same checkpoint goes on from there"
            )
            raise ManagerError(msg)

    def _state(self, query: Any) -> tuple[str, str]:
        if self._stopped:
            return "stopped", self._failure
        if query is None:
            return "idle", ""
        if query.isActive or query is not self._query:
            return "running", ""
        if "availableNow" in self._trigger and query.exception() is None:
            return "idle", ""
        from muntin.spark.managed import failure

        self._failure = self._failure or failure(query)
        return "failed", self._failure

    @property
    def _late(self) -> int:
        assert self._events.watermark is not None
        return self._events.watermark

    def _identity(self, buckets: int | None) -> dict[str, Any]:
        from muntin.spark.managed import default_buckets, key_types

        return {
            "manager": VERSION,
            "time": self._events.time,
            "keys": key_types(self._events),
            "watermark": self._late,
            "buckets": default_buckets(self._events, buckets),
        }


def _trigger(given: str | timedelta) -> dict[str, Any]:
    if given == "available-now":
        return {"availableNow": True}
    return {"processingTime": f"{parse_duration(given) // 1000} milliseconds"}


def _batch(query: Any) -> int:
    progress = query.lastProgress
    return -1 if progress is None else int(progress["batchId"])
