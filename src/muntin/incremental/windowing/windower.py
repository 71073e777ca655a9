"""The windower: a stream of tuples, punctuation and time in; insert, evict and trigger events out."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from muntin.errors import IncrementalError
from muntin.incremental.snapshot import seal, unseal
from muntin.incremental.windowing.events import Event, Evict, Insert, Trigger
from muntin.incremental.windowing.held import Held
from muntin.incremental.windowing.policies import Moment, Sliding, Tumbling

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from typing import Self

WHOLE: Final = ()
"""The key of a window that is not partitioned."""


@dataclass(slots=True)
class _Partition:
    """The window of one key, and how far its stream has come."""

    since: int
    """When its last tuple came."""
    held: Held = field(default_factory=Held)
    tuples: int = 0
    punctuations: int = 0
    furthest: Any = None
    anchor: Any = None
    """The position, as the slide measures it, of the first tuple since the last trigger."""

    def moment(self, time: int) -> Moment:
        return Moment(time, self.tuples, self.punctuations, self.furthest)


class Windower:
    """Turn tuples into the events of one window, or of one window per key.

    A tuple goes this way: the ends of time slides up to its time trigger, for all keys; a delta slide that it exceeds
    triggers; what the extent no longer keeps is evicted; it is inserted; a count slide that it fills triggers. Time is
    the greatest time seen, and common to all keys. A tuple that comes out of order is inserted at its place in time
    if the extent still keeps it, otherwise it is dropped and counted as `late`.

    A key's state goes when a trigger by time finds its window empty. Counts, deltas and punctuation run on through
    an empty window: there, state goes when the key was without a tuple for `idle`. A window that is never empty, such
    as the last 100 tuples, triggers at every end of a time slide, through a long silence too.

    >>> from muntin.incremental.windowing.policies import CountPolicy
    >>> windower = Windower(Sliding(CountPolicy(2)), partitioned=False)
    >>> for time, row in enumerate([{"x": 4}, {"x": 7}, {"x": 3}]):
    ...     for event in windower.arrive("ada", time, row):
    ...         print(event)
    Insert(key=(), id=0, attributes={'x': 4}, before=None)
    Trigger(key=(), time=0)
    Insert(key=(), id=1, attributes={'x': 7}, before=None)
    Trigger(key=(), time=1)
    Evict(key=(), id=0)
    Insert(key=(), id=2, attributes={'x': 3}, before=None)
    Trigger(key=(), time=2)
    """

    def __init__(self, window: Sliding | Tumbling, *, partitioned: bool = True, idle: int | None = None) -> None:
        if idle is not None and (isinstance(idle, bool) or not isinstance(idle, int) or idle < 1):
            msg = f"Windower: idle must be a length of time of at least 1, or None, got {idle!r}"
            raise IncrementalError(msg)
        self.window = window
        self.partitioned = partitioned
        self.idle = idle
        self.time: int | None = None
        self.late = 0
        self._next = 0
        # In the order of their last tuples where `idle` is given, else of their first.
        # Not a plain dict, which looks for its first key behind all that were taken out before it.
        self._partitions: OrderedDict[Hashable, _Partition] = OrderedDict()

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """The keys that hold any state."""
        return tuple(self._partitions)

    def arrive(self, key: Hashable, time: int, attributes: Mapping[str, Any]) -> list[Event]:
        """Take a tuple in."""
        key = key if self.partitioned else WHOLE
        extent, slide = self.window.extent, self.window.slide
        before, now = self.time, self._clock(time)
        # An attribute that is missing, or of another type than before, is found out before anything has changed.
        known = self._partitions.get(key)
        partition = _Partition(now) if known is None else known
        position, along = self._positions(partition, time, attributes)

        events = self._advance(now)
        if known is not None and key not in self._partitions:  # idle for too long: it starts anew
            partition = _Partition(now)
            position, along = self._positions(partition, time, attributes)
        furthest = position if partition.furthest is None else max(partition.furthest, position)
        then = Moment(now, partition.tuples + 1, partition.punctuations, furthest)
        if extent.closed(position, then) if self.window.tumbles else not extent.keeps(position, then):
            self.late += 1
            return events
        if partition.anchor is None or before is None:
            partition.anchor = along
        elif slide.passed(along, partition.anchor):
            # As the window stood before this tuple came, with all that was in it then.
            events += self._fire(key, partition, before, before)
            partition.anchor = along
        self._partitions[key] = partition
        if self.idle is not None:
            self._partitions.move_to_end(key)
        partition.since, partition.tuples, partition.furthest = now, partition.tuples + 1, furthest
        events += self._expire(key, partition, now)
        following = partition.held.add(self._next, time, position)
        events.append(Insert(key, self._next, attributes, following))
        self._next += 1
        if slide.filled(partition.tuples):
            events += self._fire(key, partition, now, now)
        return events

    def punctuate(self, time: int, key: Hashable | None = None) -> list[Event]:
        """Take a punctuation in, for one key or, where none is named, for all."""
        now = self._clock(time)
        events = self._advance(now)
        wanted = WHOLE if not self.partitioned else key
        for name, partition in self._partitions.items():
            if key is None or name == wanted:
                # The punctuation closes a stretch: until it has triggered, it does not count.
                if self.window.slide.marked(partition.punctuations + 1):
                    events += self._fire(name, partition, now, now)
                partition.punctuations += 1
                events += self._expire(name, partition, now)
        return events

    def advance(self, time: int) -> list[Event]:
        """Let time pass without a tuple, and evict what has grown too old."""
        now = self._clock(time)
        events = self._advance(now)
        for key, partition in self._partitions.items():
            events += self._expire(key, partition, now)
        return events

    def snapshot(self) -> bytes:
        """Write the state of all keys as bytes."""
        state = []
        for key, p in self._partitions.items():
            columns = [list(column) for column in zip(*p.held.tuples(), strict=True)]
            state.append((key, p.since, p.tuples, p.punctuations, p.furthest, p.anchor, columns))
        return seal("Windower", self._described, (self.time, self.late, self._next, state))

    @classmethod
    def restore(
        cls, window: Sliding | Tumbling, data: bytes, *, partitioned: bool = True, idle: int | None = None
    ) -> Self:
        """Make a windower that goes on where the one that wrote `data` stopped; declare the same window."""
        windower = cls(window, partitioned=partitioned, idle=idle)
        windower.time, windower.late, windower._next, state = unseal("Windower", windower._described, data)
        for key, since, tuples, punctuations, furthest, anchor, columns in state:
            held = Held(zip(*columns, strict=True))
            windower._partitions[key] = _Partition(since, held, tuples, punctuations, furthest, anchor)
        return windower

    @property
    def _described(self) -> str:
        return f"{self.window!r}, partitioned={self.partitioned}, idle={self.idle}"

    def _positions(self, partition: _Partition, time: int, attributes: Mapping[str, Any]) -> tuple[Any, Any]:
        """Place a tuple as the extent and as the slide measure."""
        reached = (time, partition.tuples + 1, partition.punctuations)
        position = self.window.extent.position(Moment(*reached, partition.furthest), attributes)
        return position, self.window.slide.position(Moment(*reached, partition.anchor), attributes)

    def _clock(self, time: int) -> int:
        if isinstance(time, bool) or not isinstance(time, int):
            msg = f"Windower: a time must be a whole number, got {time!r}. Count in the smallest unit, as microseconds"
            raise IncrementalError(msg)
        return time if self.time is None else max(time, self.time)

    def _advance(self, now: int) -> list[Event]:
        """Trigger at all ends of time slides up to now, and drop the keys that have nothing to keep."""
        events: list[Event] = []
        extent, slide = self.window.extent, self.window.slide
        for end in slide.ends(now if self.time is None else self.time, now):
            if not self._partitions:
                break  # however long the silence was
            for key, partition in tuple(self._partitions.items()):
                # The window [.., end) stands as it was one unit before its end.
                events += self._expire(key, partition, end - 1)
                # One trigger more, for an empty window, lets those behind us drop their state too.
                if not partition.held and not (extent.counts or slide.counts):
                    del self._partitions[key]
                events += self._fire(key, partition, end - 1, end)
        self.time = now
        while self.idle is not None and self._partitions:
            key, partition = next(iter(self._partitions.items()))
            if now - partition.since < self.idle:
                break
            del self._partitions[key]
            events += [Evict(key, id) for id in partition.held.clear()]
            events.append(Trigger(key, now))
        return events

    def _fire(self, key: Hashable, partition: _Partition, now: int, end: int) -> list[Event]:
        events = self._expire(key, partition, now)
        events.append(Trigger(key, end))
        if self.window.tumbles:
            events += [Evict(key, id) for id in partition.held.clear()]
        return events

    def _expire(self, key: Hashable, partition: _Partition, now: int) -> list[Event]:
        if self.window.tumbles:
            return []
        keeps, moment = self.window.extent.keeps, partition.moment(now)
        return [Evict(key, id) for id in partition.held.leaving(lambda position: not keeps(position, moment))]
