"""The choice of strategy: weigh the ways that are legal, take the cheapest, and say why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

from muntin.errors import QueryError
from muntin.logical.forest import forest as independent
from muntin.physical.cost import Prices
from muntin.physical.grouping import pane_groups
from muntin.physical.plan import Candidate, PhysicalPlan, Step
from muntin.window.slices import common_measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from muntin.logical.forest import Forest
    from muntin.physical.constants import Constants
    from muntin.physical.plan import Estimate, Way
    from muntin.physical.statistics import Statistics
    from muntin.window.spec import Window

Strategy: TypeAlias = Literal["auto", "native", "jvm", "arrow"]
STRATEGIES: Final[tuple[str, ...]] = get_args(Strategy)
# A plan must be expected to save so much of native's time to be chosen over it: estimates are not that exact.
MARGIN: Final = 0.9
# A coarse bucket is so many times as long as the longest window, so that few panes belong to two.
BUCKET: Final = 16
# So many buckets for each core: enough to share work evenly.
SPREAD: Final = 32
# From so many keys on, keys alone share the work.
MANY_KEYS: Final = 64


@dataclass(frozen=True, slots=True)
class Group:
    """Aggregates that go together: what they allow, and why they are apart from others."""

    names: tuple[str, ...]
    parts: int
    shareable: bool
    columnar: bool
    custom: bool
    why: str = ""
    heavy: int = 0
    """How many of the parts Spark can only merge in objects."""
    distinct: int = 0
    """How many of them count different values, and can do so by first appearances."""
    packable: bool = False
    """Whether all partials are numbers that Spark merges in place, so that several panes may share a row."""
    listable: bool = False
    """Whether all that comes back from Python are numbers, so that several windows may share a row."""


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
    every = tuple(windows)
    whole = Prices(
        statistics,
        constants,
        sum(group.parts for group in groups),
        distinct=sum(group.distinct for group in groups),
    )
    weighed: list[_Weighed] = []
    for together in _partitions(groups) if strategy == "auto" else [tuple(groups)]:
        steps: list[Step] = []
        candidates: list[Candidate] = []
        for group in together:
            prices = Prices(
                statistics, constants, group.parts, group.heavy, group.distinct, group.packable, group.listable
            )
            found, considered = _choose(every, group, forest, strategy, prices)
            steps += found
            candidates += considered
        joined = _natives_together(steps, every, statistics, constants, groups)
        apart = len({step.aggregates for step in joined})
        seconds = sum(step.estimate.seconds for step in joined) + (apart - 1) * whole.join(every).seconds
        weighed.append(_Weighed(seconds, joined, candidates))
    best = min(weighed, key=lambda found: found.seconds)
    native = whole.native(every).seconds
    return PhysicalPlan(tuple(best.steps), tuple(best.candidates), statistics, constants.source, best.seconds, native)


class _Weighed(NamedTuple):
    seconds: float
    steps: list[Step]
    candidates: list[Candidate]


def _partitions(groups: Sequence[Group]) -> list[tuple[Group, ...]]:
    """List the ways to put groups together: each by itself, all that share by Spark alone, all as written by hand."""
    found = [tuple(groups)]
    shared = [group for group in groups if group.shareable and not group.custom]
    if len(shared) > 1:
        why = "kept together, so that nothing needs a join"
        found.append((_together(shared, why, shareable=True), *(group for group in groups if group not in shared)))
    given = [group for group in groups if not group.custom]
    if len(given) > 1:
        why = "written by hand all together, so that nothing needs a join"
        found.append((_together(given, why, shareable=False), *(group for group in groups if group.custom)))
    return found


def _together(groups: Sequence[Group], why: str, *, shareable: bool) -> Group:
    names = tuple(name for group in groups for name in group.names)
    parts, heavy, distinct = (sum(getattr(g, name) for g in groups) for name in ("parts", "heavy", "distinct"))
    return Group(names, parts, shareable, columnar=False, custom=False, why=why, heavy=heavy, distinct=distinct)


def _natives_together(
    steps: list[Step],
    windows: tuple[Window, ...],
    statistics: Statistics,
    constants: Constants,
    groups: Sequence[Group],
) -> list[Step]:
    """Make one step of all that runs as written by hand: the events are read once for each window, not twice."""
    native = [step for step in steps if step.way == "native"]
    if len(native) < 2:
        return steps
    names = tuple(name for step in native for name in step.aggregates)
    joined = [group for group in groups if set(group.names) <= set(names)]
    parts, distinct = sum(group.parts for group in joined), sum(group.distinct for group in joined)
    reason = "; ".join(dict.fromkeys(step.reason for step in native))
    estimate = Prices(statistics, constants, parts, distinct=distinct).native(windows)
    return [*(step for step in steps if step.way != "native"), Step("native", names, windows, estimate, reason)]


def _choose(
    windows: tuple[Window, ...],
    group: Group,
    forest: Callable[[Group], Forest],
    strategy: Strategy,
    prices: Prices,
) -> tuple[list[Step], list[Candidate]]:
    ways: dict[str, list[Step]] = {"native": [_native(windows, group, prices)]}
    refused: dict[str, str] = {}
    if group.custom:
        ways["native"] = [replace(ways["native"][0], estimate=prices.gathered(windows))]
        ways["python"] = [_objects(windows, group, prices)]
    elif not group.shareable:
        refused = dict.fromkeys(("jvm", "arrow"), group.why)
        if group.distinct == len(group.names):
            ways["distinct"] = [_firsts(windows, group, prices)]
    else:
        ways["jvm"] = [_tree(windows, group, forest(group), prices)]
        if group.columnar:
            ways["arrow"] = _swept(windows, group, prices)
            mixed = _mixed(windows, group, forest(group), prices)
            if any(step.way == "jvm" for step in mixed):
                ways["mixed"] = mixed
        else:
            refused["arrow"] = group.why or "types of its partials or of the keys have no exact form in NumPy or Arrow"
    seconds = {name: sum(step.estimate.seconds for step in steps) for name, steps in ways.items()}
    wanted = _wanted(seconds, strategy)
    weighed = [Candidate(name, group.names, seconds[name], name == wanted) for name in ways]
    weighed += [Candidate(name, group.names, float("inf"), chosen=False, note=why) for name, why in refused.items()]
    return ways[wanted], weighed


def _wanted(seconds: Mapping[str, float], strategy: Strategy) -> str:
    """Take the way asked for, or the cheapest by its seconds."""
    if strategy in seconds:
        return strategy
    if strategy != "auto":
        # What was asked for is not legal for this group: the nearest that is.
        return next(name for name in ("python", "jvm", "distinct", "native") if name in seconds)
    cheapest = min(seconds, key=lambda name: seconds[name])
    return cheapest if seconds[cheapest] <= MARGIN * seconds["native"] else "native"


def _native(windows: tuple[Window, ...], group: Group, prices: Prices) -> Step:
    reason = group.why or "each window by itself, as written by hand"
    return Step("native", group.names, windows, prices.native(windows), reason)


def _tree(windows: tuple[Window, ...], group: Group, forest: Forest, prices: Prices) -> Step:
    roots = len(forest.children(None))
    reason = f"the events are read {_times(roots)}, all else from what was computed before, inside the JVM"
    return Step("jvm", group.names, windows, prices.tree(forest), reason, forest=forest)


def _swept(windows: tuple[Window, ...], group: Group, prices: Prices) -> list[Step]:
    return [_panes_step(part, group, prices) for part in pane_groups(windows, prices)]


def _mixed(windows: tuple[Window, ...], group: Group, forest: Forest, prices: Prices) -> list[Step]:
    """Part the windows: some through panes and kernels, others each straight from the events."""
    steps = []
    for part in pane_groups(windows, prices, direct=True):
        if prices.sweep(part).seconds <= prices.direct(part).seconds:
            steps.append(_panes_step(part, group, prices))
            continue
        alone = independent(dict.fromkeys(part), part, forest.relation, forest.model)
        reason = "nothing to share that would pay: straight from the events, grouped by integers"
        steps.append(Step("jvm", group.names, part, prices.direct(part), reason, forest=alone))
    return steps


def _panes_step(windows: tuple[Window, ...], group: Group, prices: Prices) -> Step:
    width, pack = windows[0].text(common_measure(list(windows))), prices.pack(windows)
    rows = f", {pack} of them in a row," if pack > 1 else ","
    reason = f"panes of {width} in the JVM{rows} then {_windows(len(windows))} in one pass of NumPy kernels"
    step = _over_panes("arrow", windows, group, prices.sweep(windows), reason, prices, pack)
    return replace(step, runs=prices.runs(windows))


def _objects(windows: tuple[Window, ...], group: Group, prices: Prices) -> Step:
    reason = "functions written in Python: events go to Python once, and every window combines their partials"
    return _over_panes("python", windows, group, prices.objects(windows), reason, prices)


def _firsts(windows: tuple[Window, ...], group: Group, prices: Prices) -> Step:
    width, of = common_measure(list(windows)), _windows(len(windows))
    reason = f"values in panes of {windows[0].text(width)}, each counted where it is the first: {of} in one pass"
    pane = (width, windows[0].offset % width)
    return Step("distinct", group.names, windows, prices.firsts(windows), reason, pane=pane)


def _over_panes(
    way: Way, windows: tuple[Window, ...], group: Group, estimate: Estimate, reason: str, prices: Prices, pack: int = 1
) -> Step:
    """Make a step whose work in Python goes by panes, and by coarse buckets of whole packs where keys are few."""
    width = common_measure(list(windows))
    bucket = coarse(windows, width, prices.statistics, prices.constants)
    if bucket is not None:
        bucket = -(-bucket // pack) * pack
    pane = (width, windows[0].offset % width)
    return Step(way, group.names, windows, estimate, reason, pane=pane, coarse=bucket, pack=pack)


def coarse(windows: Sequence[Window], width: int, statistics: Statistics, constants: Constants) -> int | None:
    """Choose how many panes make a coarse bucket; None where there are keys enough to share the work.

    >>> from muntin import tumbling
    >>> from muntin.physical.constants import Constants
    >>> from muntin.physical.statistics import Statistics
    >>> day = Statistics(rows=1e6, span=86_400_000_000)
    >>> coarse([tumbling("1m")], 60_000_000, day, Constants())
    23
    """
    if statistics.keys >= MANY_KEYS:
        return None
    longest = max(window.range for window in windows) // width
    even = int(statistics.span // width / (SPREAD * max(constants.cores, 1))) + 1
    return max(BUCKET * longest, even)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _windows(number: int) -> str:
    return "the window" if number == 1 else f"all {number} windows"
