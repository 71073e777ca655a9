"""What a columnar operator is: an aggregate whose partials are vectors over keys, combined by NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from muntin.errors import AggregateError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from muntin.aggregate.algebra import AggregateFunction

Array: TypeAlias = npt.NDArray[Any]
Vector: TypeAlias = tuple[Array, ...]
"""A partial over keys: one array for each component, all of one width; place k belongs to key code k."""


class Column(NamedTuple):
    """Hold values and which of them are there: False in `valid` is a null, and None says that none is.

    >>> Column(np.array([1, 7]), np.array([True, False])).to_list()
    [1, None]
    """

    values: Array
    valid: Array | None = None

    def to_list(self) -> list[Any]:
        """Give Python values, None for null."""
        values: list[Any] = self.values.tolist()
        if self.valid is None:
            return values
        return [value if there else None for value, there in zip(values, self.valid.tolist(), strict=True)]


class Component(NamedTuple):
    """Name one array of a partial, its type, and what stands in it for a key without values."""

    name: str
    dtype: np.dtype[Any]
    neutral: Any


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ColumnarOperator:
    """Combine thousands of keys at once: the vector form of an aggregate function over columns of one type.

    Vectors may differ in width: a key beyond the end of one has the neutral element there. So keys can appear
    at any time without a touch on the partials that were made before them, and the identity is the vector
    over no keys at all.

    >>> from muntin.incremental.columnar_catalog import columnar
    >>> total = columnar("sum", "float64")
    >>> early = total.lift(Column(np.array([1.0, 2.0])))
    >>> late = total.lift(Column(np.array([10.0, 20.0, 30.0])))
    >>> total.lower(total.combine(early, late)).to_list()
    [11.0, 22.0, 30.0]
    """

    function: AggregateFunction
    inputs: tuple[np.dtype[Any], ...]
    components: tuple[Component, ...]
    make: Callable[[Sequence[Column], int], Vector]
    """Make the partial of each of some events, given their columns and their number."""
    merge: Callable[[Vector, Vector], Vector]
    """Combine two vectors of one width, the earlier on the left; the arrays may have any common shape."""
    finish: Callable[[Vector], Column]
    take_away: Callable[[Vector, Vector], Vector] | None = None
    ufuncs: tuple[np.ufunc, ...] | None = None
    """Where each component combines alone: by which ufunc. Then NumPy can reduce and accumulate by itself."""
    warns: bool = False
    """Floats are added up, and NumPy would warn of infinities and NaN, which are values like others in Spark."""
    exact: bool = False
    """Nothing is lost when a part is taken away: integers only. Then prefixes may be subtracted."""

    @property
    def name(self) -> str:
        """The aggregate and the types it was made for, both of which must agree when a snapshot is restored.

        >>> from muntin.incremental.columnar_catalog import columnar
        >>> columnar("arg_max", "float64", "int64").name
        'arg_max(float64, int64)'
        """
        return f"{self.function.name}({', '.join(map(str, self.inputs))})"

    @property
    def identity(self) -> Vector:
        """The vector over no keys, which is neutral beside a vector over any."""
        return tuple(np.empty(0, part.dtype) for part in self.components)

    @property
    def associative(self) -> bool:
        """Whether partials may be combined in any grouping."""
        return self.function.associative

    @property
    def commutative(self) -> bool:
        """Whether order does not matter."""
        return self.function.commutative

    @property
    def overlap_tolerant(self) -> bool:
        """Whether combining a partial twice changes nothing."""
        return self.function.overlap_tolerant

    @property
    def selects(self) -> bool:
        """Always false: each key may select another operand, so the vector as a whole is neither of the two.

        That keeps SlickDeque-NonInv, which must look at the data, away from vectors.
        """
        return False

    @property
    def inverse(self) -> Callable[[Vector, Vector], Vector] | None:
        """The function that takes the right operand away again; None if there is none."""
        return None if self.take_away is None else self._subtract

    @property
    def invertible(self) -> bool:
        """Whether a partial can be taken away again."""
        return self.take_away is not None

    @property
    def evictable(self) -> bool:
        """Whether the oldest partial can be taken away."""
        return self.invertible and self.commutative

    def combine(self, x: Vector, y: Vector) -> Vector:
        """Combine two vectors over keys, the earlier on the left; a missing key is the neutral element."""
        here, there = len(x[0]), len(y[0])
        if here != there:
            if not here or not there:
                return x if here else y
            short = min(here, there)
            longer = x if here > there else y
            head = self.combine(cut(x, 0, short), cut(y, 0, short))
            return tuple(np.concatenate((h, part[short:])) for h, part in zip(head, longer, strict=True))
        if not self.warns:  # to silence NumPy takes as long as two sums over a thousand keys
            return self.merge(x, y)
        with np.errstate(all="ignore"):
            return self.merge(x, y)

    def neutral(self, width: int) -> Vector:
        """Make the partial of `width` keys without values.

        >>> from muntin.incremental.columnar_catalog import columnar
        >>> columnar("max", "int64").lower(columnar("max", "int64").neutral(2)).to_list()
        [None, None]
        """
        return tuple(np.full(width, part.neutral, part.dtype) for part in self.components)

    def lift(self, *columns: Array | Column, count: int | None = None) -> Vector:
        """Make the partial of each event of a slice; `count` events where there is no column to tell."""
        found = self._columns(columns)
        with np.errstate(all="ignore"):
            return self.make(found, len(found[0].values) if found else count or 0)

    def lower(self, partial: Vector) -> Column:
        """Turn a vector into each key's result; a key without values has null (a count: 0)."""
        with np.errstate(all="ignore"):
            return self.finish(partial)

    def check(self, partial: Sequence[Array]) -> Vector:
        """Refuse what is not a partial of this operator: wrong components, types or lengths."""
        if len(partial) != len(self.components):
            msg = (
                f"a partial of {self.name} has {len(self.components)} components "
                f"({', '.join(part.name for part in self.components)}), got {len(partial)}"
            )
            raise AggregateError(msg)
        for array, part in zip(partial, self.components, strict=True):
            if not isinstance(array, np.ndarray) or array.dtype != part.dtype or array.ndim != 1:
                got = f"{array.ndim}-d {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
                msg = f"component `{part.name}` of {self.name} is a 1-d array of {part.dtype}, got {got}"
                raise AggregateError(msg)
        lengths = [len(array) for array in partial]
        if len(set(lengths)) > 1:
            msg = f"the components of a partial of {self.name} must have one length, got {lengths}"
            raise AggregateError(msg)
        return tuple(partial)

    def __repr__(self) -> str:
        return f"<columnar {self.name}>"

    def _subtract(self, x: Vector, y: Vector) -> Vector:
        if self.take_away is None:
            msg = f"`{self.name}` has no inverse: a partial cannot be taken away again"
            raise AggregateError(msg)
        width = len(x[0])
        if len(y[0]) > width:  # y was combined into x, so x is at least as wide unless it is no such x
            msg = f"cannot take a vector over {len(y[0])} keys away from one over {width}: it was never part of it"
            raise AggregateError(msg)
        with np.errstate(all="ignore"):
            head = self.take_away(cut(x, 0, len(y[0])), y)
        if len(y[0]) == width:
            return head
        return tuple(np.concatenate((h, part[len(y[0]) :])) for h, part in zip(head, x, strict=True))

    def _columns(self, columns: Sequence[Array | Column]) -> list[Column]:
        least = 0 if self.function.optional_columns else len(self.inputs)
        if not least <= len(columns) <= max(len(self.inputs), self.function.arity):
            msg = f"{self.name} reads {len(self.inputs)} columns, got {len(columns)}"
            raise AggregateError(msg)
        found = [_column(column) for column in columns]
        for column, dtype in zip(found, self.inputs, strict=False):
            if column.values.dtype != dtype:
                msg = (
                    f"{self.name} got values of {column.values.dtype}. Cast them, values.astype('{dtype}'), "
                    f"or make an operator for {column.values.dtype}"
                )
                raise AggregateError(msg)
        for column in found:
            if column.valid is not None and column.valid.dtype != np.bool_:
                msg = f"which values of {self.name} are there is told by an array of bool, got {column.valid.dtype}"
                raise AggregateError(msg)
        arrays = [array for column in found for array in column if array is not None]
        if any(array.ndim != 1 or len(array) != len(arrays[0]) for array in arrays):
            msg = f"{self.name} got columns of shapes {[array.shape for array in arrays]}: one length is needed"
            raise AggregateError(msg)
        return found


