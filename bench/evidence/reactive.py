"""General incremental sliding-window aggregation: Tables 3 and 4 and Figures 6 to 12 of the paper, beside ours."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any, Final

from bench.evidence.exhibit import Counterpart, Exhibit, Held, Paper
from bench.incremental_breakeven import CASES, TIMES
from bench.incremental_reactive import FIRINGS, OSCILLATING
from bench.incremental_slides import size_name
from bench.report import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.evidence.reports import Measured
    from bench.report import Cell

RECOMPUTED: Final = "Panes"
REACTIVE: Final = "Reactive Aggregator (FIFO)"
# Arasu and Widom's algorithm keeps base intervals: B-Int.
BASE_INTERVALS: Final = "B-Int"
COSTED: Final = ("max", "stddev")
# The text on Figure 6: how many times as fast as recomputing at a window of 1,024.
FASTER: Final = {"max": 3.0, "stddev": 10.0}
FASTER_AT: Final = 1024
# Table 4: the time of Arasu and Widom's algorithm over the Reactive Aggregator's, at 8, 8 K and 8 M.
RELATIVE: Final = {"sum": (1.02, 1.20, 1.36), "max": (1.02, 1.25, 1.37), "stddev": (1.06, 1.26, 1.37)}
RELATIVE_AT: Final = (8, 1 << 13, 1 << 23)


def break_even(found: Measured) -> Counterpart:
    """Hold the smallest windows that pay against Table 3."""
    part = found.parts["incremental-break-even"]
    rows: list[tuple[Cell, ...]] = []
    held = []
    for case in CASES:
        cells: list[Cell] = [case.name]
        for place, times in enumerate(TIMES):
            paper = case.paper[place]
            cells.append("never" if paper is None else paper)
            for baseline in ("combine", "builtin"):
                told = part.picked(function=case.name, recomputed_by=baseline, times_as_fast=times)
                sizes = [math.inf if row["window"] is None else row["window"] for row in told]
                if not sizes:
                    cells.append(None)
                    continue
                middle = statistics.median_high(sizes)
                ours = None if middle == math.inf else float(middle)
                cells.append("never" if ours is None else int(ours))
                if baseline == "combine":
                    what = case.name if times == 1 else f"{case.name}, {times} times as fast"
                    held.append(Held(what, paper, ours, "less"))
        rows.append(tuple(cells))
    own = ("by combine", "by Python's own")
    columns = ("function", "paper", *own, "10x: paper", *(f"10x: {name}" for name in own))
    return Counterpart(
        (Table("Smallest window from which on the Reactive Aggregator is faster than recomputing", columns, (*rows,)),),
        pictures=(part.name,),
        held=tuple(held),
        remarks=(
            "Held against the paper is recomputing by the aggregate's own combine, in Python as the structure is. "
            "Python's own functions (sum, max) run in C and are passed much later.",
        ),
        reasons=part.notes,
    )


def _rates(found: Measured, aggregate: str, algorithm: str) -> dict[int, float]:
    rows = found.parts["incremental-trees"].picked(aggregate=aggregate, algorithm=algorithm)
    # By the processor's time, because ratios of short runs must not show what else the machine did.
    return {row["window"]: row["processor"] for row in rows if row["processor"]}


def sustained(found: Measured) -> Counterpart:
    """Compare slides per second with recomputing, as Figure 6 does."""
    rates = {(a, way): _rates(found, a, way) for a in COSTED for way in (RECOMPUTED, REACTIVE)}
    sizes = sorted(rates["max", REACTIVE])
    rows: list[tuple[Cell, ...]] = []
    for size in sizes:
        cells: list[Cell] = [size_name(size)]
        for aggregate in COSTED:
            old, new = (rates[aggregate, way].get(size) for way in (RECOMPUTED, REACTIVE))
            cells += [old, new, new / old if old and new else None]
        rows.append(tuple(cells))
    near = min(sizes, key=lambda size: abs(size - FASTER_AT))
    held = []
    for aggregate, times in FASTER.items():
        old, new = (rates[aggregate, way].get(near) for way in (RECOMPUTED, REACTIVE))
        ratio = new / old if old and new else None
        held.append(Held(f"{aggregate} at {near:,}, times recomputing", times, ratio))
    columns = tuple(f"{a}: {what}" for a in COSTED for what in ("recomputed", "reactive", "times"))
    return Counterpart(
        (Table("Slides per second of the processor, median of the runs", ("window", *columns), tuple(rows)),),
        pictures=("incremental-trees",),
        held=tuple(held),
        remarks=(f"The paper's figures are curves; its text has times as fast at {FASTER_AT:,}.",),
        reasons=found.parts["incremental-trees"].notes,
    )


def _costs(found: Measured, aggregate: str, firing: str) -> dict[int, Mapping[str, Any]]:
    rows = found.parts["incremental-per-tuple"].picked(aggregate=aggregate, firing=firing)
    return {row["window"]: row for row in rows if row["us_per_tuple"] is not None}


def logarithmic(found: Measured) -> Counterpart:
    """Fit the cost of a tuple to the logarithm of the window, as Figure 7 does."""
    rows: dict[int, list[Cell]] = {}
    told = []
    for aggregate in COSTED:
        costs = {size: row["us_per_tuple"] for size, row in _costs(found, aggregate, "m = 1").items()}
        logs = [math.log2(size) for size in costs]
        slope, start = statistics.linear_regression(logs, list(costs.values()))
        r = statistics.correlation(logs, list(costs.values()))
        told.append(f"{aggregate}: {start:.2f} + {slope:.2f} log2 n, r² = {r * r:.3f}")
        for size, cost in costs.items():
            rows.setdefault(size, [size_name(size)]).extend((cost, start + slope * math.log2(size)))
    columns = tuple(f"{a}: {what}" for a in COSTED for what in ("measured", "best fit"))
    return Counterpart(
        (Table("Microseconds per tuple, m = 1", ("window", *columns), tuple(tuple(row) for row in rows.values())),),
        held=(),
        remarks=(f"Best fits to the logarithm: {'; '.join(told)}. The paper shows the same fit and no numbers.",),
    )


def from_scratch(found: Measured) -> Counterpart:
    """Compare a whole window taken in anew with recomputing it, as Figure 8 does."""
    rows: dict[int, list[Cell]] = {}
    ratios = []
    for aggregate in COSTED:
        rates = _rates(found, aggregate, RECOMPUTED)
        costs = _costs(found, aggregate, "m = n")
        for size in sorted(costs.keys() & rates.keys()):
            old, new = 1e6 / rates[size], costs[size]["us_per_tuple"] * size
            rows.setdefault(size, [size_name(size)]).extend((old, new, new / old))
            ratios.append(new / old)
    columns = tuple(f"{a}: {what}" for a in COSTED for what in ("recomputed", "reactive", "times"))
    return Counterpart(
        (Table("Microseconds of a firing, m = n", ("window", *columns), tuple(tuple(row) for row in rows.values())),),
        held=(Held("reactive over recomputed, median", 1.0, statistics.median(ratios), "less"),) if ratios else (),
        remarks=(
            "The paper: about the same whichever way. Ours counts the n tuples that come and the n that go with the "
            "Reactive Aggregator, and only one of each with recomputing.",
        ),
    )


def oscillating(found: Measured) -> Counterpart:
    """Compare capacities that come and go with fixed ones, as Figure 9 does."""
    rows: dict[int, list[Cell]] = {}
    held = []
    for aggregate in COSTED:
        fixed, changing = (_costs(found, aggregate, firing) for firing in ("m = 1", OSCILLATING))
        ratios = []
        for size in sorted(fixed.keys() & changing.keys()):
            pair = [each[size]["us_per_tuple"] for each in (fixed, changing)]
            rows.setdefault(size, [size_name(size)]).extend((*pair, pair[1] / pair[0]))
            ratios.append(pair[1] / pair[0])
        if ratios:
            held.append(Held(f"{aggregate}: oscillating over fixed, median", 1.0, statistics.median(ratios), "less"))
    columns = tuple(f"{a}: {what}" for a in COSTED for what in ("fixed", "oscillating", "times"))
    return Counterpart(
        (Table("Microseconds per tuple", ("window", *columns), tuple(tuple(row) for row in rows.values())),),
        held=tuple(held),
        remarks=("The paper: oscillating capacities are the faster ones, having fewer tuples on average.",),
    )


def coarse(found: Measured) -> Counterpart:
    """Give the cost of a tuple by how many come at once, as Figure 10 does."""
    part = found.parts["incremental-per-tuple"]
    costs = {firing: _costs(found, "stddev", firing) for firing in FIRINGS}
    sizes = sorted(costs["m = 1"])
    held = []
    for firing in ("m = n/16", "m = n/4", "m = n"):
        large = [size for size in sizes if size in costs[firing]][-2:]
        if len(large) == 2:
            small, great = (costs[firing][size]["us_per_tuple"] for size in large)
            what = f"{firing}: cost at {size_name(large[1])} over that at {size_name(large[0])}"
            held.append(Held(what, 1.0, great / small, "like"))
    rows = tuple((size_name(n), *(costs[f].get(n, {}).get("us_per_tuple") for f in FIRINGS)) for n in sizes)
    return Counterpart(
        (Table("Microseconds per tuple, stddev", ("window", *FIRINGS), rows),),
        pictures=(part.name,),
        held=tuple(held),
        remarks=("The paper: constant for large windows where m is a part of n, growing with log n where m is fixed.",),
        reasons=part.notes,
    )


def base_intervals(found: Measured) -> Counterpart:
    """Compare with Arasu and Widom's base intervals, as Figure 11 and Table 4 do."""
    rows: list[tuple[Cell, ...]] = []
    held = []
    for aggregate, paper in RELATIVE.items():
        new, old = (_rates(found, aggregate, way) for way in (REACTIVE, BASE_INTERVALS))
        both = sorted(new.keys() & old.keys())
        for at, ratio in zip(RELATIVE_AT, paper, strict=True):
            near = min(both, key=lambda size: abs(math.log2(size / at)))
            ours = new[near] / old[near]
            rows.append((aggregate, size_name(at), ratio, size_name(near), 1e6 / new[near], 1e6 / old[near], ours))
            if near / at in (0.5, 1.0, 2.0):
                held.append(Held(f"{aggregate} at {size_name(at)}", ratio, ours))
    columns = ("function", "paper: n", "ratio", "ours: n", "reactive, µs", "base intervals, µs", "ratio")
    return Counterpart(
        (Table("Time of Arasu and Widom's algorithm over the Reactive Aggregator's, m = 1", columns, tuple(rows)),),
        held=tuple(held),
        remarks=(
            "Each beside the nearest window that was measured; held against the paper where that is within a factor "
            "of two. The mean and MinCount are not among what slides were measured of.",
        ),
    )


