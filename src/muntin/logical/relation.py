"""Which window may read which other, and how many of its intervals: the rule that an aggregate's algebra sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from muntin.errors import AggregateError
from muntin.window import cover

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.window.spec import Window

Sharing: TypeAlias = Literal["covered", "partitioned", "none"]
Covers: TypeAlias = Literal["dense", "sparse"]


@dataclass(frozen=True, slots=True)
class Relation:
    """Say from how many intervals of a parent a child can be made.

    `sharing` is what the aggregate allows; `covers` is how many intervals are combined: `dense`, all of those
    between the ends, as Theorem 3 counts them, or `sparse`, the fewest that do.

    >>> from muntin import Window
    >>> Relation("covered", "dense").count(Window(10, 2), Window(8, 2))
    2
    >>> Relation("partitioned", "dense").count(Window(10, 2), Window(8, 2)) is None
    True
    >>> Relation("partitioned", "sparse").count(Window(16, 2), Window(8, 2))
    2
    """

    sharing: Sharing
    covers: Covers = "dense"

    def count(self, child: Window, parent: Window) -> int | None:
        """Count the parent's intervals in one of the child's; None where the child may not read the parent."""
        if self.sharing == "none":
            return None
        count = cover.sparse_count if self.covers == "sparse" else cover.dense_count
        return count(child, parent, overlap=self.sharing == "covered")

    def starts(self, child: Window, parent: Window) -> tuple[int, ...]:
        """List where the parent's intervals start, counted from the child's start."""
        if self.covers == "dense":
            return cover.dense_cover(child, parent)
        found = cover.sparse_cover(child, parent, overlap=self.sharing == "covered")
        assert found is not None, f"{child!r} cannot read {parent!r}"
        return found


def sharing_of(functions: Sequence[AggregateFunction]) -> Sharing:
    """Find the loosest sharing that all of several aggregates allow in one tree.

    >>> from muntin import agg
    >>> sharing_of([agg.min, agg.max]), sharing_of([agg.min, agg.sum]), sharing_of([agg.median])
    ('covered', 'partitioned', 'none')
    """
    allowed = {function.sharing for function in functions}
    return next(kind for kind in ("none", "partitioned", "covered") if kind in allowed)


def check_sharing(function: AggregateFunction, asked: Sharing) -> None:
    """Refuse a sharing that an aggregate's flags forbid, and say why."""
    if asked == "none" or function.sharing == "covered":
        return
    if function.sharing == "none":
        msg = (
            f"`{function.name}` cannot be shared between windows: it has no bounded partial. "
            "Use a sketch such as `approx_quantile` or `approx_distinct`, or pass share=False to run it natively"
        )
        raise AggregateError(msg)
    if asked == "covered":
        msg = (
            f"`{function.name}` cannot be shared under 'covered': where a parent's intervals overlap, an event "
            "would count more than once. Use sharing='partitioned', or leave it out"
        )
        raise AggregateError(msg)
