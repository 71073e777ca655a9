"""A strip as a grid: one row for each stretch and one column for each pane, absent ones filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from muntin.incremental.columnar_operator import ColumnarOperator, Vector
    from muntin.kernels.lane import Lane
    from muntin.kernels.strips import Strip
    from muntin.kernels.table import Panes

# A grid of at most so many places for each row of the table: beyond it, absent panes cost more than they save.
FILL: Final = 4
# Below so many columns NumPy's accumulate spends its time on starting rows.
NARROW: Final = 8


def suits(strip: Strip, slide: int) -> bool:
    """Tell whether a strip's windows begin on every pane, and most panes are there."""
    if slide != 1:
        return False
    width = int(strip.spans.max())
    area, present = len(strip.spans) * width, strip.stop - strip.start
    # Stretches of unequal length are filled up to the longest, and their windows with them.
    spare = area - int(strip.spans.sum())
    return width >= NARROW and area <= FILL * present and spare <= strip.windows


def fill(
    strip: Strip, table: Panes, length: int, operator: ColumnarOperator, lanes: tuple[Lane, ...], out: Vector
) -> None:
    """Aggregate a strip's windows, of slide 1, and write them in order of stretch and start."""
    counts = strip.counts
    shape = (len(counts), int(counts.max()))
    even = len(out[0]) == shape[0] * shape[1]
    found = tuple(part.reshape(shape) if even else np.empty(shape, part.dtype) for part in out)
    grid = _grid(strip, table, operator)
    lead = int(strip.bases[0] - strip.lows[0])
    for lane in lanes:
        lane.slide(grid[lane.components], length, lead, found[lane.components])
    if not even:
        kept = np.arange(shape[1]) < counts[:, None]
        for part, new in zip(out, found, strict=True):
            part[...] = new[kept]


def _grid(strip: Strip, table: Panes, operator: ColumnarOperator) -> Vector:
    present = strip.stop - strip.start
    rows, width = len(strip.spans), int(strip.spans.max())
    partial = tuple(part[strip.start : strip.stop] for part in table.partial)
    if present == rows * width:  # no pane is absent: nothing to copy
        return tuple(part.reshape(rows, width) for part in partial)
    # Where each pane goes: its row's place, and its distance from the row's base.
    shift = np.arange(0, rows * width, width) - strip.bases
    if rows > 1:
        shift = np.repeat(shift, np.diff(strip.firsts, append=present))
    places = table.panes[strip.start : strip.stop] + shift
    grid = operator.neutral(rows * width)
    for part, there in zip(grid, partial, strict=True):
        part[places] = there
    return tuple(part.reshape(rows, width) for part in grid)
