"""The laws that an aggregate's flags claim, as equations between partials a, b and c."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from muntin.aggregate.algebra import AggregateFunction

Sides: TypeAlias = Callable[[Any, Any, Any], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Law:
    """State that a left side equals one of the right sides, whatever the partials a, b and c.

    `sides` gives the value of the left side, then those of the right ones: with none, it is enough that
    nothing raises. `partials` is how many of a, b and c the law speaks of.
    """

    label: str
    claim: str
    left: str
    right: tuple[str, ...]
    sides: Sides
    remedy: str
    partials: int = 1


def purity(f: AggregateFunction) -> Law:
    """State that combine leaves its operands alone; c is to be made of the same events as a.

    >>> from muntin.aggregate.catalog import sum
    >>> purity(sum).left
    'a after combine(a, b) and combine(b, a)'
    """

    def a_after_use(a: Any, b: Any, c: Any) -> Sequence[Any]:
        f.combine(a, b)
        f.combine(b, a)
        return a, c

    text = "a after combine(a, b) and combine(b, a)"
    remedy = "Let combine return a new partial: one partial goes to many windows"
    return Law("purity", "partials that never change", text, ("a before",), a_after_use, remedy, 2)


def claimed_laws(f: AggregateFunction) -> list[Law]:
    """List what an aggregate with partials claims.

    >>> from muntin.aggregate.catalog import first
    >>> list(dict.fromkeys(law.label for law in claimed_laws(first)))
    ['identity', 'associative', 'overlap_tolerant', 'selects', 'lower']
    """
    laws = _neutral("identity", "a neutral identity", "identity", f, lambda: f.identity, _IDENTITY)
    if f.ignores_nulls:
        null = (None,) * f.arity if f.arity > 1 else None
        laws += _neutral("nulls", "ignores_nulls=True", f"lift({null!r})", f, lambda: f.lift(null), _NULLS)
    laws += [law for law in _flags(f) if getattr(f, law.label)]
    inverse, op = f.inverse, f.combine
    if inverse is not None:

        def undone(a: Any, b: Any, c: Any) -> Sequence[Any]:
            return inverse(op(a, b), b), a

        remedy = "Correct inverse, or leave it out"
        laws.append(Law("inverse", "an inverse", "inverse(combine(a, b), b)", ("a",), undone, remedy, 2))
    remedy = "Let lower take every partial; a window of nulls only has the identity"
    laws.append(Law("lower", "a result", "lower(a)", (), lambda a, b, c: (f.lower(a),), remedy))
    return laws


def unclaimed_laws(f: AggregateFunction) -> list[Law]:
    """List the flags that an aggregate with partials could claim and does not.

    >>> from muntin.aggregate.catalog import sum
    >>> [law.label for law in unclaimed_laws(sum)]
    ['overlap_tolerant', 'selects']
    """
    return [law for law in _flags(f) if not getattr(f, law.label)]


def laws_of_all_values(f: AggregateFunction) -> list[Law]:
    """List what a holistic aggregate claims; a and b are lists of values.

    >>> from muntin.aggregate.catalog import median
    >>> [law.claim for law in laws_of_all_values(median)]
    ['ignores_nulls=True', 'commutative=True']
    """
    whole = f.evaluate
    nulls = Law(
        "nulls",
        "ignores_nulls=True",
        "whole([*a, None])",
        ("whole(a)",),
        lambda a, b, c: (whole([*a, None]), whole(a)),
        "Leave nulls out of the values, or declare ignores_nulls=False",
    )
    order = Law(
        "commutative",
        "commutative=True",
        "whole([*a, *b])",
        ("whole([*b, *a])",),
        lambda a, b, c: (whole([*a, *b]), whole([*b, *a])),
        "Correct whole, or declare commutative=False",
        2,
    )
    return [law for law, claimed in [(nulls, f.ignores_nulls), (order, f.commutative)] if claimed]


_IDENTITY = "Give an identity that changes nothing, or none at all to have one added"
_NULLS = "Lift a null to the identity, or declare ignores_nulls=False"


def _neutral(
    label: str, claim: str, text: str, f: AggregateFunction, element: Callable[[], Any], remedy: str
) -> list[Law]:
    def on_the_left(a: Any, b: Any, c: Any) -> Sequence[Any]:
        return f.combine(element(), a), a

    def on_the_right(a: Any, b: Any, c: Any) -> Sequence[Any]:
        return f.combine(a, element()), a

    return [
        Law(label, claim, f"combine({text}, a)", ("a",), on_the_left, remedy),
        Law(label, claim, f"combine(a, {text})", ("a",), on_the_right, remedy),
    ]


def _flags(f: AggregateFunction) -> list[Law]:
    op = f.combine
    return [
        Law(
            "associative",
            "associative=True",
            "combine(combine(a, b), c)",
            ("combine(a, combine(b, c))",),
            lambda a, b, c: (op(op(a, b), c), op(a, op(b, c))),
            "Make combine associative: all sharing rests on it",
            3,
        ),
        Law(
            "commutative",
            "commutative=True",
            "combine(a, b)",
            ("combine(b, a)",),
            lambda a, b, c: (op(a, b), op(b, a)),
            "Correct combine, or declare commutative=False",
            2,
        ),
        Law(
            "overlap_tolerant",
            "overlap_tolerant=True",
            "combine(a, a)",
            ("a",),
            lambda a, b, c: (op(a, a), a),
            "Correct combine, or declare overlap_tolerant=False",
        ),
        Law(
            "selects",
            "selects=True",
            "combine(a, b)",
            ("a", "b"),
            lambda a, b, c: (op(a, b), a, b),
            "Correct combine, or declare selects=False",
            2,
        ),
    ]
