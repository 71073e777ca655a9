"""A bucket of keys against a stream evaluated by hand: windows one by one, events one by one."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from muntin import Window, agg
from muntin.kernels.objects import ObjectAggregate, rank
from muntin.kernels.sweep import Lane
from muntin.stream.bucket import Schemas, advance
from muntin.stream.clock import Clock
from muntin.stream.gather import Gather
from muntin.stream.layout import Layout, Mode

LANES = (
    Lane("count", (), "raw", 1),
    Lane("sum", ("int64",), "lift", 1),
    Lane("min", ("int64",), "lift", 1),
    Lane("arg_max", ("int64", "int64"), "row", 3),
    Lane("arg_min", ("int64", "int64"), "row", 2),
)
ROWS = pa.schema(
    [
        ("k", pa.string()),
        ("p", pa.int64()),
        ("n", pa.int64()),
        ("t", pa.int64()),
        ("v", pa.int64()),
        # The time beside the largest value, the earliest of several; and the first value.
        ("by", pa.int64()),
        ("early", pa.int64()),
        ("time", pa.int64()),
        ("at", pa.int64()),
        ("first", pa.int64()),
    ]
)
OUT = pa.schema(
    [
        ("number", pa.int32()),
        ("start", pa.int64()),
        ("k", pa.string()),
        *((name, pa.int64()) for name in ("n", "t", "v", "time", "first")),
    ]
)
EVENTS = pa.schema([("k", pa.string()), ("p", pa.int64()), ("micros", pa.int64()), ("value", pa.int64())])
SCHEMAS = Schemas(ROWS, OUT)
WITH_EVENTS = Schemas(ROWS, OUT.append(pa.field("trail", pa.string())), EVENTS)
# An aggregate of objects that asks for order: all values, as they came.
TRAIL = agg.define(
    "trail", lift=lambda v: (v,), combine=lambda x, y: x + y, identity=(), lower=str, ignores_nulls=False
)
OBJECT = ObjectAggregate("trail", TRAIL, (0,), (None,), str, pa.string(), resort=True)


class Kept(dict[tuple[int, int], bytes]):
    """Blobs in memory, counted."""

    reads = writes = 0

    def get(self, level: int, index: int) -> bytes | None:  # type: ignore[override]
        self.reads += 1
        return super().get((level, index))

    def put(self, level: int, index: int, blob: bytes) -> None:
        self.writes += 1
        self[level, index] = blob

    def remove(self, level: int, index: int) -> None:
        del self[level, index]


Event = tuple[str, int, int | None]
Batch = tuple[list[Event], int]


def run(layout: Layout, batches: list[Batch]) -> list[list[tuple[Any, ...]]]:
    store, clock, found = Kept(), None, []
    for number, (events, watermark) in enumerate(batches):
        told = advance(
            layout, WITH_EVENTS if layout.objects else SCHEMAS, store, clock, blobs(layout, events), number, watermark
        )
        clock = Clock.unpack(told.clock.pack())
        assert {index for level, index in store if not level} == set(clock.kept[0].tolist())
        found.append(sorted((tuple(row.values()) for batch in told.leaving for row in batch.to_pylist()), key=repr))
    return found


def blobs(layout: Layout, events: list[Event]) -> list[tuple[bytes, bytes]]:
    gather = Gather(layout, (0,))
    if not events:
        return [(b"", b"")]
    keys, times, values = zip(*events, strict=True)
    arrays = [
        pa.array([0] * len(events), pa.int32()),
        pa.array(keys),
        pa.array([(t - layout.offset) // layout.width for t in times]),
        pa.array([1] * len(events), pa.int64()),
        pa.array(values, pa.int64()),
        pa.array(values, pa.int64()),
        pa.array(values, pa.int64()),
        pa.array([-t for t in times], pa.int64()),
        pa.array(times, pa.int64()),
        pa.array(times, pa.int64()),
        pa.array(values, pa.int64()),
    ]
    names = ["b", *ROWS.names]
    if layout.objects:
        arrays += [pa.array(times, pa.int64()), pa.array(values, pa.int64())]
        names += ["micros", "value"]
    batch = pa.RecordBatch.from_arrays(arrays, names=names)
    found = list(gather(iter([batch]), first=True))
    return [pair for out in found for pair in zip(*(out.column(n).to_pylist() for n in (1, 2)), strict=True)]


class ByHand:
    """Spark's rules, followed event by event: late by the watermark before, complete by this one, window by window."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.open: dict[tuple[int, int, str], list[tuple[int, int | None]]] = defaultdict(list)
        self.touched: set[tuple[int, int, str]] = set()

    def take(self, events: list[Event], before: int) -> None:
        self.touched = set()
        layout = self.layout
        for key, time, value in events:
            pane = (time - layout.offset) // layout.width
            for number, window in enumerate(layout.windows):
                for interval in window.containing(pane):
                    if interval.end * layout.width + layout.offset > before:
                        self.open[number, interval.start, key].append((time, value))
                        self.touched.add((number, interval.start, key))

    def ended(self, watermark: int) -> dict[tuple[int, int, str], tuple[Any, ...]]:
        layout = self.layout
        gone = [
            place
            for place in self.open
            if (place[1] + layout.windows[place[0]].range) * layout.width + layout.offset <= watermark
        ]
        found = {place: self.row(place) for place in gone}
        for place in gone:
            del self.open[place]
        return found

    def row(self, place: tuple[int, int, str]) -> tuple[Any, ...]:
        events = self.open[place]
        there = [value for _, value in events if value is not None]
        largest = max(((value, -time) for time, value in events if value is not None), default=None)
        first = min(events, key=lambda event: (event[0], event[1] is not None, event[1] or 0))[1]
        total = sum(there) if there else None
        row = (*place, len(events), total, min(there, default=None), None if largest is None else -largest[1], first)
        if not self.layout.objects:
            return row
        trail = [value for _, value in sorted(events, key=lambda event: (event[0], rank(event[1])))]
        return (*row, str(tuple(trail)))


