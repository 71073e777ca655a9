"""Which slices the state can hold, and so from where on a window that comes late has all of its events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from muntin.window.edges import Comb

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from muntin.window.spec import Window


class Position(NamedTuple):
    """How far a stream has come, in microseconds; None where it has not begun."""

    batch: int
    """The last micro-batch that is done, -1 before the first."""
    watermark: int | None = None
    """The watermark of the next one."""
    horizon: int | None = None
    """No event so far was of this time or a later one."""


class Start(NamedTuple):
    """Where the first interval of a window begins; None where it had every event there was."""

    at: int | None
    retained: bool = False
    """Whether slices from before the window came count in it."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """How slices were cut and kept from one change of the queries to the next."""

    horizon: int | None
    """Events of this time, and all later ones, came no earlier than this epoch; None where it is the first."""
    combs: tuple[Comb, ...]
    columns: frozenset[str]
    """The partials that slices hold."""
    reach: int
    """Slices that begin so long before the watermark, or less, are in the state."""

    def serves(self, window: Window, columns: Collection[str]) -> bool:
        """Tell whether slices end where the window's intervals begin and end, and hold these partials."""
        return self.columns.issuperset(columns) and all(
            any(edge.step % comb.step == 0 and Comb(comb.step, edge.phase) == comb for comb in self.combs)
            for edge in edges_of([window])
        )


def edges_of(windows: Iterable[Window]) -> tuple[Comb, ...]:
    """List where intervals begin and end.

    >>> from muntin import Window
    >>> edges_of([Window(5, 3), Window(4, 2)])
    (Comb(step=2, phase=0), Comb(step=3, phase=0), Comb(step=3, phase=2))
    """
    found = {
        comb
        for window in windows
        for comb in (Comb(window.slide, window.offset), Comb(window.slide, window.offset + window.range))
    }
    return tuple(sorted(found))


def reach_of(windows: Iterable[Window], retain: int) -> int:
    """Find how long before the watermark slices are kept: by windows, the longest overlap; or as long as asked for.

    >>> from muntin import Window
    >>> reach_of([Window(60, 60), Window(60, 20)], 0), reach_of([Window(60, 20)], 100)
    (40, 100)
    """
    return max([retain, *(window.range - window.slide for window in windows)])


def first_start(window: Window, columns: Collection[str], epochs: Sequence[Epoch], now: Position) -> Start:
    """Find the first interval of a window, registered now, all of whose events are there and that has not ended.

    All events from the horizon on are still to come. Those before count where, without a break until now, slices were
    cut at the window's edges, held its partials, and were kept long enough.

    >>> from muntin import Window
    >>> minute = Epoch(None, (Comb(60, 0),), frozenset({"n"}), reach=600)
    >>> first_start(Window(300, 60), {"n"}, [minute], Position(9, watermark=1000, horizon=1010))
    Start(at=720, retained=True)
    >>> first_start(Window(300, 60), {"other"}, [minute], Position(9, watermark=1000, horizon=1010))
    Start(at=1020, retained=False)
    """
    if now.horizon is None or now.watermark is None:
        return Start(None)
    bound, kept = now.horizon, None
    for epoch in reversed(epochs):
        if not epoch.serves(window, columns):
            break
        kept = epoch.reach if kept is None else min(kept, epoch.reach)
        there = now.watermark - kept + 1
        bound = min(bound, there if epoch.horizon is None else max(there, epoch.horizon))
    # An interval that has ended already would be late.
    bound = max(bound, now.watermark - window.range + 1)
    start = Comb(window.slide, window.offset).after(bound - 1)
    return Start(start, retained=start < now.horizon)


def pruned(epochs: Sequence[Epoch], now: Position) -> tuple[Epoch, ...]:
    """Forget the epochs of which no slice is left."""
    kept = list(epochs)
    oldest = None if now.watermark is None else now.watermark - max((epoch.reach for epoch in kept), default=0)
    while len(kept) > 1 and oldest is not None and kept[1].horizon is not None and kept[1].horizon <= oldest:
        del kept[0]
    return tuple(kept)
