"""What an aggregate is: lift, combine and lower, and the properties that decide how windows may share it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeAlias

from muntin.errors import AggregateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from typing_extensions import TypeVar

    # With defaults (PEP 696), a bare `AggregateFunction` stands for one of any types.
    In = TypeVar("In", default=Any)
    Agg = TypeVar("Agg", default=Any)
    Out = TypeVar("Out", default=Any)
else:
    from typing import TypeVar

    In = TypeVar("In")
    Agg = TypeVar("Agg")
    Out = TypeVar("Out")

Kind: TypeAlias = Literal["distributive", "algebraic", "holistic"]
Sharing: TypeAlias = Literal["covered", "partitioned", "none"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AggregateFunction(Generic[In, Agg, Out]):
    """Describe an aggregate by three functions and the laws that they obey.

    `lift` makes the partial of one event, `combine` joins the partials of two stretches of events, the
    earlier on the left, and `lower` turns a partial into the result. Partials are immutable values: one
    partial goes to many windows, so `combine` returns a new one and never changes its operands.

    `identity` is the partial of no events: `combine(identity, x) == x == combine(x, identity)`, so every
    fold starts from it. `lift` of a null is the identity where `ignores_nulls`, and `lower(identity)` is the
    result of a window with only nulls. For several columns the input is the tuple of their values (a null is
    then a tuple of nulls only), for no column the empty tuple.

    >>> from muntin.aggregate.catalog import avg
    >>> early, late = avg.fold([1, 2]), avg.fold([6, None])
    >>> avg.lower(avg.combine(early, late))
    3.0
    """

    name: str
    kind: Kind
    lift: Callable[[In], Agg]
    combine: Callable[[Agg, Agg], Agg]
    lower: Callable[[Agg], Out]
    identity: Agg = field(compare=False)  # may be unhashable, and the functions settle it
    inverse: Callable[[Agg, Agg], Agg] | None = None
    """`inverse(combine(x, y), y) == x`: exact on integers and decimals. On floats it gives back what rounding
    left, and it cannot take away a NaN or an infinity."""
    associative: bool = True
    commutative: bool = False
    overlap_tolerant: bool = False
    """`combine(x, x) == x`: counting an event twice changes nothing, see `sharing`."""
    selects: bool = False
    """`combine(x, y)` is x or y itself: what SlickDeque needs of an aggregate without an inverse."""
    bounded: bool = True
    """A partial's size does not grow with the events in it."""
    arity: int = 1
    optional_columns: int = 0
    """How many of the `arity` columns may be left out: `count()` and `count("x")`."""
    ignores_nulls: bool = True
    sketch: bool = False
    """The partial is one of Spark's sketches: flags only, nothing is evaluated in Python."""
    whole: Callable[[Sequence[In]], Out] | None = None
    """The result from all values at once: the only way for a holistic function."""
    parameters: tuple[tuple[str, object], ...] = ()
    """The settings that a call may give, with their defaults."""
    instead: str = ""
    """A shareable function to offer where this one cannot be shared."""
    returns: str = ""
    """The type of the result as Spark writes types, for a function that Spark runs as Python."""

    def __post_init__(self) -> None:
        if self.kind == "holistic" and (self.associative or self.whole is None):
            msg = (
                f"`{self.name}` is holistic: it has no partial to combine. Declare it with associative=False "
                "and whole=, the function that computes it from all values"
            )
            raise AggregateError(msg)
        if self.overlap_tolerant and not self.associative:
            msg = (
                f"`{self.name}` claims overlap_tolerant=True without associative=True. Partials that overlap "
                "can only be joined where both hold"
            )
            raise AggregateError(msg)
        if self.selects and not self.overlap_tolerant:
            msg = (
                f"`{self.name}` claims selects=True and overlap_tolerant=False. A combine that returns one "
                "of its operands has combine(x, x) == x: claim overlap_tolerant=True too, or neither"
            )
            raise AggregateError(msg)
        if self.overlap_tolerant and self.inverse is not None:
            # x = x ⊕ x gives x ⊖ x = x; x = identity ⊕ x gives x ⊖ x = identity: only the identity has both.
            msg = (
                f"`{self.name}` claims overlap_tolerant=True and has an inverse. Where combine(x, x) == x no "
                "function can take the second x away again: drop one of the two"
            )
            raise AggregateError(msg)

    def __call__(self, *columns: Any, filter: object | None = None, **params: object) -> Aggregate:
        """Apply the function to columns: names, or Spark expressions such as `F.col("a") - F.col("b")`.

        >>> from muntin import agg
        >>> agg.arg_max("len", "caller")
        arg_max(len, caller)
        """
        # As SQL writes it: where no column is needed, the star is none.
        star = len(columns) == 1 and isinstance(columns[0], str) and columns[0] == "*"
        if star and self.optional_columns == self.arity == 1:
            columns = ()
        return Aggregate(self, columns, filter, tuple(params.items()))

    @property
    def invertible(self) -> bool:
        """Tell whether a partial can be taken away again."""
        return self.inverse is not None

    @property
    def evictable(self) -> bool:
        """Tell whether the oldest partial can be taken away, as subtract-on-evict does.

        The inverse takes away the right, later operand (Tangwongsan et al., section 3.2). The oldest stands
        on the left, out of reach unless order does not matter: `collect` is invertible, not evictable.
        """
        return self.inverse is not None and self.commutative

    @property
    def shareable(self) -> bool:
        """Tell whether a window's result can be made of the partials of other windows (Theorem 5)."""
        return self.associative and self.kind != "holistic"

    @property
    def sharing(self) -> Sharing:
        """Say how windows may share: by any ordered cover, by exact partitions only, or not at all.

        >>> from muntin import agg
        >>> agg.min.sharing, agg.first.sharing, agg.sum.sharing, agg.median.sharing
        ('covered', 'covered', 'partitioned', 'none')
        """
        if not self.shareable:
            return "none"
        # Theorem 6 allows overlapping covers for MIN and MAX. Associative and idempotent is enough, and order
        # need not be given up: of two intervals in order, one holds the events X·O, the next O·Y, where O is
        # their overlap. (X·O) · (O·Y) = X · (O·O) · Y = X·O·Y. By induction any cover whose intervals are
        # taken in order of time gives the whole interval, for first and last as well as for min.
        return "covered" if self.overlap_tolerant else "partitioned"

    def fold(self, values: Iterable[In]) -> Agg:
        """Make the partial of values in event order.

        >>> from muntin.aggregate.catalog import max_count
        >>> max_count.fold([3, 5, 5, None])
        Tally(n=2, extreme=5)
        """
        return self.merge(map(self.lift, values))

    def merge(self, partials: Iterable[Agg]) -> Agg:
        """Combine partials in event order, starting from the identity."""
        return reduce(self.combine, partials, self.identity)

    def evaluate(self, values: Iterable[In]) -> Out:
        """Compute the result from all values, for a holistic function too.

        >>> from muntin import agg
        >>> agg.stddev_pop.evaluate([2, 4, 4, 4, 5, 5, 7, 9]), agg.median.evaluate([1, 7, 2])
        (2.0, 2.0)
        """
        return self.lower(self.fold(values)) if self.whole is None else self.whole(list(values))

    def __repr__(self) -> str:
        return f"<aggregate {self.name}>"


