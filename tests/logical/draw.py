"""Random window sets and events. All draws take a seeded generator, and a failing test shows its seed."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

from muntin import Window

if TYPE_CHECKING:
    from collections.abc import Iterator

Event = tuple[int, Any]
# Lengths with many divisors and small common multiples: random others hardly ever cover each other.
LENGTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 30)


def draw_window(rng: random.Random, *, longest: int = 30, multiples: bool = True, offsets: bool = True) -> Window:
    """Draw a window on whole numbers, now and then tumbling."""
    lengths = [length for length in LENGTHS if length <= longest]
    slide = rng.choice(lengths)
    if multiples:
        size = slide * rng.choice([k for k in (1, 1, 2, 3, 4, 5, 6) if k * slide <= longest])
    else:
        size = rng.randint(slide, longest)
    return Window(size, slide, rng.choice([0, 0, rng.randrange(slide)]) if offsets else 0)


def draw_windows(
    rng: random.Random,
    *,
    most: int = 5,
    longest: int = 30,
    pane: int = 1,
    multiples: bool | None = None,
    offsets: bool | None = None,
    period: int | None = None,
) -> list[Window]:
    """Draw a set of distinct windows: hopping or tumbling, on one grid or not, ranges multiples of slides or not.

    `period` bounds the least common multiple of ranges and slides, for tests that run through all of it.
    """
    every = rng.random() < 0.6 if multiples is None else multiples
    shifted = rng.random() < 0.4 if offsets is None else offsets
    only_tumbling = rng.random() < 0.2
    found: dict[Window, None] = {}
    for _ in range(rng.randint(1, most)):
        window = draw_window(rng, longest=longest, multiples=every, offsets=shifted)
        if only_tumbling:
            window = Window(window.range, window.range, window.offset)
        window = Window(window.range * pane, window.slide * pane, window.offset * pane)
        if period is None or math.lcm(*(p for w in (*found, window) for p in (w.range, w.slide))) <= period:
            found[window] = None
    return list(found) or [Window(pane, pane)]


def draw_events(rng: random.Random, values: list[Any], *, span: int = 90, most: int = 50) -> list[Event]:
    """Draw events in event order, from before time 0 on, with long gaps and several at one time."""
    busy = [time for time in range(-span // 2, span) if (time // rng.choice((4, 9))) % 3 != 1]
    times = sorted(rng.choices(busy, k=rng.randint(0, most)))
    return [(time, rng.choice(values)) for time in times]


def seeds(count: int, start: int = 0) -> Iterator[tuple[int, random.Random]]:
    """Yield generators with their seeds, so that a test can name the seed that broke it."""
    return ((seed, random.Random(seed)) for seed in range(start, start + count))
