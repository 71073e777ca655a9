"""All factor windows that could be of use, where Algorithm 3 looks at one per window of the graph."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from muntin.logical.divisors import divisors
from muntin.window.slices import common_measure
from muntin.window.spec import Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from muntin.logical.relation import Relation


@dataclass(frozen=True, slots=True)
class Candidates:
    """Factor windows to choose from; `complete` says that no other could lower the cost further."""

    windows: tuple[Window, ...]
    complete: bool


def candidates(windows: Sequence[Window], relation: Relation, limit: int) -> Candidates:
    """List the factor windows worth considering, about `limit` of them at most.

    Starts, ends and slides are taken on the widest common pane of the windows: finer ones only fire more
    often. Covers of a range that is no multiple of its slide are the exception: there the slides may be any
    whole fractions of the windows' own, down to the pane. All shapes that may serve some window are listed;
    where they are more than `limit`, a choice of them is, and the answer is marked as not complete.

    >>> from muntin.logical.relation import Relation
    >>> candidates([Window(20, 20), Window(30, 30)], Relation("partitioned", "dense"), limit=100).windows
    (Window(10, 10),)
    """
    distinct = sorted(set(windows))
    found = _first(_shapes(distinct, relation), limit, distinct)
    if found is not None:
        return Candidates(found, complete=True)
    # Exact tilings are far fewer than covers, and legal for whatever tolerates overlap too.
    tilings = _first(_shapes(distinct, replace(relation, sharing="partitioned")), limit // 2, distinct) or ()
    chosen = {*tilings, *_promising(distinct, relation, limit - len(tilings))}
    return Candidates(tuple(sorted(chosen.difference(distinct))), complete=False)


def _first(shapes: Iterable[Window], limit: int, windows: Sequence[Window]) -> tuple[Window, ...] | None:
    """Gather all shapes but the windows themselves; None where they are more than the limit."""
    found = set(windows)
    for shape in shapes:
        found.add(shape)
        if len(found) > limit + len(windows):
            return None
    return tuple(sorted(found.difference(windows)))


def _shapes(windows: Sequence[Window], relation: Relation) -> Iterator[Window]:
    pane = common_measure(windows)
    if relation.sharing == "none":
        return
    if relation.sharing == "partitioned" and relation.covers == "dense":
        yield from tumbling_closure(windows)
        return
    for slide in sorted(set(_slides(windows, relation, pane)), reverse=True):
        served = [w for w in windows if w.slide % slide == 0]
        for residue in sorted({w.offset % slide for w in served}):
            readers = [w for w in served if w.offset % slide == residue]
            for size in _sizes(readers, slide, relation, pane):  # one by one: there may be millions
                yield Window(size, slide, residue, timed=windows[0].timed)


def _slides(windows: Sequence[Window], relation: Relation, pane: int) -> Iterator[int]:
    """List the slides a parent can have and still serve one of the windows, at any remove."""
    yield from (pane * d for w in windows for d in divisors(w.slide // pane))
    if relation.sharing == "covered" and any(w.range % w.slide for w in windows):
        # [0, 6), [5, 11) and [10, 16) overlap by one: W<6,5> serves W<16,10> better than a pane of 2 does.
        yield from (slide for w in windows for slide in divisors(w.slide) if slide > pane)


def _sizes(readers: Sequence[Window], slide: int, relation: Relation, pane: int) -> Iterator[int]:
    """List the ranges a parent with this slide can have and still serve one of the readers, at any remove."""
    if relation.sharing == "partitioned":
        # A chain of exact tilings: each range divides the next, and the slide divides the range.
        for size in {w.range for w in readers}:
            yield from (pane * d for d in divisors(size // pane) if pane * d % slide == 0)
            yield size
        return
    # Ends fall on the parent's slide, so ranges agree with a reader's modulo the slide.
    longest: dict[int, int] = {}
    for w in readers:
        longest[w.range % slide] = max(w.range, longest.get(w.range % slide, 0))
    for residue, size in longest.items():
        yield from range(residue + slide if residue else slide, size + 1, slide)


def tumbling_closure(windows: Iterable[Window]) -> Iterator[Window]:
    """Yield the tumbling windows that are the widest common pane of some of the windows.

    No other tumbling factor window is needed: one that serves some windows can be widened to their common
    pane, which costs no more to compute and less to read.

    >>> sorted(tumbling_closure([Window(20, 20), Window(30, 30), Window(50, 50)]))
    [Window(10, 10), Window(20, 20), Window(30, 30), Window(50, 50)]
    """
    panes = {_tumbling(math.gcd(w.range, w.slide), w) for w in windows}
    closed = set(panes)
    pending = sorted(panes)
    yield from pending
    while pending:
        one = pending.pop()
        for other in panes:
            found = _tumbling(math.gcd(one.slide, other.slide, one.offset - other.offset), one)
            if found not in closed:
                closed.add(found)
                pending.append(found)
                yield found


def _promising(windows: Sequence[Window], relation: Relation, limit: int) -> list[Window]:
    """Choose shapes on the grids that the most windows share, where listing all would take too long."""
    pane = common_measure(windows)
    grids = _common_grids([(math.gcd(w.range, w.slide) // pane, w.offset // pane) for w in windows], limit // 2)
    found = {Window(pane * size, pane * size, pane * place, timed=windows[0].timed): None for size, place in grids}
    if relation.covers == "sparse" and not all(w.tumbling for w in windows):
        steps = _common_grids([(w.slide // pane, w.offset // pane) for w in windows], limit // 8)
        # Halves, thirds, ... of the ranges: n parts of one need n reads, and chains of them few each.
        for parts, (step, place) in product((1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024), steps):
            slide = pane * step
            sizes = {-(-w.range // (parts * slide)) * slide for w in windows if w.slide % slide == 0}
            found |= {Window(size, slide, pane * place, timed=windows[0].timed): None for size in sorted(sizes)}
            if len(found) >= limit:
                break
    return list(found)[:limit]


def _common_grids(grids: Sequence[tuple[int, int]], limit: int) -> list[tuple[int, int]]:
    """Find the (size, offset) that are common to two or more of the grids, those common to most first."""
    sizes, places = (np.array(column, np.int64) for column in zip(*sorted(set(grids)), strict=True))
    pairs = np.gcd(np.gcd.outer(sizes, sizes), np.abs(places[:, None] - places[None, :]))
    # One number for both, because finding distinct rows of two takes a second for a thousand windows.
    base = int(places.max()) + 1
    found = np.stack(np.divmod(np.unique(pairs * base + places[:, None] % pairs), base), axis=1)
    all_sizes = np.array([size for size, _ in grids], np.int64)
    all_places = np.array([place for _, place in grids], np.int64)
    shared = np.array(
        [int(((all_sizes % size == 0) & ((all_places - place) % size == 0)).sum()) for size, place in found.tolist()]
    )
    # Wider and more widely shared: a grid of one atom is shared by all and saves nothing.
    order = np.argsort(-shared * (1 - 1 / (1 + found[:, 0])), kind="stable")[:limit]
    return [(int(size), int(place)) for size, place in found[order].tolist()]


def _tumbling(size: int, like: Window) -> Window:
    return Window(size, size, like.offset, timed=like.timed)