@dataclass(frozen=True, slots=True, repr=False)
class Aggregate:
    """Hold a function together with the columns that it reads.

    >>> from muntin import agg
    >>> agg.min("temp").columns, agg.approx_quantile("ms", q=0.99).settings
    (('temp',), {'q': 0.99, 'k': 200})
    >>> agg.arg_max("len")
    Traceback (most recent call last):
    ...
    muntin.errors.AggregateError: `arg_max` takes 2 columns, got 1: ('len',)
    """

    function: AggregateFunction
    columns: tuple[Any, ...] = ()
    filter: object | None = None
    params: tuple[tuple[str, object], ...] = ()

    def __post_init__(self) -> None:
        most, name = self.function.arity, self.function.name
        least = most - self.function.optional_columns
        if not least <= len(self.columns) <= most:
            takes = f"{most}" if least == most else f"{least} to {most}"
            plural = "" if takes == "1" else "s"
            msg = f"`{name}` takes {takes} column{plural}, got {len(self.columns)}: {self.columns!r}"
            raise AggregateError(msg)
        for column in self.columns:
            # A Spark expression is known by what it can do: nothing here imports Spark.
            if not (isinstance(column, str) and column) and not hasattr(column, "cast"):
                msg = (
                    f"`{name}` takes columns by name or as Spark expressions, got {column!r}. "
                    f"Write for example {name}('temp')"
                )
                raise AggregateError(msg)
        known = [key for key, _ in self.function.parameters]
        for key, _ in self.params:
            if key not in known:
                takes = f"only {', '.join(known)}" if known else "none"
                msg = f"`{name}` has no setting {key!r}: it takes {takes}"
                raise AggregateError(msg)

    @property
    def settings(self) -> dict[str, object]:
        """Give the function's settings: its defaults, and what the call set."""
        return dict(self.function.parameters) | dict(self.params)

    def value(self, row: Mapping[str, object]) -> object:
        """Take the function's input from a row.

        >>> from muntin import agg
        >>> row = {"len": 3, "caller": "ada"}
        >>> agg.count().value(row), agg.max("len").value(row), agg.arg_max("len", "caller").value(row)
        ((), 3, (3, 'ada'))
        """
        values = tuple(row[column] for column in self.columns)
        return values[0] if len(values) == 1 else values

    def __repr__(self) -> str:
        settings = [f"{key}={value!r}" for key, value in self.params]
        settings += [] if self.filter is None else [f"filter={written(self.filter)}"]
        return f"{self.function.name}({', '.join([*map(written, self.columns), *settings])})"


def written(column: object) -> str:
    """Write a column as its name, and a Spark expression without the class that Spark puts around it."""
    return column if isinstance(column, str) else str(column).removeprefix("Column<'").removesuffix("'>")


@dataclass(frozen=True, slots=True)
class Adjoined(Generic[Agg]):
    """Add a neutral element to a combine that has none: None, the partial of no values yet.

    >>> combine = Adjoined(lambda x, y: x if x <= y else y)
    >>> combine(None, 3), combine(4, None), combine(4, 3), combine(None, None)
    (3, 4, 3, None)
    """

    combine: Callable[[Agg, Agg], Agg]

    def __call__(self, x: Agg | None, y: Agg | None) -> Agg | None:
        """Combine two partials, either of which may be that of no values."""
        if x is None:
            return y
        return x if y is None else self.combine(x, y)


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Stand where a function would, and say why there is none."""

    reason: str

    def __call__(self, *_: object) -> NoReturn:
        """Raise the reason."""
        raise AggregateError(self.reason)


def same(value: In) -> In:
    """Give back the value: the lift or lower of an aggregate whose input, partial and result are one type."""
    return value
