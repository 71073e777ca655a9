"""Policies: what a window's extent and its slide are measured by: time, count, an attribute, or punctuation.

They are those of Gedik's windowing library (Software: Practice and Experience, 2014), which Tangwongsan et al. put
in front of the Reactive Aggregator: one policy says what the window holds, another when a result is due. Each policy
gives every tuple a *position*: its time, its number, the value of an attribute, the punctuations before it. An extent
holds the positions not too far behind the newest; a slide is a distance between positions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from muntin.errors import WindowError
from muntin.window.edges import Comb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Moment(NamedTuple):
    """Say how far a key's stream has come: what the policies measure by."""

    time: int
    tuples: int
    punctuations: int
    furthest: Any = None
    """The greatest position so far, or the slide's anchor: what the policy that asks measures from."""


class Policy(ABC):
    """Place tuples, and say what an extent holds and when a slide is due; a kind of policy overrides what it does."""

    __slots__ = ()

    counts: ClassVar[bool] = True
    """Whether a slide rests on what came to one key: then an empty window's count must be kept."""

    @abstractmethod
    def position(self, moment: Moment, attributes: Mapping[str, Any]) -> Any:
        """Place a tuple that arrives at a moment; the moment's numbers count the tuple itself."""

    @abstractmethod
    def keeps(self, position: Any, now: Moment) -> bool:
        """Tell, as a sliding extent, whether it holds a position."""

    def closed(self, position: Any, now: Moment) -> bool:
        """Tell, as a tumbling extent, whether a tuple belongs into a window that has tumbled already."""
        return False

    def ends(self, after: int, until: int) -> Sequence[int]:
        """List, as a slide, the times in `(after, until]` at which all keys trigger."""
        return ()

    def passed(self, position: Any, anchor: Any) -> bool:
        """Tell, as a slide, whether an arriving tuple triggers before it is inserted."""
        return False

    def filled(self, tuples: int) -> bool:
        """Tell, as a slide, whether the tuple just inserted triggers."""
        return False

    def marked(self, punctuations: int) -> bool:
        """Tell, as a slide, whether the punctuation that just came triggers."""
        return False


