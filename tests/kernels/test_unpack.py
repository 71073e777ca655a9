"""Packs of panes taken apart, against a loop over their places."""

from __future__ import annotations

import random

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from muntin.kernels.unpack import Unpack, unpacked


@given(st.integers(0, 2**32), st.sampled_from([4, 8, 16, 32]), st.integers(0, 40), st.integers(0, 2), st.integers(0, 3))
def test_unpacking_is_a_loop_over_places(seed: int, width: int, rows: int, marks: int, fields: int) -> None:
    draw = random.Random(seed)
    keys = [[draw.choice(["a", "b", None]) for _ in range(rows)] for _ in range(marks)]
    numbers = [draw.randrange(-100, 100) for _ in range(rows)]
    full = (1 << width) - 1
    present = [draw.choice([full, draw.randrange(1, 1 << width)]) for _ in range(rows)]
    cells = [
        [[draw.choice([None, draw.randrange(9)]) for _ in range(rows)] for _ in range(width)] for _ in range(fields)
    ]
    arrays = [pa.array(key, pa.string()) for key in keys]
    arrays += [pa.array(numbers, pa.int64()), pa.array(present, pa.int64())]
    arrays += [pa.array(list(zip(*field, strict=True)), pa.list_(pa.int64())) for field in cells]
    batch = pa.RecordBatch.from_arrays(arrays, names=[str(i) for i in range(len(arrays))])
    wanted = [
        (*(key[row] for key in keys), numbers[row] * width + at, *(field[at][row] for field in cells))
        for row in range(rows)
        for at in range(width)
        if present[row] >> at & 1
    ]
    found = unpacked(batch, marks, width)
    assert list(zip(*(column.to_pylist() for column in found.columns), strict=True)) == wanted
    (again,) = Unpack(marks, width, lambda batches: batches)(iter([batch]))
    assert again.equals(found)
