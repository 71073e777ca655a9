"""Partial aggregation: events folded into slices, the partials that the final aggregation works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from muntin.errors import IncrementalError
from muntin.incremental.structure import P
from muntin.window.interval import Interval

if TYPE_CHECKING:
    from muntin.incremental.structure import Operator
    from muntin.window.slices import Slicing


@dataclass(frozen=True, slots=True)
class Slice(Generic[P]):
    """A slice that is over: when, and the partial of its events, the identity if there were none."""

    interval: Interval
    partial: P


class Partials(Generic[P]):
    """Fold events, in order of time, into the running slice, and give out each slice when it is over.

    An event costs one combine, the first of a slice none. Slices without events are given out too: the final
    aggregation counts slices.

    >>> from muntin.aggregate import catalog as agg
    >>> from muntin.window.slices import pairs
    >>> from muntin.window.spec import Window
    >>> partials = Partials(pairs(Window(14, 8)), agg.max)
    >>> for time, value in [(1, 5), (4, 9), (7, 2)]:
    ...     print(partials.add(time, value))
    []
    []
    [Slice(interval=Interval(start=0, end=6), partial=9)]
    >>> partials.advance(14)
    [Slice(interval=Interval(start=6, end=8), partial=2), Slice(interval=Interval(start=8, end=14), partial=None)]
    """

    __slots__ = ("_empty", "_end", "_now", "_partial", "_start", "_started", "operator", "slicing")

    def __init__(self, slicing: Slicing, operator: Operator[P]) -> None:
        self.slicing = slicing
        self.operator = operator
        self._now: int | None = None
        self._started = False
        self._start = self._end = 0
        self._partial: P = operator.identity
        self._empty = True

    @property
    def started(self) -> bool:
        """Whether a slice is running; the first event, or the first after `stop`, starts one."""
        return self._started

    @property
    def interval(self) -> Interval:
        """The running slice."""
        return Interval(self._start, self._end)

    @property
    def empty(self) -> bool:
        """Whether the running slice has no event yet."""
        return self._empty

    def read(self) -> P:
        """Give the running slice's partial while it is open, as Cutty's windows need it that end inside a slice.

        >>> from muntin.aggregate import catalog as agg
        >>> from muntin.window.slices import cutty
        >>> from muntin.window.spec import Window
        >>> partials = Partials(cutty(Window(5, 3)), agg.max)
        >>> partials.add(3, 8)
        []
        >>> partials.interval, partials.read()
        (Interval(start=3, end=6), 8)
        """
        if not self.slicing.reads_open:
            msg = (
                f"a slice of {self.slicing.kind} is read when it is over: every window ends on an edge. "
                "Only slices of cutty are read while they are open"
            )
            raise IncrementalError(msg)
        return self._partial

    def add(self, time: int, partial: P) -> list[Slice[P]]:
        """Take the partial of an event in, and give out the slices that were over before it."""
        self.check_order(time)
        if not self._empty and time < self._end:
            partial = self.operator.combine(self._partial, partial)  # first: should it raise, nothing has changed
        closed = self.advance(time)
        if not self._started:
            self._start, self._end = self.slicing.slice_of(time)
            self._started = True
        self._partial, self._empty = partial, False
        return closed

    def advance(self, time: int) -> list[Slice[P]]:
        """Let time pass, and give out the slices that are over, those without events included."""
        self.check_order(time)
        closed: list[Slice[P]] = []
        while self._started and self._end <= time:
            closed.append(self.close())
        self._now = time
        return closed

    def close(self) -> Slice[P]:
        """End the running slice now, and begin the next one."""
        closed = Slice(self.interval, self._partial)
        self._start, self._end = self.slicing.slice_of(self._end)
        self._now = self._start
        self._clear()
        return closed

    def stop(self) -> None:
        """Drop the running slice: the next event starts one wherever it falls, however long the silence was."""
        self._started = False
        self._clear()

    def state(self) -> tuple[Any, ...]:
        """Give the state as plain values."""
        return self._now, self._started, self._start, self._end, self._partial, self._empty

    def resume(self, state: tuple[Any, ...]) -> None:
        """Go on from a `state`."""
        self._now, self._started, self._start, self._end, self._partial, self._empty = state

    def check_order(self, time: int) -> None:
        """Refuse a time that lies before one that was reached, and what is no time."""
        if type(time) is not int:  # neither a truth value, nor a fixed-width integer, which would wrap around
            msg = f"a time must be a whole number (int), got {time!r}. Count in the smallest unit, as microseconds"
            raise IncrementalError(msg)
        if self._now is not None and time < self._now:
            msg = (
                f"an event at time {time} comes after time {self._now} was reached: slices take events in order of "
                "time. Sort the stream, or use the Reactive Aggregator, which inserts out of order"
            )
            raise IncrementalError(msg)

    def _clear(self) -> None:
        self._partial = self.operator.identity
        self._empty = True
