"""Coverage: which windows can be computed from which others (Theorems 1 to 4), and from how few intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin.errors import CoverError

if TYPE_CHECKING:
    from muntin.window.interval import Interval
    from muntin.window.spec import Window


def covered_by(child: Window, parent: Window) -> bool:
    """Tell whether every interval of `child` is a union of intervals of `parent` (Definition 1, Theorem 1).

    >>> from muntin import Window
    >>> covered_by(Window(10, 2), Window(8, 2)), covered_by(Window(10, 2), Window(8, 2, offset=1))
    (True, False)
    """
    if child == parent:
        return True
    return (
        child.range > parent.range
        and (child.range - parent.range) % parent.slide == 0
        and _starts_coincide(child, parent)
    )


def partitioned_by(child: Window, parent: Window) -> bool:
    """Tell whether `parent`'s intervals cover each of `child`'s without overlap (Definition 5, Theorem 4).

    >>> from muntin import Window
    >>> partitioned_by(Window(40, 40), Window(20, 20)), partitioned_by(Window(10, 2), Window(8, 2))
    (True, False)
    """
    if child == parent:
        return True
    return (
        parent.tumbling
        and child.range > parent.range
        and child.range % parent.slide == 0
        and _starts_coincide(child, parent)
    )


def multiplier(child: Window, parent: Window) -> int:
    """Count the intervals of `parent` inside one interval of `child` (Theorem 3).

    >>> from muntin import Window
    >>> multiplier(Window(10, 2), Window(8, 2))
    2
    """
    if not covered_by(child, parent):
        msg = (
            f"{child!r} is not covered by {parent!r}: the parent's slide must divide the child's slide, "
            "the difference of the ranges and the difference of the offsets, and its range must be shorter"
        )
        raise CoverError(msg)
    return 1 + (child.range - parent.range) // parent.slide


def covering_set(interval: Interval, parent: Window) -> tuple[Interval, ...]:
    """List every interval of `parent` inside an interval (Definition 2).

    >>> from muntin import Window
    >>> from muntin.window.interval import Interval
    >>> covering_set(Interval(2, 12), Window(8, 2))
    (Interval(start=2, end=10), Interval(start=4, end=12))
    """
    return tuple(parent.intervals(*interval))


def sparse_count(child: Window, parent: Window, *, overlap: bool) -> int | None:
    """Count the fewest intervals of `parent` that make up one interval of `child`; None if no set does.

    With `overlap` an event may lie in several of them, as MIN tolerates. Without, they tile the child
    exactly, which a *hopping* parent can do too: so SUM need not read tumbling parents alone.

    >>> from muntin import Window
    >>> sparse_count(Window(1440, 1), Window(720, 1), overlap=False), multiplier(Window(1440, 1), Window(720, 1))
    (2, 721)
    >>> [sparse_count(Window(10, 2), Window(6, 2), overlap=overlap) for overlap in (True, False)]
    [2, None]
    """
    if not _starts_coincide(child, parent):
        return None
    excess = child.range - parent.range
    if excess <= 0:
        # Equal ranges: the child's intervals are some of the parent's own, one each, whatever the aggregate.
        return 1 if excess == 0 else None
    if overlap:
        # Each further interval may start no later than where the last one ended, on the parent's slide.
        step = parent.range - parent.range % parent.slide
        return None if excess % parent.slide else 1 - (-excess // step)
    if parent.range % parent.slide or child.range % parent.range:
        return None
    return child.range // parent.range


def sparse_cover(child: Window, parent: Window, *, overlap: bool) -> tuple[int, ...] | None:
    """List where the intervals of a smallest cover start, counted from the child's start; None if there is none.

    >>> from muntin import Window
    >>> sparse_cover(Window(10, 2), Window(4, 2), overlap=True)
    (0, 4, 6)
    """
    count = sparse_count(child, parent, overlap=overlap)
    if count is None:
        return None
    step, last = parent.range - parent.range % parent.slide, child.range - parent.range
    return tuple(min(i * step, last) for i in range(count))


def dense_count(child: Window, parent: Window, *, overlap: bool) -> int | None:
    """Count the whole covering set where the child is covered, or without `overlap` partitioned; else None.

    >>> from muntin import Window
    >>> [dense_count(Window(10, 2), Window(8, 2), overlap=overlap) for overlap in (True, False)]
    [2, None]
    """
    # Theorems 1, 3 and 4 in one pass: a graph of a thousand windows asks this half a million times.
    excess, slide = child.range - parent.range, parent.slide
    if excess % slide or child.slide % slide or (child.offset - parent.offset) % slide:
        return None
    if excess <= 0:
        return 1 if excess == 0 and child.slide == slide else None
    return 1 + excess // slide if overlap or parent.range == slide else None


def dense_cover(child: Window, parent: Window) -> tuple[int, ...]:
    """List where the intervals of the whole covering set start, counted from the child's start (Theorem 3).

    >>> from muntin import Window
    >>> dense_cover(Window(10, 2), Window(4, 2))
    (0, 2, 4, 6)
    """
    return tuple(i * parent.slide for i in range(multiplier(child, parent)))


def _starts_coincide(child: Window, parent: Window) -> bool:
    """Tell whether each start of the child is a start of the parent."""
    return child.slide % parent.slide == 0 and (child.offset - parent.offset) % parent.slide == 0
