"""Table IV (factor-windows, Appendix C): the window sets of Table I over a tenth of its events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bench.events import constant_pace
from bench.tables import PaperTable, measure, scale

if TYPE_CHECKING:
    from pathlib import Path

    from bench.measure import Track
    from bench.report import Report

EVENTS: Final = 1_000_000
TABLE: Final = PaperTable(
    name="table4",
    title="Table IV: a million events at a constant pace, 5 and 10 windows",
    sizes=(5, 10),
    figures={
        "R-5-tumbling": (1.21, 2.01, 1.85, 2.41),
        "R-10-tumbling": (1.36, 1.72, 1.94, 3.13),
        "R-5-hopping": (1.19, 1.76, 2.90, 3.78),
        "R-10-hopping": (1.31, 1.54, 2.94, 5.14),
        "S-5-tumbling": (1.63, 1.79, 3.82, 4.43),
        "S-10-tumbling": (1.91, 2.07, 6.27, 7.27),
        "S-5-hopping": (1.33, 1.51, 2.10, 2.73),
        "S-10-hopping": (1.54, 1.69, 2.75, 3.65),
    },
)


def run(
    *, quick: bool, track: Track, events: int | None = None, sets: int | None = None, keep: Path | None = None
) -> Report:
    """Measure ten sets of each setup over one million events, or three."""
    return measure(TABLE, scale(quick, events or EVENTS, sets), track, constant_pace, keep)
