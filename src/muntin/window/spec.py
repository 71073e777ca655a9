"""Windows: a range, a slide and an offset, on exact integers."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, SupportsIndex

from muntin.duration import format_duration, parse_duration
from muntin.errors import WindowError
from muntin.window import cover
from muntin.window.interval import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import timedelta


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """All intervals `[m * slide + offset, m * slide + offset + range)`, for every integer m.

    Plain integers, in any unit; `tumbling` and `hopping` make windows of exact microseconds. Equality and
    order look at range, slide and offset alone: the id is a name, and two names may stand for one window.

    >>> Window(10, 2)
    Window(10, 2)
    >>> Window(20, 20).id, Window(10, 2).id
    ('tumbling_20', 'hopping_10_2')
    """

    range: int
    slide: int
    offset: int = 0
    id: str = field(default="", compare=False)
    timed: bool = field(default=False, compare=False, repr=False)
    _hash: int = field(default=0, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        size = _positive("range", self.range, self)
        slide = _positive("slide", self.slide, self)
        if slide > size:
            msg = (
                f"slide {self.text(slide)} is longer than range {self.text(size)}: events between two intervals "
                "would belong to none. Make the slide at most the range"
            )
            raise WindowError(msg)
        # Intervals exist for every integer m, so offsets a whole number of slides apart mean the same window.
        offset = _integer("offset", self.offset, self) % slide
        for name, value in (("range", size), ("slide", slide), ("offset", offset)):
            object.__setattr__(self, name, value)
        if not isinstance(self.id, str):
            msg = f"a window's id must be text, got {self.id!r}"
            raise WindowError(msg)
        object.__setattr__(self, "id", self.id or self.default_id)
        # Windows are keys everywhere: a graph of a thousand looks them up a million times.
        object.__setattr__(self, "_hash", hash((size, slide, offset)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def tumbling(self) -> bool:
        """Whether the intervals meet without overlap (slide equals range)."""
        return self.range == self.slide

    @property
    def default_id(self) -> str:
        """The id of a window that was given none.

        >>> hopping("1h", slide="10m", offset="5m").default_id
        'hopping_1h_10m_offset_5m'
        """
        shape = (
            f"tumbling_{self.text(self.range)}"
            if self.tumbling
            else f"hopping_{self.text(self.range)}_{self.text(self.slide)}"
        )
        return shape + (f"_offset_{self.text(self.offset)}" if self.offset else "")

    def text(self, length: int) -> str:
        """Write a length in this window's unit: `20m` for a window of durations, `20` for plain integers."""
        return format_duration(length) if self.timed else str(length)

    def intervals(self, start: int, end: int) -> Iterator[Interval]:
        """Yield the intervals that lie whole within `[start, end)`, in order.

        >>> list(Window(10, 2).intervals(0, 13))
        [Interval(start=0, end=10), Interval(start=2, end=12)]
        """
        first = -((self.offset - start) // self.slide) * self.slide + self.offset
        for begin in range(first, end - self.range + 1, self.slide):
            yield Interval(begin, begin + self.range)

    def containing(self, time: int) -> Iterator[Interval]:
        """Yield the intervals that contain a time, in order.

        >>> [i.start for i in Window(10, 4).containing(9)]
        [0, 4, 8]
        """
        last = (time - self.offset) // self.slide * self.slide + self.offset
        earliest = last - (self.range - 1 - (time - last)) // self.slide * self.slide
        for begin in range(earliest, last + 1, self.slide):
            yield Interval(begin, begin + self.range)

    def covered_by(self, other: Window) -> bool:
        """Tell whether each interval here is a union of `other`'s (Theorem 1)."""
        return cover.covered_by(self, other)

    def partitioned_by(self, other: Window) -> bool:
        """Tell whether `other`'s intervals cover each interval here without overlap (Theorem 4)."""
        return cover.partitioned_by(self, other)

    def multiplier(self, other: Window) -> int:
        """Count `other`'s intervals inside one interval here (Theorem 3)."""
        return cover.multiplier(self, other)

    def __repr__(self) -> str:
        name = "" if self.id == self.default_id else f", id={self.id!r}"
        offset = f", offset={self.text(self.offset) if not self.timed else repr(self.text(self.offset))}"
        tail = (offset if self.offset else "") + name
        if not self.timed:
            return f"Window({self.range}, {self.slide}{tail})"
        if self.tumbling:
            return f"tumbling({self.text(self.range)!r}{tail})"
        return f"hopping({self.text(self.range)!r}, slide={self.text(self.slide)!r}{tail})"

    def __str__(self) -> str:
        slide = "" if self.tumbling else f"/{self.text(self.slide)}"
        return self.text(self.range) + slide + (f"+{self.text(self.offset)}" if self.offset else "")


def tumbling(range: str | timedelta, *, offset: str | timedelta = "0s", id: str = "") -> Window:
    """Make a window whose intervals follow one another without overlap.

    >>> tumbling("20m")
    tumbling('20m')
    """
    return hopping(range, range, offset=offset, id=id)


def hopping(range: str | timedelta, slide: str | timedelta, *, offset: str | timedelta = "0s", id: str = "") -> Window:
    """Make a window of `range` that starts anew every `slide`.

    >>> hopping("1h", slide="10m", offset="5m")
    hopping('1h', slide='10m', offset='5m')
    """
    return Window(parse_duration(range), parse_duration(slide), parse_duration(offset), id, timed=True)


def parse_window(text: str) -> Window:
    """Read a window as the command line writes it: `[ID=]RANGE[/SLIDE][+OFFSET]`, durations or plain integers.

    >>> parse_window("20m"), parse_window("roll=1h/10m+5m"), parse_window("10/2")
    (tumbling('20m'), hopping('1h', slide='10m', offset='5m', id='roll'), Window(10, 2))
    """
    name, _, shape = text.rpartition("=")
    body, _, offset = shape.partition("+")
    size, _, slide = body.partition("/")
    parts = [size.strip(), slide.strip() or size.strip(), offset.strip()]
    if not all(part.removeprefix("-").isdecimal() for part in parts if part):
        return hopping(parts[0], parts[1], offset=parts[2] or "0s", id=name.strip())
    if not parts[0]:
        msg = f"cannot read {text!r} as a window. Write RANGE or RANGE/SLIDE, for example 20m, 1h/10m or 10/2"
        raise WindowError(msg)
    return Window(int(parts[0]), int(parts[1]), int(parts[2] or 0), name.strip())


def window_set(windows: Iterable[Window]) -> tuple[Window, ...]:
    """Check that windows can stand in one query: at least one, one kind of unit, no id twice.

    >>> window_set([Window(20, 20), Window(20, 20)])
    Traceback (most recent call last):
    ...
    muntin.errors.WindowError: window id 'tumbling_20' stands twice: Window(20, 20) and Window(20, 20). ...
    """
    if isinstance(windows, (Window, str)):
        msg = f"expected several windows, got {windows!r}. Put it in a list, for example [tumbling('20m')]"
        raise WindowError(msg)
    found = tuple(windows)
    if not found:
        msg = "the window set is empty: declare at least one window, for example tumbling('20m')"
        raise WindowError(msg)
    for window in found:
        if not isinstance(window, Window):
            msg = f"expected a window such as tumbling('20m') or Window(20, 20), got {window!r}"
            raise WindowError(msg)
    by_id: dict[str, Window] = {}
    for window in found:
        if window.id in by_id:
            msg = (
                f"window id {window.id!r} stands twice: {by_id[window.id]!r} and {window!r}. "
                "Give each window an id of its own with id='...'"
            )
            raise WindowError(msg)
        by_id[window.id] = window
        if window.timed != found[0].timed:
            msg = (
                f"{found[0]!r} and {window!r} cannot stand in one set: one counts microseconds, "
                "the other a plain unit. Declare all of them with durations, or none"
            )
            raise WindowError(msg)
    return found


def _integer(name: str, value: SupportsIndex, window: Window) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        hint = f"; for durations write tumbling({value!r}) or hopping(...)" if isinstance(value, str) else ""
        msg = f"{name} must be a whole number, got {value!r}{hint}"
        raise WindowError(msg)
    return operator.index(value)


def _positive(name: str, value: SupportsIndex, window: Window) -> int:
    number = _integer(name, value, window)
    if number <= 0:
        msg = f"{name} must be positive, got {window.text(number)}: a window needs 0 < slide <= range"
        raise WindowError(msg)
    return number