def at_once(found: Measured) -> Counterpart:
    """Compare with base intervals where several tuples come at once, as Figure 11 does."""
    part = found.parts["incremental-intervals"]
    ratios: dict[str, list[float]] = {}
    for row in part.picked(algorithm=REACTIVE):
        same = part.picked(algorithm=BASE_INTERVALS, firing=row["firing"], window=row["window"])
        ratios.setdefault(row["firing"], []).extend(other["us_per_tuple"] / row["us_per_tuple"] for other in same)
    return Counterpart(
        part.tables,
        pictures=(part.name,),
        held=tuple(
            Held(f"{firing}: base intervals over reactive, median of the windows", 1.0, statistics.median(found))
            for firing, found in ratios.items()
        ),
        remarks=("The paper: alike in growth, the Reactive Aggregator faster by a constant factor; no numbers.",),
        reasons=part.notes,
    )


def resident(found: Measured) -> Counterpart:
    """Compare the memory of processes, as Figure 12 does."""
    part = found.parts.get("incremental-memory")
    if part is None:
        return Counterpart(remarks=("This system does not tell a process its memory.",))
    rows: list[tuple[Cell, ...]] = []
    held = []
    for size in sorted({row["window"] for row in part.measurements}):
        old, new = (
            [row["resident_bytes"] / 1e6 for row in part.picked(algorithm=way, window=size)]
            for way in (RECOMPUTED, REACTIVE)
        )
        if old and new:
            pair = statistics.median(old), statistics.median(new)
            rows.append((size_name(size), *pair, pair[1] / pair[0]))
            if size <= 4096:
                held.append(
                    Held(f"{size_name(size)}: process with reactive over recomputed", 1.0, pair[1] / pair[0], "like")
                )
    return Counterpart(
        (Table("Resident set of a process, MB, stddev", ("window", "recomputed", "reactive", "times"), tuple(rows)),),
        pictures=(part.name,),
        held=tuple(held),
        remarks=("The paper goes to 4K and finds the difference minor beside the process; linear beyond.",),
        reasons=part.notes,
    )


