"""Many queries: plan costs of WeaveShare and TriWeave, edges by F1 and by the bit set, and plans run for real."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bench import weave_f1, weave_plans, weave_runs
from bench.chart import Chart
from bench.report import Report, Table
from bench.weave_series import MADE_UP, from_file, made_up
from muntin.share.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench.measure import Track
    from bench.report import Cell

# So many readings are made up or read; runs go round them.
READINGS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure: draws of each load, and the scales of the other parts."""

    runs: int = 10
    f1: weave_f1.Scale = field(default_factory=weave_f1.Scale)
    executed: weave_runs.Scale = field(default_factory=weave_runs.Scale)
    readings: int = READINGS


QUICK: Final = Scale(
    3,
    weave_f1.Scale(longest_slide=100_000_000, queries=(10, 100, 550), many=(10_000, 1_000_000), repeats=2),
    weave_runs.Scale(load=Workload(overlap=100), draws=1, seconds=0.03),
    100_000,
)


def run(*, quick: bool, track: Track, data: Path | None = None) -> Report:
    """Measure, in full or as a quick check; `data` has readings to run plans on, as CSV or parquet."""
    return measure(QUICK if quick else Scale(), track, data)


def measure(scale: Scale, track: Track, data: Path | None = None) -> Report:
    """Plan, count and run."""
    series, what = (made_up(scale.readings), MADE_UP) if data is None else from_file(data, scale.readings)
    plans = [r for job in track(weave_plans.jobs(scale.runs), "plans") for r in job()]
    f1 = weave_f1.gathered([job() for job in track(weave_f1.jobs(scale.f1), "edges")])
    ran = [r for job in track(weave_runs.jobs(scale.executed, series), "runs") for r in job()]
    headline, trees, *costs = weave_plans.tables(plans)
    deviation, *executed = weave_runs.tables(ran)
    return Report(
        "weave",
        "Many queries: plans, edges, runs",
        {
            "draws of each load": scale.runs,
            "middle load": "100 queries, S_max 1,000, O_max 10,000, 1 event per unit, no skew",
            "composite slide, Figure 16": scale.f1.longest_slide,
            "O_max, executed": scale.executed.load.overlap,
            "seconds per tree": scale.executed.seconds,
            "readings": what,
        },
        (
            Table("Goals", ("what", "found", "goal", "met"), weave_f1.goals(f1)),
            headline,
            trees,
            deviation,
            *weave_f1.tables(scale.f1, f1),
            *executed,
            *costs,
        ),
        Table("measurements", ("part", "of", "figure", "value"), tuple(_lines(plans, f1, ran))),
        Chart(
            "Plan cost of WeaveShare and TriWeave",
            "thousands of operations per unit of time",
            weave_plans.panels(plans),
            log=True,
        ),
        (
            *weave_plans.notes(plans, scale.runs),
            *weave_f1.notes(scale.f1, f1),
            *weave_runs.notes(scale.executed, what),
        ),
    )


def _lines(
    plans: list[weave_plans.Reading], f1: weave_f1.Findings, ran: list[weave_runs.Ran]
) -> Iterator[tuple[Cell, ...]]:
    """List every figure, one to a line."""
    for p in plans:
        of = f"experiment {p.experiment}, value {p.value:g}, run {p.run}, {p.estimate}, {p.optimizer}, {p.technique}"
        yield "plans", of, "cost", p.cost
        yield "plans", of, "trees", p.trees
    for c in f1.counted:
        yield "edges", f"{c.queries} queries", "bit set, s", c.bit_set
        yield "edges", f"{c.queries} queries", "F1, s", c.f1
        yield "edges", f"{c.queries} queries", "F1 from queries, s", c.whole
    for each in f1.planned:
        yield "planning", f"{each.queries} queries", "bit set, s", each.bit_set
        yield "planning", f"{each.queries} queries", "F1, s", each.f1
    for queries, seconds in f1.many_plans:
        yield "planning", f"{queries} queries", "F1, s", seconds
    for r in ran:
        of = f"draw {r.draw}, {r.estimate}, {r.optimizer}, {r.technique}, {r.trees} trees"
        for name, value in (("cost", r.cost), ("s per unit", r.seconds), ("results/s", r.throughput)):
            yield "runs", of, name, value
        yield "runs", of, "results/s, trees added", r.summed
