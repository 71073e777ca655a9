"""First, last and the argument of an extreme, exactly: the best row of a group, ties broken as Spark breaks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from muntin.kernels.objects import rank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.incremental.columnar_operator import Array


def best_rows(fields: Sequence[pa.Array], order: Array | None, firsts: Array, *, largest: bool) -> Array:
    """Choose of each group the row with the largest, or smallest, fields, the first of them counting most.

    Rows are taken in some order, groups reach from each of `firsts` to the next. All fields but the last are numbers;
    the last may be anything, and is looked at only where the others tie. A row without the first field is never
    chosen if there is one with it.

    >>> by, value = pa.array([3, 5, 5, None]), pa.array(["a", "c", "b", "z"])
    >>> best_rows([by, value], None, np.array([0, 3]), largest=True)
    array([1, 3])
    """
    rows = np.arange(len(fields[0])) if order is None else order
    groups = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(rows)))
    for field in fields[:-1]:
        there = field.is_valid().to_numpy(zero_copy_only=False)[rows]
        if not there.all():
            # Where a group has no value at all, any row stands for it.
            some = np.zeros(len(firsts), np.bool_)
            some[groups[there]] = True
            kept = there | ~some[groups]
            rows, groups, there = rows[kept], groups[kept], there[kept]
        values = field.fill_null(0).to_numpy(zero_copy_only=False)[rows]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        # NaN is above every number, as in Spark.
        pick = np.maximum if largest else np.fmin
        extreme = pick.reduceat(values, starts)[groups]
        same = (values == extreme) | ((values != values) & (extreme != extreme)) | ~there
        rows, groups = rows[same], groups[same]
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    chosen: Array = rows[starts]
    counts = np.diff(starts, append=len(rows))
    for place in np.flatnonzero(counts > 1).tolist():
        tied = rows[starts[place] : starts[place] + counts[place]]
        values = [
            (rank(value.as_py()), row)
            for value, row in zip(fields[-1].take(pa.array(tied)), tied.tolist(), strict=True)
        ]
        chosen[place] = (max if largest else min)(values, key=lambda pair: pair[0])[1]
    return chosen
