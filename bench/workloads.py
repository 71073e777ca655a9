"""Window sets as the papers draw them: seeded generators."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal, TypeAlias

from muntin import Window
from muntin.errors import WindowError

Shape: TypeAlias = Literal["tumbling", "hopping"]
SEED_RANGES = (2, 5, 10)
SEED_SLIDES = (5, 10, 20)


def random_windows(size: int, shape: Shape, seed: int, *, multiplier: int = 50) -> tuple[Window, ...]:
    """Draw a window set with RandomGen (factor-windows, Algorithm 6), all windows distinct.

    >>> random_windows(3, "hopping", seed=1)
    (Window(60, 30), Window(1080, 540), Window(240, 120))
    """
    draw = random.Random(f"random-{shape}-{size}-{seed}")
    found: dict[Window, None] = {}
    for _ in range(1000 * size):
        seed_length = draw.choice(_seeds(shape))
        # Multiples from 2 on: the seed itself is left for the optimizer to find as a factor window.
        found[_window(seed_length * draw.randint(2, multiplier), shape)] = None
        if len(found) == size:
            return tuple(found)
    msg = f"cannot draw {size} distinct {shape} windows with multiplier {multiplier}: raise the multiplier"
    raise WindowError(msg)


def sequential_windows(size: int, shape: Shape, seed: int) -> tuple[Window, ...]:
    """Draw a window set with SequentialGen (factor-windows V-A.3): 2, 3, 4, ... times one seed length.

    >>> sequential_windows(3, "tumbling", seed=1)
    (Window(20, 20), Window(30, 30), Window(40, 40))
    """
    seed_length = random.Random(f"sequential-{shape}-{size}-{seed}").choice(_seeds(shape))
    return tuple(_window(seed_length * i, shape) for i in range(2, size + 2))


@dataclass(frozen=True, slots=True)
class Setup:
    """One row of Tables I to III: the generator, the size and the shape of its window sets."""

    generator: Literal["R", "S"]
    size: int
    shape: Shape

    @property
    def name(self) -> str:
        """The row's name in the paper."""
        return f"{self.generator}-{self.size}-{self.shape}"

    def windows(self, seed: int) -> tuple[Window, ...]:
        """Draw one of the row's window sets."""
        draw = random_windows if self.generator == "R" else sequential_windows
        return draw(self.size, self.shape, seed)


def table_setups(*sizes: int) -> tuple[Setup, ...]:
    """List the rows of a table in the paper's order.

    >>> [setup.name for setup in table_setups(5)]
    ['R-5-tumbling', 'R-5-hopping', 'S-5-tumbling', 'S-5-hopping']
    """
    generators: tuple[Literal["R", "S"], ...] = ("R", "S")
    shapes: tuple[Shape, ...] = ("tumbling", "hopping")
    return tuple(Setup(g, size, shape) for g in generators for shape in shapes for size in sizes)


def many_windows(size: int, seed: int) -> dict[str, tuple[Window, ...]]:
    """Draw large window sets of several kinds, to see how optimization time grows.

    >>> sets = many_windows(20, seed=0)
    >>> list(sets), {len(set(windows)) for windows in sets.values()}
    (['tumbling random', 'tumbling minutes', 'hopping slide 1', 'hopping half', 'hopping mixed', 'hopping day'], {20})
    """
    draw = random.Random(f"many-{size}-{seed}")
    lengths = range(2, 20 * size + 2)
    slides = (1, 2, 5, 10, 15, 20, 30, 60)
    mixed: dict[Window, None] = {}
    while len(mixed) < size:
        slide = draw.choice(slides) * draw.randint(1, 60)
        mixed[Window(slide * draw.randint(1, 50), slide)] = None
    day: dict[Window, None] = {}
    while len(day) < size:
        slide = draw.choice((1, 5, 10, 20))
        day[Window(slide * draw.randint(1, 1440 // slide), slide)] = None
    return {
        # Hardly two of these share a pane of any width.
        "tumbling random": tuple(Window(length, length) for length in draw.sample(lengths, size)),
        # A dashboard for every whole number of minutes.
        "tumbling minutes": tuple(Window(60 * i, 60 * i) for i in range(1, size + 1)),
        # Rolling figures: each window is refreshed with every unit.
        "hopping slide 1": tuple(Window(i, 1) for i in range(2, size + 2)),
        "hopping half": tuple(Window(2 * length, length) for length in draw.sample(lengths, size)),
        "hopping mixed": tuple(mixed),
        # Up to a day, refreshed every 1, 5, 10 or 20 minutes: nearly all of them cover one another.
        "hopping day": tuple(day),
    }


def _seeds(shape: Shape) -> tuple[int, ...]:
    return SEED_RANGES if shape == "tumbling" else SEED_SLIDES


def _window(length: int, shape: Shape) -> Window:
    return Window(length, length) if shape == "tumbling" else Window(2 * length, length)
