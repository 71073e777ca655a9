"""Window subsumption: groups of random windows, what they hold in memory, and what SUM costs (Figures 10 to 12)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bench import subsume_groups, subsume_memory, subsume_sum
from bench.chart import Chart
from bench.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.measure import Track
    from bench.report import Cell


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure."""

    groups: subsume_groups.Scale = field(default_factory=subsume_groups.Scale)
    memory: subsume_memory.Scale = field(default_factory=subsume_memory.Scale)
    sums: subsume_sum.Scale = field(default_factory=subsume_sum.Scale)


QUICK: Final = Scale(
    subsume_groups.Scale(draws=3, embedded=1),
    subsume_memory.Scale(classes=("medium",), rate=2, units=20),
    subsume_sum.Scale(units=10, separate_units=5),
)


def run(*, quick: bool, track: Track) -> Report:
    """Measure, in full or as a quick check."""
    return measure(QUICK if quick else Scale(), track)


def measure(scale: Scale, track: Track) -> Report:
    """Group windows, hold events, sum them."""
    groups = [job() for job in track(subsume_groups.jobs(scale.groups), "groups")]
    memory = [job() for job in track(subsume_memory.jobs(scale.memory), "memory")]
    sums = [job() for job in track(subsume_sum.jobs(scale.sums), "sums")]
    paper = (subsume_groups.says(groups), subsume_memory.says(scale.memory, memory), subsume_sum.says(scale.sums, sums))
    return Report(
        "subsume",
        "Window subsumption: groups, memory, SUM",
        {
            "draws of each set": scale.groups.draws,
            "of these also embedded one by one": scale.groups.embedded,
            "events per unit, memory": scale.memory.rate,
            "units looked at, memory": scale.memory.units,
            "windows, SUM": scale.sums.windows,
            "units looked at, SUM": scale.sums.units,
        },
        (
            Table("The paper's words and ours", ("what", "paper (C++, Xeon 2.13 GHz)", "here"), paper),
            *subsume_groups.tables(scale.groups, groups),
            *subsume_memory.tables(scale.memory, memory),
            *subsume_sum.tables(scale.sums, sums),
        ),
        Table("measurements", ("part", "of", "figure", "value"), tuple(_lines(groups, memory, sums))),
        Chart(
            "Window subsumption",
            "log scale, unit in each title",
            (
                *subsume_groups.panels(scale.groups, groups),
                *subsume_memory.panels(scale.memory, memory),
                *subsume_sum.panels(scale.sums, sums),
            ),
            log=True,
        ),
        (
            "Slides are drawn evenly up to 10 (smooth), 20 (medium) or 30 (abrupt), then ranges evenly above the slide "
            "up to 60; the paper does not say how it drew. It gives its figures as curves only, so there are words to "
            "compare with, and no numbers.",
            "Groups grow scarce as windows get many: once every range has a window that slides by 1, all others ride "
            "on those, and one group is left. `fewest possible` is the least number that any plan has, by matching. "
            "Windows that come one by one in random order find groups that were not made for them.",
            "Memory is counted, in events or sub-aggregates, at the end of each unit once all windows are complete. "
            "Separate windows run in the same engine, each in a group of its own. Sub-aggregates count the running "
            "aggregates of the queues as well.",
            "Times are of one process on the processor, in Python. Between two edges events are folded once for all "
            "groups, and for all separate windows too: what `separate` loses are slides and results, not folding.",
        ),
    )


def _lines(
    groups: list[subsume_groups.Grouped], memory: list[subsume_memory.Holding], sums: list[subsume_sum.Cost]
) -> Iterator[tuple[Cell, ...]]:
    """List every figure, one to a line."""
    for g in groups:
        of = f"{g.kind}, {g.windows} windows, draw {g.draw}"
        for name, value in (
            ("groups", g.groups),
            ("levels", g.levels),
            ("fewest groups", g.fewest),
            ("s", g.seconds),
            ("groups, one by one", g.embedded),
            ("s, one by one", g.embed_seconds),
        ):
            yield "groups", of, name, value
    for m in memory:
        of = f"{m.kind}, {m.windows} windows, {m.way}"
        yield "memory", of, m.holds, m.total
        yield "memory", of, f"{m.holds} in buffers", m.buffered
    for s in sums:
        yield "sum", f"{s.kind}, {s.way}, {s.rate} events per unit", "s per unit", s.seconds
