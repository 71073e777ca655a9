"""What is known of the events before they are read: how many, of how many keys, over how long."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from muntin.errors import QueryError

if TYPE_CHECKING:
    from muntin.window.spec import Window


@dataclass(frozen=True, slots=True)
class Statistics:
    """The number of events and of keys, and the time they span in microseconds.

    >>> Statistics(rows=1e6, keys=10, span=1_000_000_000_000, how="given")
    1,000,000 events of 10 keys over 11.6 d (given)
    """

    rows: float
    keys: float = 1
    span: int = 1
    how: str = "given"
    """Where the figures come from."""
    seconds: float = 0.0
    """What it took to find out."""
    items: float | None = None
    """How many different values, each with its keys, an exact distinct count meets: of several, the most."""
    text: bool = False
    """Whether events are read from text, CSV or JSON, which takes longer."""
    seen: bool = True
    """Whether keys and span are known, and not only assumed."""
    hot: float = 0.0
    """The share of events that the most frequent key has."""
    at_most: bool = False
    """Whether so many rows are in the files, and nobody knows how few of them are left."""

    def __post_init__(self) -> None:
        for name, least in (("rows", 0), ("keys", 1), ("span", 0), ("items", 1), ("hot", 0)):
            value = getattr(self, name)
            if name == "items" and value is None:
                continue
            if not isinstance(value, (int, float)) or not math.isfinite(value) or value < least:
                msg = f"statistics: {name} must be a number of {least} or more, got {value!r}"
                raise QueryError(msg)

    @property
    def rate(self) -> float:
        """Events per microsecond and key."""
        return self.rows / self.keys / max(self.span, 1)

    def intervals(self, window: Window, times: int = 1) -> float:
        """Estimate how many intervals of a window hold an event, over all keys; or of one `times` as long.

        As if each key's events came at random over the span; no more than each event being alone.

        >>> from muntin import tumbling
        >>> round(Statistics(rows=600, keys=1, span=600_000_000).intervals(tumbling("10s")))
        61
        """
        return self._met(window.range * times, window.slide * times, self.keys)

    def appearances(self, window: Window) -> float | None:
        """Estimate how many different values the intervals of a window hold, over all keys; None if not known.

        >>> from muntin import tumbling
        >>> round(Statistics(rows=600, span=600_000_000, items=2).appearances(tumbling("10s")))
        121
        """
        return None if self.items is None else self._met(window.range, window.slide, max(self.items, self.keys))

    def _met(self, size: int, slide: int, kinds: float) -> float:
        """Estimate how many intervals of a window hold an event of a kind, over so many kinds of events."""
        there = kinds * (self.span + size) / slide
        full = 1 - math.exp(-self.rows / kinds / max(self.span, 1) * size)
        return min(there * full, self.rows * size / slide)

    def __repr__(self) -> str:
        if not self.seen:
            return f"perhaps {self.rows:,.0f} events ({self.how})"
        keys = f"{self.keys:,.0f} key{'' if self.keys == 1 else 's'}"
        items = "" if self.items is None else f" with {self.items:,.0f} distinct value{'' if self.items == 1 else 's'}"
        read = ", read from text" if self.text else ""
        most = "at most " if self.at_most else ""
        return f"{most}{self.rows:,.0f} events of {keys}{items} over {_long(self.span)} ({self.how}{read})"


def _long(micros: float) -> str:
    """Write a length of time roughly, in the largest unit that it fills."""
    for unit, size in (("d", 86_400e6), ("h", 3_600e6), ("min", 60e6), ("s", 1e6), ("ms", 1e3)):
        if micros >= size:
            return f"{micros / size:.3g} {unit}"
    return f"{micros:.0f} us"
