"""Packs of panes: one row for several neighbouring panes of a key, so that short panes cost little more than long ones.

Spark groups, sends and sorts rows, and each costs about as much however short its pane is. A pack holds the partials of
`width` panes in columns side by side: an event finds its row by the pack, and its column by its place there. Where most
panes have events, all go through the exchanges as before, in a fraction of the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from muntin.spark.panes import PANE, Grid, key_columns, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame

    from muntin.spark.bound import Bound
    from muntin.spark.panes import Parts

PRESENT: Final = "_mt_h"
"""Which panes of a pack have an event: a bit for each place."""
_PLACE: Final = "_mt_i"


def packs(bound: Bound, grid: Grid, parts: Parts, width: int) -> DataFrame:
    """Aggregate the events of each key and pack: keys, the pack's number, its present panes, a list of each partial."""
    # A pack is a pane of a coarser grid.
    whole = Grid(grid.width * width, grid.offset)
    place = F.expr(f"CAST(pmod({grid.since()}, {whole.width}L) div {grid.width}L AS INT)")
    # What an event gives is computed once, before it is compared with every place.
    singles = [part.single().alias(column) for column, part in parts.values() if part.single is not None]
    events = timed(bound).select(*bound.keys, F.expr(whole.pane()).alias(PANE), place.alias(_PLACE), *singles)
    present = F.expr(f"bit_or(shiftleft(1L, {_PLACE}))").alias(PRESENT)
    # A filter, and not a value that is null elsewhere: Spark then leaves alone the places that an event is not for,
    # where it would otherwise read and write them all. With 16 places that takes 30 processor nanoseconds for 130.
    made = []
    for column, part in parts.values():
        assert part.lane is not None, f"{part.name} does not go by kernels"
        places = [f"{part.in_place}({column}) FILTER (WHERE {_PLACE} = {at})" for at in range(width)]
        made += [side_by_side(places, take).alias(f"{column}_{name}") for name, take in part.lane.fields.items()]
    return events.groupBy(*key_columns(bound), F.col(PANE)).agg(present, *made)


def side_by_side(places: Sequence[str], take: Callable[[Column], Column]) -> Column:
    """Put a partial's places into one list, each as `take` gives it."""
    first = F.expr(places[0])
    if take(first) is first:
        # As one text: a call into the JVM for each of many columns would take longer than to plan all the rest.
        return F.expr(f"array({', '.join(places)})")
    return F.array(*(take(F.expr(place)) for place in places))
