"""A circular buffer for places that are numbered without end."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def grown(slots: list[T], first: int, end: int, blank: T) -> list[T]:
    """Double a circular buffer that holds the positions `first` to `end` - 1, each at its position modulo the length.

    The length is a power of two, so that `position & (length - 1)` finds the slot.

    >>> grown(["e", "f", "c", "d"], 2, 6, "")
    ['', '', 'c', 'd', 'e', 'f', '', '']
    """
    length = 2 * len(slots)
    wider = [blank] * length
    for position in range(first, end):
        wider[position & (length - 1)] = slots[position & (len(slots) - 1)]
    return wider


def fitting(count: int) -> int:
    """Give the least length of a circular buffer for `count` positions.

    >>> fitting(0), fitting(1), fitting(5), fitting(8)
    (1, 1, 8, 8)
    """
    return 1 << max(count - 1, 0).bit_length()
