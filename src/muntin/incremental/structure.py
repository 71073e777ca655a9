"""What every final aggregator has in common: the operator it takes, the card it shows, the calls it answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Protocol, TypeAlias, TypeVar

from muntin.errors import AggregateError, IncrementalError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

P = TypeVar("P")

Ordering: TypeAlias = Literal["fifo", "any"]
Needs: TypeAlias = Literal["associative", "inverse and commutative", "selects"]


class Empty(Enum):
    """Mark a place that holds no partial: the ⊥ of Tangwongsan et al., section 5.1.1.

    It is told apart by identity alone (`is EMPTY`), so that no structure ever looks at a partial's value.
    """

    EMPTY = "⊥"

    def __repr__(self) -> str:
        return "⊥"


EMPTY: Final = Empty.EMPTY


class Operator(Protocol[P]):
    """Say how partials combine, and which laws the combining obeys.

    `muntin.aggregate.algebra.AggregateFunction` is an operator on the partials that it lifts.
    """

    @property
    def name(self) -> str:
        """Give the name, as snapshots and errors write it."""

    @property
    def identity(self) -> P:
        """Give the partial of no events."""

    @property
    def combine(self) -> Callable[[P, P], P]:
        """Join two partials, the earlier on the left."""

    @property
    def inverse(self) -> Callable[[P, P], P] | None:
        """Take the right partial away from the left one, or be None."""

    @property
    def commutative(self) -> bool:
        """Tell whether order does not matter."""

    @property
    def overlap_tolerant(self) -> bool:
        """Tell whether `combine(x, x)` is x."""

    @property
    def selects(self) -> bool:
        """Tell whether `combine(x, y)` is x or y itself."""

    @property
    def invertible(self) -> bool:
        """Tell whether there is an inverse."""

    @property
    def evictable(self) -> bool:
        """Tell whether the oldest partial can be taken away: inverse and commutative."""


@dataclass(frozen=True, slots=True)
class Card:
    """State what an algorithm takes, and what it costs in calls of combine or inverse per slide.

    A slide evicts the oldest of n partials, inserts one and asks for the result. `multi_query` is a slide of the
    max-multi-query case, with a result for each of the ranges 1 to n; None where only the whole window can be asked
    for. `space` counts partials.
    """

    name: str
    ordering: Ordering
    needs: Needs
    amortised: str
    worst: str
    multi_query: str | None
    space: str
    paper: str


class Structure(Protocol[P]):
    """Hold the partials of a window and aggregate them, oldest to newest.

    A combine that raises leaves the structure as it was.
    """

    card: ClassVar[Card]

    def __init__(self, operator: Operator[P]) -> None: ...

    def __len__(self) -> int: ...

    def insert(self, partial: P) -> None:
        """Add a partial at the new end of the window."""

    def evict(self) -> None:
        """Drop the oldest partial."""

    def query(self) -> P:
        """Aggregate the whole window."""

    def snapshot(self) -> bytes:
        """Write the state as bytes, see `muntin.incremental.snapshot`."""

    @classmethod
    def restore(cls, operator: Operator[P], data: bytes) -> Self:
        """Make a structure that goes on where the one that wrote `data` stopped."""


class MultiRange(Structure[P], Protocol[P]):
    """Also answer queries whose ranges are shorter than the window: its newest partials."""

    def query_last(self, count: int) -> P:
        """Aggregate the newest `count` partials."""


def check(operator: Operator[Any], card: Card) -> None:
    """Refuse an operator that does not obey the laws that the algorithm rests on.

    >>> from muntin.aggregate import catalog as agg
    >>> card = Card("SlickDeque-NonInv", "fifo", "selects", "2", "n", "2", "2n", "EDBT 2018")
    >>> check(agg.max, card)
    >>> check(agg.sum, card)
    Traceback (most recent call last):
    ...
    muntin.errors.AggregateError: SlickDeque-NonInv needs an operator that selects one of its operands; `sum` does ...
    """
    name = operator.name
    if not getattr(operator, "associative", True):  # a holistic function; operators of other kinds are associative
        instead = getattr(operator, "instead", "") or "an aggregate that has partials"
        msg = f"{card.name} needs an associative operator; `{name}` has no partials to combine. Use {instead}"
        raise AggregateError(msg)
    if card.needs == "inverse and commutative" and not operator.evictable:
        if operator.inverse is None:
            why = "has no inverse"
            instead = "SlickDeque-NonInv" if operator.selects else "TwoStacks or DABA, or FlatFIT for many ranges"
        else:
            # The inverse takes away the right, later operand, and the oldest partial stands on the left.
            why = "is not commutative, so its inverse takes away the newest partial and not the oldest"
            instead = "TwoStacks or DABA, or FlatFIT for many ranges"
        msg = f"{card.name} needs an operator that is commutative and has an inverse; `{name}` {why}. Use {instead}"
        raise AggregateError(msg)
    if card.needs == "selects" and not operator.selects:
        instead = "SlickDeque-Inv" if operator.evictable else "TwoStacks or DABA, or FlatFIT for many ranges"
        msg = f"{card.name} needs an operator that selects one of its operands; `{name}` does not. Use {instead}"
        raise AggregateError(msg)


def empty_window(card: Card, act: str) -> IncrementalError:
    """Make the error for a window without partials, from which nothing can be evicted or asked."""
    msg = f"{card.name}: cannot {act} an empty window. Insert a partial first"
    return IncrementalError(msg)


def check_held(card: Card, held: int, act: str) -> None:
    """Refuse to evict from, or to query, a window without partials."""
    if held == 0:
        raise empty_window(card, act)


def check_count(card: Card, held: int, count: int) -> None:
    """Refuse a range that the window does not hold."""
    check_held(card, held, "query")
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= held:
        msg = (
            f"{card.name}: cannot aggregate the newest {count!r} partials. The window holds {held}: ask for 1 to {held}"
        )
        raise IncrementalError(msg)
