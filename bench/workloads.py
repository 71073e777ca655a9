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
    (Window(160, 80), Window(80, 40), Window(90, 45))
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
    (Window(4, 4), Window(6, 6), Window(8, 8))
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


def _seeds(shape: Shape) -> tuple[int, ...]:
    return SEED_RANGES if shape == "tumbling" else SEED_SLIDES


def _window(length: int, shape: Shape) -> Window:
    return Window(length, length) if shape == "tumbling" else Window(2 * length, length)
