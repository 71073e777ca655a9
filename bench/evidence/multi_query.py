"""Multi-query optimization: Figures 11 to 23 and Table 4 of the paper, beside ours."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any, Final

from bench.evidence.exhibit import Counterpart, Exhibit, Held, Paper
from bench.incremental_slides import size_name
from bench.report import Table
from bench.weave_plans import EXPERIMENTS, PAPER_TREES
from bench.weave_runs import EXPERIMENT
from bench.weave_runs import PAPER as DEVIATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.evidence.reports import Measured
    from bench.report import Cell

# What the text says of SlickDeque beside the next best: throughput of one query and of all, memory, spikes of latency.
THROUGHPUT: Final = 19.0
SHARED: Final = 345.0
MEMORY: Final = 5.0
SPIKES: Final = 283.0
F1: Final = 60_000.0
QUERIES: Final = 1_000_000.0
# How the notes on single figures start.
RUN: Final = ("Experiments 6", "Both throughputs")
ELSEWHERE: Final = ("Figure 16", "Panes' number of trees", *RUN)
SLICK: Final = "SlickDeque"
REACTIVE: Final = "Reactive Aggregator"


def _number(cell: Cell) -> float | None:
    """Read a figure that was written for people.

    >>> _number("12,345"), _number("31 %"), _number(None)
    (12345.0, 31.0, None)
    """
    if cell is None or isinstance(cell, int | float):
        return cell
    try:
        return float(cell.replace(",", "").removesuffix("%"))
    except ValueError:
        return None


def single(found: Measured) -> Counterpart:
    """Compare slides per second of all structures, as Figure 11 does for max."""
    rates: dict[int, dict[str, float]] = {}
    for name in ("incremental-constant", "incremental-trees"):
        for row in found.parts[name].picked(aggregate="max"):
            _add(rates, row)
    return _raced(rates, found.parts["incremental-constant"], THROUGHPUT)


def shared(found: Measured) -> Counterpart:
    """Compare slides per second where every range is asked, as Figure 12 does."""
    part = found.parts["incremental-ranges"]
    rates: dict[int, dict[str, float]] = {}
    for row in part.measurements:
        _add(rates, row)
    return _raced(rates, part, SHARED)


def _add(rates: dict[int, dict[str, float]], row: Mapping[str, Any]) -> None:
    if row["processor"] and not row["algorithm"].startswith(REACTIVE):
        rates.setdefault(row["window"], {})[row["algorithm"]] = row["processor"]


def _raced(rates: dict[int, dict[str, float]], part: Measured, paper: float) -> Counterpart:
    names = sorted({name for each in rates.values() for name in each})
    rows = tuple((size_name(size), *(rates[size].get(name) for name in names)) for size in sorted(rates))
    leads = [lead for each in rates.values() if (lead := _lead(each)) is not None]
    return Counterpart(
        (Table("Slides per second of the processor, max, median of the runs", ("window", *names), rows),),
        pictures=(part.name,),
        held=(Held("SlickDeque above the next best, at most", paper, max(leads, default=None), unit=" %"),),
        remarks=(
            f"SlickDeque leads at {sum(lead > 0 for lead in leads)} of {len(leads)} window sizes. The paper's "
            "structures are in C++, ours in Python.",
        ),
        reasons=part.notes,
    )


def _lead(rates: dict[str, float]) -> float | None:
    slick = [rate for name, rate in rates.items() if name.startswith(SLICK)]
    others = [rate for name, rate in rates.items() if not name.startswith(SLICK)]
    return 100 * (slick[0] / max(others) - 1) if slick and others else None


def memory(found: Measured) -> Counterpart:
    """Compare what windows add to a process, as Figure 13 does."""
    part = found.parts.get("incremental-memory")
    if part is None:
        return Counterpart(remarks=("This system does not tell a process its memory.",))
    added: dict[str, dict[int, list[float]]] = {}
    for row in part.measurements:
        if not row["algorithm"].startswith(REACTIVE):
            more = (row["resident_bytes"] - row["before_bytes"]) / 1e6
            added.setdefault(row["algorithm"], {}).setdefault(row["window"], []).append(more)
    sizes = sorted({size for each in added.values() for size in each})
    rows = tuple(
        (size_name(size), *(statistics.median(each[size]) if size in each else None for each in added.values()))
        for size in sizes
    )
    last = {name: statistics.median(each[sizes[-1]]) for name, each in added.items() if sizes[-1] in each}
    slick = next((value for name, value in last.items() if name.startswith(SLICK)), None)
    others = [value for name, value in last.items() if not name.startswith(SLICK)]
    ours = min(others) / slick if slick and others else None
    what = f"next best over SlickDeque at {size_name(sizes[-1])}, times"
    return Counterpart(
        (Table("MB that a window adds to a process, stddev", ("window", *added), rows),),
        held=(Held(what, MEMORY, ours),),
        remarks=(
            "The paper measures max, whose deque is short on random input; ours is stddev, whose SlickDeque keeps "
            "every partial to take it away again.",
        ),
        reasons=part.notes,
    )


def latency(found: Measured) -> Counterpart:
    """Compare the longest slides, as Figure 14 does."""
    part = found.parts["incremental-latency"]
    sizes = sorted({row["window"] for row in part.picked(aggregate="max")})
    rows: list[tuple[Cell, ...]] = []
    spikes = []
    for size in sizes:
        found_here = [row for row in part.picked(aggregate="max", window=size) if REACTIVE not in row["algorithm"]]
        slick = [row["max_us"] for row in found_here if row["algorithm"].startswith(SLICK)]
        others = [row["max_us"] for row in found_here if not row["algorithm"].startswith(SLICK)]
        if slick and others:
            spikes.append(100 * (min(others) / slick[0] - 1))
        if size == sizes[-1]:
            rows += [(row["algorithm"], row["p50_us"], row["p99_us"], row["max_us"]) for row in found_here]
    mean = statistics.fmean(spikes) if spikes else None
    title = f"Microseconds of a slide, max, window of {sizes[-1]:,}"
    return Counterpart(
        (Table(title, ("algorithm", "p50", "p99", "longest"), tuple(rows)),),
        pictures=(part.name,),
        held=(Held("longest slide of the next best above SlickDeque's, mean of the windows", SPIKES, mean, unit=" %"),),
        remarks=("The longest slide includes whatever else the machine did; the paper gives boxes and no numbers.",),
        reasons=part.notes,
    )


def edges(found: Measured) -> Counterpart:
    """Compare F1 with the bit set, as Figure 16 does."""
    goals = found.table("Goals")
    best = _number(goals.rows[0][1])
    counted, planned = found.table("Edges counted"), found.table("WeaveShare's plan")
    most = max((_number(row[0]) or 0.0 for row in planned.rows), default=None)
    return Counterpart(
        (counted, planned),
        held=(
            Held("F1 over the bit set, times as fast", F1, best),
            Held("queries planned for", QUERIES, most),
        ),
        remarks=(f"The composite slide is {found.settings['composite slide, Figure 16']:,}; the paper's is not given.",)
        if isinstance(found.settings.get("composite slide, Figure 16"), int)
        else (),
        reasons=tuple(note for note in found.notes if note.startswith("Figure 16")),
    )


def costs(found: Measured) -> Counterpart:
    """Compare plan costs, as Figures 17 to 21 do."""
    headline = found.table("SlickDeque over Panes")
    held = []
    for row, experiment in zip(headline.rows, EXPERIMENTS, strict=True):
        told = dict(zip(headline.columns, row, strict=True))
        best = max(_number(told[name]) or 0.0 for name in ("WeaveShare", "TriWeave"))
        held.append(Held(f"experiment {experiment.number}", experiment.paper, best, "like", "x"))
    return Counterpart(
        (headline, *(table for table in found.tables if "plan cost against" in table.title)),
        pictures=(found.name,),
        held=tuple(held),
        remarks=(
            "How many times SlickDeque makes a plan cheaper than Panes, at most: the better optimizer's is held.",
        ),
        reasons=tuple(note for note in found.notes if not note.startswith(ELSEWHERE)),
    )


def trees(found: Measured) -> Counterpart:
    """Compare the number of execution trees with the table in section 5.2."""
    table = found.table("Trees in a plan")
    held = []
    for row in table.rows:
        told = dict(zip(table.columns, row, strict=True))
        name = str(told["technique"])
        held.append(Held(name, PAPER_TREES[name], _number(told["Table 3"]), "like"))
    reasons = tuple(note for note in found.notes if "number of trees" in note)
    return Counterpart((table,), held=tuple(held), reasons=reasons)


def deviations(found: Measured) -> Counterpart:
    """Compare estimated with actual throughput, as Figures 22 and 23 do."""
    table = found.table("Estimated and actual throughput")
    held = []
    for optimizer, paper in DEVIATIONS.items():
        start = f"{EXPERIMENT[optimizer]}:"
        row = next(row for row in table.rows if str(row[0]).startswith(start) and str(row[0]).endswith("Table 3"))
        ours = _number(dict(zip(table.columns, row, strict=True))["of the reading"])
        held.append(Held(str(row[0]), 100 * paper, ours, "less", " %"))
    runs = tuple(each for each in found.tables if each.title.startswith(("Experiment 6", "Experiment 7")))
    return Counterpart(
        (table, *runs), held=tuple(held), reasons=tuple(note for note in found.notes if note.startswith(RUN))
    )


_DRAWN: Final = "Explains techniques, measures nothing: docs/papers.md says where their code and tests are."

PAPER: Final = Paper(
    "multi-query-optimization",
    "Multi-Query Optimization of Incrementally Evaluated Sliding-Window Aggregations",
    "Shein, Chrysanthis",
    "Java for plans and C++ for runs, a 2.6 GHz Xeon; ours is one thread of Python",
    (
        Exhibit("Figure", ("11",), "throughput of one query, max", ("incremental",), single),
        Exhibit("Figure", ("12",), "throughput where every range is asked at every slide", ("incremental",), shared),
        Exhibit("Figure", ("13",), "memory", ("incremental",), memory),
        Exhibit("Figure", ("14",), "latency of an answer", ("incremental",), latency),
        Exhibit("Figure", ("16",), "edges by the bit set and by F1", ("weave",), edges),
        Exhibit("Figure", ("17", "18", "19", "20", "21"), "plan costs, experiments 1 to 5", ("weave",), costs),
        Exhibit("Table", ("in 5.2",), "execution trees of a plan", ("weave",), trees),
        Exhibit("Figure", ("22", "23"), "estimated and actual throughput", ("weave",), deviations),
        Exhibit(
            "Table",
            ("4",),
            "parameters of the experiments",
            why="They are those of Figures 17 to 21: bench/weave_plans.py has them.",
        ),
        Exhibit(
            "Table",
            ("1", "2", "3"),
            "partials, operations and estimates",
            why="They are formulas, not measurements: tests/window/test_slices.py, tests/incremental/test_counts.py "
            "and tests/share/test_omega.py count them.",
        ),
        Exhibit("Figure", tuple(map(str, range(1, 11))), "the taxonomy and its techniques", why=_DRAWN),
        Exhibit("Figure", ("15",), "an example of shared processing", why=_DRAWN),
    ),
)
