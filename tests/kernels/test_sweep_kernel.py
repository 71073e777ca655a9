"""The sweep over sorted panes: however the batches are cut, its windows are those of the definition."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import Window
from muntin.kernels import arrow_rows
from muntin.kernels import sweep as module
from muntin.kernels.sweep import Lane, Sweep

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LANES = (
    Lane("count", (), "raw", 1),
    Lane("sum", ("int64",), "lift", 1),
    Lane("max", ("float64",), "lift", 1),
    Lane("min", ("int64",), "lift", 1),
    Lane("arg_max", ("int64", "int64"), "row", 2),
    Lane("max_count", ("int64",), "raw", 2),
    Lane("var_pop", ("float64",), "raw", 3),
)
FIELDS = (
    pa.int64(),
    pa.int64(),
    pa.float64(),
    pa.int64(),
    *(pa.int64(), pa.string()),
    *(pa.int64(), pa.int64()),
    *(pa.int64(), pa.float64(), pa.float64()),
)
KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "string": (pa.string(), [None, "", "a", "ä"]),
    "float": (pa.float64(), [None, -1.0, 0.0, math.inf, math.nan]),
    "boolean": (pa.bool_(), [None, False, True]),
    "binary": (pa.binary(), [None, b"", b"\x00", b"a"]),
    "struct": (
        pa.struct([("x", pa.float64()), ("y", pa.string())]),
        [None, {"x": None, "y": None}, {"x": None, "y": "a"}, {"x": 1.0, "y": "a"}, {"x": math.nan, "y": "a"}],
    ),
    "array": (pa.list_(pa.float64()), [None, [], [None], [1.0], [1.0, math.nan], [math.nan]]),
    "structs": (
        pa.list_(pa.struct([("x", pa.float64())])),
        [None, [], [None], [{"x": None}], [{"x": 2.0}], [{"x": math.nan}]],
    ),
    "null": (pa.null(), [None]),
}

# A key's number, a pane, and the numbers from which the partials are made.
Pane = tuple[int, int, int, "int | None"]


def fields(pane: Pane) -> tuple[Any, ...]:
    """Make a pane's partials of two numbers."""
    _, place, n, value = pane
    real = None if value is None else (math.nan if value == 9 else -0.0 if value == 0 else value / 4)
    tally = (0, None) if value is None else (n, value % 3)
    return (n, value, real, value, value, None if n == 2 else f"{place}:{value}", *tally, n, float(place % 5), n / 2)


