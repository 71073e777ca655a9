"""Evaluate plans in plain Python, slowly and plainly: what every faster engine is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from muntin.aggregate.totals import COUNT
from muntin.logical.plan import Plan
from muntin.window.interval import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.logical.forest import Forest, Node
    from muntin.window.spec import Window

Event: TypeAlias = tuple[int, Any]
Results: TypeAlias = dict[Interval, Any]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The results of each wanted window by its id, and how many items each interval of each node was made of.

    Only intervals that contain an event are there.
    """

    results: Mapping[str, Results]
    reads: Mapping[Window, Mapping[Interval, int]]

    def __getitem__(self, window: Window) -> Results:
        """Give the results of a window."""
        return self.results[window.id]


def evaluate(plan: Plan | Forest, events: Iterable[Event], function: AggregateFunction) -> Evaluation:
    """Compute an aggregate over all windows of a plan, each from what the plan lets it read.

    Events are (time, value) pairs in event order. Windows have intervals everywhere, so events before time 0
    count, and so do intervals that the events fill in part only.

    >>> from muntin import Window, agg, optimize
    >>> plan = optimize([Window(2, 2), Window(4, 4)], agg.sum, optimizer="mincost")
    >>> evaluate(plan, [(0, 5), (1, 6), (3, 7), (9, 8)], agg.sum)[Window(4, 4)]
    {Interval(start=0, end=4): 18, Interval(start=8, end=12): 8}
    """
    if isinstance(plan, Plan):
        forest, wanted = plan.group_of(function.name).forest, plan.windows
    else:
        forest, wanted = plan, tuple(node.window for node in plan.nodes if not node.factor)
    # Sorted by time alone: events of one time stay in the order in which they came.
    timeline = sorted(events, key=lambda event: event[0])
    items: dict[Window, dict[Interval, list[Any]]] = {}
    partials: dict[Window, Results] = {}
    for node in forest.nodes:
        if node.parent is None:
            items[node.window] = _events_of(node, timeline)
            partials[node.window] = {at: _start(function, values) for at, values in items[node.window].items()}
        else:
            items[node.window] = _partials_of(node, forest.starts(node), partials[node.parent])
            partials[node.window] = {at: function.merge(found) for at, found in items[node.window].items()}
    lower = function.lower if function.whole is None else function.whole
    return Evaluation(
        {window.id: {at: lower(partial) for at, partial in sorted(partials[window].items())} for window in wanted},
        {window: {at: len(found) for at, found in read.items()} for window, read in items.items()},
    )


def _start(function: AggregateFunction, values: list[Any]) -> Any:
    """Make a partial of values; a holistic function has none but the values themselves."""
    return function.fold(values) if function.whole is None else values


def _events_of(node: Node, timeline: Sequence[Event]) -> dict[Interval, list[Any]]:
    """Give each interval its events."""
    found: dict[Interval, list[Any]] = {}
    for time, value in timeline:
        for interval in node.window.containing(time):
            found.setdefault(interval, []).append(value)
    return found


def _partials_of(node: Node, starts: Sequence[int], parent: Results) -> dict[Interval, list[Any]]:
    """Give each interval the parent's partials that make it up, earlier ones first; empty ones are skipped."""
    window = node.window
    found: dict[Interval, list[Any]] = {}
    # A parent's interval is asked for by those of the node that have one of their `starts` where it begins.
    for interval, partial in sorted(parent.items(), key=lambda item: item[0]):
        for start in starts:
            begin = interval.start - start
            if (begin - window.offset) % window.slide == 0:
                found.setdefault(Interval(begin, begin + window.range), []).append(partial)
    return found


def from_scratch(window: Window, events: Iterable[Event], function: AggregateFunction) -> Results:
    """Compute one window by its definition: for each interval, all events whose time lies in it.

    >>> from muntin import Window, agg
    >>> from_scratch(Window(4, 2), [(0, 5), (3, 7)], agg.sum)
    {Interval(start=-2, end=2): 5, Interval(start=0, end=4): 12, Interval(start=2, end=6): 7}
    """
    known = list(events)
    if not known:
        return {}
    times = [time for time, _ in known]
    # The m of [m * slide + offset, m * slide + offset + range), from well before the first event on.
    first = (min(times) - window.offset - window.range) // window.slide
    last = (max(times) - window.offset) // window.slide + 1
    results: Results = {}
    for m in range(first, last + 1):
        start = m * window.slide + window.offset
        end = start + window.range
        if any(start <= time < end for time in times):
            inside = sorted((time, i) for i, time in enumerate(times) if start <= time < end)
            results[Interval(start, end)] = function.evaluate(known[i][1] for _, i in inside)
    return results


def count_reads(forest: Forest) -> dict[Window, int]:
    """Count the items that each node folds over one period, by running the forest on events at the model's rate.

    The sum is the forest's cost, where every slide divides its range and every slide and range holds a whole
    number of events. For other ranges the model counts fractions of an interval, and this the whole ones.

    >>> from muntin import Window, agg, optimize
    >>> plan = optimize([Window(20, 20), Window(30, 30), Window(40, 40)], agg.min, optimizer="factor")
    >>> count_reads(plan.groups[0].forest)
    {Window(10, 10): 120, Window(20, 20): 12, Window(30, 30): 12, Window(40, 40): 6}
    """
    model = forest.model
    # Each window's period begins at its offset, and with `steady` the last intervals reach beyond its end.
    reach = max(node.window.offset + node.window.range for node in forest.nodes)
    reads = evaluate(forest, _evenly(forest, model.period + reach), COUNT).reads
    return {node.window: sum(reads[node.window][at] for at in _period(forest, node.window)) for node in forest.nodes}


def _evenly(forest: Forest, end: int) -> Iterator[Event]:
    """Yield events at exactly the model's rate, from 0 up to a time."""
    unit, rate = forest.model.unit, forest.model.rate
    k = 0
    while (time := k * unit // rate) < end:
        yield int(time), k
        k += 1


def _period(forest: Forest, window: Window) -> Iterator[Interval]:
    """Yield a window's intervals of one period: those that fit in it, or with `steady` those that start in it."""
    end = window.offset + forest.model.period
    return window.intervals(window.offset, end - window.slide + window.range if forest.model.steady else end)
