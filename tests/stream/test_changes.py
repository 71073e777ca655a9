"""A bucket of keys whose windows come and go, against windows that were there from the first event on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from hypothesis import event, given, seed, settings
from hypothesis import strategies as st

from muntin import Window, agg
from muntin.kernels.sweep import Lane
from muntin.manager.asked import Asked
from muntin.manager.history import Position
from muntin.manager.registry import Shape, Version
from muntin.stream.bucket import Schemas, advance
from muntin.stream.clock import Clock
from muntin.stream.forms import Forms
from muntin.stream.gather import Gather
from muntin.stream.layout import Layout
from muntin.window.slices import common_measure
from tests.stream.test_bucket import Kept

MS = 1000
LANES = {
    "count": Lane("count", (), "raw", 1),
    "sum": Lane("sum", ("int64",), "lift", 1),
    "min": Lane("min", ("int64",), "lift", 1),
}
DELAY = 3 * MS
Event = tuple[str, int, int]


def windows() -> st.SearchStrategy[Window]:
    shapes = st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(0, 5))
    return shapes.map(lambda s: Window(max(s[:2]) * MS, min(s[:2]) * MS, s[2] * MS, timed=True))


def queries() -> st.SearchStrategy[list[Asked]]:
    one = st.tuples(
        st.lists(windows(), min_size=1, max_size=2, unique_by=lambda w: w.id),
        st.lists(st.sampled_from(sorted(LANES)), min_size=1, unique=True),
    )
    named = st.lists(one, min_size=1, max_size=4)
    return named.map(
        lambda found: [
            Asked(f"q{n}", tuple(several), tuple((lane, agg.count()) for lane in lanes))
            for n, (several, lanes) in enumerate(found)
        ]
    )


# What happens: events of a micro-batch, queries that turn from running to not running and back, or a manager that
# comes back and retains slices for another time.
EVENTS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(-8, 6), st.integers(-3, 3)), min_size=1, max_size=6)
RETAINED = st.sampled_from([0, 5 * MS, 40 * MS])
TURNS = st.sets(st.integers(0, 3), min_size=1, max_size=2)
STEPS = st.lists(st.one_of(EVENTS, EVENTS, st.just([]), TURNS, RETAINED), min_size=3, max_size=14)


@dataclass
class Run:
    """One bucket, versions of its queries, and what each query gave."""

    pool: list[Asked]
    retain: int
    version: Version = field(default_factory=Version)
    store: Kept = field(default_factory=Kept)
    clock: Clock | None = None
    batch: int = -1
    watermark: int = 0
    next_watermark: int = 0
    """In microseconds, as Spark has it: of the last micro-batch, and of the next."""
    given: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    heard: list[tuple[int, int]] = field(default_factory=list)
    """The micro-batches that the bucket heard of: under which version, and by which watermark."""

    def turn(self, numbers: set[int]) -> None:
        """Let some queries run that did not, and others stop."""
        names = {self.pool[number % len(self.pool)].name for number in numbers}
        known = {query.name: query for query in self.version.queries}
        for query in self.pool:
            if query.name in names:
                old = known.get(query.name)
                known[query.name] = old.suspended() if old is not None and old.running else query
        self.version = self.version.followed(list(known.values()), self.now, self.shape(list(known.values())))

    def come_back(self, retain: int) -> None:
        """Stop, and go on with the same queries; slices are retained for another time from now on."""
        self.retain = retain
        shape = self.shape(list(self.version.queries))
        if shape is not None and not self.version.fits(shape):
            self.version = self.version.followed(self.version.queries, self.now, shape)

    @property
    def now(self) -> Position:
        horizon = None if self.batch < 0 else self.next_watermark + DELAY + MS
        return Position(self.batch, None if self.batch < 0 else self.next_watermark, horizon)

    def shape(self, asked: list[Asked]) -> Shape | None:
        running = [query for query in asked if query.running]
        if not running:
            return None
        wanted = asked if self.retain else running
        computed = tuple(dict.fromkeys(window for query in running for window in query.windows))
        cut = tuple(dict.fromkeys(window for query in wanted for window in query.windows))
        names = sorted({name for query in wanted for name, _ in query.aggregates})
        needs = {query.name: frozenset(name for name, _ in query.aggregates) for query in wanted}
        return Shape(computed, cut, tuple((name, "long") for name in names), needs, self.retain)

    def take(self, events: list[Event]) -> None:
        """Run a micro-batch; Spark runs one without events only where the watermark moved."""
        shape = self.shape(list(self.version.queries))
        if shape is None or (not events and self.next_watermark == self.watermark):
            return
        self.batch += 1
        self.watermark = self.next_watermark
        latest = max((time for _, time, _ in events), default=0)
        self.next_watermark = max(self.watermark, (latest - DELAY) // MS * MS)
        timer = None if self.clock is None else self.clock.timer
        if not events and (timer is None or timer * MS > self.watermark):
            return
        starts: dict[Window, list[int | None]] = {window: [] for window in shape.computed}
        for query in self.version.running:
            for window, start in zip(query.windows, query.starts, strict=True):
                starts[window].append(start.at)
        since = [None if None in ats else min(at for at in ats if at is not None) for ats in starts.values()]
        step = common_measure(shape.cut)
        offset = shape.cut[0].offset % step
        lanes = tuple(LANES[name] for name, _ in shape.columns)
        layout = Layout(1, tuple(starts), lanes, 1, trees=frozenset(range(0, len(starts), 2)), step=step)
        cuts = tuple(window for window in shape.cut if window not in starts)
        layout = replace(layout, cuts=cuts, since=tuple(since), retain=self.retain)
        names = [("k", "p", *(name for name, _ in form)) for form in self.version.forms]
        fields = {"k": pa.string(), "p": pa.int64()}
        forms = [pa.schema([(name, fields.get(name, pa.int64())) for name in several]) for several in names]
        out = pa.schema(
            [("number", pa.int32()), ("start", pa.int64()), ("k", pa.string())]
            + [(name, pa.int64()) for name, _ in shape.columns]
        )
        schemas = Schemas(forms[self.version.form], out, None, Forms(tuple(names), tuple(forms), self.version.form))
        blobs = [(b"", b"")]
        if events:
            keys, times, values = zip(*events, strict=True)
            columns = {"count": [1] * len(keys), "sum": values, "min": values}
            panes = [(time - offset) // step * step + offset for time in times]
            arrays = [pa.array([0] * len(keys), pa.int32()), pa.array(keys), pa.array(panes)]
            arrays += [pa.array(columns[name], pa.int64()) for name, _ in shape.columns]
            batch = pa.RecordBatch.from_arrays(arrays, names=["b", *forms[self.version.form].names])
            found = list(Gather(layout, (0,))(iter([batch]), first=True))
            blobs = [p for b in found for p in zip(*(b.column(n).to_pylist() for n in (1, 2)), strict=True)]
        self.heard.append((self.version.number, self.watermark))
        told = advance(layout, schemas, self.store, self.clock, blobs, self.batch, self.watermark)
        self.clock = Clock.unpack(told.clock.pack())
        for part in told.leaving:
            for number, start, key, *cells in (tuple(row.values()) for row in part.to_pylist()):
                named = dict(zip([name for name, _ in shape.columns], cells, strict=True))
                self.give(tuple(starts)[number], start, key, named)

    def give(self, window: Window, start: int, key: str, values: dict[str, int]) -> None:
        for query in self.version.running:
            for own, begun in zip(query.windows, query.starts, strict=True):
                if own == window and (begun.at is None or start >= begun.at):
                    row = tuple(values[name] for name, _ in query.aggregates)
                    self.given[query.name, own.id, start, key, row] += 1


class Always:
    """All windows from the first event on, one by one: what each query should have given while it ran."""

    def __init__(self, pool: list[Asked]) -> None:
        self.pool = pool
        self.open: dict[tuple[Window, int, str], list[int]] = {}

    def take(self, events: list[Event], late: int) -> None:
        for key, time, value in events:
            for window in {window for query in self.pool for window in query.windows}:
                for interval in window.containing(time):
                    if interval.end > late:
                        self.open.setdefault((window, interval.start, key), []).append(value)

    def row(self, query: Asked, window: Window, start: int, key: str) -> tuple[int, ...]:
        values = self.open[window, start, key]
        found = {"count": len(values), "sum": sum(values), "min": min(values)}
        return tuple(found[name] for name, _ in query.aggregates)


@seed(20261116)
@settings(max_examples=400, deadline=None)
@given(queries(), RETAINED, st.sets(st.integers(0, 3), min_size=1), STEPS)
def test_queries_that_come_and_go_give_what_they_would_have_given(
    pool: list[Asked], retain: int, first: set[int], steps: list[Any]
) -> None:
    run, always = Run(pool, retain), Always(pool)
    run.turn(first)
    now, versions = 20 * MS, [run.version]
    for step in [*steps, [("a", 3, 1)], [], [("b", 40, 1)], []]:
        if isinstance(step, (set, int)):
            if isinstance(step, int):
                run.come_back(step)
            else:
                run.turn(step)
            if run.version is not versions[-1]:
                versions.append(run.version)
            continue
        before, late = run.batch, run.watermark
        # Times between milliseconds too; before the first micro-batch there is no watermark but zero.
        events = [(key, now + by * MS + by % 3 * 250, value) for key, by, value in step]
        now += 2 * MS
        run.take(events)
        if run.batch > before:
            always.take(events, late)
    expected: Counter[tuple[Any, ...]] = Counter()
    retained = False
    for number, version in enumerate(versions):
        for query in version.running:
            went_on = number > 0 and query in versions[number - 1].running
            if went_on:
                continue
            gone = next((n for n in range(number, len(versions)) if query not in versions[n].running), len(versions))
            heard = [
                mark for n, mark in run.heard if versions[number].number <= n < versions[number].number + gone - number
            ]
            if not heard:
                continue
            for window, start in zip(query.windows, query.starts, strict=True):
                retained |= start.retained
                low = -1 if version.now.watermark is None else version.now.watermark
                for of, at, key in always.open:
                    if of == window and low < at + of.range <= heard[-1] and (start.at is None or at >= start.at):
                        expected[query.name, window.id, at, key, always.row(query, window, at, key)] += 1
    event(f"retained: {retained}")
    event(f"versions: {len(versions)}")
    assert run.given == expected
