"""Predicted and observed speed-ups (factor-windows, Figure 19), over the window sets of Table I."""

from __future__ import annotations

import csv
import math
import statistics
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.chart import Chart, Panel, Series
from bench.events import constant_pace
from bench.fit import FITTED, fit, halves, once, predict, runs
from bench.kept import Kept
from bench.report import Report, Table
from bench.spark_session import session, settings
from bench.table1 import TABLE
from bench.tables import PLANS, Reading, Scale, readings, scale
from muntin.errors import MuntinError
from muntin.physical.constants import SHIPPED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bench.measure import Track
    from bench.report import Cell

GOAL: Final = 0.94
# The scale along the bottom of a chart, in steps: a mark is off by half a step at most.
STEPS: Final = 200
FAMILIES: Final = ("R-tumbling", "R-hopping", "S-tumbling", "S-hopping")


@dataclass(frozen=True, slots=True)
class Point:
    """One window set: the speed-up that a model predicts, and the one seen."""

    model: str
    plan: str
    setup: str
    set: int
    predicted: float
    observed: float

    @property
    def family(self) -> str:
        """The generator and the shape, whatever the number of windows: a chart of Figure 19."""
        generator, _, shape = self.setup.split("-")
        return f"{generator}-{shape}"


def run(*, quick: bool, track: Track, events: int | None = None, data: Path | None = None) -> Report:
    """Measure the sets of Table I, or take them from a `table1.csv` that was measured before."""
    chosen = scale(quick, events)
    if data is None:
        return measure(chosen, track)
    found, size = read(data)
    found = once(found)
    return report(points(found), {"measured before": data.name}, held_out(found, size))


def measure(scale: Scale, track: Track) -> Report:
    """Run the plans of every window set, and compare the speed-ups with what was predicted."""
    with session() as spark, tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
        source = constant_pace(spark, Path(folder), scale.events, few=scale.few)
        found = once(readings(spark, TABLE, scale, track, source, Kept(None, {})))
        told = settings(spark)
    told = {"events": scale.events, "sets per setup": scale.sets, **told}
    return report(points(found), told, held_out(found, scale.events))


def read(path: Path) -> tuple[list[Reading], int]:
    """Read the measurements that the benchmark table1 wrote, and of how many events they are."""
    text = path.read_text(encoding="utf-8").splitlines()
    rows = list(csv.DictReader(line for line in text if not line.startswith("#")))
    told = next((line.partition(":")[2] for line in text if line.startswith("# events:")), "0")
    try:
        return [_reading(row) for row in rows], int(told.replace(",", ""))
    except (KeyError, ValueError) as error:
        msg = f"{path} does not hold the measurements of table1 ({error}): give --data the table1.csv of its report"
        raise MuntinError(msg) from error


def _reading(row: Mapping[str, str]) -> Reading:
    native = float(row["native_s"])
    return Reading(
        row["setup"],
        int(row["set"]),
        row["plan"],
        int(row["runs"]),
        float(row["seconds"]),
        float(row["planning_s"]),
        native / float(row["boost_without_planning"]),
        native,
        row["ways"],
        float(row["predicted_s"]),
        float(row["predicted_native_s"]),
        float(row["paper_cost"]) if row["paper_cost"] else None,
    )


def held_out(found: Sequence[Reading], events: int) -> tuple[Table, ...]:
    """Fit the constants to half of the window sets, and see how they predict the other half; nothing without halves."""
    ours, tested = halves(found)
    if not ours or not tested or not events:
        return ()
    fitted = fit(runs(ours), events)
    others = runs(tested)
    native = {(run.setup, run.set): run for run in others if run.plan == "native"}
    by: dict[str, list[Point]] = {}
    for name, constants in {"shipped": SHIPPED, "fitted": fitted}.items():
        again = [
            replace(
                r,
                predicted=predict(run, events, constants),
                predicted_native=predict(native[run.setup, run.set], events, constants),
            )
            for r, run in zip(tested, (run for run in others if run.plan != "native"), strict=True)
        ]
        by[name] = [p for p in points(again) if p.model == "physical"]
    rows: list[tuple[Cell, ...]] = []
    for family in (*FAMILIES, "all"):
        chosen = {name: [p for p in each if family in (p.family, "all")] for name, each in by.items()}
        told = [cell for each in chosen.values() for cell in (pearson(each), _error(each))]
        rows.append((family, len(chosen["fitted"]), *told))
    title = "Pearson's r for every other set: shipped constants, and constants fitted to the sets between"
    columns = ("sets", "plans", "shipped", "factor off", "fitted", "fitted, factor off")
    values = tuple((name, getattr(SHIPPED, name), getattr(fitted, name)) for name in FITTED)
    return Table(title, columns, tuple(rows)), Table("Constants", ("constant", "shipped", "fitted"), values)


