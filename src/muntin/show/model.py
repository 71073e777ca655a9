"""The display model: a plan as frozen values in the words and numbers that every form of it shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from muntin.duration import UNITS, format_unit
from muntin.logical.cost import exact
from muntin.logical.graph import coverage_graph
from muntin.logical.optimize import OPTIMIZERS
from muntin.show.label import clean, listed
from muntin.show.number import number, percent, times, within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from muntin.logical.cost import Number
    from muntin.logical.forest import Forest
    from muntin.logical.plan import Group, Plan
    from muntin.window.spec import Window

# Beyond this many windows only the edges that no path replaces are drawn.
WHOLE_GRAPH: Final = 15


@dataclass(frozen=True, slots=True)
class ShapeView:
    """Range, slide and offset of a window in units of the plan, and as text; `label` is all of them."""

    label: str
    range: Number
    slide: Number
    offset: Number
    range_text: str
    slide_text: str
    offset_text: str


@dataclass(frozen=True, slots=True)
class NodeView:
    """One window of a graph; `ids[0]` names it, and more ids stand for user windows that coincide with it.

    `copies` is how often the window is computed: without sharing, once for each id.
    """

    ids: tuple[str, ...]
    name: str
    shape: ShapeView
    factor: bool
    parent: str | None
    reads_from: str
    depth: int
    instances: Number
    reads: Number
    cost: Number
    share: str
    copies: int = 1

    @property
    def id(self) -> str:
        """The id that edges and parents refer to."""
        return self.ids[0]


@dataclass(frozen=True, slots=True)
class EdgeView:
    """What a window reads, or could: `reads` items of the parent (None: the events) for each interval."""

    parent: str | None
    child: str
    reads: Number


@dataclass(frozen=True, slots=True)
class GraphView:
    """Windows, parents before children, and the edges between them."""

    nodes: tuple[NodeView, ...]
    edges: tuple[EdgeView, ...]
    reduced: bool = False


@dataclass(frozen=True, slots=True)
class GroupView:
    """Aggregates that share one forest; `before` is the coverage graph, empty where it was not asked for."""

    aggregates: tuple[str, ...]
    sharing: str
    covers: str
    reason: str
    cost: Number
    baseline: Number
    saving: str
    gap: float | None
    proof: str
    after: GraphView
    before: GraphView


@dataclass(frozen=True, slots=True)
class PlanView:
    """A whole plan, with its totals and the cost by optimizer as far as it is known."""

    title: str
    optimizer: str
    cost: Number
    baseline: Number
    saving: str
    proof: str
    period: Number
    period_text: str
    rate: Number
    rate_text: str
    unit: int | str
    steady: bool
    hint: str
    costs: tuple[tuple[str, Number], ...]
    groups: tuple[GroupView, ...]


def view(plan: Plan, *, costs: Mapping[str, Number] | None = None, before: bool = False) -> PlanView:
    """Turn a plan into what is shown of it; `costs` are the costs of other optimizers, by name.

    The graph `before` is left empty unless asked for: among 1,000 windows it has up to half a million edges.

    >>> from muntin import Window, agg, optimize
    >>> shown = view(optimize([Window(20, 20), Window(30, 30), Window(40, 40)], agg.min, optimizer="factor"))
    >>> shown.title
    'min over 3 windows, 1 event per unit, costs per period of 120'
    >>> shown.saving
    '58.3 % less (2.4x)'
    >>> [(node.shape.label, node.factor, node.reads_from) for node in shown.groups[0].after.nodes]
    [('10', True, 'events'), ('20', False, '10'), ('40', False, '20'), ('30', False, '10')]
    """
    first, model = plan.windows[0], plan.model
    groups = tuple(_group(plan, group, before) for group in plan.groups)
    unit: int | str = format_unit(model.unit) if first.timed else model.unit
    period_text = _length(model.period, first)
    rate_text = _rate(model.rate, unit)
    names = [clean(function.name) for group in plan.groups for function in group.functions]
    count = f"{number(len(plan.windows))} window{'s' if len(plan.windows) != 1 else ''}"
    term = "long-run costs" if model.steady else "costs"
    # Where nothing is shared there is nothing to prove.
    shares = any(group.sharing != "none" for group in groups)
    known = {"none": plan.baseline_cost} | dict(costs or {}) | {plan.optimizer: plan.cost}
    order: dict[str, int] = {name: place for place, name in enumerate(OPTIMIZERS)}
    return PlanView(
        title=f"{listed(names)} over {count}, {rate_text}, {term} per period of {period_text}",
        optimizer=plan.optimizer,
        cost=plan.cost,
        baseline=plan.baseline_cost,
        saving=_saving(plan.cost, plan.baseline_cost),
        proof=within(plan.gap) if shares and plan.gap is not None else "",
        period=exact(model.period, model.unit),
        period_text=period_text,
        rate=model.rate,
        rate_text=rate_text,
        unit=unit,
        steady=model.steady,
        hint=_hint(plan, period_text),
        costs=tuple(sorted(known.items(), key=lambda item: order.get(item[0], len(order)))),
        groups=groups,
    )


def _hint(plan: Plan, period_text: str) -> str:
    """Warn where the paper's period is too short to show what sharing saves: see `CostModel`."""
    if plan.model.steady:
        return ""
    # In the long run an interval starts range / slide times while one lasts; here, fewer times over the period.
    rare = [w for w in plan.windows if plan.model.instances(w) * w.slide < w.range - w.slide]
    if not rare:
        return ""
    times = plan.model.instances(rare[0])
    often = "once" if times == 1 else f"{number(times)} times"
    return f"{rare[0]} recurs only {often} in a period of {period_text}: the period 'steady' counts the long run"


