"""A circular buffer for places that are numbered without end."""

from __future__ import annotations

from typing import Final, TypeVar

T = TypeVar("T")

LEAST: Final = 8
"""A buffer as short as this is never halved."""


def grown(slots: list[T], first: int, end: int, blank: T) -> list[T]:
    """Double a circular buffer that holds the positions `first` to `end` - 1, each at its position modulo the length.

    The length is a power of two, so that `position & (length - 1)` finds the slot.

    >>> grown(["e", "f", "c", "d"], 2, 6, "")
    ['', '', 'c', 'd', 'e', 'f', '', '']
    """
    return _moved(slots, first, end, [blank] * (2 * len(slots)))


def shrunk(slots: list[T], first: int, end: int, blank: T) -> list[T]:
    """Halve a circular buffer that is less than a quarter full, so that a window gives back what a burst took.

    The half is then at most half full: a quarter of it comes or goes before the next change, which that pays for.

    >>> shrunk(["", "", "", "", "", "f", "", ""], 5, 6, "")
    ['', 'f', '', '']
    """
    return _moved(slots, first, end, [blank] * (len(slots) // 2))


def _moved(slots: list[T], first: int, end: int, into: list[T]) -> list[T]:
    for position in range(first, end):
        into[position & (len(into) - 1)] = slots[position & (len(slots) - 1)]
    return into


def fitting(count: int) -> int:
    """Give the least length of a circular buffer for `count` positions.

    >>> fitting(0), fitting(1), fitting(5), fitting(8)
    (1, 1, 8, 8)
    """
    return 1 << max(count - 1, 0).bit_length()
