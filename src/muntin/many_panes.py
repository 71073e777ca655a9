"""Several queries from one scan: panes of all their windows by all their keys are kept, and each query reads these."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from muntin.many_plan import Base
from muntin.physical.constants import load_constants
from muntin.physical.cost import Prices
from muntin.query import Query, plan_table
from muntin.share.together import taken_out, together

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from muntin.physical.choose import Strategy
    from muntin.physical.statistics import Statistics
    from muntin.share.together import Together
    from muntin.spark.kept import KeptPanes
    from muntin.table_plan import TablePlan


class OverPanes:
    """Plans of queries that read the panes of a base, each made once."""

    def __init__(
        self,
        whole: Together,
        panes: KeptPanes,
        base: Base,
        strategy: Strategy,
        known: Callable[[Query], Statistics],
    ) -> None:
        self.base = base
        self._whole, self._panes, self._strategy, self._known = whole, panes, strategy, known
        self._plans: dict[tuple[str, ...], TablePlan] = {}

    def part(self, part: Together) -> Together:
        """Call what a part computes as it is called among all."""
        return taken_out(self._whole, part.names)

    def plan(self, part: Together) -> TablePlan:
        """Plan what is taken together: queries with the same keys."""
        part = self.part(part)
        if part.names not in self._plans:
            first = part.members[0].query
            assert isinstance(first, Query)
            query = Query(self._panes.rows, first.time, first.keys, part.windows, part.aggregates)
            figures = self._known(first)
            rows = min(self.base.estimate.panes, figures.rows)
            how = f"panes by {self.base.by}"
            read = replace(figures, rows=rows, items=None, text=False, how=how, seconds=0.0)
            bound = self._panes.read_by(query)
            found = plan_table(query, bound, read, strategy=self._strategy, partials=True)
            self._plans[part.names] = found
        return self._plans[part.names]

    def seconds(self, parts: Sequence[Together]) -> float:
        """Add up what parts are expected to take, once the panes are there."""
        return sum(self.plan(part).physical.seconds for part in parts)


def over_panes(
    named: Mapping[str, Query], strategy: Strategy, known: Callable[[Query], Statistics]
) -> OverPanes | None:
    """Prepare the panes of queries over the same events; those with aggregates that have no partials are left out.

    None where fewer than two queries are left, or where keys have names that Spark does not tell apart.
    """
    from muntin.spark.bound import bind
    from muntin.spark.kept import kept_panes
    from muntin.spark.panes import Grid

    whole = together(named)
    first = next(iter(named.values()))
    keys = _keys(whole)
    if len({key.lower() for key in keys}) < len(keys):
        return None
    recipes = bind(Query(first.source, first.time, keys, whole.windows, whole.aggregates)).recipes
    shared = {there for there, _ in whole.aggregates if there in recipes and recipes[there].shareable}
    names = [member.name for member in whole.members if set(member.aggregates.values()) <= shared]
    if len(names) < 2:
        return None
    whole = taken_out(whole, names)
    # Of queries that were left out the keys do not matter.
    one = Query(first.source, first.time, _keys(whole), whole.windows, whole.aggregates)
    pane = Prices.pane(whole.windows)
    panes = kept_panes(bind(one), [there for there, _ in whole.aggregates], Grid(pane.range, pane.offset))
    heavy = sum(part.heavy for _, part in panes.parts.values())
    readers = len({member.query.keys for member in whole.members})
    price = Prices(known(one), load_constants(), max(len(panes.parts), 1), heavy).kept(pane, readers)
    return OverPanes(whole, panes, Base(one.keys, pane, whole.names, price, panes.rows), strategy, known)


def _keys(whole: Together) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for member in whole.members for key in member.query.keys))
