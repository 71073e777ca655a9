"""Made-up query loads as the multi-query paper's evaluation draws them (section 5.1), seeded."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from itertools import accumulate

from muntin.errors import WindowError
from muntin.logical.divisors import divisors
from muntin.window.spec import Window


@dataclass(frozen=True, slots=True)
class Workload:
    """The parameters of a query load.

    `queries` is Q_num. Slides are divisors of `longest_slide`, S_max, drawn by Zipf's law: the k-th longest of them
    with a weight of k^-skew, so that 0 draws all alike and more than 0 draws long ones more often. A range is a slide
    times a whole number drawn evenly from 1 to `overlap`, O_max. `rate` is λ, events per unit of time.

    >>> load = Workload(queries=3, longest_slide=10, overlap=5)
    >>> load.windows(seed=1)
    (Window(50, 10, id='q1'), Window(2, 2, id='q2'), Window(40, 10, id='q3'))
    """

    queries: int = 100
    longest_slide: int = 1_000
    overlap: int = 10_000
    rate: float = 1
    skew: float = 0

    def __post_init__(self) -> None:
        for name in ("queries", "longest_slide", "overlap"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                msg = f"{name} must be a whole number from 1, got {value!r}"
                raise WindowError(msg)
        if not 0 < self.rate < math.inf:
            msg = f"rate must be a number of events above 0, got {self.rate!r}"
            raise WindowError(msg)
        # Beyond a hundred one slide alone is ever drawn, and floats have no number for the others' weights.
        if not -100 <= self.skew <= 100:
            msg = f"skew must be a number from -100 to 100, got {self.skew!r}"
            raise WindowError(msg)

    def windows(self, seed: int) -> tuple[Window, ...]:
        """Draw the queries; a seed always gives the same."""
        draw = random.Random(f"{self.queries}-{self.longest_slide}-{self.overlap}-{self.skew}-{seed}")
        slides = divisors(self.longest_slide)[::-1]
        weights = list(accumulate(k**-self.skew for k in range(1, len(slides) + 1)))
        drawn = draw.choices(slides, cum_weights=weights, k=self.queries)
        return tuple(
            Window(slide * draw.randint(1, self.overlap), slide, id=f"q{i}") for i, slide in enumerate(drawn, start=1)
        )
