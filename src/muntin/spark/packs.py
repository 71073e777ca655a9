"""Packs of panes: one row for several neighbouring panes of a key, so that short panes cost little more than long ones.

Spark groups, sends and sorts rows, and each costs about as much however short its pane is. A pack holds the partials of
`width` panes in columns side by side: an event finds its row by the pack, and its column by its place there. Where most
panes have events, all go through the exchanges as before, in a fraction of the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from muntin.spark.panes import PANE, Grid, key_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame

    from muntin.spark.bound import Bound
    from muntin.spark.panes import Parts

PRESENT: Final = "_mt_h"
"""Which panes of a pack have an event: a bit for each place."""
_PLACE: Final = "_mt_i"


def packs(bound: Bound, grid: Grid, parts: Parts, width: int) -> DataFrame:
    """Aggregate the events of each key and pack: keys, the pack's number, its present panes, each partial by place."""
    # A pack is a pane of a coarser grid.
    whole = Grid(grid.width * width, grid.offset)
    place = F.call_function("div", F.pmod(grid.since(bound.micros), F.lit(whole.width)), F.lit(grid.width))
    # What an event gives is computed once, before it is compared with every place.
    singles = [part.single().alias(column) for column, part in parts.values() if part.single is not None]
    events = bound.events.select(
        *bound.keys, whole.pane(bound.micros).alias(PANE), place.cast("int").alias(_PLACE), *singles
    )
    bit = F.call_function("shiftleft", F.lit(1).cast("bigint"), F.col(_PLACE))
    # A filter, and not a value that is null elsewhere: Spark then leaves alone the places that an event is not for,
    # where it would otherwise read and write them all. With 16 places that takes 30 processor nanoseconds for 130.
    made = [
        F.expr(f"{part.in_place}({column}) FILTER (WHERE {_PLACE} = {at}) AS {placed(column, at)}")
        for column, part in parts.values()
        for at in range(width)
    ]
    return events.groupBy(*key_columns(bound), F.col(PANE)).agg(F.bit_or(bit).alias(PRESENT), *made)


def side_by_side(column: str, width: int, take: Callable[[Column], Column]) -> Column:
    """Put a partial's places into one list, each as `take` gives it."""
    names = [placed(column, at) for at in range(width)]
    some = F.col(names[0])
    if take(some) is some:
        # As text: a call into the JVM for each of many columns would take longer than to plan all the rest.
        return F.expr(f"array({', '.join(names)})")
    return F.array(*(take(F.col(name)) for name in names))


def placed(column: str, at: int) -> str:
    """Name the column of a partial at a place of its pack."""
    return f"{column}_at{at}"
