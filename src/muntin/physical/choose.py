"""The choice of strategy: weigh the ways that are legal, take the cheapest, and say why."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, cast, get_args

from muntin.errors import QueryError
from muntin.physical.cost import Prices
from muntin.physical.plan import Candidate, Estimate, PhysicalPlan, Step
from muntin.physical.ways import Group, offers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from muntin.logical.forest import Forest
    from muntin.physical.constants import Constants
    from muntin.physical.statistics import Statistics
    from muntin.window.spec import Window

Strategy: TypeAlias = Literal["auto", "native", "spread", "jvm", "arrow"]
STRATEGIES: Final[tuple[str, ...]] = get_args(Strategy)
# A plan must be expected to save so much of native's time to be chosen over it: estimates are not that exact.
MARGIN: Final = 0.9
# Where nobody knows how few of the rows are left, the plan must be no worse than native's over so small a part of them.
LEFT: Final = 1e-3


def check_strategy(strategy: str) -> None:
    """Refuse a strategy that does not exist."""
    if strategy not in STRATEGIES:
        msg = f"no strategy {strategy!r}: choose one of {', '.join(STRATEGIES)}"
        raise QueryError(msg)


def choose(
    windows: Sequence[Window],
    groups: Sequence[Group],
    forest: Callable[[Group], Forest],
    strategy: Strategy,
    statistics: Statistics,
    constants: Constants,
) -> PhysicalPlan:
    """Choose a way for each group of aggregates; `forest` gives the logical plan's forest for a group.

    What is computed apart must be joined, and that has its price too: so groups are also weighed together.
    """
    if strategy == "auto" and statistics.at_most:
        return _whatever_is_left(windows, groups, forest, statistics, constants)
    every = tuple(windows)

    def price(several: Sequence[Group]) -> Prices:
        one = several[0] if len(several) == 1 else _together(several, "", shareable=False)
        return Prices(
            statistics,
            constants,
            one.parts,
            one.heavy,
            one.distinct,
            one.packable,
            one.listable,
            one.sorts,
            one.folds,
        )

    whole = price(groups)
    weighed: list[_Weighed] = []
    for together in _partitions(groups) if strategy == "auto" else [tuple(groups)]:
        steps: list[Step] = []
        candidates: list[Candidate] = []
        for group in together:
            found, considered = _choose(every, group, forest, strategy, price([group]))
            steps += found
            candidates += considered
        joined = _joined(steps, every, groups, price)
        apart = len({step.aggregates for step in joined})
        seconds = sum(step.estimate.seconds for step in joined) + (apart - 1) * whole.join(every).seconds
        weighed.append(_Weighed(seconds, joined, candidates))
    best = min(weighed, key=lambda found: found.seconds)
    native = _native_seconds(every, groups, price)
    if strategy == "auto" and len(best.steps) > 1 and best.seconds > MARGIN * native:
        best = _by_hand(every, groups, native, best)
    return PhysicalPlan(tuple(best.steps), tuple(best.candidates), statistics, constants.source, best.seconds, native)


def _whatever_is_left(
    windows: Sequence[Window],
    groups: Sequence[Group],
    forest: Callable[[Group], Forest],
    statistics: Statistics,
    constants: Constants,
) -> PhysicalPlan:
    """Take the way whose time in times of native's is the least at its worst: with all rows, or with few of them."""
    whole = replace(statistics, at_most=False)
    rows = max(whole.rows * LEFT, 1.0)
    few = replace(whole, rows=rows, keys=min(whole.keys, rows))
    plans = [choose(windows, groups, forest, "auto", each, constants) for each in (whole, few)]
    best = plans[0]
    if len({tuple(step.way for step in plan.steps) for plan in plans}) > 1:
        worst = {name: max(_times_native(plan, name) for plan in plans) for name in STRATEGIES if name != "auto"}
        wanted = min(worst, key=lambda name: worst[name])
        taken = cast("Strategy", wanted if worst[wanted] <= MARGIN else "native")
        best = choose(windows, groups, forest, taken, whole, constants)
    return replace(best, statistics=statistics)


def _times_native(plan: PhysicalPlan, way: str) -> float:
    """Say what a way takes, in times of native, for all aggregates; endless where some cannot go so."""
    seconds = [candidate.seconds for candidate in plan.candidates if candidate.name == way]
    every = len({candidate.aggregates for candidate in plan.candidates})
    return sum(seconds) / plan.native_seconds if len(seconds) == every else math.inf


