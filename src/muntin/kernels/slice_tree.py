"""A tree of slices over Python objects: every window from the panes of one key, in order of time."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from muntin.incremental.structure import EMPTY
from muntin.incremental.twostacks import TwoStacks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.window.spec import Window

    # The window's number, where the first starts, how many of the same result there are, and the result.
    Leave: TypeAlias = Callable[[int, int, int, Any], None]


class _Receiver(Protocol):
    """Take the slices of a unit in order of time, each once, then their end."""

    def push(self, start: int, partial: Any) -> None: ...

    def close(self) -> None: ...


class SliceTree:
    """Slices of all widths that windows need, the wide made of the narrow: each window gets those of its own.

    A window is made of slices of gcd(range, slide) panes. They are added up from the widest other slices that tile
    them, as tumbling windows are from their parents in the min-cost graph (Theorem 4).
    """

    def __init__(
        self, windows: Sequence[Window], coarse: int | None, guards: Sequence[AggregateFunction], leave: Leave
    ) -> None:
        operator, lower = _joint(guards)
        self._root = _Slices(1, 0, operator.combine)
        nodes = {(1, 0): self._root}
        self._windows: list[tuple[Window, _Whole | _Sliding]] = []
        self._coarse = coarse
        shapes = [(math.gcd(window.range, window.slide), window) for window in windows]
        for width, offset in sorted({(width, window.offset % width) for width, window in shapes} - {(1, 0)}):
            tiles = [(w, o) for w, o in nodes if w < width and width % w == 0 and (offset - o) % w == 0]
            nodes[width, offset] = _Slices(width, offset, operator.combine)
            nodes[max(tiles)].receivers.append(nodes[width, offset])
        for number, (width, window) in enumerate(shapes):
            found: _Whole | _Sliding = (
                _Whole(number, lower, leave)
                if window.tumbling
                else _Sliding(number, window, width, operator, lower, leave)
            )
            nodes[width, window.offset % width].receivers.append(found)
            self._windows.append((window, found))
        self.push, self.close = self._root.push, self._root.close

    def begin(self, own: int | None) -> None:
        """Begin a unit: only windows whose last pane is in its coarse bucket, from `own` on, leave."""
        if own is not None and self._coarse is not None:
            for window, receiver in self._windows:
                receiver.low = own + 1 - window.range
                receiver.high = receiver.low + self._coarse


def _joint(guards: Sequence[AggregateFunction]) -> tuple[AggregateFunction, Callable[[Any], Any]]:
    """Make one operator of several aggregates, their partials side by side in a tuple."""
    if len(guards) == 1:
        return guards[0], guards[0].lower
    combines, lowers = [guard.combine for guard in guards], [guard.lower for guard in guards]
    joint: AggregateFunction[Any, Any, Any] = replace(
        guards[0],
        name=", ".join(guard.name for guard in guards),
        combine=lambda x, y: tuple([combine(a, b) for combine, a, b in zip(combines, x, y, strict=True)]),
        identity=tuple(guard.identity for guard in guards),
        inverse=None,
        selects=False,
    )
    return joint, lambda partials: [lower(partial) for lower, partial in zip(lowers, partials, strict=True)]


class _Slices:
    """Slices of one width: add up what falls into one, and pass it on when the next begins."""

    __slots__ = ("_combine", "_offset", "_partial", "_start", "_width", "receivers")

    def __init__(self, width: int, offset: int, combine: Callable[[Any, Any], Any]) -> None:
        self._width, self._offset, self._combine = width, offset, combine
        self._start: int | None = None
        self._partial: Any = EMPTY
        self.receivers: list[_Receiver] = []

    def push(self, start: int, partial: Any) -> None:
        start -= (start - self._offset) % self._width
        if start == self._start:
            self._partial = self._combine(self._partial, partial)
            return
        if self._start is not None:
            for receiver in self.receivers:
                receiver.push(self._start, self._partial)
        self._start, self._partial = start, partial

    def close(self) -> None:
        for receiver in self.receivers:
            if self._start is not None:
                receiver.push(self._start, self._partial)
            receiver.close()
        self._start, self._partial = None, EMPTY


class _Whole:
    """A tumbling window: its slices are its intervals."""

    __slots__ = ("_leave", "_lower", "_number", "high", "low")

    def __init__(self, number: int, lower: Callable[[Any], Any], leave: Leave) -> None:
        self._number, self._lower, self._leave = number, lower, leave
        self.low, self.high = -math.inf, math.inf

    def push(self, start: int, partial: Any) -> None:
        if self.low <= start < self.high:
            self._leave(self._number, start, 1, self._lower(partial))

    def close(self) -> None:
        pass


class _Sliding:
    """A hopping window: TwoStacks over the slices that there are, so that a gap costs nothing."""

    __slots__ = (
        "_at",
        "_leave",
        "_lower",
        "_next",
        "_number",
        "_operator",
        "_stacks",
        "_width",
        "_window",
        "high",
        "low",
    )

    def __init__(
        self,
        number: int,
        window: Window,
        width: int,
        operator: AggregateFunction,
        lower: Callable[[Any], Any],
        leave: Leave,
    ) -> None:
        self._number, self._window, self._width = number, window, width
        self._operator, self._lower, self._leave = operator, lower, leave
        self.low, self.high = -math.inf, math.inf
        self._at: deque[int] = deque()
        self._stacks: TwoStacks[Any] = TwoStacks(operator)
        self._next = 0

    def push(self, start: int, partial: Any) -> None:
        # Windows that end here or before hold none of what comes now: they are complete, and each of them holds
        # the newest slices down to its start, never fewer, as all windows that end earlier are gone already.
        self._drain(start)
        window = self._window
        if not self._at:
            # The first window that holds this slice.
            first = max(start + self._width - window.range, self.low)
            self._next = int(first + (window.offset - first) % window.slide)
        if self._next <= start and self._next < self.high:
            self._at.append(start)
            self._stacks.insert(partial)

    def close(self) -> None:
        self._drain(None)
        self._empty()

    def _drain(self, end: int | None) -> None:
        at, window, stacks = self._at, self._window, self._stacks
        while at and (end is None or self._next + window.range <= end):
            start = self._next
            if at[-1] < start:
                self._empty()
                return
            while at[0] < start:
                at.popleft()
                stacks.evict()
            # All windows up to the one that starts in the oldest slice hold the same slices.
            last = min(at[0], self.high - 1, math.inf if end is None else end - window.range)
            count = int(last - start) // window.slide + 1
            if count > 0:
                self._leave(self._number, start, count, self._lower(stacks.query()))
            else:
                self._empty()
                return
            self._next = start + count * window.slide

    def _empty(self) -> None:
        if self._at:
            self._at.clear()
            self._stacks = TwoStacks(self._operator)
