"""The techniques of final aggregation that a tree can use, what each asks of the aggregate, and its estimates."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from muntin.errors import AggregateError, OptimizeError
from muntin.incremental import ALGORITHMS
from muntin.incremental.structure import check
from muntin.share import omega, omega_due

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.share.omega import Load

Estimate: TypeAlias = Literal["due", "paper"]
ESTIMATES: Final[tuple[Estimate, ...]] = ("due", "paper")


@dataclass(frozen=True, slots=True)
class Technique:
    """A final aggregator with its Omega: `paper` as Table 3 has it, `due` as our structure does it.

    `shared` tells whether one structure serves all ranges of a tree; if not, there is one for each. `keyed` tells
    whether the structure can hold a vector over keys in each place (`muntin.incremental.columnar`): it then makes the
    same calls once for all keys, so its Omega is the same, in calls of NumPy and not of one key.
    """

    name: str
    paper: Callable[[Load], float]
    due: Callable[[Load], float]
    in_table: bool = True
    keyed: bool = True

    @property
    def shared(self) -> bool:
        """Whether one structure serves all ranges."""
        return ALGORITHMS[self.name].card.multi_query is not None

    def omega(self, load: Load, estimate: Estimate) -> float:
        """Estimate the operations for each slice of a tree."""
        return self.paper(load) if estimate == "paper" else self.due(load)


_ALL: Final = (
    Technique("Panes", omega.panes, omega_due.panes),
    Technique("FlatFAT", omega.flatfat, omega_due.flatfat),
    Technique("FlatFIT", omega.flatfit, omega_due.flatfit),
    # It adds a subtraction for each range, and holds its partials by number: vectors do as well as numbers.
    Technique("SlickDeque-Inv", omega.slickdeque_inv, omega_due.slickdeque_inv),
    # It looks at the data: each key would drop other places.
    Technique("SlickDeque-NonInv", omega.slickdeque_noninv, omega_due.slickdeque_noninv, keyed=False),
    Technique("Panes-Inv", omega.panes_inv, omega_due.panes_inv, in_table=False),
    Technique("TwoStacks", omega.twostacks, omega_due.twostacks, in_table=False),
    Technique("DABA", omega.daba, omega_due.daba, in_table=False),
)
TECHNIQUES: Final[Mapping[str, Technique]] = MappingProxyType({each.name: each for each in _ALL})
"""All techniques by name: first the five of Table 3, then those that keep a structure for each range."""


def applicable(functions: Sequence[AggregateFunction]) -> tuple[Technique, ...]:
    """List the techniques that all of several aggregates allow.

    >>> from muntin import agg
    >>> [t.name for t in applicable([agg.max])]
    ['Panes', 'FlatFAT', 'FlatFIT', 'SlickDeque-NonInv', 'TwoStacks', 'DABA']
    >>> [t.name for t in applicable([agg.sum, agg.max])]
    ['Panes', 'FlatFAT', 'FlatFIT', 'TwoStacks', 'DABA']
    """
    return tuple(technique for technique in _ALL if _allowed(technique, functions))


def find_technique(name: str, functions: Sequence[AggregateFunction]) -> Technique:
    """Find a technique by name, and refuse it where an aggregate does not allow it.

    >>> from muntin import agg
    >>> find_technique("SlickDeque-Inv", [agg.max])
    Traceback (most recent call last):
    ...
    muntin.errors.AggregateError: SlickDeque-Inv needs an operator that is commutative and has an inverse; `max` ...
    """
    if name not in TECHNIQUES:
        msg = f"unknown technique {name!r}: known are 'auto', {', '.join(map(repr, TECHNIQUES))}"
        raise OptimizeError(msg)
    for function in functions:
        check(function, ALGORITHMS[name].card)
    return TECHNIQUES[name]


def _allowed(technique: Technique, functions: Sequence[AggregateFunction]) -> bool:
    try:
        for function in functions:
            check(function, ALGORITHMS[technique.name].card)
    except AggregateError:
        return False
    return True