def points(found: Sequence[Reading]) -> list[Point]:
    """Pair predictions with what was seen, planning left out: no model predicts that.

    The paper's model: the cost without factor windows over that with them, and the same of the times. The physical
    model: the seconds predicted for native over those for a plan, and the same of the seconds seen.
    """
    paired = []
    by_set: dict[tuple[str, int], dict[str, Reading]] = {}
    for reading in found:
        by_set.setdefault((reading.setup, reading.set), {})[reading.plan] = reading
    for (setup, number), plans in by_set.items():
        without, with_factors = plans["mincost"], plans["factor"]
        if without.paper_cost and with_factors.paper_cost:
            predicted = without.paper_cost / with_factors.paper_cost
            seen = without.executing / with_factors.executing
            paired.append(Point("paper", "factor / mincost", setup, number, predicted, seen))
        for name, r in plans.items():
            paired.append(Point("physical", name, setup, number, r.predicted_native / r.predicted, r.bare_boost))
    return paired


def pearson(found: Iterable[Point]) -> float | None:
    """Compute Pearson's r; None where all predictions or all observations are the same.

    >>> twice = [Point("paper", "", "R-5-hopping", 0, x, 2 * x) for x in (1.0, 2.0, 4.0)]
    >>> round(pearson(twice), 6)
    1.0
    """
    predicted, observed = [], []
    for point in found:
        predicted.append(point.predicted)
        observed.append(point.observed)
    if len(set(predicted)) < 2 or len(set(observed)) < 2:
        return None
    return statistics.correlation(predicted, observed)


def report(found: Sequence[Point], told: Mapping[str, Cell], more: tuple[Table, ...] = ()) -> Report:
    """Tell how well the models predict, as figures and as a scatter of points."""
    paper = [p for p in found if p.model == "paper"]
    physical = [p for p in found if p.model == "physical"]
    title = "Predicted and observed speed-ups"
    rows: list[tuple[Cell, ...]] = []
    for family in (*FAMILIES, "all"):
        chosen = [[p for p in model if family in (p.family, "all")] for model in (paper, physical)]
        autos = [p for p in chosen[1] if p.plan == "auto"]
        rows.append((family, len(chosen[0]), *(pearson(each) for each in (*chosen, autos)), _error(chosen[1])))
    columns = ("sets", "number", "paper r", "physical r", "auto only r", "factor off")
    return Report(
        "correlation",
        title,
        {"aggregate": "min", **told},
        (Table("Pearson's r, predicted against observed", columns, tuple(rows)), *more),
        Table(
            "measurements",
            ("model", "plan", "setup", "set", "predicted", "observed"),
            tuple((p.model, p.plan, p.setup, p.set, p.predicted, p.observed) for p in found),
        ),
        Chart(title, "observed speed-up over the predicted one", _panels(paper, physical)),
        (
            "`paper`: the cost without factor windows over that with them by the paper's model (1 event per unit), "
            f"against the times of the two plans; the paper found r of {GOAL} or more in each chart. `physical`: the "
            "seconds that the calibrated model predicts for native over those for a plan, against the seconds seen, "
            "for mincost, factor and auto; `factor off` is the typical factor between the two. Planning is left out.",
        ),
    )


def _error(found: Sequence[Point]) -> float | None:
    """Find the typical factor between predicted and observed, whichever is larger."""
    logs = [abs(math.log(p.predicted / p.observed)) for p in found]
    return math.exp(statistics.median(logs)) if logs else None


def _panels(paper: Sequence[Point], physical: Sequence[Point]) -> tuple[Panel, ...]:
    panels = []
    for family in FAMILIES:
        found = {"factor / mincost": [p for p in paper if p.family == family]}
        panels.append(_scatter(f"{family}: paper's model", found))
    for family in FAMILIES:
        found = {name: [p for p in physical if (p.family, p.plan) == (family, name)] for name in PLANS}
        panels.append(_scatter(f"{family}: physical model", found))
    return tuple(panels)


def _scatter(title: str, found: Mapping[str, Sequence[Point]]) -> Panel:
    """Lay points over a fine scale of predictions; those that fall on one step go into further series of the name."""
    most = max((p.predicted for points in found.values() for p in points), default=1.0)
    top = float(math.ceil(most * 1.05))
    ticks = {round(STEPS * i / 4): f"{top * i / 4:g}" for i in range(5)}
    places = tuple(ticks.get(i, "") for i in range(STEPS + 1))
    series = [Series("as predicted", tuple(top * i / STEPS if i % 8 == 4 else None for i in range(STEPS + 1)))]
    for name, points in found.items():
        layers: list[list[float | None]] = [[None] * (STEPS + 1)]
        for point in points:
            step = round(point.predicted / top * STEPS)
            if all(layer[step] is not None for layer in layers):
                layers.append([None] * (STEPS + 1))
            next(layer for layer in layers if layer[step] is None)[step] = point.observed
        series += [Series(name, tuple(layer)) for layer in layers]
    r = pearson([p for points in found.values() for p in points])
    return Panel(f"{title}{'' if r is None else f', r = {r:.2f}'}", places, tuple(series))
