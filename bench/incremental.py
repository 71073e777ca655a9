"""Incremental evaluation: slides, break-even points, cost per tuple, memory, columns over keys and batch kernels.

Each section is a report of its own (`Report.parts`), with its chart and its measurements; this one sums them up.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from bench import (
    incremental_breakeven,
    incremental_columnar,
    incremental_intervals,
    incremental_kernels,
    incremental_memory,
    incremental_ranges,
    incremental_reactive,
    incremental_slides,
    incremental_structures,
)
from bench.measure import machine
from bench.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.incremental_columnar import Goal
    from bench.measure import Machine, Track
    from bench.report import Cell

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure in each section."""

    structures: incremental_structures.Scale = field(default_factory=incremental_structures.Scale)
    breakeven: incremental_breakeven.Scale = field(default_factory=incremental_breakeven.Scale)
    reactive: incremental_reactive.Scale = field(default_factory=incremental_reactive.Scale)
    memory: incremental_memory.Scale = field(default_factory=incremental_memory.Scale)
    columnar: incremental_columnar.Scale = field(default_factory=incremental_columnar.Scale)
    kernels: incremental_kernels.Scale = field(default_factory=incremental_kernels.Scale)
    ranges: incremental_ranges.Scale = field(default_factory=incremental_ranges.Scale)
    intervals: incremental_intervals.Scale = field(default_factory=incremental_intervals.Scale)


QUICK = Scale(
    incremental_structures.Scale(sizes=(1, 16, 256, 1 << 12, 1 << 16), repeats=2, seconds=0.015, limit=2.0),
    incremental_breakeven.Scale(searches=1, limit=20_480, nearest=0.05, seconds=0.002),
    incremental_reactive.Scale(sizes=(16, 256, 1 << 12, 1 << 14), repeats=2, seconds=0.015, limit=1.0),
    incremental_memory.Scale(sizes=(1 << 10, 1 << 16), repeats=1),
    incremental_columnar.Scale(repeats=2),
    incremental_kernels.Scale(shapes=((1, 2_000_000), (2_000, 1_000)), repeats=3),
    incremental_ranges.Scale(sizes=(1, 16, 256, 1024), repeats=2, seconds=0.015, limit=1.0),
    incremental_intervals.Scale(sizes=(16, 256, 1 << 12), repeats=2, tuples=1024),
)


def run(*, quick: bool, track: Track) -> Report:
    """Measure all sections, in full or as a quick check with smaller windows and fewer runs."""
    return measure(QUICK if quick else Scale(), track)


def measure(scale: Scale, track: Track) -> Report:
    """Measure all sections one after the other, and sum them up."""
    watches = [Watch(track) for _ in range(8)]
    slides = incremental_structures.measure(scale.structures, watches[0])
    breakeven = incremental_breakeven.measure(scale.breakeven, watches[1])
    reactive = incremental_reactive.measure(scale.reactive, watches[2])
    memory = incremental_memory.measure(scale.memory, watches[3])
    columnar = incremental_columnar.measure(scale.columnar, watches[4])
    kernels = incremental_kernels.measure(scale.kernels, watches[5])
    ranges = incremental_ranges.measure(scale.ranges, watches[6])
    intervals = incremental_intervals.measure(scale.intervals, watches[7])
    told = [
        incremental_slides.reports(scale.structures, slides),
        (incremental_breakeven.report(scale.breakeven, breakeven),),
        (incremental_reactive.report(scale.reactive, reactive),),
        (incremental_memory.report(scale.memory, memory),) if memory else (),
        (incremental_columnar.report(scale.columnar, columnar),),
        (incremental_kernels.report(scale.kernels, kernels),),
        (incremental_ranges.report(scale.ranges, ranges),),
        (incremental_intervals.report(scale.intervals, intervals),),
    ]
    parts = [
        replace(part, machine=watch.machine) for watch, reports in zip(watches, told, strict=True) for part in reports
    ]
    goals = [*incremental_columnar.goals(columnar), *incremental_kernels.goals(kernels)]
    return Report(
        "incremental",
        "Incremental evaluation",
        {
            **incremental_slides.settings(scale.structures),
            "keys and panes, columnar": f"{scale.columnar.keys:,} and {scale.columnar.panes:,}",
            "sections": ", ".join(part.name for part in parts),
        },
        (
            Table("Goals", ("what", "found", "processor", "goal", "met"), tuple(goal.row for goal in goals)),
            *incremental_slides.summary(slides),
            incremental_breakeven.summary(breakeven),
        ),
        _figures(parts),
        incremental_slides.contrast(scale.structures, slides),
        (
            f"What the figures say. {judgement(goals)}",
            *incremental_slides.sentences(slides),
            incremental_breakeven.sentence(scale.breakeven, breakeven),
            *incremental_reactive.sentences(reactive),
            *incremental_memory.sentences(memory),
            incremental_columnar.sentence(columnar),
            incremental_kernels.sentence(kernels),
            incremental_breakeven.note(scale.breakeven),
        ),
        machine=max((watch.machine for watch in watches), key=_load),
        parts=tuple(parts),
    )


