"""Whole events on the stairs: for functions that need them all, such as a median, and for joins."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from muntin.share.stairs_queue import Queue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from muntin.share.stairs_queue import Store


@dataclass(frozen=True, slots=True)
class Items:
    """Keep events as they are, each once in a group, and apply a function to those of a window.

    The function gets an iterable with a length, oldest event first, which is good only until it returns.
    """

    function: Callable[[State], Any]
    combine = None

    def lift(self, value: Any) -> Any:
        """Keep an event."""
        return value

    def core(self) -> Store:
        """Make the queue of a level."""
        return Queue()

    def buffer(self) -> Store:
        """Make the queue of what waits for a level to slide."""
        return Queue()

    def report(self, core: Store, below: State | None) -> State | None:
        """Put what a level holds before the state of the level below, which is newer."""
        return State((core, *below.parts) if below else (core,)) if len(core) else below

    def lower(self, report: State) -> Any:
        """Apply the function."""
        return self.function(report)


@dataclass(frozen=True, slots=True)
class State:
    """The events of a window in order of time, wherever they lie."""

    parts: tuple[Store, ...]

    def __iter__(self) -> Iterator[Any]:
        return (entry.value for entry in chain.from_iterable(self.parts))

    def __len__(self) -> int:
        return sum(map(len, self.parts))
