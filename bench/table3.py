"""Table III (factor-windows V-D): window sets of 15 and 20 over events at a constant pace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bench.events import constant_pace
from bench.tables import PaperTable, measure, scale

if TYPE_CHECKING:
    from pathlib import Path

    from bench.measure import Track
    from bench.report import Report

TABLE: Final = PaperTable(
    name="table3",
    title="Table III: events at a constant pace, 15 and 20 windows",
    sizes=(15, 20),
    figures={
        "R-15-tumbling": (1.55, 1.96, 2.97, 4.34),
        "R-20-tumbling": (1.49, 2.29, 2.10, 4.83),
        "R-15-hopping": (1.55, 1.95, 4.67, 6.59),
        "R-20-hopping": (1.68, 2.20, 4.23, 7.65),
        "S-15-tumbling": (2.43, 2.49, 11.29, 13.83),
        "S-20-tumbling": (2.42, 2.53, 14.28, 16.82),
        "S-15-hopping": (1.85, 2.09, 3.51, 4.68),
        "S-20-hopping": (1.91, 2.15, 4.02, 5.32),
    },
)


def run(
    *, quick: bool, track: Track, events: int | None = None, sets: int | None = None, keep: Path | None = None
) -> Report:
    """Measure ten sets of each setup over 10 million events, or three over one million."""
    return measure(TABLE, scale(quick, events, sets), track, constant_pace, keep)
