"""The three events between a window and its aggregate: insert, evict and trigger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

R = TypeVar("R", covariant=True)


class Handler(Protocol[R]):
    """Take the three events: what stands behind the windowing library."""

    def insert(self, key: Hashable, id: int, attributes: Mapping[str, Any], before: int | None = None) -> None:
        """Add a tuple to the window of a key: at its new end, or just before another tuple."""

    def evict(self, key: Hashable, id: int) -> None:
        """Drop a tuple from the window of a key."""

    def trigger(self, key: Hashable, time: int) -> R | None:
        """Give the result of a key's window as it stands, if there is one to give."""


class Insert(NamedTuple):
    """A tuple enters the window of its key; `before` names the tuple that it precedes if it comes out of order."""

    key: Hashable
    id: int
    attributes: Mapping[str, Any]
    before: int | None = None

    def send(self, handler: Handler[R]) -> R | None:
        """Hand the event over."""
        handler.insert(self.key, self.id, self.attributes, self.before)
        return None


class Evict(NamedTuple):
    """A tuple leaves the window of its key."""

    key: Hashable
    id: int

    def send(self, handler: Handler[R]) -> R | None:
        """Hand the event over."""
        handler.evict(self.key, self.id)
        return None


class Trigger(NamedTuple):
    """A result of the key's window is due; `time` is the window's end, or the moment of what triggered it."""

    key: Hashable
    time: int

    def send(self, handler: Handler[R]) -> R | None:
        """Hand the event over, and give back the result."""
        return handler.trigger(self.key, self.time)


Event: TypeAlias = Insert | Evict | Trigger