def rows_of(panes: Sequence[Pane], kinds: Sequence[str], coarse: int | None, reach: int) -> list[tuple[Any, ...]]:
    """Sort panes as Spark does, each in every bucket that needs it; a key's number goes into the key columns."""
    found = []
    for pane in sorted(panes, key=lambda p: p[:2]):
        buckets = [None] if coarse is None else range(pane[1] // coarse, (pane[1] + reach - 1) // coarse + 1)
        found += [(pane[0], bucket, pane[1], pane) for bucket in buckets]
    found.sort(key=lambda row: (row[0], row[1] or 0, row[2]))
    made = []
    for key, bucket, place, pane in found:
        marks = [] if bucket is None else [bucket]
        made.append((*key_of(key, kinds), *marks, place, *fields(pane)))
    return made


def key_of(number: int, kinds: Sequence[str]) -> tuple[Any, ...]:
    values = []
    for kind in reversed(kinds):
        known = KEYS[kind][1]
        values.append(known[number % len(known)])
        number //= len(known)
    return tuple(reversed(values))


def batches(
    rows: Sequence[tuple[Any, ...]], kinds: Sequence[str], coarse: int | None, cuts: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    types = [*(KEYS[kind][0] for kind in kinds), *([] if coarse is None else [pa.int64()]), pa.int64(), *FIELDS]
    ends = [*sorted({min(cut, len(rows)) for cut in cuts}), len(rows)]
    at = 0
    for end in ends:
        part = rows[at:end]
        columns = [pa.array([row[place] for row in part], kind) for place, kind in enumerate(types)]
        yield pa.RecordBatch.from_arrays(columns, names=[f"c{i}" for i in range(len(columns))])
        at = end


def comparable(value: Any) -> Any:
    """NaN equals itself here, and floats agree to the ninth digit."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else float(f"{value:.9g}") + 0.0
    if isinstance(value, dict):
        return tuple((name, comparable(part)) for name, part in value.items())
    return tuple(map(comparable, value)) if isinstance(value, (list, tuple)) else value


def swept(work: Sweep, given: Iterator[pa.RecordBatch]) -> list[tuple[Any, ...]]:
    found = []
    for batch in work(given):
        found += [comparable(row) for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]
    return sorted(found, key=repr)


def results(inside: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Merge the partials of some panes, in order, by the definition of each lane."""
    n = sum(row[0] for row in inside)
    values = [row[1] for row in inside if row[1] is not None]
    reals = [row[2] for row in inside if row[2] is not None]
    top = max(values, default=None)
    beside = next((row[5] for row in inside if row[4] is not None and row[4] == top), None)
    tops = [row[6:8] for row in inside if row[7] is not None]
    extreme = max((row[1] for row in tops), default=None)
    tally = sum(row[0] for row in tops if row[1] == extreme)
    mean = sum(row[8] * row[9] for row in inside) / n
    m2 = sum(row[10] + row[8] * (row[9] - mean) ** 2 for row in inside)
    highest = None if not reals else math.nan if any(map(math.isnan, reals)) else max(reals)
    return (n, sum(values) if values else None, highest, min(values, default=None), beside, tally, extreme, n, mean, m2)


def by_definition(panes: Sequence[Pane], kinds: Sequence[str], windows: Sequence[Window], wide: bool) -> list[Any]:
    held: dict[tuple[int, int, int], list[tuple[Any, ...]]] = {}
    for pane in sorted(panes, key=lambda p: p[:2]):
        for number, window in enumerate(windows):
            for interval in window.containing(pane[1]):
                held.setdefault((number, interval.start, pane[0]), []).append(fields(pane))
    if not wide:
        return sorted(
            (
                comparable((number, start, *key_of(key, kinds), *results(inside)))
                for (number, start, key), inside in held.items()
            ),
            key=repr,
        )
    ends: dict[tuple[int, int], dict[int, tuple[Any, ...]]] = {}
    for (number, start, key), inside in held.items():
        ends.setdefault((start + windows[number].range, key), {})[number] = results(inside)
    absent = (None,) * 10
    return sorted(
        (
            comparable((end, *key_of(key, kinds), *(x for i in range(len(windows)) for x in found.get(i, absent))))
            for (end, key), found in ends.items()
        ),
        key=repr,
    )


@st.composite
def window_sets(draw: st.DrawFn, longest: int = 12) -> tuple[Window, ...]:
    found = []
    for _ in range(draw(st.integers(1, 4))):
        size = draw(st.integers(1, longest))
        found.append(Window(size, draw(st.integers(1, size)), draw(st.integers(0, size))))
    return tuple(found)


def pane_sets(keys: int, most: int = 60) -> st.SearchStrategy[list[Pane]]:
    pane = st.tuples(
        st.integers(0, keys - 1),
        st.integers(-20, 40) | st.sampled_from([-1000, 500, 501]),
        st.integers(1, 3),
        st.none() | st.integers(-3, 9),
    )
    return st.lists(pane, max_size=most, unique_by=lambda p: p[:2])


@given(st.data())
@settings(deadline=None, max_examples=150, print_blob=True)
def test_windows_are_those_of_the_definition_however_batches_are_cut(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(sorted(KEYS)), max_size=2))
    count = math.prod(len(KEYS[kind][1]) for kind in kinds)
    panes = data.draw(pane_sets(count))
    windows = data.draw(window_sets())
    reach = max(window.range for window in windows)
    coarse = data.draw(st.none() | st.integers(1, 3 * reach))
    wide = data.draw(st.booleans())
    work = Sweep(len(kinds), windows, LANES, coarse, wide)
    rows = rows_of(panes, kinds, coarse, reach)
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=12))
    wanted = by_definition(panes, kinds, windows, wide)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", data.draw(st.sampled_from([1, 2, 5, 1 << 17])))
        patch.setattr(arrow_rows, "LEAVE", data.draw(st.sampled_from([1, 3, 1 << 16])))
        assert swept(work, batches(rows, kinds, coarse, cuts)) == wanted
    assert swept(work, batches(rows, kinds, coarse, ())) == wanted


@pytest.mark.parametrize("kind", sorted(KEYS))
def test_keys_of_each_type_are_told_apart_and_equal_themselves(kind: str) -> None:
    """Null and NaN, inside a struct or an array too, are keys like others."""
    panes: list[Pane] = [(key, place, 1, place) for key in range(len(KEYS[kind][1])) for place in range(6)]
    work = Sweep(1, (Window(4, 2), Window(3, 3)), LANES)
    found = swept(work, batches(rows_of(panes, [kind], None, 4), [kind], None, [5, 11]))
    assert found == by_definition(panes, [kind], work.windows, wide=False)


