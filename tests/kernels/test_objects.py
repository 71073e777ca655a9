"""Aggregates of Python objects: each window from slices equals the same window from its events."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import Window, agg
from muntin.aggregate.algebra import same
from muntin.errors import AggregateError
from muntin.kernels.arrow_rows import LEAVE
from muntin.kernels.objects import ObjectAggregate, Objects, changes, guarded, rank, whole_ties

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from muntin.aggregate.algebra import AggregateFunction

# In order, with every value that it saw: what no other aggregate would notice, this one shows.
TRACE = agg.define("trace", lift=lambda v: (v,), combine=lambda x, y: x + y, identity=(), lower=list)
EVERY = agg.define(
    "trace_all", lift=lambda v: (v,), combine=lambda x, y: x + y, identity=(), lower=list, ignores_nulls=False
)
LONGS = pa.list_(pa.int64())

Event = tuple[str, int, "int | None", "int | None"]
Found = dict[tuple[Any, ...], Any]


def work(
    windows: Sequence[Window],
    functions: Sequence[AggregateFunction],
    coarse: int | None = None,
    width: int = 10,
    offset: int = 3,
) -> Objects:
    made = tuple(
        ObjectAggregate(f"r{place}", function, (place,), (None,), same, LONGS, resort=place > 0)
        for place, function in enumerate(functions)
    )
    return Objects(1, tuple(windows), made, width, offset, coarse)


def batches(events: Sequence[Event], size: int, coarse: int | None, reach: int) -> Iterator[pa.RecordBatch]:
    """Sort events as Spark does, each in the buckets that need it, and cut them into batches."""
    rows: list[tuple[Any, ...]] = []
    for key, time, x, y in events:
        pane = (time - 3) // 10
        if coarse is None:
            rows.append((key, time, x, y))
        else:
            for bucket in range(pane // coarse, (pane + reach - 1) // coarse + 1):
                rows.append((key, bucket, time, x, y))
    rows.sort(key=lambda row: tuple(map(rank, row)))
    types = [pa.string(), *[pa.int64()] * (3 if coarse is None else 4)]
    for at in range(0, len(rows), size):
        columns = [
            pa.array(list(column), kind)
            for column, kind in zip(zip(*rows[at : at + size], strict=True), types, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, names=[str(i) for i in range(len(columns))])
        yield pa.RecordBatch.from_arrays(
            [column[:0] for column in columns], names=[str(i) for i in range(len(columns))]
        )


def by_definition(events: Sequence[Event], windows: Sequence[Window], functions: Sequence[AggregateFunction]) -> Found:
    held: dict[tuple[Any, ...], list[Event]] = {}
    for event in events:
        for number, window in enumerate(windows):
            for interval in window.containing((event[1] - 3) // 10):
                held.setdefault((number, interval.start, event[0]), []).append(event)
    return {
        at: tuple(
            function.evaluate([e[2 + place] for e in sorted(inside, key=lambda e: (e[1], rank(e[2 + place])))])
            for place, function in enumerate(functions)
        )
        for at, inside in held.items()
    }


def found(rows: Iterator[pa.RecordBatch]) -> Found:
    out: Found = {}
    for batch in rows:
        for row in batch.to_pylist():
            number, start, key, *results = row.values()
            assert (number, start, key) not in out, "a window left twice"
            out[number, start, key] = tuple(results)
    return out


@st.composite
def window(draw: st.DrawFn) -> Window:
    size = draw(st.integers(1, 12))
    return Window(size, draw(st.integers(1, size)), draw(st.integers(0, 12)))


maybe = st.none() | st.integers(-3, 3)
event = st.tuples(st.sampled_from("ab"), st.integers(-300, 300) | st.sampled_from([4, 5, 10**9]), maybe, maybe)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(event, max_size=30),
    st.lists(window(), min_size=1, max_size=4),
    st.integers(1, 12),
    st.none() | st.integers(1, 20),
    st.sampled_from([[TRACE], [EVERY], [TRACE, EVERY], [EVERY, TRACE]]),
)
def test_windows_hold_their_events_in_order(
    events: list[Event], windows: list[Window], size: int, coarse: int | None, functions: list[AggregateFunction]
) -> None:
    reach = max(each.range for each in windows)
    shared = work(windows, functions, coarse)(batches(events, size, coarse, reach))
    assert found(shared) == by_definition(events, windows, functions)


class Counting:
    def __init__(self) -> None:
        self.combines = self.lowers = 0

    @property
    def function(self) -> AggregateFunction:
        def combine(x: int, y: int) -> int:
            self.combines += 1
            return x + y

        def lower(x: int) -> list[int]:
            self.lowers += 1
            return [x]

        return agg.define("counted", lift=same, combine=combine, lower=lower, identity=0)


def test_a_pane_costs_few_combines_however_many_windows_hold_it() -> None:
    counting, panes = Counting(), 3000
    events = [("a", 10 * pane + 3, 1, 0) for pane in range(panes)]
    rows = work([Window(500, 1)], [counting.function])(batches(events, 1000, None, 500))
    assert sum(batch.num_rows for batch in rows) == panes + 499
    assert counting.combines <= 3 * panes


def test_wide_slices_are_made_of_narrow_ones() -> None:
    counting, panes = Counting(), 1200
    events = [("a", 10 * pane + 3, 1, 0) for pane in range(panes)]
    windows = [Window(size, size) for size in (10, 20, 40, 80, 100)]
    list(work(windows, [counting.function])(batches(events, 1000, None, 100)))
    # 10 takes every pane once; each of the others takes slices of one that it is a multiple of.
    assert counting.combines < panes + panes // 10 + panes // 20 + panes // 40 + panes // 20


def test_a_gap_costs_nothing_and_equal_windows_are_lowered_once() -> None:
    counting, year = Counting(), 365 * 86_400 * 1_000_000
    events = [("a", 3, 1, 0), ("a", 3 + year, 1, 0), ("a", 3 + 2 * year, 1, 0)]
    shared = work([Window(1000, 1)], [counting.function])
    left = found(shared(batches(events, 10, None, 1000)))
    assert len(left) == 3000
    assert counting.lowers == 3
    assert counting.combines == 0


def test_memory_is_bounded_by_the_widest_window() -> None:
    """An endless key streams: windows leave while events still come."""

    def endless() -> Iterator[pa.RecordBatch]:
        for at in range(10**9):
            times = [10 * (100 * at + i) + 3 for i in range(100)]
            yield pa.RecordBatch.from_pydict({"k": ["a"] * 100, "t": times, "x": [1] * 100})

    rows = work([Window(50, 1), Window(20, 20)], [TRACE])(endless())
    for _ in range(50):
        assert next(rows).num_rows < 1000


def test_a_long_run_of_windows_leaves_in_batches() -> None:
    rows = list(work([Window(200_000, 1)], [TRACE])(batches([("a", 3, 7, 0)], 1, None, 1)))
    assert sum(batch.num_rows for batch in rows) == 200_000
    assert max(batch.num_rows for batch in rows) <= 1 << 16


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_ties_are_never_split(size: int) -> None:
    times = [1, 1, 1, 2, 3, 3, 3, 3, 4]
    cut = [pa.RecordBatch.from_pydict({"t": times[at : at + size]}) for at in range(0, len(times), size)]
    again = [batch.column(0).to_pylist() for batch in whole_ties(cut, 1)]
    assert [time for batch in again for time in batch] == times
    assert all(x[-1] != y[0] for x, y in pairwise(again))


def test_changes_look_at_the_row_before_the_batch() -> None:
    last = pa.RecordBatch.from_pydict({"k": [math.nan]})
    assert changes([pa.array([math.nan, None, None, 1.0])], 4, last).tolist() == [False, True, False, True]
    assert changes([pa.array([math.nan, 1.0])], 2, None).tolist() == [True, True]
    assert changes([], 2, last).tolist() == [False, False]


def test_ranks_are_in_the_order_of_spark() -> None:
    rows = [[None, 1.0], [2.0, math.nan], [2.0, None], None, [2.0], [math.nan], [-1.0, 5.0]]
    assert [repr(row) for row in sorted(rows, key=rank)] == [
        "None",
        "[None, 1.0]",
        "[-1.0, 5.0]",
        "[2.0]",
        "[2.0, None]",
        "[2.0, nan]",
        "[nan]",
    ]


def boom(*_: object) -> Any:
    msg = "boom"
    raise ZeroDivisionError(msg)


@pytest.mark.parametrize(
    ("phase", "shown"),
    [
        ("lift", "lift failed on 7:"),
        ("combine", "combine failed on (7,) and (8,):"),
        ("lower", "lower failed on (7, 8):"),
    ],
)
def test_a_failing_phase_is_named_with_what_it_was_given(phase: str, shown: str) -> None:
    phases: dict[str, Any] = {"lift": lambda v: (v,), "combine": lambda x, y: x + y, "lower": list, phase: boom}
    function = agg.define("mine", **phases)
    rows = work([Window(2, 2)], [function])(batches([("a", 3, 7, 0), ("a", 4, 8, 0)], 10, None, 2))
    with pytest.raises(AggregateError, match="`r0` \\(mine\\)") as raised:
        list(rows)
    assert shown in str(raised.value)
    assert "ZeroDivisionError: boom" in str(raised.value)


def test_a_long_value_is_cut_in_the_error() -> None:
    function = guarded("mine", agg.define("mine", lift=boom, combine=boom))
    with pytest.raises(AggregateError) as raised:
        function.lift("x" * 10_000)
    assert len(str(raised.value)) < 400
    assert str(raised.value).startswith("`mine`: lift")


def test_a_long_gap_leaves_in_batches() -> None:
    """An event is in as many windows as a range has slides, all of one result: they are not written down at once."""
    many = 3 * LEAVE + 5
    sizes, starts, results = [], [], set()
    for batch in work([Window(many, 1)], [TRACE], width=1, offset=0)(batches([("k", 0, 7, None)], 1, None, many)):
        sizes.append(batch.num_rows)
        starts += batch.column(1).to_pylist()
        results |= set(map(tuple, batch.column(3).to_pylist()))
    assert sizes == [LEAVE, LEAVE, LEAVE, 5]
    assert starts == list(range(1 - many, 1))
    assert results == {(7,)}
