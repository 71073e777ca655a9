"""How many panes a second the batch kernel turns into hopping windows that overlap 1,440-fold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.chart import Chart, Panel, Series
from bench.incremental_columnar import Goal
from bench.measure import interleave, spread
from bench.report import Report, Table, shown
from muntin.incremental.columnar_catalog import columnar
from muntin.kernels.table import pane_table
from muntin.kernels.windows import all_windows, window_rows
from muntin.window.spec import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.measure import Spread, Track
    from bench.report import Cell
    from muntin.incremental.columnar_operator import Array, ColumnarOperator, Vector
    from muntin.kernels.table import Panes

CASES: Final = (("min", "float64"), ("min", "int64"), ("sum", "float64"), ("sum", "int64"))
OVERLAP: Final = 1440
MILLIONS: Final = 50
# From columns as they come, checked; and from a table that was checked before, as where several windows share it.
WAYS: Final = ("columns", "table")


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure: the shapes of the data, as keys and panes of each, and runs."""

    shapes: tuple[tuple[int, int], ...] = ((1, 10_000_000), (10_000, 1_000))
    repeats: int = 5


@dataclass(frozen=True, slots=True)
class Reading:
    """Million panes a second, by the clock, and the median of them on the processor."""

    aggregate: str
    dtype: str
    keys: int
    panes: int
    windows: int
    way: str
    runs: int
    rate: Spread
    slowest: float
    processor: float

    @property
    def case(self) -> str:
        """Name the aggregate and the type of its column."""
        return f"{self.aggregate} of {self.dtype}"


def measure(scale: Scale, track: Track) -> list[Reading]:
    """Aggregate each shape of data with each operator."""
    jobs = [(shape, case) for shape in scale.shapes for case in CASES]
    return [reading for shape, case in track(jobs, "kernels") for reading in _measured(*shape, *case, scale.repeats)]


def _measured(keys: int, panes: int, aggregate: str, dtype: str, repeats: int) -> list[Reading]:
    chance, operator = np.random.default_rng(0), columnar(aggregate, dtype)
    count = keys * panes
    values = chance.random(count) if dtype == "float64" else chance.integers(-(1 << 31), 1 << 31, count)
    codes, numbers = np.repeat(np.arange(keys), panes), np.tile(np.arange(panes), keys)
    partial_ = operator.lift(values)
    table = pane_table(codes, numbers, partial_, operator)
    # Both in turn, each after the memory of the other was given back.
    timed = interleave(
        {
            "columns": partial(_from_columns, codes, numbers, partial_, operator),
            "table": partial(_from_table, table, operator),
        },
        repeats=repeats,
    )
    readings = []
    for way in WAYS:
        runs = timed[way]
        rates = [count / seconds / 1e6 for seconds in runs.seconds]
        processor = count / spread(runs.processor).median / 1e6
        readings.append(
            Reading(
                *(aggregate, dtype, keys, panes, runs.result, way),
                *(len(rates), spread(rates), min(rates), processor),
            )
        )
    return readings


def _from_columns(codes: Array, numbers: Array, partial_: Vector, operator: ColumnarOperator) -> int:
    (rows,) = all_windows(codes, numbers, partial_, [Window(OVERLAP, 1)], operator)
    return len(rows)


def _from_table(table: Panes, operator: ColumnarOperator) -> int:
    return len(window_rows(table, Window(OVERLAP, 1), operator))


def goals(readings: Sequence[Reading]) -> list[Goal]:
    """Hold the figures against the goal, for columns as they come."""
    return [
        Goal(
            f"{r.case}, {r.keys:,} x {r.panes:,}: M panes/s",
            r.rate.median,
            r.processor,
            f">= {MILLIONS}",
            "yes" if r.rate.median >= MILLIONS else "no",
        )
        for r in readings
        if r.way == "columns"
    ]


def report(scale: Scale, readings: Sequence[Reading]) -> Report:
    """Show the rates by shape of data, aggregate and type."""
    rows: list[tuple[Cell, ...]] = []
    by_way = {way: [r for r in readings if r.way == way] for way in WAYS}
    for columns, table in zip(by_way["columns"], by_way["table"], strict=True):
        shape = f"{columns.keys:,} x {columns.panes:,}"
        written = columns.rate.median * columns.windows / (columns.keys * columns.panes)
        rows.append(
            (columns.case, shape, columns.rate.median, columns.slowest, columns.processor, table.rate.median, written)
        )
    heads = ("aggregate", "keys x panes", "columns", "slowest run", "on the processor", "table", "M windows/s")
    panels = []
    for keys, panes in scale.shapes:
        series = []
        for way, name in (("columns", "columns, checked"), ("table", "a table checked before")):
            found = [r for r in by_way[way] if (r.keys, r.panes) == (keys, panes)]
            series.append(Series(name, tuple(r.rate.median for r in found), tuple(r.rate.largest for r in found)))
        places = tuple("\nof ".join(case) for case in CASES)
        title = f"{keys:,} key{'' if keys == 1 else 's'} with {panes:,} panes"
        panels.append(Panel(title, places, tuple(series), goals=(("goal", MILLIONS),)))
    measurements = Table(
        "measurements",
        (
            "aggregate",
            "dtype",
            "keys",
            "panes",
            "windows",
            "from",
            "runs",
            "M_panes_per_s",
            "slowest",
            "fastest",
            "cpu",
        ),
        tuple(
            (
                *(r.aggregate, r.dtype, r.keys, r.panes, r.windows, r.way, r.runs),
                *(r.rate.median, r.slowest, r.rate.largest, r.processor),
            )
            for r in readings
        ),
    )
    title = f"Batch kernel: hopping windows of {OVERLAP:,} panes, one on each pane"
    return Report(
        "incremental-kernels",
        title,
        {
            "window": f"range {OVERLAP}, slide 1",
            "runs": scale.repeats,
            "order of runs": "in turn, every other round backwards, after a warm-up",
            "threads": 1,
        },
        (Table("Million panes a second, median of the runs", heads, tuple(rows)),),
        measurements,
        Chart(title, "million panes a second, median and fastest", tuple(panels)),
        (
            "Columns: key codes, pane numbers and partials as they come; that they are in order is checked. Table: "
            "checked before, as where several windows share it. Every window that holds a pane is written, with its "
            "key and start: where keys have fewer panes than the window, there are more windows than panes.",
        ),
    )


def sentence(readings: Sequence[Reading]) -> str:
    """Say how fast the kernel is."""
    rates = [(r.rate.median, f"{r.case}, {r.keys:,} x {r.panes:,}") for r in readings if r.way == "columns"]
    (least, slow), (most, fast) = min(rates), max(rates)
    return (
        f"The batch kernel turns {shown(least)} ({slow}) to {shown(most)} ({fast}) million panes a second into windows."
    )
