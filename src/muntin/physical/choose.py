"""The choice of strategy: weigh the ways that are legal, take the cheapest, and say why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from muntin.errors import QueryError
from muntin.physical.cost import Prices
from muntin.physical.grouping import pane_groups
from muntin.physical.plan import Candidate, PhysicalPlan, Step
from muntin.window.slices import common_measure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from muntin.logical.forest import Forest
    from muntin.physical.constants import Constants
    from muntin.physical.statistics import Statistics
    from muntin.window.spec import Window

Strategy: TypeAlias = Literal["auto", "native", "jvm", "arrow"]
STRATEGIES: Final[tuple[str, ...]] = get_args(Strategy)
# A plan must be expected to save so much of native's time to be chosen over it: estimates are not that exact.
MARGIN: Final = 0.95
# A coarse bucket is so many times as long as the longest window, so that few panes belong to two.
BUCKET: Final = 16
# So many buckets for each core: enough to share work evenly.
SPREAD: Final = 8
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
    """Choose a way for each group of aggregates; `forest` gives the logical plan's forest for a group."""
    steps: list[Step] = []
    candidates: list[Candidate] = []
    for group in groups:
        found, weighed = _choose(tuple(windows), group, forest, strategy, Prices(statistics, constants, group.parts))
        steps += found
        candidates += weighed
    return PhysicalPlan(tuple(steps), tuple(candidates), statistics, constants.source)


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
        ways["python"] = [_objects(windows, group, prices)]
    elif not group.shareable:
        refused = dict.fromkeys(("jvm", "arrow"), group.why)
    else:
        ways["jvm"] = [_tree(windows, group, forest(group), prices)]
        if group.columnar:
            ways["arrow"] = _swept(windows, group, prices)
        else:
            refused["arrow"] = "its partials, or the keys, are of types that NumPy or Arrow has no exact form of"
    wanted = _wanted(ways, strategy, group)
    seconds = {name: sum(step.estimate.seconds for step in steps) for name, steps in ways.items()}
    weighed = [Candidate(name, group.names, seconds[name], name == wanted) for name in ways]
    weighed += [Candidate(name, group.names, float("inf"), chosen=False, note=why) for name, why in refused.items()]
    return ways[wanted], weighed


def _wanted(ways: dict[str, list[Step]], strategy: Strategy, group: Group) -> str:
    if strategy in ways:
        return strategy
    seconds = {name: sum(step.estimate.seconds for step in steps) for name, steps in ways.items()}
    if strategy != "auto":
        # What was asked for is not legal for this group: the nearest that is.
        return next(name for name in ("python", "jvm", "native") if name in ways)
    cheapest = min(seconds, key=lambda name: seconds[name])
    return cheapest if seconds[cheapest] <= MARGIN * seconds["native"] else "native"


def _native(windows: tuple[Window, ...], group: Group, prices: Prices) -> Step:
    reason = group.why or "each window by itself, as written by hand"
    return Step("native", group.names, windows, prices.native(windows), reason)


def _tree(windows: tuple[Window, ...], group: Group, forest: Forest, prices: Prices) -> Step:
    roots = len(forest.children(None))
    reason = f"the events are read {_times(roots)}, all else from what was computed before, inside the JVM"
    return Step("jvm", group.names, windows, prices.tree(forest, len(windows)), reason, forest=forest)


def _swept(windows: tuple[Window, ...], group: Group, prices: Prices) -> list[Step]:
    found = pane_groups(windows, prices)
    return [_panes_step(part, group, prices) for part in found]


def _panes_step(windows: tuple[Window, ...], group: Group, prices: Prices) -> Step:
    width = common_measure(list(windows))
    reason = f"panes of {windows[0].text(width)} in the JVM, then {_windows(len(windows))} in one pass of NumPy kernels"
    return Step(
        "arrow",
        group.names,
        windows,
        prices.sweep(windows),
        reason,
        pane=(width, windows[0].offset % width),
        coarse=coarse(windows, width, prices.statistics, prices.constants),
    )


def _objects(windows: tuple[Window, ...], group: Group, prices: Prices) -> Step:
    width = common_measure(list(windows))
    reason = "functions written in Python: events go to Python once, and every window combines their partials"
    return Step(
        "python",
        group.names,
        windows,
        prices.objects(windows),
        reason,
        pane=(width, windows[0].offset % width),
        coarse=coarse(windows, width, prices.statistics, prices.constants),
    )


def coarse(windows: Sequence[Window], width: int, statistics: Statistics, constants: Constants) -> int | None:
    """Choose how many panes make a coarse bucket; None where there are keys enough to share the work.

    >>> from muntin import tumbling
    >>> from muntin.physical.constants import Constants
    >>> from muntin.physical.statistics import Statistics
    >>> day = Statistics(rows=1e6, span=86_400_000_000)
    >>> coarse([tumbling("1m")], 60_000_000, day, Constants())
    90
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
