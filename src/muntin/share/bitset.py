"""The bit set: mark every edge of a composite slide, and count the marks. Slow, plain, and the oracle of F1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from muntin.errors import WindowError
from muntin.window.edges import brief

if TYPE_CHECKING:
    from collections.abc import Iterable

    from muntin.share.combs import Comb

# A byte for each unit of time.
LIMIT: Final = 1_000_000_000


def bit_set_count(combs: Iterable[Comb]) -> tuple[int, int]:
    """Count the edges in one composite slide by marking them all; give the count and the composite slide.

    >>> bit_set_count([(2, 0), (4, 0)]), bit_set_count([(8, 0), (8, 6), (3, 0)])
    ((2, 4), (12, 24))
    """
    found = list(combs)
    period = math.lcm(*(step for step, _ in found))
    if period > LIMIT:
        msg = (
            f"the bit set of {len(found)} slides would have {brief(period)} places, one for each unit of their "
            f"composite slide, and the limit is {LIMIT:,}. Use edges_of, which writes nothing out"
        )
        raise WindowError(msg)
    marks = np.zeros(period, np.bool_)
    for step, phase in found:
        marks[phase::step] = True
    return int(np.count_nonzero(marks)), period
