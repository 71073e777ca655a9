"""Join of two streams over many windows: one probe for all, each match tagged with the windows that it belongs to."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from muntin.errors import IncrementalError, WindowError
from muntin.share.distinct import same_key
from muntin.window.edges import Comb
from muntin.window.spec import Window, window_set

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Reversible

Side: TypeAlias = Literal["left", "right"]
_OPPOSITE: Final[dict[str, Side]] = {"left": "right", "right": "left"}


class Tag(NamedTuple):
    """A window that a match belongs to: its intervals that end at `since`, one slide later, and so on before `expires`.

    At `expires` the window slides past the elder of the two events, and the match is to be cancelled.
    """

    window: Window
    since: int
    expires: int


class Match(NamedTuple):
    """Two events with one key that share an interval of every tagged window."""

    key: Hashable
    left: Any
    right: Any
    tags: tuple[Tag, ...]


class NestedJoin:
    """Match events of two streams that have the same key and lie in the same interval of a window.

    An event is held once, and probes once against all that any window may still hold, newest first, whatever the
    number of windows (section 4). Windows whose intervals reach back less far drop out on the way, so the windows of a
    match are always the tail of one list. Both streams come in one order of time. A key that is None matches nothing.

    >>> join = NestedJoin([Window(4, 2, id="narrow"), Window(8, 2, id="wide")])
    >>> join.add("left", 3, "k", "l3"), join.add("right", 7, "k", "r7")
    ([], [Match(key='k', left='l3', right='r7', tags=(Tag(window=Window(8, 2, id='wide'), since=8, expires=12),))])
    """

    def __init__(self, windows: Iterable[Window] = ()) -> None:
        pool = tuple(windows)
        self._reading: dict[str, _Reader] = {w.id: _Reader(w, -math.inf) for w in (window_set(pool) if pool else ())}
        self._suspended: dict[str, Window] = {}
        self._by_key: dict[Side, dict[Hashable, deque[tuple[int, Any]]]] = {"left": {}, "right": {}}
        self._arrived: deque[tuple[int, Side, Hashable]] = deque()
        self._since: float = -math.inf  # all events from then on are held
        self._now: int | None = None
        self._levels: list[tuple[int, _Reader]] = []
        self._until: float = -math.inf  # until then, the levels are good

    @property
    def held(self) -> int:
        """Count the events that are held, of both streams."""
        return len(self._arrived)

    def add(self, side: Side, time: int, key: Hashable, item: Any) -> list[Match]:
        """Take in an event, and give its matches with those that came before, the newest first."""
        if side not in _OPPOSITE:
            msg = f"side must be 'left' or 'right', got {side!r}"
            raise IncrementalError(msg)
        known = _comparable(key)
        self.advance(time)
        if known is None:
            return []
        matches = []
        for other, tags in self._probe(time, self._by_key[_OPPOSITE[side]].get(known, ())):
            pair = (item, other) if side == "left" else (other, item)
            matches.append(Match(key, *pair, tags))
        if self._reading:
            self._by_key[side].setdefault(known, deque()).append((time, item))
            self._arrived.append((time, side, known))
        else:
            self._since = time + 1
        return matches

    def advance(self, time: int) -> None:
        """Let time pass, and drop the events that no window can hold any more."""
        if isinstance(time, bool) or not isinstance(time, int):
            msg = f"a time must be a whole number in the windows' unit, got {time!r}"
            raise IncrementalError(msg)
        if self._now is not None and time < self._now:
            msg = (
                f"time {time} lies before {self._now}: events must come in order of time. Sort them, or drop late ones"
            )
            raise IncrementalError(msg)
        self._now = time
        if time >= self._until:
            self._evict(time)

    def register(self, window: Window) -> list[Match]:
        """Add a window, and give its matches among the events that are held: later ones come as always.

        Its first interval is the first whose events are all held, and that has not ended.
        """
        window_set([*self._suspended.values(), *(reader.window for reader in self._reading.values()), window])
        reader = _Reader(window, self._since)
        self._reading[window.id] = reader
        if self._now is None:
            return []
        reader.since = max(reader.since, reader.starts.after(self._now - window.range))
        self._order(self._now)
        return list(self._caught_up(reader))

    def drop(self, name: str) -> None:
        """Forget a window, running or suspended."""
        if self._suspended.pop(name, None) is None:
            self._leave(name)

    def suspend(self, name: str) -> None:
        """Leave a window out of all matches from now on, but remember it."""
        self._suspended[name] = self._leave(name)

    def resume(self, name: str) -> list[Match]:
        """Add a suspended window anew, as `register` does."""
        if name not in self._suspended:
            known = ", ".join(map(repr, self._suspended)) or "none"
            msg = f"window {name!r} is not suspended, so it cannot be resumed. Suspended are {known}"
            raise WindowError(msg)
        return self.register(self._suspended.pop(name))

    def _leave(self, name: str) -> Window:
        if name not in self._reading:
            known = ", ".join(map(repr, self._reading)) or "none"
            msg = f"no window {name!r} is running. Running are {known}"
            raise WindowError(msg)
        window = self._reading.pop(name).window
        if self._now is not None:
            self._evict(self._now)
        return window

    def _order(self, now: int) -> None:
        """List the windows by how far back an event that comes now can match, the shortest reach first."""
        readers = self._reading.values()
        self._levels = sorted(((reader.reach(now), reader) for reader in readers), key=lambda level: -level[0])
        # How far back a window reaches changes only where one of its intervals ends.
        self._until = min((reader.ends.after(now) for reader in readers), default=math.inf)

    def _evict(self, now: int) -> None:
        self._order(now)
        oldest = self._levels[-1][0] if self._levels else math.inf
        arrived = self._arrived
        while arrived and arrived[0][0] < oldest:
            time, side, key = arrived.popleft()
            events = self._by_key[side][key]
            events.popleft()
            if not events:
                del self._by_key[side][key]
            self._since = max(self._since, time + 1)

    def _probe(self, time: int, events: Reversible[tuple[int, Any]]) -> Iterator[tuple[Any, tuple[Tag, ...]]]:
        """Go through the events of a key, newest first, until no window reaches back as far."""
        levels, dropped = self._levels, 0
        for before, other in reversed(events):
            while dropped < len(levels) and levels[dropped][0] > before:
                dropped += 1
            if dropped == len(levels):
                return
            yield other, tuple(reader.tag(start, before) for start, reader in levels[dropped:])

    def _caught_up(self, reader: _Reader) -> Iterator[Match]:
        """Find the matches of one window among the events that are held."""
        for key, lefts in self._by_key["left"].items():
            for left_time, left in lefts:
                for right_time, right in self._by_key["right"].get(key, ()):
                    elder, newer = sorted((left_time, right_time))
                    start = reader.reach(newer)
                    if start <= elder:
                        yield Match(key, left, right, (reader.tag(start, elder),))


class _Reader:
    """A window that runs, and the start of its first interval."""

    __slots__ = ("ends", "since", "starts", "window")

    def __init__(self, window: Window, since: float) -> None:
        self.window = window
        self.starts = Comb(window.slide, window.offset)
        self.ends = Comb(window.slide, window.offset + window.range)
        self.since = since

    def reach(self, time: int) -> int:
        """Find the start of the first interval that holds an event at a time."""
        start = self.starts.after(time - self.window.range)
        return start if start >= self.since else self.starts.after(math.ceil(self.since) - 1)

    def tag(self, start: int, elder: int) -> Tag:
        """Say which intervals hold a match, given the start of the first and the time of the elder event."""
        window = self.window
        return Tag(window, start + window.range, self.starts.at_or_before(elder) + window.range + window.slide)


def _comparable(key: Hashable) -> Hashable | None:
    """Give what keys are compared by; None for a key that equals nothing, as a null in SQL."""
    try:
        hash(key)
    except TypeError as error:
        msg = f"a key such as {key!r} cannot be compared: {error}. Use a number, text, or a tuple of these"
        raise IncrementalError(msg) from error
    if isinstance(key, tuple):
        return None if None in key else tuple(map(same_key, key))
    return None if key is None else same_key(key)
