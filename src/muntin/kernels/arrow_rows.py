"""Rows of Arrow columns: where they change, and how they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin.incremental.columnar_operator import Array

# So many windows leave in one batch at most.
LEAVE: Final = 1 << 16


def leaving(columns: list[pa.Array]) -> Iterator[pa.RecordBatch]:
    """Cut columns into batches of bounded size; Spark names them as it expects them."""
    batch = pa.RecordBatch.from_arrays(columns, names=[f"_{i}" for i in range(len(columns))])
    for start in range(0, batch.num_rows, LEAVE):
        yield batch.slice(start, LEAVE)


def differs(column: pa.Array) -> Array:
    """Tell of each row but the first whether it differs from the row before; null and NaN are like themselves."""
    here, there = column[1:], column[:-1]
    if pa.types.is_nested(column.type):
        # Arrow compares no structs: by their fields, and other nested values one by one.
        return _nested_differs(column)
    if pa.types.is_null(column.type):
        return np.zeros(len(here), np.bool_)
    changed = pc.not_equal(here, there)
    if pa.types.is_floating(column.type):
        changed = pc.and_not(changed, pc.and_(pc.is_nan(here), pc.is_nan(there)))
    if column.null_count:
        changed = pc.if_else(pc.or_(here.is_null(), there.is_null()), pc.xor(here.is_null(), there.is_null()), changed)
    found: Array = changed.to_numpy(zero_copy_only=False)
    return found


def _nested_differs(column: pa.Array) -> Array:
    if pa.types.is_struct(column.type):
        nulls = column.is_null().to_numpy(zero_copy_only=False)
        changed: Array = nulls[1:] != nulls[:-1]
        for field in column.flatten():
            changed = changed | differs(field)
        return changed
    values = [comparable(value) for value in column.to_pylist()]
    return np.array([x != y for x, y in zip(values[1:], values, strict=False)], np.bool_)


def comparable(value: object) -> object:
    """Make a nested value one that equals itself, NaN inside it or not."""
    if isinstance(value, dict):
        return {name: comparable(part) for name, part in value.items()}
    if isinstance(value, list):
        return [comparable(part) for part in value]
    return "NaN" if isinstance(value, float) and value != value else value
