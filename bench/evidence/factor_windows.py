"""Factor windows: Tables I to IV and Figures 11 to 22 of the paper, and its slides, beside ours."""

from __future__ import annotations

import statistics
from functools import partial
from typing import TYPE_CHECKING, Final

from bench import table1, table2, table3, table4
from bench.chart import Chart, Panel, Series
from bench.correlation import GOAL
from bench.evidence.exhibit import Counterpart, Exhibit, Held, Paper
from bench.measure import spread
from bench.report import Table

if TYPE_CHECKING:
    from bench.evidence.reports import Measured
    from bench.report import Cell
    from bench.tables import PaperTable

SYNTHETIC: Final = 10_000_000
REAL: Final = 32_000_000
# So many window sets say something about a correlation.
LEAST: Final = 3
# Section V-E: the time to find a plan stays below this in every setting, in ms.
OVERHEAD: Final = 100.0
PLANS: Final = ("native", "mincost", "factor", "auto")
FAMILIES: Final = ("R-tumbling", "R-hopping", "S-tumbling", "S-hopping")


def boosts(table: PaperTable, events: int, found: Measured) -> Counterpart:
    """Lay our boosts beside those of a table of the paper: its mean against that of `auto`."""
    ours = {
        plan: {
            setup: [row["boost"] for row in found.picked(setup=setup, plan=plan)]
            for setup in table.figures
            if any(found.picked(setup=setup, plan=plan))
        }
        for plan in PLANS[1:]
    }
    with_factors: list[tuple[Cell, ...]] = []
    without: list[tuple[Cell, ...]] = []
    for setup, paper in table.figures.items():
        if setup in ours["auto"]:
            tried = statistics.fmean(ours["factor"][setup])
            with_factors.append((setup, *paper[2:], *_spread(ours["auto"][setup]), tried))
            without.append((setup, *paper[:2], *_spread(ours["mincost"][setup])))
    columns = ("setup", "paper: mean", "max")
    own = ("mean", "median", "least", "most")
    return Counterpart(
        tables=(
            Table(
                "With factor windows: times as fast as one aggregate for each window",
                (*columns, *(f"auto: {own[0]}", *own[1:]), "`factor` inside Spark: mean"),
                tuple(with_factors),
            ),
            Table("Without factor windows", (*columns, *(f"mincost: {own[0]}", *own[1:])), tuple(without)),
        ),
        pictures=(found.name,),
        held=tuple(
            Held(setup, table.figures[setup][2], statistics.fmean(seen), unit="x")
            for setup, seen in ours["auto"].items()
        ),
        remarks=(*_scaled(found, events), _spread_said(found)),
        reasons=found.notes,
    )


def _spread(values: list[float]) -> tuple[float, ...]:
    return statistics.fmean(values), statistics.median(values), min(values), max(values)


def _scaled(found: Measured, events: int) -> tuple[str, ...]:
    ran = found.settings.get("events")
    if not isinstance(ran, int) or ran == events:
        return ()
    return (f"Over {ran:,} events; the paper has {events:,}.",)


def _spread_said(found: Measured) -> str:
    sets, runs = found.settings.get("sets per setup"), found.settings.get("runs per set and plan")
    return f"Window sets of each setup: {sets} (paper: 10), each the median of its runs in turn, {runs} at most."


def throughput(sizes: tuple[int, ...], events: int, found: Measured) -> Counterpart:
    """Draw the events a second of each plan, for every window set; the paper has bars and no numbers."""
    charts: list[Chart] = []
    rows: list[tuple[Cell, ...]] = []
    for size in sizes:
        panels = []
        for family in FAMILIES:
            setup = family.replace("-", f"-{size}-")
            rates = _rates(found, setup)
            if not rates:
                continue
            series = tuple(Series(plan, tuple(rates[plan])) for plan in PLANS)
            panels.append(Panel(setup, tuple(f"set {i}" for i in range(len(rates["native"]))), series))
            rows.append((setup, *(statistics.median(rates[plan]) for plan in PLANS)))
        if panels:
            title = f"Throughput, {size} windows"
            charts.append(Chart(title, "million events a second, each window set", tuple(panels)))
    told = Table("Million events a second, median over the sets", ("setup", *PLANS), tuple(rows))
    return Counterpart((told,), tuple(charts), remarks=_scaled(found, events))


def _rates(found: Measured, setup: str) -> dict[str, list[float]]:
    events = found.settings.get("events")
    rows = [row for row in found.measurements if row["setup"] == setup]
    if not isinstance(events, int) or not rows:
        return {}
    rates = {plan: [events / row["seconds"] / 1e6 for row in rows if row["plan"] == plan] for plan in PLANS[1:]}
    return {"native": [events / row["native_s"] / 1e6 for row in rows if row["plan"] == "auto"]} | rates


