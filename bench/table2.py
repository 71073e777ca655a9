"""Table II (factor-windows V-C): the window sets of Table I over a machine's power readings."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from bench.events import power
from bench.tables import PaperTable, measure, scale

if TYPE_CHECKING:
    from pathlib import Path

    from bench.measure import Track
    from bench.report import Report

TABLE: Final = PaperTable(
    name="table2",
    title="Table II: a machine's power readings, 5 and 10 windows",
    sizes=(5, 10),
    figures={
        "R-5-tumbling": (1.19, 1.78, 1.43, 1.91),
        "R-10-tumbling": (1.30, 1.71, 1.53, 2.86),
        "R-5-hopping": (1.09, 1.39, 1.54, 2.63),
        "R-10-hopping": (1.18, 1.39, 1.46, 3.53),
        "S-5-tumbling": (1.63, 1.67, 4.12, 4.85),
        "S-10-tumbling": (1.90, 1.97, 7.53, 9.14),
        "S-5-hopping": (1.12, 1.30, 1.22, 1.77),
        "S-10-hopping": (1.22, 1.51, 1.45, 2.31),
    },
    note="The paper ran all 32 million readings; the windows' unit is taken to be a second, of about 100 readings.",
)


def run(
    *,
    quick: bool,
    track: Track,
    events: int | None = None,
    sets: int | None = None,
    keep: Path | None = None,
    data: Path | None = None,
) -> Report:
    """Measure ten sets of each setup over 10 million events, or three over one million; `data` is the sample."""
    return measure(TABLE, scale(quick, events, sets), track, partial(power, data=data), keep)
