"""Which rows each window of a forest reads on Spark: a parent's, or those of an ancestor that are shuffled once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from muntin.logical.forest import Forest, Node
    from muntin.window.spec import Window

# What a row costs, with one that an aggregate takes in as the unit: to read it from a shuffle, and to shuffle it.
_SCAN: Final = Fraction(1, 3)
# A guess above a bound: among ten tumbling windows over ten million events, three inner stations that any price below
# about 4 puts there took more CPU time than none. No workload yet says how much above it should be.
_SHUFFLE: Final = Fraction(8)
# Longer lists of starts are not put together: the chain that leads to them is there to avoid them.
_MOST_STARTS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Route:
    """How one window gets its rows.

    It reads those of `source` (None for the events), which begin at `starts` from its own start. At a `station` its
    rows are shuffled once, by key and coarse time, and all that read them need no shuffle of their own. `reach` is how
    far beyond a bucket's end those that read it without a station between need its rows.
    """

    window: Window
    source: Window | None
    starts: tuple[int, ...]
    station: bool
    reach: int


def routes(forest: Forest, shown: Collection[Window]) -> tuple[Route, ...]:
    """Lay a forest out for Spark, which computes again whatever two branches read, unless a shuffle is between.

    >>> from muntin import Window, agg, optimize
    >>> windows = [Window(20, 20), Window(40, 40), Window(60, 60)]
    >>> plan = optimize(windows, agg.min, optimizer="mincost")
    >>> [(r.window.range, r.source, r.starts, r.station, r.reach) for r in routes(plan.groups[0].forest, windows)]
    [(20, None, (), True, 40), (40, Window(20, 20), (0, 20), False, 0), (60, Window(20, 20), (0, 20, 40), False, 0)]
    """
    chosen: dict[Window, _Choice] = {}
    for node in forest.nodes:
        chosen[node.window] = _choose(forest, node, chosen, node.window in shown)
    read = {choice.source for choice in chosen.values()}
    kept = {w: c for w, c in chosen.items() if w in shown or w in read}
    while len(kept) < len(chosen):
        # A factor window that everybody reads past is not computed, nor what only it read.
        chosen, read = kept, {choice.source for choice in kept.values()}
        kept = {w: c for w, c in chosen.items() if w in shown or w in read}
    return _reached(kept, shown)


@dataclass(frozen=True, slots=True)
class _Choice:
    source: Window | None
    starts: tuple[int, ...]
    station: bool
    inline: Fraction
    """What it costs to compute it in a branch, from the station before it."""
    origin: Window
    """The station, or root, from which a branch computes it."""
    composed: tuple[int, ...] | None
    """Where that one's intervals start that make it up."""


def _choose(forest: Forest, node: Node, chosen: Mapping[Window, _Choice], shown: bool) -> _Choice:
    window = node.window
    if node.parent is None:
        return _Choice(None, (), True, Fraction(0), window, (0,))
    parent = chosen[node.parent]
    near = forest.starts(node)
    if parent.station:
        source, starts, cost = node.parent, near, _cost(window, node.parent, near)
        composed: tuple[int, ...] | None = near
        origin = node.parent
    else:
        origin, composed = parent.origin, _composed(near, parent.composed)
        source, starts, cost = node.parent, near, parent.inline + Fraction(len(near), window.slide)
        if composed is not None and (past := _cost(window, origin, composed)) <= cost:
            source, starts, cost = origin, composed, past
    station = _worthwhile(forest, node, origin, composed, cost, shown)
    if station:
        return _Choice(source, starts, True, Fraction(0), window, (0,))
    return _Choice(source, starts, False, cost, origin, composed)


def _worthwhile(
    forest: Forest, node: Node, origin: Window, composed: tuple[int, ...] | None, inline: Fraction, shown: bool
) -> bool:
    """Tell whether a shuffle of a window's rows costs less than computing them in each branch that wants them."""
    window = node.window
    scan = _SCAN / window.slide
    without, with_station = Fraction(0), inline + _SHUFFLE / window.slide
    if shown:
        without, with_station = inline, with_station + scan
    for child in forest.children(window):
        near = forest.starts(child)
        through = Fraction(len(near), child.window.slide)
        far = _composed(near, composed)
        past = inline + through if far is None else min(_cost(child.window, origin, far), inline + through)
        without += past
        with_station += min(past, scan + through)
    return with_station < without


def _cost(window: Window, source: Window, starts: tuple[int, ...]) -> Fraction:
    return _SCAN / source.slide + Fraction(len(starts), window.slide)


def _composed(near: tuple[int, ...], far: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Put two covers together: those that tile still tile, and where they may overlap an interval twice is one."""
    if far is None or len(near) * len(far) > _MOST_STARTS:
        return None
    return tuple(sorted({a + b for a in near for b in far}))


def _reached(chosen: dict[Window, _Choice], shown: Collection[Window]) -> tuple[Route, ...]:
    """Drop the stations that one alone reads, and find how far beyond a bucket's end rows are needed."""
    readers: dict[Window, int] = dict.fromkeys(chosen, 0)
    for window, choice in chosen.items():
        readers[window] += window in shown
        if choice.source is not None:
            readers[choice.source] += 1
    together: set[Window] = set()
    stations: set[Window] = set()
    for window, choice in chosen.items():
        # Where rows do not lie together by bucket yet, they are shuffled for each that reads them, or once for all.
        if readers[window] > 1 and (choice.station or choice.source not in together):
            stations.add(window)
        if window in stations or choice.source in together:
            together.add(window)
    reach: dict[Window, int] = dict.fromkeys(chosen, 0)
    found: list[Route] = []
    for window in reversed(chosen):
        choice = chosen[window]
        found.append(Route(window, choice.source, choice.starts, window in stations, reach[window]))
        if choice.source is not None:
            beyond = 0 if window in stations else reach[window]
            reach[choice.source] = max(reach[choice.source], beyond + choice.starts[-1])
    return tuple(reversed(found))