def by_hand(layout: Layout, batches: list[Batch]) -> list[list[tuple[Any, ...]]]:
    hand, found, before = ByHand(layout), [], batches[0][1]
    wide: dict[str, dict[int, tuple[Any, ...]]] = defaultdict(dict)
    for events, watermark in batches:
        hand.take(events, before)
        changed = [hand.row(place) for place in hand.touched]
        ended = hand.ended(watermark)
        if layout.mode == "append":
            leaving = list(ended.values())
        elif layout.mode == "update":
            leaving = changed
        else:
            leaving = _wide(layout, wide, ended, before, watermark)
        found.append(sorted(leaving, key=repr))
        before = watermark
    return found


def _wide(
    layout: Layout,
    wide: dict[str, dict[int, tuple[Any, ...]]],
    ended: dict[tuple[int, int, str], tuple[Any, ...]],
    before: int,
    watermark: int,
) -> list[tuple[Any, ...]]:
    low, high = layout.passed(before), layout.passed(watermark)
    old = {key: dict(row) for key, row in wide.items()}
    ends = []
    for number, window in enumerate(layout.windows):
        complete = [
            end
            for end in range(high - window.slide, high + 1)
            if (end - window.range - window.offset) % window.slide == 0
        ]
        ends.append(complete[-1])
        if complete[-1] <= low:
            continue
        for shown in wide.values():
            shown.pop(number, None)
        for (other, start, key), row in ended.items():
            if other == number and start + window.range == complete[-1]:
                wide[key][number] = row[3:]
    leaving = []
    for key in list(wide):
        if wide[key] != old.get(key, {}):
            empty = (None,) * (5 + len(layout.objects))
            leaving.append(
                (max(ends), key, *(cell for n in range(len(layout.windows)) for cell in wide[key].get(n, empty)))
            )
        if not wide[key]:
            del wide[key]
    return leaving


@st.composite
def streams(draw: st.DrawFn) -> tuple[Layout, list[Batch]]:
    windows = draw(
        st.lists(
            st.integers(1, 30).flatmap(lambda r: st.builds(Window, st.just(r), st.integers(1, r), st.integers(-5, 5))),
            min_size=1,
            max_size=4,
        )
    )
    width, offset = draw(st.sampled_from([1, 7])), draw(st.sampled_from([0, 3]))
    trees = frozenset(draw(st.sets(st.integers(0, len(windows) - 1))))
    modes: list[Mode] = ["append", "update", "latest"]
    mode = draw(st.sampled_from(modes))
    objects = (OBJECT,) if draw(st.booleans()) else ()
    layout = Layout(1, tuple(windows), LANES, width, offset, trees, mode, objects)
    times = draw(st.sampled_from([40, 400, 100_000]))
    batches: list[Batch] = []
    watermark = draw(st.integers(0, 30))
    for _ in range(draw(st.integers(1, 8))):
        events = draw(
            st.lists(
                st.tuples(
                    st.sampled_from("abc"),
                    st.one_of(st.integers(-20, times), st.integers(watermark - 30, watermark + 60)),
                    st.one_of(st.none(), st.integers(-9, 9)),
                ),
                max_size=12,
            )
        )
        batches.append((events, watermark))
        watermark += draw(st.sampled_from([0, 0, 1, 10, 35, 300]))
    batches += [([], watermark), ([], watermark + 10**6)]
    return layout, batches


@seed(20261116)
@settings(max_examples=300, deadline=None)
@given(streams())
def test_windows_leave_when_and_with_what_they_would_by_hand(stream: tuple[Layout, list[Batch]]) -> None:
    layout, batches = stream
    assert run(layout, batches) == by_hand(layout, batches)


@st.composite
def slow_streams(draw: st.DrawFn) -> tuple[Layout, list[Batch]]:
    """Windows that overlap many times, a watermark that creeps, events that are late for some of them."""
    windows = (Window(64, 1), Window(48, 2), Window(5, 5))
    layout = Layout(1, windows, LANES, 1, 0, frozenset([0, 1]))
    batches: list[Batch] = []
    watermark = 100
    for _ in range(draw(st.integers(6, 14))):
        times = st.integers(watermark - 60, watermark + 10)
        values: st.SearchStrategy[int | None] = st.integers(-9, 9)
        events = draw(st.lists(st.tuples(st.sampled_from("ab"), times, values), min_size=1, max_size=6))
        batches.append((events, watermark))
        watermark += draw(st.sampled_from([0, 1, 2]))
    return layout, [*batches, ([], watermark + 200)]


@seed(20261117)
@settings(max_examples=60, deadline=None)
@given(slow_streams())
def test_late_events_reach_the_nodes_above_their_slices(stream: tuple[Layout, list[Batch]]) -> None:
    layout, batches = stream
    assert run(layout, batches) == by_hand(layout, batches)


def test_a_slide_of_a_long_window_reads_few_blobs() -> None:
    """24 hours by the minute: a slide reads about as many blobs as the tree has levels, not 1,440."""
    layout = Layout(1, (Window(1440, 1),), LANES, 1, 0, frozenset([0]))
    store, clock = Kept(), None
    for minute in range(1600):
        told = advance(layout, SCHEMAS, store, clock, blobs(layout, [("a", minute, 1)]), minute, minute)
        clock = told.clock
        if minute == 1500:
            store.reads = store.writes = 0
    assert store.reads / 99 < 30
    assert store.writes / 99 < 4
    assert len([index for level, index in store if not level]) == 1440
    assert len(store) < 2 * 1440 + 20
