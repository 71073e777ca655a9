"""Table I (factor-windows V-B): window sets of 5 and 10 over events at a constant pace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bench.events import constant_pace
from bench.tables import PaperTable, measure, scale

if TYPE_CHECKING:
    from pathlib import Path

    from bench.measure import Track
    from bench.report import Report

TABLE: Final = PaperTable(
    name="table1",
    title="Table I: events at a constant pace, 5 and 10 windows",
    sizes=(5, 10),
    figures={
        "R-5-tumbling": (1.21, 1.92, 1.85, 2.54),
        "R-10-tumbling": (1.34, 1.77, 1.88, 3.38),
        "R-5-hopping": (1.18, 1.82, 3.26, 4.29),
        "R-10-hopping": (1.34, 1.71, 3.20, 6.15),
        "S-5-tumbling": (1.63, 1.67, 4.28, 4.81),
        "S-10-tumbling": (1.98, 2.05, 7.91, 9.38),
        "S-5-hopping": (1.34, 1.48, 2.17, 2.81),
        "S-10-hopping": (1.58, 1.73, 2.92, 3.79),
    },
)


def run(
    *, quick: bool, track: Track, events: int | None = None, sets: int | None = None, keep: Path | None = None
) -> Report:
    """Measure ten sets of each setup over 10 million events, or three over one million."""
    return measure(TABLE, scale(quick, events, sets), track, constant_pace, keep)