def test_no_batches_and_empty_batches_give_nothing() -> None:
    work = Sweep(1, (Window(3, 1),), LANES)
    assert list(work(iter(()))) == []
    assert swept(work, batches([], ["string"], None, [0, 0])) == []


@pytest.mark.parametrize("wide", [False, True])
def test_a_chunk_that_ends_with_the_key_leaves_nothing_behind(wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of one pane need no pane again: nothing is carried, and the next key begins at any time."""
    monkeypatch.setattr(module, "CHUNK", 2)
    panes: list[Pane] = [(1, 5, 1, 1), (1, 6, 1, 2), (2, 0, 1, 3), (2, 1, 1, 4)]
    work = Sweep(1, (Window(1, 1),), LANES, None, wide)
    rows = rows_of(panes, ["string"], None, 1)
    assert swept(work, batches(rows, ["string"], None, [2])) == by_definition(panes, ["string"], work.windows, wide)


@pytest.mark.parametrize("coarse", [None, 64])
@pytest.mark.parametrize("wide", [False, True])
def test_no_more_is_carried_than_the_widest_window_holds(
    coarse: int | None, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One key, far more panes than a chunk, windows longer than a chunk: memory stays bounded."""
    monkeypatch.setattr(module, "CHUNK", 16)
    windows = (Window(4, 4), Window(50, 10), Window(33, 7, 2))
    random.seed(5)
    panes: list[Pane] = [(1, place, 1, random.randrange(9)) for place in range(600) if random.random() < 0.8]
    rows = rows_of(panes, ["string"], coarse, 50)
    carried: list[int] = []
    held: list[int] = []
    carry, joined = module._Stretch.carry, module._joined

    def watched(stretch: Any, reach: int) -> tuple[pa.Table, int]:
        kept, emitted = carry(stretch, reach)
        carried.append(kept.num_rows)
        # A slice would keep all of the stretch alive.
        assert kept.get_total_buffer_size() <= 400 * (kept.num_rows + 8)
        return kept, emitted

    def measured(kept: pa.Table | None, gathered: list[pa.RecordBatch]) -> pa.Table:
        held.append((0 if kept is None else kept.num_rows) + sum(batch.num_rows for batch in gathered))
        return joined(kept, gathered)

    monkeypatch.setattr(module._Stretch, "carry", watched)
    monkeypatch.setattr(module, "_joined", measured)
    work = Sweep(1, windows, LANES, coarse, wide)
    found = swept(work, batches(rows, ["string"], coarse, range(0, len(rows), 8)))
    assert found == by_definition(panes, ["string"], windows, wide)
    assert len(carried) > 5
    assert max(carried) < 50
    assert max(held) <= 50 + max(16, 50) + 8


def test_windows_leave_while_the_key_still_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is complete leaves before the next batch is asked for: a partition is never held whole."""
    monkeypatch.setattr(module, "CHUNK", 10)
    panes: list[Pane] = [(1, place, 1, 1) for place in range(200)]
    read = 0

    def watched() -> Iterator[pa.RecordBatch]:
        nonlocal read
        for batch in batches(rows_of(panes, ["string"], None, 5), ["string"], None, range(0, 200, 10)):
            read += batch.num_rows
            yield batch

    behind = [read - max(batch.column(1).to_pylist()) for batch in Sweep(1, (Window(5, 5),), LANES)(watched())]
    assert len(behind) > 15
    assert max(behind) <= 25


def test_sums_beyond_64_bits_are_refused_with_the_figure() -> None:
    lanes = (Lane("sum", ("int64",), "lift", 1),)
    most = 2**63 - 1

    def run(values: list[int], window: Window) -> list[Any]:
        columns = [pa.array(range(len(values)), pa.int64()), pa.array(values, pa.int64())]
        return swept(Sweep(0, (window,), lanes), iter([pa.RecordBatch.from_arrays(columns, names=["p", "v"])]))

    assert run([most, -most, most], Window(3, 3)) == [(0, 0, most)]
    # No window overflows, though all of them together would.
    assert run([most] * 4, Window(1, 1)) == [(0, i, most) for i in range(4)]
    with pytest.raises(ValueError, match="overflows 64-bit integers"):
        run([most, 1], Window(2, 2))
