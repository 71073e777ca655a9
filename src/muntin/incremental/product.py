"""Several aggregates as one operator: partials side by side in a tuple."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from muntin.errors import AggregateError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from muntin.aggregate.algebra import Aggregate

Partials: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """Lift, combine and lower several aggregates of one row together, so that one structure serves them all.

    It obeys a law where all of them do.

    >>> from muntin.aggregate import catalog as agg
    >>> calls = Product({"longest": agg.max("len"), "who": agg.arg_max("len", "caller")})
    >>> ada, bob = calls.lift({"len": 3, "caller": "ada"}), calls.lift({"len": 5, "caller": "bob"})
    >>> calls.lower(calls.combine(ada, bob)), calls.commutative
    ({'longest': 5, 'who': 'bob'}, False)
    """

    aggregates: Mapping[str, Aggregate]
    identity: Partials = field(init=False, repr=False)
    combine: Callable[[Partials, Partials], Partials] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.aggregates:
            msg = "no aggregates to compute: name at least one, for example {'longest': agg.max('len')}"
            raise AggregateError(msg)
        for name, aggregate in self.aggregates.items():
            function = aggregate.function
            if not function.shareable or function.sketch:
                what = "is one of Spark's sketches" if function.sketch else "has no partials to combine"
                msg = (
                    f"{name}: `{function.name}` {what}, so it cannot be aggregated incrementally in Python. "
                    f"Use {function.instead or 'an aggregate that has partials'}"
                )
                raise AggregateError(msg)
            if aggregate.filter is not None:
                msg = f"{name}: {aggregate!r} has a filter, which only Spark evaluates. Filter tuples before the window"
                raise AggregateError(msg)
        found = [aggregate.function for aggregate in self.aggregates.values()]
        object.__setattr__(self, "identity", tuple(function.identity for function in found))
        object.__setattr__(self, "combine", _side_by_side(tuple(function.combine for function in found)))

    @property
    def name(self) -> str:
        """Name the aggregates, as snapshots and errors write them.

        >>> from muntin.aggregate import catalog as agg
        >>> Product({"n": agg.count(), "mean": agg.avg("temp")}).name
        'n=count(), mean=avg(temp)'
        """
        return ", ".join(f"{name}={aggregate!r}" for name, aggregate in self.aggregates.items())

    @property
    def commutative(self) -> bool:
        """Tell whether order does not matter to any of them."""
        return all(aggregate.function.commutative for aggregate in self.aggregates.values())

    @property
    def overlap_tolerant(self) -> bool:
        """Tell whether counting twice changes none of them."""
        return all(aggregate.function.overlap_tolerant for aggregate in self.aggregates.values())

    @property
    def selects(self) -> bool:
        """Tell whether a combine gives back one operand: two aggregates may choose differently."""
        return False

    @property
    def invertible(self) -> bool:
        """Tell whether all of them have an inverse."""
        return all(aggregate.function.invertible for aggregate in self.aggregates.values())

    @property
    def evictable(self) -> bool:
        """Tell whether the oldest partials can be taken away from all of them."""
        return self.invertible and self.commutative

    @property
    def inverse(self) -> Callable[[Partials, Partials], Partials] | None:
        """Take the right partials away from the left ones, where all of them can."""
        inverses = [aggregate.function.inverse for aggregate in self.aggregates.values()]
        found = tuple(inverse for inverse in inverses if inverse is not None)
        return _side_by_side(found) if len(found) == len(inverses) else None

    def lift(self, row: Mapping[str, Any]) -> Partials:
        """Make the partials of one row."""
        return tuple(aggregate.function.lift(aggregate.value(row)) for aggregate in self.aggregates.values())

    def lower(self, partials: Partials) -> dict[str, Any]:
        """Turn partials into results by name."""
        named = zip(self.aggregates.items(), partials, strict=True)
        return {name: aggregate.function.lower(partial) for (name, aggregate), partial in named}


def _side_by_side(functions: tuple[Callable[[Any, Any], Any], ...]) -> Callable[[Partials, Partials], Partials]:
    # The innermost call of every structure: one aggregate, the common case, is spared the loop.
    if len(functions) == 1:
        (only,) = functions
        return lambda x, y: (only(x[0], y[0]),)
    return lambda x, y: tuple([function(a, b) for function, a, b in zip(functions, x, y, strict=True)])