_INCREMENTAL: Final = ("incremental",)

PAPER: Final = Paper(
    "reactive-aggregator",
    "General Incremental Sliding-Window Aggregation",
    "Tangwongsan, Hirzel, Schneider, Wu",
    "IBM InfoSphere Streams in C++, a 3 GHz Xeon of 2006; ours is one thread of Python",
    (
        Exhibit("Table", ("3",), "break-even points with recomputing", _INCREMENTAL, break_even),
        Exhibit("Figure", ("6",), "throughput beside recomputing", _INCREMENTAL, sustained),
        Exhibit("Figure", ("7",), "cost of a tuple and the logarithm of the window", _INCREMENTAL, logarithmic),
        Exhibit("Figure", ("8",), "tumbling windows: nothing to reuse", _INCREMENTAL, from_scratch),
        Exhibit("Figure", ("9",), "windows whose capacity oscillates", _INCREMENTAL, oscillating),
        Exhibit("Figure", ("10",), "several tuples at once", _INCREMENTAL, coarse),
        Exhibit("Table", ("4",), "Arasu and Widom's algorithm beside it", _INCREMENTAL, base_intervals),
        Exhibit("Figure", ("11",), "Arasu and Widom's algorithm by the tuples at once", _INCREMENTAL, at_once),
        Exhibit("Figure", ("12",), "memory of a process", _INCREMENTAL, resident),
        Exhibit(
            "Table",
            ("1", "2"),
            "aggregates taken apart, and their laws",
            why="They hold definitions: tests/aggregate/test_catalog.py and tests/aggregate/test_table2.py check them.",
        ),
        Exhibit("Figure", tuple(map(str, range(1, 6))), "examples", why="They explain the method and measure nothing."),
    ),
)