def _column(given: Array | Column) -> Column:
    if isinstance(given, np.ma.MaskedArray):
        return Column(given.data, ~np.ma.getmaskarray(given))
    values, valid = given if isinstance(given, Column) else (given, None)
    return Column(np.asarray(values), None if valid is None else np.asarray(valid))


def cut(partial: Vector, start: int, stop: int) -> Vector:
    """Take the places from `start` to `stop` of each component, without a copy."""
    return tuple(array[start:stop] for array in partial)


def by_ufuncs(*ufuncs: np.ufunc) -> Callable[[Vector, Vector], Vector]:
    """Combine each component by a ufunc of its own.

    >>> by_ufuncs(np.add, np.maximum)((np.array([1]), np.array([5])), (np.array([2]), np.array([3])))
    (array([3]), array([5]))
    """
    if len(ufuncs) == 2:  # written out: a fifth of the time of a slide over a few hundred keys is this loop
        first, second = ufuncs
        return lambda x, y: (first(x[0], y[0]), second(x[1], y[1]))
    return lambda x, y: tuple(ufunc(a, b) for ufunc, a, b in zip(ufuncs, x, y, strict=True))


def there(column: Column) -> Array:
    """Tell which values are not null."""
    return np.ones(len(column.values), np.bool_) if column.valid is None else column.valid


def known(column: Column, neutral: Any) -> Array:
    """Give the values, with the neutral element in place of nulls."""
    values, valid = column
    return values if valid is None else np.where(valid, values, values.dtype.type(neutral))