def _group(plan: Plan, group: Group, before: bool) -> GroupView:
    relation = group.forest.relation
    baseline = sum(plan.model.from_events(window) for window in plan.windows)
    ids = _ids(plan.windows, group.forest)
    return GroupView(
        aggregates=tuple(clean(function.name) for function in group.functions),
        sharing=relation.sharing,
        covers=relation.covers,
        reason=group.reason,
        cost=group.cost,
        baseline=baseline,
        saving=_saving(group.cost, baseline),
        gap=group.gap,
        proof="" if group.gap is None or relation.sharing == "none" else within(group.gap),
        after=_after(plan, group.forest, ids),
        before=_before(plan, group.forest, ids, baseline) if before else GraphView((), ()),
    )


def _after(plan: Plan, forest: Forest, ids: Mapping[Window, tuple[str, ...]]) -> GraphView:
    total = forest.cost
    nodes = tuple(
        NodeView(
            ids=ids[node.window],
            name="factor" if node.factor else ", ".join(map(clean, ids[node.window])),
            shape=_shape(node.window, plan),
            factor=node.factor,
            parent=None if node.parent is None else ids[node.parent][0],
            reads_from="events" if node.parent is None else str(node.parent),
            depth=depth,
            instances=node.instances,
            reads=node.reads,
            cost=node.cost,
            share=percent(node.cost, total),
        )
        for depth, node in forest.walk()
    )
    return GraphView(nodes, tuple(EdgeView(node.parent, node.id, node.reads) for node in nodes))


def _before(plan: Plan, forest: Forest, ids: Mapping[Window, tuple[str, ...]], baseline: Number) -> GraphView:
    """Show the coverage graph: every window reads the events, and could read what covers it."""
    model, graph = plan.model, coverage_graph(plan.windows, forest.relation)
    nodes = tuple(
        NodeView(
            ids=ids[window],
            name=", ".join(map(clean, ids[window])),
            shape=_shape(window, plan),
            factor=False,
            parent=None,
            reads_from="events",
            depth=0,
            instances=model.instances(window),
            reads=model.events(window),
            cost=len(ids[window]) * model.from_events(window),
            share=percent(len(ids[window]) * model.from_events(window), baseline),
            copies=len(ids[window]),
        )
        for window in graph.windows
    )
    reduced = len(nodes) > WHOLE_GRAPH
    kept = _reduction(graph.parents) if reduced else graph.parents
    edges = (EdgeView(ids[p][0], ids[c][0], count) for c, found in kept.items() for p, count in found.items())
    return GraphView(nodes, tuple(edges), reduced)


def _reduction(parents: Mapping[Window, Mapping[Window, int]]) -> dict[Window, dict[Window, int]]:
    """Leave out each edge that a path through a third window replaces (the transitive reduction)."""
    bit = {window: 1 << place for place, window in enumerate(parents)}
    above = {window: sum(bit[parent] for parent in found) for window, found in parents.items()}
    kept: dict[Window, dict[Window, int]] = {}
    for child, found in parents.items():
        far = 0
        for parent in found:
            far |= above[parent]
        kept[child] = {parent: count for parent, count in found.items() if not far & bit[parent]}
    return kept


def _ids(windows: Sequence[Window], forest: Forest) -> dict[Window, tuple[str, ...]]:
    """Gather the user's ids of each window; a factor window gets one that no user window has."""
    found: dict[Window, tuple[str, ...]] = {}
    for window in windows:
        found[window] = (*found.get(window, ()), window.id)
    taken = {window.id for window in windows}
    for window in forest.factor_windows:
        name = window.default_id
        while name in taken:
            name = f"factor_{name}"
        taken.add(name)
        found[window] = (name,)
    return found


def _shape(window: Window, plan: Plan) -> ShapeView:
    range_, slide, offset = (exact(length, plan.model.unit) for length in (window.range, window.slide, window.offset))
    return ShapeView(
        label=str(window),
        range=range_,
        slide=slide,
        offset=offset,
        range_text=_length(window.range, window),
        slide_text=_length(window.slide, window),
        offset_text=_length(window.offset, window),
    )


def _saving(cost: Number, baseline: Number) -> str:
    if cost >= baseline:
        return "nothing saved"
    return f"{percent(baseline - cost, baseline)} less ({times(baseline, cost)})"


def _rate(rate: Number, unit: int | str) -> str:
    span = unit if isinstance(unit, str) else "unit" if unit == 1 else f"{number(unit)} units"
    return f"{number(rate)} event{'s' if rate != 1 else ''} per {span}"


def _length(length: int, window: Window) -> str:
    """Write a length that may be too long to be written out."""
    if not window.timed:
        return number(length)
    return window.text(length) if length < 10**15 else f"{number(exact(length, UNITS['day']))}d"
