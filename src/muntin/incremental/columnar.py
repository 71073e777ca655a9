"""One window over thousands of keys: a data-oblivious structure whose partials are vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import numpy as np

from muntin.errors import IncrementalError
from muntin.incremental.columnar_runs import reduce_runs, starts_of_runs
from muntin.incremental.snapshot import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.incremental.columnar_operator import Array, Column, ColumnarOperator, Vector
    from muntin.incremental.structure import MultiRange, Structure

_KIND: Final = "KeyedWindow"


class KeyedWindow:
    """Slide one window for many keys at once.

    FlatFAT, TwoStacks, DABA, FlatFIT and Panes-Inv never look at the data, so they can hold a vector over keys in
    each place: Python decides once per slide, NumPy computes for all keys. Keys are codes from 0; `grow` makes room
    for new ones at no cost, since the vectors made before stay short, and what is missing is the neutral element.

    >>> from muntin.incremental.columnar_catalog import columnar
    >>> from muntin.incremental.twostacks import TwoStacks
    >>> window = KeyedWindow(TwoStacks, columnar("sum", "int64"), keys=2)
    >>> window.insert(np.array([0, 1, 0]), np.array([1, 10, 2]))
    >>> window.insert(np.array([1]), np.array([20]))
    >>> window.results().to_list()
    [3, 30]
    >>> window.evict()
    >>> window.grow(3)
    >>> window.results().to_list()
    [None, 20, None]
    """

    __slots__ = ("_keys", "_operator", "_structure")

    def __init__(self, algorithm: type[Structure[Vector]], operator: ColumnarOperator, keys: int = 0) -> None:
        self._structure = algorithm(operator)
        self._operator = operator
        self._keys = _key_count(keys)

    @property
    def keys(self) -> int:
        """How many keys are known: those of codes 0 to `keys` - 1."""
        return self._keys

    def __len__(self) -> int:
        return len(self._structure)

    def grow(self, keys: int) -> None:
        """Make further keys known, up to code `keys` - 1."""
        if _key_count(keys) < self._keys:
            msg = f"a window over {self._keys} keys cannot shrink to {keys}"
            raise IncrementalError(msg)
        self._keys = keys

    def insert(self, codes: Array, *columns: Array | Column) -> None:
        """Add a slice: its events' key codes and values, in event order within each key."""
        self._structure.insert(self.lift(codes, *columns))

    def insert_vector(self, partial: Sequence[Array]) -> None:
        """Add a slice that is a partial already: a vector over all keys, or over the first of them.

        The arrays are kept, not copied: do not write to them afterwards.
        """
        vector = self._operator.check(partial)
        if len(vector[0]) > self._keys:
            msg = (
                f"a vector over {len(vector[0])} keys, where {self._keys} are known. Call grow({len(vector[0])}) first"
            )
            raise IncrementalError(msg)
        self._structure.insert(vector)

    def evict(self) -> None:
        """Drop the oldest slice."""
        self._structure.evict()

    def query(self) -> Vector:
        """Aggregate the whole window: a vector over all known keys, which cannot be written to."""
        return self._widened(self._structure.query())

    def query_last(self, count: int) -> Vector:
        """Aggregate the newest `count` slices, where the algorithm serves several ranges."""
        card = self._structure.card
        if card.multi_query is None:
            msg = f"{card.name} answers for the whole window only. Use FlatFIT or FlatFAT for several ranges"
            raise IncrementalError(msg)
        return self._widened(cast("MultiRange[Vector]", self._structure).query_last(count))

    def results(self) -> Column:
        """Give each key's result over the whole window."""
        return self._operator.lower(self.query())

    def snapshot(self) -> bytes:
        """Write the state as bytes, see `muntin.incremental.snapshot`."""
        return pack(_KIND, self._operator, (self._keys, self._structure.snapshot()))

    @classmethod
    def restore(cls, algorithm: type[Structure[Vector]], operator: ColumnarOperator, data: bytes) -> KeyedWindow:
        """Make a window that goes on where the one that wrote `data` stopped."""
        keys, inner = unpack(_KIND, operator, data)
        window = cls(algorithm, operator, keys)
        window._structure = algorithm.restore(operator, inner)
        return window

    def lift(self, codes: Array, *columns: Array | Column) -> Vector:
        """Make a slice's vector over all known keys, without inserting it."""
        codes = np.asarray(codes)
        if codes.ndim != 1 or codes.dtype.kind not in "iu":
            msg = f"key codes are a 1-d array of integers, got {codes.ndim}-d {codes.dtype}"
            raise IncrementalError(msg)
        partial = self._operator.lift(*columns, count=len(codes))
        if len(partial[0]) != len(codes):
            msg = f"{len(codes)} key codes for {len(partial[0])} values: each event needs both"
            raise IncrementalError(msg)
        if not len(codes):
            return self._operator.identity
        unsorted = bool((codes[1:] < codes[:-1]).any())
        low, high = (int(codes.min()), int(codes.max())) if unsorted else (int(codes[0]), int(codes[-1]))
        if low < 0 or high >= self._keys:
            msg = (
                f"key code {low if low < 0 else high} is unknown: {self._keys} keys are known, from code 0. "
                f"Number keys from 0, and call grow({max(high + 1, self._keys)}) before the first event of a new one"
            )
            raise IncrementalError(msg)
        if unsorted:
            order = np.argsort(codes, kind="stable")  # events of one key stay in their order
            codes, partial = codes[order], tuple(part[order] for part in partial)
        starts = starts_of_runs(codes)
        found = reduce_runs(self._operator, partial, starts)
        if len(starts) == self._keys:  # every key has events; copied, as a partial may be the caller's own values
            return tuple(part.copy() for part in found)
        vector = self._operator.neutral(self._keys)
        for part, new in zip(vector, found, strict=True):
            part[codes[starts]] = new
        return vector

    def _widened(self, partial: Vector) -> Vector:
        missing = self._keys - len(partial[0])
        if missing:
            partial = self._operator.combine(partial, self._operator.neutral(self._keys))
        # The window may hold these very arrays: whoever wrote to them would write into it.
        return tuple(map(_read_only, partial))


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _key_count(keys: int) -> int:
    if isinstance(keys, bool) or not isinstance(keys, int) or keys < 0:
        msg = f"the number of keys is a whole number from 0, got {keys!r}"
        raise IncrementalError(msg)
    return keys
