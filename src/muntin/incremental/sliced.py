"""Partial and final aggregation together: the results of one or several windows over a stream in order of time."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING, Any, Generic, cast

from muntin.errors import IncrementalError
from muntin.incremental import ALGORITHMS
from muntin.incremental.partial import Partials
from muntin.incremental.snapshot import pack, unpack
from muntin.incremental.structure import P
from muntin.window.interval import Interval
from muntin.window.slices import cutty
from muntin.window.spec import Window, window_set

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self

    from muntin.incremental.structure import MultiRange, Operator, Structure
    from muntin.window.slices import Slicing


@dataclass(frozen=True, slots=True)
class Answer(Generic[P]):
    """The aggregate of one interval of a window, and the number of partials that it was made of."""

    window: Window
    interval: Interval
    partial: P
    partials: int


class SlicedAggregator(Generic[P]):
    """Fold events into slices, and slices into the results of windows, each at its end.

    An interval without events has no result. Events come in order of time. A call whose combine raises can be made
    again: what was done stays done, and its results come with the next call that succeeds.

    >>> from muntin.aggregate import catalog as agg
    >>> counts = SlicedAggregator([Window(5, 3), Window(10, 10)], agg.count)
    >>> answers = [answer for time in range(12) for answer in counts.add(time, 1)]
    >>> [(str(a.window), a.interval.end, a.partial) for a in answers]
    [('5/3', 2, 2), ('5/3', 5, 5), ('5/3', 8, 5), ('10', 10, 10), ('5/3', 11, 5)]
    """

    def __init__(
        self,
        windows: Iterable[Window],
        operator: Operator[P],
        *,
        cut: Callable[..., Slicing] = cutty,
        algorithm: str = "FlatFIT",
    ) -> None:
        self.windows = window_set(windows)
        self.operator = operator
        self.slicing = cut(*self.windows)
        self.algorithm = _fitting(algorithm, len(self.windows))
        self._partials = Partials(self.slicing, operator)
        self._longest = max(window.range for window in self.windows)
        self._latest = 0  # when the last event came
        self._ready: list[Answer[P]] = []
        self._rest()

    @property
    def slices(self) -> int:
        """The number of partials that the final aggregation holds."""
        return len(self._final)

    def add(self, time: int, partial: P) -> list[Answer[P]]:
        """Take the partial of an event in, and give the results of the intervals that ended at or before its time."""
        self._pass(time)
        resting = not self._partials.started
        self._partials.add(time, partial)
        self._latest = time
        if resting:
            self._wake(time)
        return self._delivered()

    def advance(self, time: int) -> list[Answer[P]]:
        """Let time pass, and give the results of the intervals that ended at or before it."""
        self._pass(time)
        return self._delivered()

    def snapshot(self) -> bytes:
        """Write the state as bytes."""
        index = {window.id: place for place, window in enumerate(self.windows)}
        ready = [(index[a.window.id], *a.interval, a.partial, a.partials) for a in self._ready]
        times = (self._starts[self._oldest :], self._from, self._latest, self._due)
        state = (self._partials.state(), times, ready, self._final.snapshot())
        return pack(self._described, self.operator, state)

    @classmethod
    def restore(
        cls,
        windows: Iterable[Window],
        operator: Operator[P],
        data: bytes,
        *,
        cut: Callable[..., Slicing] = cutty,
        algorithm: str = "FlatFIT",
    ) -> Self:
        """Make an aggregator that goes on where the one that wrote `data` stopped; declare the same windows."""
        sliced = cls(windows, operator, cut=cut, algorithm=algorithm)
        running, times, ready, final = unpack(sliced._described, operator, data)
        sliced._partials.resume(running)
        sliced._starts, sliced._from, sliced._latest, sliced._due = times
        sliced._order()
        sliced._ready = [Answer(sliced.windows[i], Interval(a, b), partial, n) for i, a, b, partial, n in ready]
        sliced._final = sliced.algorithm.restore(operator, final)
        return sliced

    @property
    def _described(self) -> str:
        return f"SlicedAggregator({list(self.windows)}, {self.slicing.kind}, {self.algorithm.card.name})"

    def _rest(self) -> None:
        """Hold nothing, until the next event."""
        self._partials.stop()
        self._final: Structure[P] = self.algorithm(self.operator)
        self._starts: list[int] = []  # of the slices in the final aggregation, from `_oldest` on
        self._oldest = 0
        self._from: list[int] = []  # of each window, the start of the interval that ends next
        self._due: list[tuple[int, int]] = []  # intervals that have ended and have no result yet: end, window
        self._order()

    def _wake(self, time: int) -> None:
        """Expect, of each window, the first interval that the event at `time` falls into."""
        self._from = [next(window.containing(time)).start for window in self.windows]
        self._order()

    def _order(self) -> None:
        self._next: int | float = -math.inf  # the next edge or end: before it, there is nothing to do
        self._needed = [(start, i) for i, start in enumerate(self._from)]
        self._ends = [(start + self.windows[i].range, i) for start, i in self._needed]
        heapify(self._needed)
        heapify(self._ends)

    def _pass(self, time: int) -> None:
        """Go through the edges and ends up to `time`, one after the other."""
        self._partials.check_order(time)
        if time < self._next and not self._due:
            return  # as for nearly every event
        while self._partials.started:
            self._settle()
            edge = self._partials.interval.end
            point = min(edge, self._ends[0][0])
            if self._latest < point - self._longest:
                self._rest()  # no interval that is still to end has an event, however long the silence lasts
                break
            self._next = point
            if point > time:
                break
            if point == edge:
                self._close()
            while self._ends[0][0] == point:
                i = self._ends[0][1]
                self._due.append((point, i))
                self._from[i] += self.windows[i].slide
                heapreplace(self._ends, (point + self.windows[i].slide, i))
                heappush(self._needed, (self._from[i], i))
        self._partials.advance(time)

    def _close(self) -> None:
        """Hand the running slice over to the final aggregation."""
        before = self._partials.state()
        slice_ = self._partials.close()
        try:
            self._final.insert(slice_.partial)
        except BaseException:
            self._partials.resume(before)
            raise
        self._starts.append(slice_.interval.start)

    def _settle(self) -> None:
        """Compute the results that are due, and evict the slices that no interval needs any more."""
        while self._due:
            end, i = self._due[0]
            if self._latest >= end - self.windows[i].range:
                self._ready.append(self._answer(end, self.windows[i]))
            self._due.pop(0)
        while self._needed[0][0] != self._from[self._needed[0][1]]:
            heappop(self._needed)
        while self._oldest < len(self._starts) and self._starts[self._oldest] < self._needed[0][0]:
            self._final.evict()
            self._oldest += 1
        if 2 * self._oldest > len(self._starts):
            del self._starts[: self._oldest]
            self._oldest = 0

    def _answer(self, end: int, window: Window) -> Answer[P]:
        start = end - window.range
        closed = len(self._starts) - bisect_left(self._starts, start, self._oldest)
        # Cutty's windows may end inside a slice, and read it as it stands.
        inside = self._partials.interval.start < end
        if not closed:
            whole = self._partials.read()
        else:
            whole = self._newest(closed)
            if inside and not self._partials.empty:
                whole = self.operator.combine(whole, self._partials.read())
        return Answer(window, Interval(start, end), whole, closed + inside)

    def _newest(self, count: int) -> P:
        if count == len(self._final):
            return self._final.query()
        final = cast("MultiRange[P]", self._final)
        # SlickDeque-Inv keeps an aggregate for each range that it is told of, and folds any other anew.
        register = getattr(final, "register", None)
        if register is not None:
            register(count)
        return final.query_last(count)

    def _delivered(self) -> list[Answer[P]]:
        ready, self._ready = self._ready, []
        return ready


def _fitting(algorithm: str, windows: int) -> type[Structure[Any]]:
    if algorithm not in ALGORITHMS:
        msg = f"unknown algorithm {algorithm!r}: known are {', '.join(ALGORITHMS)}"
        raise IncrementalError(msg)
    kind = ALGORITHMS[algorithm]
    if windows > 1 and kind.card.multi_query is None:
        able = ", ".join(name for name, other in ALGORITHMS.items() if other.card.multi_query is not None)
        msg = (
            f"{algorithm} aggregates one range only, and {windows} windows are to share its partials. Use one of {able}"
        )
        raise IncrementalError(msg)
    return kind
