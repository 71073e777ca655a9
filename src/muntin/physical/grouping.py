"""Which windows share panes: too many, and the panes get fine; too few, and the events are read again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.physical.cost import Prices
    from muntin.window.spec import Window

# Beyond so many windows all pairs take too long to weigh, and panes for all are near enough.
MANY: Final = 60


def pane_groups(windows: Sequence[Window], prices: Prices, *, direct: bool = False) -> list[tuple[Window, ...]]:
    """Part windows into groups that go through panes of their own, by merging what saves most, pair by pair.

    With `direct`, a group may also go without panes, each window straight from the events.

    Windows of one shape stay together under any name. Compared with one group for all, and the better is taken.

    >>> from muntin import tumbling
    >>> from muntin.physical.constants import Constants
    >>> from muntin.physical.cost import Prices
    >>> from muntin.physical.statistics import Statistics
    >>> prices = Prices(Statistics(rows=1e7, span=10_000_000_000_000), Constants())
    >>> pane_groups([tumbling("20s"), tumbling("30s"), tumbling("40s")], prices)
    [(tumbling('20s'), tumbling('30s'), tumbling('40s'))]
    """
    same: dict[Window, list[int]] = {}
    for place, window in enumerate(windows):
        same.setdefault(window, []).append(place)
    groups = [sum(1 << place for place in places) for places in same.values()]
    if len(groups) > MANY:
        groups = [sum(groups)]
    price: dict[int, float] = {}

    def members(group: int) -> tuple[Window, ...]:
        return tuple(window for place, window in enumerate(windows) if group >> place & 1)

    def cost(group: int) -> float:
        # By places and not by windows: thousands of sets are looked up, and a bit set is compared at once.
        if group not in price:
            found = members(group)
            price[group] = prices.sweep(found).seconds
            if direct:
                price[group] = min(price[group], prices.direct(found).seconds)
        return price[group]

    whole = sum(groups)
    if len(groups) > 1 and cost(whole) <= prices.least_parted(windows, direct=direct):
        # To weigh all pairs takes longer than to plan all the rest, and no parts can be cheaper.
        return [members(whole)]
    while len(groups) > 1:
        saved, i, j = max(
            (cost(groups[i]) + cost(groups[j]) - cost(groups[i] | groups[j]), -i, -j)
            for i in range(len(groups))
            for j in range(i + 1, len(groups))
        )
        if saved <= 0:
            break
        i, j = -i, -j
        groups = [group for k, group in enumerate(groups) if k not in (i, j)] + [groups[i] | groups[j]]
    if cost(whole) <= sum(map(cost, groups)):
        groups = [whole]
    # In the order of the first window of each: its lowest bit.
    return [members(group) for group in sorted(groups, key=lambda group: group & -group)]