class Watch:
    """Go through the jobs of a section, and keep the machine as it was when it was busiest."""

    def __init__(self, track: Track) -> None:
        self._track = track
        self._seen: Machine | None = None

    def __call__(self, jobs: Sequence[T], label: str, /) -> Iterator[T]:
        """Yield the jobs in order, and look at the machine before each and after the last."""
        for job in self._track(jobs, label):
            self._look()
            yield job
        self._look()

    @property
    def machine(self) -> Machine:
        """Give the machine at its busiest: figures taken then are no better for a quiet end."""
        return self._seen or machine()

    def _look(self) -> None:
        self._seen = max((seen for seen in (self._seen, machine()) if seen), key=_load)


def _load(seen: Machine) -> float:
    return seen.load or 0.0


def judgement(goals: Sequence[Goal]) -> str:
    """Say which goals are met, and by how much the others are missed.

    >>> from bench.incremental_columnar import Goal
    >>> judgement([Goal("DABA, sum: ns", 9.0, 8.5, "< 12", "yes"), Goal("FlatFIT, sum: ns", 20.0, 15.5, "< 16", "no")])
    '1 of 2 goals met. Missed: FlatFIT, sum: ns 20 (on the processor 15.5), goal < 16.'
    """
    missed = [
        f"{g.what} {g.found:.3g} (on the processor {g.processor:.3g}), goal {g.goal}" for g in goals if g.met == "no"
    ]
    within = [f"{g.what} {g.found:.3g}, {g.goal}" for g in goals if g.met == "within"]
    met = sum(g.met == "yes" for g in goals)
    return " ".join(
        [
            f"{met} of {len(goals)} goals met.",
            *([f"Within the range of the public figures: {'; '.join(within)}."] if within else ()),
            *([f"Missed: {'; '.join(missed)}."] if missed else ()),
        ]
    )


def _figures(parts: Sequence[Report]) -> Table:
    """List every figure of every section, one to a line: what it was taken of, its name and its value."""
    rows: list[tuple[Cell, ...]] = []
    for part in parts:
        rows += _lines(part)
    return Table("measurements", ("section", "of", "figure", "value"), tuple(rows))


def _lines(part: Report) -> Iterator[tuple[Cell, ...]]:
    """Take a table of measurements apart: its figures stand behind the column that counts runs or slides."""
    columns = part.measurements.columns
    start = 1 + max(place for place, name in enumerate(columns) if name in ("run", "runs", "search", "slides"))
    for row in part.measurements.rows:
        of = ", ".join(f"{name} {value}" for name, value in zip(columns[:start], row, strict=False))
        for name, value in zip(columns[start:], row[start:], strict=True):
            yield part.name, of, name, value
