"""Duplicate elimination over nested windows: each distinct item once on each stair at most, where it last appeared."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import nan
from typing import TYPE_CHECKING, Any

from muntin.errors import IncrementalError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from muntin.share.stairs_queue import Cuts, Entry, Store


def same_key(value: Any) -> Hashable:
    """Give what decides whether two items are the same: the item itself, and one NaN for all NaNs.

    >>> same_key(3) == same_key(3.0), same_key(float("nan")) is same_key(float("nan"))
    (True, True)
    """
    return nan if value != value else value


@dataclass(frozen=True, slots=True)
class DistinctItems:
    """Report the distinct items of each window (section 4, Figure 9), the one that appeared last first.

    Only the most recent appearance of an item is kept on a level. It moves up when it expires, and takes the place of
    an elder one there. Until then the elder is a phantom, and goes when its level reports next. Items are the same if
    their `key` is.
    """

    key: Callable[[Any], Hashable] = same_key
    combine = None

    def lift(self, value: Any) -> Any:
        """Keep an item, if it can be compared with others."""
        try:
            hash(self.key(value))
        except TypeError as error:
            msg = f"items such as {value!r} cannot be told apart: {error}. Pass key=, a function to something hashable"
            raise IncrementalError(msg) from error
        return value

    def core(self) -> Store:
        """Make the items of a level."""
        return Appearances(self.key)

    def buffer(self) -> Store:
        """Make the items that wait for a level to slide."""
        return Appearances(self.key)

    def report(self, core: Appearances, below: _Seen | None) -> _Seen | None:
        """Add the items of a level to those of the levels below, and drop its phantoms."""
        seen = below or _Seen()
        core.forget(seen.keys)
        seen.items += [entry.value for entry in core.newest_first()]
        seen.keys.update(core.keys())
        return seen if seen.items else None

    def lower(self, report: _Seen) -> tuple[Any, ...]:
        """List the items found so far."""
        return tuple(report.items)


@dataclass(slots=True)
class _Seen:
    """The distinct items of the levels that have reported."""

    items: list[Any] = field(default_factory=list)
    keys: set[Hashable] = field(default_factory=set)


class Appearances:
    """Distinct items in order of their last appearance.

    >>> from muntin.share.stairs_queue import Entry
    >>> items = Appearances(same_key)
    >>> for time, value in enumerate("abcab"):
    ...     items.add(Entry(time, time, value), ())
    >>> [(entry.last, entry.value) for entry in items], [entry.value for entry in items.expire(4)], len(items)
    ([(2, 'c'), (3, 'a'), (4, 'b')], ['c', 'a'], 1)
    """

    __slots__ = ("_by_key", "_key")

    def __init__(self, key: Callable[[Any], Hashable]) -> None:
        self._key = key
        self._by_key: dict[Hashable, Entry] = {}

    def add(self, entry: Entry, cuts: Cuts) -> None:
        """Add an item at the new end, in place of an elder appearance."""
        key = self._key(entry.value)
        # Taken out first: an item that is put over another would keep the old one's place in the order.
        self._by_key.pop(key, None)
        self._by_key[key] = entry

    def expire(self, before: int) -> list[Entry]:
        """Take out the items that last appeared before a time, oldest first."""
        expired = []
        for key, entry in self._by_key.items():
            if entry.last >= before:
                break
            expired.append(key)
        return [self._by_key.pop(key) for key in expired]

    def drain(self) -> list[Entry]:
        """Take out all items, oldest first."""
        entries = list(self._by_key.values())
        self._by_key.clear()
        return entries

    def forget(self, keys: set[Hashable]) -> None:
        """Drop the phantoms: items that appear again among `keys`, which are newer."""
        for key in [key for key in self._by_key if key in keys]:
            del self._by_key[key]

    def keys(self) -> Iterator[Hashable]:
        """Go through the keys."""
        return iter(self._by_key)

    def newest_first(self) -> Iterator[Entry]:
        """Go through the items, the one that appeared last first."""
        return reversed(self._by_key.values())

    @property
    def held(self) -> int:
        """Count the items."""
        return len(self._by_key)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)
