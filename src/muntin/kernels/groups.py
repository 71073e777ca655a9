"""Rows that belong together: keys of any type as small integers, and an order that brings equal ones side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from muntin.kernels.arrow_rows import comparable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.incremental.columnar_operator import Array

# Codes are multiplied to number combinations; beyond this they are numbered anew first.
_DENSE = 1 << 31


def key_codes(columns: Sequence[pa.Array], rows: int) -> tuple[Array, int]:
    """Give each of the different keys of rows a number, from 0 on as they appear; null and NaN are keys too.

    >>> key_codes([pa.array(["a", None, "a"]), pa.array([1, 1, 2])], 3)
    (array([0, 1, 2]), 3)
    """
    codes, size = np.zeros(rows, np.int64), 1
    for column in columns:
        for found, distinct in _coded(column):
            if size * distinct > _DENSE:
                codes, size = _numbered(codes)
            codes = codes * distinct + found if size > 1 else found
            size *= distinct
    return (codes, size) if len(columns) == 1 and not pa.types.is_nested(columns[0].type) else _numbered(codes)


def _coded(column: pa.Array) -> list[tuple[Array, int]]:
    """Give the values of a column numbers; those of a struct field by field."""
    if pa.types.is_dictionary(column.type):
        # As pandas and polars write their categories.
        column = column.dictionary_decode()
    if pa.types.is_struct(column.type):
        there = column.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
        return [(there, 2), *(pair for field in column.flatten() for pair in _coded(field))]
    if pa.types.is_nested(column.type):
        known: dict[str, int] = {}
        found = [known.setdefault(repr(comparable(value)), len(known)) for value in column.to_pylist()]
        return [(np.array(found, np.int64), max(len(known), 1))]
    if pa.types.is_null(column.type):
        return [(np.zeros(len(column), np.int64), 1)]
    coded = column.dictionary_encode(null_encoding="encode")
    return [(coded.indices.to_numpy().astype(np.int64), max(len(coded.dictionary), 1))]


def _numbered(codes: Array) -> tuple[Array, int]:
    coded = pa.array(codes).dictionary_encode()
    return coded.indices.to_numpy().astype(np.int64), max(len(coded.dictionary), 1)


def grouping(major: Array, minor: Array, minors: int) -> tuple[Array | None, Array]:
    """Order rows by two numbers, those of one pair as they came, and find where pairs begin.

    The order is None where rows are in order already.

    >>> grouping(np.array([7, 5, 7]), np.array([0, 1, 0]), 2)
    (array([1, 0, 2]), array([0, 1]))
    """
    low = int(major.min()) if len(major) else 0
    span = int(major.max()) - low + 1 if len(major) else 1
    if span > (1 << 62) // max(minors, 1):
        # Times so far apart: numbered in order instead.
        values, places = np.unique(major, return_inverse=True)
        low, span, major = 0, len(values), places
    combined = (major - low) * minors + minor
    if not len(combined) or (combined[1:] >= combined[:-1]).all():
        return None, _firsts(combined)
    order = _sorted(combined, span * minors)
    return order, _firsts(combined[order])


def _firsts(combined: Array) -> Array:
    changed = np.ones(len(combined), np.bool_)
    np.not_equal(combined[1:], combined[:-1], out=changed[1:])
    return np.flatnonzero(changed)


def _sorted(values: Array, limit: int) -> Array:
    """Order small numbers by radix sort, 16 bits at a time, which NumPy has for no wider ones."""
    if limit <= 1 << 16:
        return np.argsort(values.astype(np.uint16), kind="stable")
    if limit <= 1 << 32:
        order = np.argsort((values & 0xFFFF).astype(np.uint16), kind="stable")
        return order[np.argsort((values >> 16)[order].astype(np.uint16), kind="stable")]
    return np.argsort(values, kind="stable")
