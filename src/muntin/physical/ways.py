"""The ways in which a group of aggregates may be computed: each with its price, and with its steps when it is taken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from muntin.logical.forest import forest as independent
from muntin.physical.grouping import pane_groups
from muntin.physical.plan import Step
from muntin.window.slices import common_measure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from muntin.logical.forest import Forest
    from muntin.physical.constants import Constants
    from muntin.physical.cost import Prices
    from muntin.physical.statistics import Statistics
    from muntin.window.spec import Window

# A coarse bucket is so many times as long as the longest window, so that few panes belong to two.
BUCKET: Final = 16
# So many buckets for each core: enough to share work evenly.
SPREAD: Final = 32
# Of aggregates that hold values, so many numbers may be in memory at once; by hand there is one window at a time.
HELD: Final = 8_000_000
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
    sorts: bool = False
    """Whether Spark groups by sorting, for there are partials that it cannot change in place."""
    holds: int = 0
    """Of how many numbers the room is that a copy of an event takes in memory until its window is done: a median and a
    list need the values of all events."""
    folds: int = 0
    """How many of the heavy parts are merged even by hand, because the rows are partials and not events."""
    grows: bool = False
    """Whether partials grow with the events in them, as lists do."""


class Offer(NamedTuple):
    """A way with the seconds that it is expected to take; without steps, `note` says why it cannot be had."""

    seconds: float
    steps: Callable[[], list[Step]] | None
    note: str = ""


def offers(
    windows: tuple[Window, ...], group: Group, forest: Callable[[Group], Forest], prices: Prices, wanted: str
) -> dict[str, Offer]:
    """Price every way by which a group may go, native first; `wanted` is the one asked for, or "auto".

    The optimizer's forest is looked for last, and only where a tree might be the cheapest: the search for it takes
    longer than a query over few events.
    """
    found = {"native": _native(windows, group, prices)}
    if group.custom:
        if group.columnar:
            objects = prices.objects(windows).seconds
            found["python"] = Offer(objects, lambda: [_objects(windows, group, prices)])
        else:
            found["python"] = Offer(float("inf"), None, "keys of a type that Arrow cannot take and give back as it was")
        return found
    found["spread"] = _spread(windows, group, prices, wanted)
    if not group.shareable:
        if group.distinct == len(group.names):
            found["distinct"] = Offer(prices.firsts(windows).seconds, lambda: [_firsts(windows, group, prices)])
        refused = dict.fromkeys(("jvm", "arrow"), Offer(float("inf"), None, group.why))
        return found | refused
    if wanted == "auto" and not prices.statistics.seen:
        # What partials save rests on how many keys there are and how long the events span.
        return found | dict.fromkeys(("jvm", "arrow"), Offer(float("inf"), None, "the events were not looked at"))
    if group.columnar:
        found["arrow"] = _swept(windows, group, prices)
        found |= _mixed(windows, group, forest, prices)
    else:
        why = group.why or "types of its partials or of the keys have no exact form in NumPy or Arrow"
        found["arrow"] = Offer(float("inf"), None, why)
    found["jvm"] = _tree(windows, group, forest, prices, wanted, min(offer.seconds for offer in found.values()))
    return found


def _native(windows: tuple[Window, ...], group: Group, prices: Prices) -> Offer:
    estimate = prices.gathered(windows) if group.custom else prices.native(windows)
    reason = group.why or "each window by itself, as written by hand"
    return Offer(estimate.seconds, lambda: [Step("native", group.names, windows, estimate, reason)])


def _spread(windows: tuple[Window, ...], group: Group, prices: Prices, wanted: str) -> Offer:
    straight = prices.spread(windows)
    how = "one scan, and one group by of all windows: each event is copied to every interval that holds it"
    reason = f"{group.why}; {how}" if group.why else how
    offer = Offer(straight.seconds, lambda: [Step("spread", group.names, windows, straight, reason)])
    if group.holds and wanted != "spread" and prices.copies(windows) * group.holds > HELD:
        offer = Offer(float("inf"), None, "the values of all windows at once might not fit in memory")
    if not group.shareable or group.grows:
        # The pane of a list has all its values: copied, these take as much room, and are merged besides.
        return offer
    by_panes = prices.spread(windows, panes=True)
    if by_panes.seconds >= offer.seconds:
        return offer
    width = windows[0].text(common_measure(windows))
    told = f"panes of {width}, and one group by of all windows: each pane is copied to every interval that holds it"
    pane = _pane(windows)
    return Offer(by_panes.seconds, lambda: [Step("spread", group.names, windows, by_panes, told, pane=pane)])


def _tree(
    windows: tuple[Window, ...],
    group: Group,
    forest: Callable[[Group], Forest],
    prices: Prices,
    wanted: str,
    cheapest: float,
) -> Offer:
    least = prices.least_tree(windows)
    # What kernels cannot do goes by a tree where kernels are asked for.
    asked = wanted == "jvm" or (wanted == "arrow" and not group.columnar)
    if not asked and least > cheapest:
        return Offer(least, None, "at least")
    found = forest(group)
    estimate = prices.tree(found)
    roots = len(found.children(None))
    reason = f"the events are read {_times(roots)}, all else from what was computed before, inside the JVM"
    return Offer(estimate.seconds, lambda: [Step("jvm", group.names, windows, estimate, reason, forest=found)])


def _swept(windows: tuple[Window, ...], group: Group, prices: Prices) -> Offer:
    parts = pane_groups(windows, prices)
    seconds = sum(prices.sweep(part).seconds for part in parts)
    return Offer(seconds, lambda: [_panes_step(part, group, prices) for part in parts])


def _mixed(
    windows: tuple[Window, ...], group: Group, forest: Callable[[Group], Forest], prices: Prices
) -> dict[str, Offer]:
    """Part the windows: some through panes and kernels, others each straight from the events, if any are better so."""
    parts = pane_groups(windows, prices, direct=True)
    straight = [prices.direct(part).seconds < prices.sweep(part).seconds for part in parts]
    if not any(straight):
        return {}

    def steps() -> list[Step]:
        return [
            _direct(part, group, forest(group), prices) if direct else _panes_step(part, group, prices)
            for part, direct in zip(parts, straight, strict=True)
        ]

    seconds = sum(min(prices.direct(part).seconds, prices.sweep(part).seconds) for part in parts)
    return {"mixed": Offer(seconds, steps)}


def _direct(windows: tuple[Window, ...], group: Group, forest: Forest, prices: Prices) -> Step:
    alone = independent(dict.fromkeys(windows), windows, forest.relation, forest.model)
    reason = "nothing to share that would pay: straight from the events, grouped by integers"
    return Step("jvm", group.names, windows, prices.direct(windows), reason, forest=alone)


def _panes_step(windows: tuple[Window, ...], group: Group, prices: Prices) -> Step:
    width, pack = windows[0].text(common_measure(windows)), prices.pack(windows)
    rows = f", {pack} of them in a row," if pack > 1 else ","
    reason = f"panes of {width} in the JVM{rows} then {_windows(len(windows))} in one pass of NumPy kernels"
    estimate, bucket = prices.sweep(windows), _bucket(windows, prices)
    if bucket is not None:
        # Whole packs.
        bucket = -(-bucket // pack) * pack
    step = Step("arrow", group.names, windows, estimate, reason, pane=_pane(windows), coarse=bucket, pack=pack)
    return replace(step, runs=prices.runs(windows))


def _objects(windows: tuple[Window, ...], group: Group, prices: Prices) -> Step:
    reason = "functions written in Python: events go to Python once, and every window combines their partials"
    bucket = _bucket(windows, prices)
    return Step("python", group.names, windows, prices.objects(windows), reason, pane=_pane(windows), coarse=bucket)


def _firsts(windows: tuple[Window, ...], group: Group, prices: Prices) -> Step:
    width, of = windows[0].text(common_measure(windows)), _windows(len(windows))
    reason = f"values in panes of {width}, each counted where it is the first: {of} in one pass"
    return Step("distinct", group.names, windows, prices.firsts(windows), reason, pane=_pane(windows))


def _pane(windows: Sequence[Window]) -> tuple[int, int]:
    width = common_measure(windows)
    return width, windows[0].offset % width


def _bucket(windows: Sequence[Window], prices: Prices) -> int | None:
    return coarse(windows, common_measure(windows), prices.statistics, prices.constants)


def coarse(windows: Sequence[Window], width: int, statistics: Statistics, constants: Constants) -> int | None:
    """Choose how many panes make a coarse bucket; None where there are keys enough, and alike, to share the work.

    >>> from muntin import tumbling
    >>> from muntin.physical.constants import Constants
    >>> from muntin.physical.statistics import Statistics
    >>> day = Statistics(rows=1e6, span=86_400_000_000)
    >>> coarse([tumbling("1m")], 60_000_000, day, Constants())
    23
    >>> [coarse([tumbling("1m")], 60_000_000, Statistics(1e6, 1e4, hot=hot), Constants()) for hot in (0.1, 0.6)]
    [None, 16]
    """
    if statistics.keys >= MANY_KEYS and statistics.hot * constants.cores <= 1:
        return None
    longest = max(window.range for window in windows) // width
    even = int(statistics.span // width / (SPREAD * max(constants.cores, 1))) + 1
    return max(BUCKET * longest, even)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _windows(number: int) -> str:
    return "the window" if number == 1 else f"all {number} windows"
