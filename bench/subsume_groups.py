"""Figure 10: how many groups random windows of three classes fall into, and how long grouping takes."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Final

from bench.chart import Panel, Series
from bench.report import Table, shown
from muntin.share.subsume import ending_at_slides, slides_with, subsumable, subsume_windows
from muntin.share.subsume_embed import embed_window
from muntin.share.subsume_group import Grouping

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.report import Cell
    from muntin.window.spec import Window

# Section 5: the longest slide of each class; ranges go up to 60 and are longer than the slide.
CLASSES: Final = {"smooth": 10, "medium": 20, "abrupt": 30}
LONGEST: Final = 60


@dataclass(frozen=True, slots=True)
class Scale:
    """How many windows to draw, and how often."""

    windows: tuple[int, ...] = (1_000, 2_000, 5_000, 10_000)
    draws: int = 10
    embedded: int = 3


@dataclass(frozen=True, slots=True)
class Grouped:
    """What one draw came to: all at once, and embedded one by one where that was tried."""

    kind: str
    windows: int
    draw: int
    distinct: int
    groups: int
    levels: int
    fewest: int
    seconds: float
    embedded: int | None
    embed_seconds: float | None


def drawn(kind: str, count: int, seed: int) -> list[Window]:
    """Draw windows of a class: any slide up to its limit as likely, then any range up to 60 that is longer.

    They end at multiples of their slide, as the paper's do, whatever their range.

    >>> drawn("smooth", 3, 0)
    [Window(25, 6, offset=5, id='w0'), Window(5, 3, offset=1, id='w1'), Window(45, 8, offset=3, id='w2')]
    """
    draw = random.Random(f"{kind}-{count}-{seed}")
    windows = []
    for i in range(count):
        slide = draw.randint(1, CLASSES[kind])
        windows.append(ending_at_slides(draw.randint(slide + 1, LONGEST), slide, f"w{i}"))
    return windows


def fewest_groups(windows: Sequence[Window]) -> int:
    """Find the least number of groups that any plan has.

    A window that can ride on another of its range needs no level. The others must be levels, and each group is a chain
    of them; by Dilworth's theorem as few chains are needed as a largest matching leaves windows without a successor.

    >>> from muntin import Window
    >>> fewest_groups([Window(4, 2), Window(4, 4), Window(8, 4), Window(6, 3)])
    2
    """
    alike: dict[int, list[Window]] = {}
    for window in sorted(set(windows)):
        alike.setdefault(window.range, []).append(window)
    levels = [
        w for same in alike.values() for w in same if not any(other != w and slides_with(w, other) for other in same)
    ]
    wider = [
        [j for j in range(i + 1, len(levels)) if subsumable(w, levels[j]) and levels[j].range > w.range]
        for i, w in enumerate(levels)
    ]
    follows: dict[int, int] = {}  # the level below, by the level above

    def placed(i: int, tried: set[int]) -> bool:
        for j in wider[i]:
            if j not in tried:
                tried.add(j)
                if j not in follows or placed(follows[j], tried):
                    follows[j] = i
                    return True
        return False

    return len(levels) - sum(placed(i, set()) for i in range(len(levels)))


def jobs(scale: Scale) -> list[Callable[[], Grouped]]:
    """List the draws to group."""
    return [
        partial(_grouped, kind, count, draw, embed=draw < scale.embedded)
        for kind in CLASSES
        for count in scale.windows
        for draw in range(scale.draws)
    ]


def _grouped(kind: str, count: int, draw: int, *, embed: bool) -> Grouped:
    windows = drawn(kind, count, draw)
    start = time.process_time()
    grouping = subsume_windows(windows)
    seconds = time.process_time() - start
    embedded: Grouping | None = None
    embed_seconds = None
    if embed:
        embedded = Grouping()
        start = time.process_time()
        for window in windows:
            embedded = embed_window(embedded, window)
        embed_seconds = time.process_time() - start
    return Grouped(
        kind,
        count,
        draw,
        len(set(windows)),
        len(grouping),
        sum(len(group.levels) for group in grouping),
        fewest_groups(windows),
        seconds,
        None if embedded is None else len(embedded),
        embed_seconds,
    )


def tables(scale: Scale, found: Sequence[Grouped]) -> tuple[Table, ...]:
    """Tell how many groups there are, and how long they took."""
    rows: list[tuple[Cell, ...]] = []
    late: list[tuple[Cell, ...]] = []
    for kind in CLASSES:
        for count in scale.windows:
            here = _of(found, kind, count)
            groups = [each.groups for each in here]
            rows.append(
                (
                    f"{kind}, {count:,}",
                    fmean(each.distinct for each in here),
                    fmean(groups),
                    f"{min(groups)}-{max(groups)}",
                    fmean(each.fewest for each in here),
                    fmean(each.levels for each in here),
                    1e3 * fmean(each.seconds for each in here),
                )
            )
            tried = [(each.embedded, each.embed_seconds) for each in here if each.embedded and each.embed_seconds]
            if tried:
                each_window = 1e6 * fmean(seconds for _, seconds in tried) / count
                late.append((f"{kind}, {count:,}", fmean(groups for groups, _ in tried), each_window))
    return (
        Table(
            "All windows at once (Figure 10)",
            ("windows", "distinct", "groups", "least-most", "fewest possible", "levels", "ms"),
            tuple(rows),
        ),
        Table("Embedded one by one, in random order", ("windows", "groups", "µs per window"), tuple(late)),
    )


def panels(scale: Scale, found: Sequence[Grouped]) -> tuple[Panel, ...]:
    """Draw groups and milliseconds over the number of windows."""
    places = tuple(f"{count:,}" for count in scale.windows)

    def series(figure: Callable[[Grouped], float]) -> tuple[Series, ...]:
        return tuple(
            Series(kind, tuple(fmean(map(figure, _of(found, kind, count))) for count in scale.windows))
            for kind in CLASSES
        )

    return (
        Panel("Groups, by number of windows", places, series(lambda each: each.groups), lines=True),
        Panel("Time to group, ms, by number of windows", places, series(lambda each: 1e3 * each.seconds), lines=True),
    )


def says(found: Sequence[Grouped]) -> tuple[str, str, str]:
    """Hold the groups against the paper's word."""
    most = max(found, key=lambda each: each.groups)
    return (
        "groups in any setting",
        "a handful",
        f"{shown(fmean(each.groups for each in found))} on average, {most.groups} at most",
    )


def _of(found: Sequence[Grouped], kind: str, count: int) -> list[Grouped]:
    return [each for each in found if (each.kind, each.windows) == (kind, count)]