def overhead(found: Measured) -> Counterpart:
    """Give the mean and the deviation of optimization time, as Figure 12 does."""
    rows: list[tuple[Cell, ...]] = []
    held = []
    for family in FAMILIES:
        for size in sorted({row["windows"] for row in found.picked(setup=family)}):
            cells: list[Cell] = [family.replace("-", f"-{size}-")]
            for optimizer in ("factor", "auto"):
                times = [row["ms"] for row in found.picked(setup=family, windows=size, optimizer=optimizer)]
                cells += [statistics.fmean(times), statistics.stdev(times) if len(times) > 1 else None]
                cells.append(spread(times).median)
                held.append(Held(f"{cells[0]} {optimizer}", OVERHEAD, statistics.fmean(times), "less", " ms"))
            rows.append(tuple(cells))
    columns = tuple(f"{name}: {figure}" for name in ("factor", "auto") for figure in ("mean", "deviation", "median"))
    return Counterpart(
        (Table("Milliseconds to find a plan, over the sets of a setup", ("setup", *columns), tuple(rows)),),
        pictures=(found.name,),
        held=tuple(held),
        remarks=(
            f"The paper's figure has no numbers; its text says below {OVERHEAD:.0f} ms in every setting. `factor` is "
            "its Algorithm 3, `auto` what a query gets that asks for nothing.",
        ),
        reasons=found.notes,
    )


def correlated(found: Measured) -> Counterpart:
    """Compare Pearson's r, of the paper's model and of ours, with the least of Figure 19."""
    (table,) = found.tables
    names = {"paper r": "the paper's model", "auto only r": "ours, auto"}
    held = []
    for row in table.rows:
        told = dict(zip(table.columns, row, strict=True))
        for column, model in names.items():
            value, number = told[column], told["number"]
            # Two points always lie on a line.
            enough = isinstance(number, int) and number >= LEAST
            held.append(Held(f"{told['sets']}, {model}", GOAL, value if enough and isinstance(value, float) else None))
    return Counterpart((table,), pictures=(found.name,), held=tuple(held), reasons=found.notes)


_ILLUSTRATED: Final = "They explain definitions and examples, and measure nothing."

PAPER: Final = Paper(
    "factor-windows",
    "Factor Windows: Cost-based Query Rewriting for Optimizing Correlated Window Aggregates",
    "Wu, Bernstein, Raizman, Pavlopoulou",
    "Trill in C#, one core of 2.2 GHz; Figures 13 and 22 on Flink",
    (
        Exhibit(
            "Table", ("I",), "boosts over 10 million events", ("table1",), partial(boosts, table1.TABLE, SYNTHETIC)
        ),
        Exhibit(
            "Figure",
            ("11", "14"),
            "throughput of each window set of 5 and of 10 windows, 10 million events",
            ("table1",),
            partial(throughput, (5, 10), SYNTHETIC),
        ),
        Exhibit("Table", ("II",), "boosts over real readings", ("table2",), partial(boosts, table2.TABLE, REAL)),
        Exhibit(
            "Figure",
            ("17", "18"),
            "throughput of each window set of 5 and of 10 windows, 32 million real readings",
            ("table2",),
            partial(throughput, (5, 10), REAL),
        ),
        Exhibit(
            "Table", ("III",), "boosts with 15 and 20 windows", ("table3",), partial(boosts, table3.TABLE, SYNTHETIC)
        ),
        Exhibit(
            "Figure",
            ("20", "21"),
            "throughput of each window set of 15 and of 20 windows, 10 million events",
            ("table3",),
            partial(throughput, (15, 20), SYNTHETIC),
        ),
        Exhibit(
            "Table",
            ("IV",),
            "boosts over one million events",
            ("table4", "table1"),
            partial(boosts, table4.TABLE, table4.EVENTS),
        ),
        Exhibit(
            "Figure",
            ("15", "16"),
            "throughput of each window set of 5 and of 10 windows, one million events",
            ("table4", "table1"),
            partial(throughput, (5, 10), table4.EVENTS),
        ),
        Exhibit("Figure", ("12",), "time that optimization takes", ("optimizer",), overhead),
        Exhibit("Figure", ("19",), "predicted and observed speed-ups", ("correlation",), correlated),
        Exhibit(
            "Figure",
            ("13", "22"),
            "throughput beside Scotty on Apache Flink, 10 and 5 windows",
            why="None: Scotty slices streams on Flink, and there is no Scotty for Spark. Other engines on the same "
            "files are under peers, slices against windows on Spark under streaming.",
        ),
        Exhibit("Figure", tuple(map(str, range(1, 11))), "definitions and examples", why=_ILLUSTRATED),
    ),
    also="The slides of the talk show Tables I to III and Figures 11 to 13 once more, and no other measurements.",
)