def _check_whole(policy: str, name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        msg = f"{policy}: {name} must be a whole number of at least 1, got {value!r}"
        raise WindowError(msg)


@dataclass(frozen=True, slots=True)
class TimePolicy(Policy):
    """Measure by time. As an extent, the last `length`; as a slide, every `length` on the clock, from `offset` on.

    A window that ends at e holds `[e - length, e)`. Where a tuple or a punctuation triggers, its own time belongs to
    the window: e is the next whole unit.

    >>> TimePolicy(10).ends(7, 30)
    range(10, 31, 10)
    >>> TimePolicy(10).keeps(5, Moment(time=14, tuples=3, punctuations=0))
    True
    """

    length: int
    offset: int = 0
    counts: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_whole("TimePolicy", "length", self.length)
        if isinstance(self.offset, bool) or not isinstance(self.offset, int):
            msg = f"TimePolicy: offset must be a whole number, got {self.offset!r}"
            raise WindowError(msg)

    def position(self, moment: Moment, attributes: Mapping[str, Any]) -> int:
        """Place a tuple by its time."""
        return moment.time

    def keeps(self, position: int, now: Moment) -> bool:
        """Hold what is younger than `length`."""
        return now.time - position < self.length

    def closed(self, position: int, now: Moment) -> bool:
        """Close a window when the clock reaches its end."""
        return position < self._comb.at_or_before(now.time)

    def ends(self, after: int, until: int) -> range:
        """Trigger at every end of a slide."""
        return self._comb.between(after + 1, until + 1)

    @property
    def _comb(self) -> Comb:
        return Comb(self.length, self.offset)


@dataclass(frozen=True, slots=True)
class CountPolicy(Policy):
    """Measure by tuples. As an extent, the `count` that came last; as a slide, after every `count` of them.

    >>> [n for n in range(1, 8) if CountPolicy(3).filled(n)]
    [3, 6]
    """

    count: int

    def __post_init__(self) -> None:
        _check_whole("CountPolicy", "count", self.count)

    def position(self, moment: Moment, attributes: Mapping[str, Any]) -> int:
        """Place a tuple by its number in the order of arrival."""
        return moment.tuples

    def keeps(self, position: int, now: Moment) -> bool:
        """Hold the last `count`."""
        return now.tuples - position < self.count

    def filled(self, tuples: int) -> bool:
        """Trigger with every `count`-th tuple, once it is in."""
        return tuples % self.count == 0


@dataclass(frozen=True, slots=True)
class DeltaPolicy(Policy):
    """Measure by an attribute. As an extent, what is at most `delta` below the greatest value; as a slide, `delta`.

    A slide triggers *before* the tuple whose value exceeds that of the first tuple since the last trigger by more
    than `delta`: that tuple begins the next stretch. Values need not rise all the time.

    >>> DeltaPolicy("km", 5).keeps(12, Moment(time=0, tuples=0, punctuations=0, furthest=17))
    True
    >>> DeltaPolicy("km", 5).passed(17, anchor=12), DeltaPolicy("km", 5).passed(18, anchor=12)
    (False, True)
    """

    attribute: str
    delta: Any

    def __post_init__(self) -> None:
        # A number, a timedelta, a decimal: whatever a difference of the attribute's values can be compared to.
        try:
            wrong = self.delta != self.delta or self.delta < self.delta - self.delta
        except TypeError as error:
            msg = f"DeltaPolicy: delta must be a difference, as a number or a timedelta is, got {self.delta!r}"
            raise WindowError(msg) from error
        if wrong:
            msg = f"DeltaPolicy: delta must not be negative, got {self.delta!r}"
            raise WindowError(msg)

    def position(self, moment: Moment, attributes: Mapping[str, Any]) -> Any:
        """Place a tuple by the attribute's value."""
        value: Any = attributes.get(self.attribute)
        origin = moment.furthest
        try:
            # NaN and the infinities have no distance, not even from themselves.
            measured = value - value <= self.delta and (origin is None or value - origin is not None)
        except (ArithmeticError, TypeError):
            measured = False
        if not measured:
            msg = (
                f"DeltaPolicy measures by {self.attribute!r}, and a tuple at time {moment.time} has "
                f"{'no such value' if value is None else repr(value)}, which has no distance"
                f"{'' if origin is None else f' from {origin!r}'} to compare with {self.delta!r}. "
                "Drop, fill or cast such values before the window"
            )
            raise WindowError(msg)
        return value

    def keeps(self, position: Any, now: Moment) -> bool:
        """Hold what is at most `delta` behind the greatest value."""
        return bool(now.furthest - position <= self.delta)

    def passed(self, position: Any, anchor: Any) -> bool:
        """Trigger before a tuple more than `delta` beyond the anchor."""
        return bool(position - anchor > self.delta)


@dataclass(frozen=True, slots=True)
class PunctuationPolicy(Policy):
    """Measure by punctuation. As an extent, what came since the `count`-th last one; as a slide, every `count` of them.

    >>> PunctuationPolicy().marked(1), PunctuationPolicy(2).marked(1)
    (True, False)
    """

    count: int = 1

    def __post_init__(self) -> None:
        _check_whole("PunctuationPolicy", "count", self.count)

    def position(self, moment: Moment, attributes: Mapping[str, Any]) -> int:
        """Place a tuple by the punctuations before it."""
        return moment.punctuations

    def keeps(self, position: int, now: Moment) -> bool:
        """Hold the last `count` stretches between punctuations, the open one included."""
        return now.punctuations - position < self.count

    def marked(self, punctuations: int) -> bool:
        """Trigger at every `count`-th punctuation."""
        return punctuations % self.count == 0


@dataclass(frozen=True, slots=True)
class Sliding:
    """Hold what the extent keeps, and trigger by the slide; without one, at every tuple.

    >>> Sliding(TimePolicy(24 * 60), TimePolicy(1))
    Sliding(extent=TimePolicy(length=1440, offset=0), slide=TimePolicy(length=1, offset=0))
    """

    extent: Policy
    slide: Policy = CountPolicy(1)
    tumbles: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Tumbling:
    """Hold all tuples until the policy triggers, then start anew with none.

    >>> Tumbling(CountPolicy(4)).slide
    CountPolicy(count=4)
    """

    extent: Policy
    tumbles: ClassVar[bool] = True

    @property
    def slide(self) -> Policy:
        """The policy that says when the window is full."""
        return self.extent