def _native_seconds(
    windows: tuple[Window, ...], groups: Sequence[Group], price: Callable[[Sequence[Group]], Prices]
) -> float:
    """Price the plan written by hand: one group by has users' functions and all others, and reads the events once."""
    seconds = [price([group]).gathered(windows).seconds for group in groups if group.custom]
    given = [group for group in groups if not group.custom]
    if given:
        seconds.append(price(given).native(windows).seconds)
    return sum(seconds) - (len(seconds) - 1) * price(groups).again(windows).seconds


def _by_hand(windows: tuple[Window, ...], groups: Sequence[Group], seconds: float, other: _Weighed) -> _Weighed:
    """Compute all as written by hand, users' functions too, instead of what was weighed group by group."""
    names = tuple(name for group in groups for name in group.names)
    reason = "as written by hand: all in one group by, and the events are read once for each window"
    step = Step("native", names, windows, Estimate(seconds), reason)
    passed = [replace(candidate, chosen=False) for candidate in other.candidates]
    return _Weighed(seconds, [step], [Candidate("native", names, seconds, True, "all together"), *passed])


class _Weighed(NamedTuple):
    seconds: float
    steps: list[Step]
    candidates: list[Candidate]


def _partitions(groups: Sequence[Group]) -> list[tuple[Group, ...]]:
    """List the ways to put groups together: each by itself, all that share by Spark alone, and all."""
    found = [tuple(groups)]
    shared = [group for group in groups if group.shareable and not group.custom]
    if len(shared) > 1:
        why = "kept together, so that nothing needs a join"
        found.append((_together(shared, why, shareable=True), *(group for group in groups if group not in shared)))
    given = [group for group in groups if not group.custom]
    if len(given) > 1:
        why = "all together, so that nothing needs a join"
        found.append((_together(given, why, shareable=False), *(group for group in groups if group.custom)))
    return found


def _together(groups: Sequence[Group], why: str, *, shareable: bool) -> Group:
    names = tuple(name for group in groups for name in group.names)
    return Group(
        names,
        sum(group.parts for group in groups),
        shareable,
        columnar=False,
        custom=False,
        why=why,
        heavy=sum(group.heavy for group in groups),
        distinct=sum(group.distinct for group in groups),
        sorts=any(group.sorts for group in groups),
        holds=sum(group.holds for group in groups),
        folds=sum(group.folds for group in groups),
    )


def _joined(
    steps: list[Step],
    windows: tuple[Window, ...],
    groups: Sequence[Group],
    price: Callable[[Sequence[Group]], Prices],
) -> list[Step]:
    """Make one step of those that read the events by one way: they are read once, and nothing needs a join."""
    for way in ("native", "spread"):
        several = [step for step in steps if step.way == way and step.pane is None]
        if len(several) < 2:
            continue
        names = tuple(name for step in several for name in step.aggregates)
        together = [group for group in groups if set(group.names) <= set(names)]
        prices = price(together)
        estimate = prices.native(windows) if way == "native" else prices.spread(windows)
        if way == "native":
            estimate = replace(estimate, seconds=_native_seconds(windows, together, price))
        reason = "; ".join(dict.fromkeys(why for step in several for why in step.reason.split("; ")))
        steps = [*(step for step in steps if step not in several), Step(way, names, windows, estimate, reason)]
    return steps


def _choose(
    windows: tuple[Window, ...],
    group: Group,
    forest: Callable[[Group], Forest],
    strategy: Strategy,
    prices: Prices,
) -> tuple[list[Step], list[Candidate]]:
    found = offers(windows, group, forest, prices, strategy)
    possible = {name: offer for name, offer in found.items() if offer.steps is not None}
    wanted = _wanted({name: offer.seconds for name, offer in possible.items()}, strategy)
    # As they would be asked for, those that cannot be had or were not worth a search last.
    ordered = [*possible, *(name for name in found if name not in possible)]
    weighed = [Candidate(name, group.names, found[name].seconds, name == wanted, found[name].note) for name in ordered]
    steps = possible[wanted].steps
    assert steps is not None
    return steps(), weighed


def _wanted(seconds: Mapping[str, float], strategy: Strategy) -> str:
    """Take the way asked for, or the cheapest by its seconds."""
    if strategy in seconds:
        return strategy
    if strategy != "auto":
        # What was asked for is not legal for this group: the nearest that is.
        return next(name for name in ("python", "jvm", "distinct", "spread", "native") if name in seconds)
    cheapest = min(seconds, key=lambda name: seconds[name])
    return cheapest if seconds[cheapest] <= MARGIN * seconds["native"] else "native"
