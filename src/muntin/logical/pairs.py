"""Which windows of a set can read which others: `Relation.count` for all pairs at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from muntin.window.slices import common_measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from muntin.logical.relation import Relation
    from muntin.window.spec import Window


def pairs(
    windows: Sequence[Window], relation: Relation
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[Any]]:
    """List every (child, parent, count) that a relation allows among distinct windows, by their places.

    A thousand windows make a million pairs, too many to look at one by one.

    >>> from muntin import Window
    >>> from muntin.logical.relation import Relation
    >>> [column.tolist() for column in pairs([Window(10, 10), Window(20, 20), Window(40, 40)], Relation("covered"))]
    [[1, 2, 2], [0, 0, 1], [2, 4, 2]]
    """
    if relation.sharing == "none":
        empty = np.empty(0, np.int64)
        return empty, empty, empty
    pane = common_measure(windows)
    # Whole numbers of any size: those too long for a machine word are slower, not wrong.
    kind = np.int64 if max(w.range for w in windows) // pane < 2**62 else object
    ranges, slides, offsets = (
        np.array(column, kind)
        for column in zip(
            *((w.range // pane, w.slide // pane, (w.offset - windows[0].offset) // pane) for w in windows), strict=True
        )
    )
    steps, which = np.unique(slides, return_inverse=True)
    divides = steps[:, None] % steps[None, :] == 0
    child, parent = np.nonzero(divides[which][:, which] & (ranges[:, None] >= ranges[None, :]))
    own, size, slide = ranges[child], ranges[parent], slides[parent]
    excess = own - size
    allowed = ((offsets[child] - offsets[parent]) % slide == 0) & (child != parent)
    if relation.sharing == "partitioned":
        fits = (own % size == 0) & (size % slide == 0)
        allowed &= fits | (excess == 0) if relation.covers == "sparse" else fits & (size == slide) & (excess > 0)
        count = own // size
    elif relation.covers == "sparse":
        allowed &= excess % slide == 0
        count = 1 - (-excess // (size - size % slide))
    else:
        allowed &= (excess % slide == 0) & (excess > 0)
        count = 1 + excess // slide
    return child[allowed], parent[allowed], count[allowed]
