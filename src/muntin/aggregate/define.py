"""Aggregates that users write themselves: three functions, and what they are known to obey."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from muntin.aggregate.algebra import Adjoined, AggregateFunction, same
from muntin.aggregate.names import find
from muntin.errors import AggregateError

if TYPE_CHECKING:
    from collections.abc import Callable

_NONE_GIVEN: Final = object()


def define(
    name: str,
    *,
    lift: Callable[[Any], Any],
    combine: Callable[[Any, Any], Any],
    lower: Callable[[Any], Any] = same,
    identity: object = _NONE_GIVEN,
    inverse: Callable[[Any, Any], Any] | None = None,
    commutative: bool = False,
    overlap_tolerant: bool = False,
    selects: bool = False,
    bounded: bool = True,
    arity: int = 1,
    ignores_nulls: bool = True,
    returns: str = "",
) -> AggregateFunction:
    """Make an aggregate of your own. `combine` must be associative: all sharing rests on it.

    Without an `identity`, None is added as the partial of no values, and the three functions never see it: a
    window of nulls only gives null. With one, `lower(identity)` is the result of such a window. Nulls never
    reach `lift`, unless `ignores_nulls=False` or only some of several columns are null. Claim only what
    holds: `muntin.testing.check_aggregate` looks for counter-examples. `returns` is the type of the result as
    Spark writes types, such as "double" or "array<string>": needed to run on Spark, and only there.

    >>> longest = define("longest", lift=len, combine=max, commutative=True, selects=True)
    >>> longest.evaluate(["a", None, "abc"]), longest.evaluate([None]), longest.sharing
    (3, None, 'covered')
    """
    _check(name, arity, {"lift": lift, "combine": combine, "lower": lower})
    if inverse is not None and not callable(inverse):
        msg = f"`{name}`: inverse must be a function of two partials or None, got {inverse!r}"
        raise AggregateError(msg)
    if identity is _NONE_GIVEN and inverse is not None:
        # inverse(combine(None, y), y) = inverse(y, y) would have to be None, which it cannot know of.
        msg = f"`{name}` has an inverse, so it needs an identity: the partial that inverse(x, x) leaves"
        raise AggregateError(msg)
    adjoin = identity is _NONE_GIVEN
    neutral = None if adjoin else identity
    return AggregateFunction(
        name=name,
        kind="distributive" if lower is same else "algebraic",
        lift=_NullsAside(lift, neutral, arity) if ignores_nulls else lift,
        combine=Adjoined(combine) if adjoin else combine,
        lower=_NoneAside(lower) if adjoin else lower,
        identity=neutral,
        inverse=inverse,
        commutative=commutative,
        overlap_tolerant=overlap_tolerant or selects,  # combine(x, x) is x or x
        selects=selects,
        bounded=bounded,
        arity=arity,
        ignores_nulls=ignores_nulls,
        returns=returns,
    )


@dataclass(frozen=True, slots=True)
class _NullsAside:
    lift: Callable[[Any], Any]
    identity: object = field(compare=False)
    arity: int

    def __call__(self, value: Any) -> Any:
        parts = value if self.arity > 1 and isinstance(value, tuple) else (value,)
        if value is None or all(part is None for part in parts):
            return self.identity
        return self.lift(value)


@dataclass(frozen=True, slots=True)
class _NoneAside:
    lower: Callable[[Any], Any]

    def __call__(self, partial: Any) -> Any:
        return None if partial is None else self.lower(partial)


def _check(name: str, arity: int, functions: dict[str, object]) -> None:
    if not isinstance(name, str) or not name.strip():
        msg = f"an aggregate needs a name, got {name!r}"
        raise AggregateError(msg)
    built_in = find(name)
    if built_in is not None:
        msg = f"`{name}` is taken by the built-in agg.{built_in.name}. Choose another, such as 'my_{name}'"
        raise AggregateError(msg)
    for role, function in functions.items():
        if not callable(function):
            msg = f"`{name}`: {role} must be a function, got {function!r}"
            raise AggregateError(msg)
    if isinstance(arity, bool) or not isinstance(arity, int) or arity < 0:
        msg = f"`{name}`: arity is the number of columns, 0 or more, got {arity!r}"
        raise AggregateError(msg)
