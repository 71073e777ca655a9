"""Algorithms 2, 4 and 5: the best single factor window between a window and what reads it.

The target is the window that the factor window would read; None stands for the virtual root, the events. At
the root the paper's r_W = 1 becomes one event's share of time, `unit / rate`: with a rate above one the unit
pane is then a factor window like any other.
"""

from __future__ import annotations

import math
from operator import attrgetter
from typing import TYPE_CHECKING

from muntin.logical.cost import exact
from muntin.logical.divisors import divisors
from muntin.window.slices import common_measure
from muntin.window.spec import Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    from muntin.logical.cost import CostModel, Number

    Weights: TypeAlias = Mapping[Window, tuple[Number, Number]]


def best_covering_factor(
    target: Window | None, downstream: Sequence[Window], model: CostModel, weights: Weights | None = None
) -> Window | None:
    """Find the factor window of the greatest benefit under "covered by" (Algorithm 2).

    The paper tries every range for every slide. For one slide the benefit of Equation 2 is a convex function
    of the range, so the best range is the shortest or the longest: two tries do. `weights`, if given, are
    those of `weigh`: computed once for many targets.

    >>> from muntin.logical.cost import cost_model
    >>> windows = [Window(40, 20), Window(60, 30)]
    >>> best_covering_factor(None, windows, cost_model(windows))
    Window(10, 10)
    """
    first = min(downstream, key=attrgetter("range"))
    # A slide must divide all slides, and all starts and ends must fall on it. In the paper's own setting,
    # where each range is a multiple of its slide, this is the gcd of the slides (line 3).
    steps = math.gcd(*{w.slide for w in downstream}, *{w.offset - first.offset for w in downstream})
    common = math.gcd(steps, *[w.range - first.range for w in downstream])
    fine = model.unit if target is None else target.slide
    shortest = model.unit if target is None else target.range + 1
    alone = sum(w.range == first.range for w in downstream) == 1
    total, weighted = _sums(downstream, weights or weigh(downstream, model))
    without = _reads(total, weighted, target, model)
    best: Window | None = None
    most: Number = 0
    for slide in (fine * d for d in divisors(common // fine)):
        low = first.range - (first.range - max(slide, shortest)) // slide * slide
        # Definition 1 wants a strictly shorter parent, but a window covers itself.
        high = first.range if first.slide == slide and alone else first.range - slide
        for size in sorted({low, high}):
            if not max(slide, shortest) <= size <= high:
                continue
            factor = _like(first, size, slide)
            gain = without - _reads(total, weighted, factor, model) - _cost(factor, target, model)
            if gain > most:
                best, most = factor, gain
    return best


def benefit(factor: Window, target: Window | None, downstream: Sequence[Window], model: CostModel) -> Number:
    """Compute what inserting a factor window saves (Equation 2).

    >>> from muntin.logical.cost import cost_model
    >>> windows = [Window(20, 20), Window(30, 30)]
    >>> benefit(Window(10, 10), None, windows, cost_model([*windows, Window(40, 40)]))
    96
    """
    total, weighted = _sums(downstream, weigh(downstream, model))
    without, through = (_reads(total, weighted, parent, model) for parent in (target, factor))
    return without - through - _cost(factor, target, model)


def best_partitioning_factor(
    target: Window | None, downstream: Sequence[Window], model: CostModel, weights: Weights | None = None
) -> Window | None:
    """Find the best tumbling factor window under "partitioned by" (Algorithm 5); None where there is none.

    >>> from muntin.logical.cost import cost_model
    >>> windows = [Window(20, 20), Window(30, 30), Window(40, 40)]
    >>> best_partitioning_factor(None, windows[:2], cost_model(windows))
    Window(10, 10)
    """
    # A candidate that another one covers only adds a step (lines 14 to 16), and among the rest Theorem 9,
    # multiplied out, says r_f >= r_f': so the widest is best.
    return max(partitioning_candidates(target, downstream, model, weights), default=None)


def partitioning_candidates(
    target: Window | None, downstream: Sequence[Window], model: CostModel, weights: Weights | None = None
) -> list[Window]:
    """List the tumbling windows that would lower the cost, widest first (Algorithm 5, lines 3 to 12).

    The paper takes the gcd of the ranges; for hopping windows Theorem 4 wants it to divide the slides too.

    >>> from muntin.logical.cost import cost_model
    >>> windows = [Window(20, 20), Window(30, 30), Window(40, 40)]
    >>> partitioning_candidates(None, windows[:2], cost_model(windows))
    [Window(10, 10), Window(5, 5), Window(2, 2)]
    """
    first = downstream[0]
    common = common_measure(downstream)
    fine = model.unit if target is None else target.range
    sizes = [fine * d for d in reversed(divisors(common // fine))]
    # λ of Equation 4: the sum of n_j / m_j, where m_j = R / r_j.
    weight = exact(_sums(downstream, weights or weigh(downstream, model))[1], model.period)
    found = [_like(first, size, size) for size in sizes if target is None or size > fine]
    return [factor for factor in found if helps(factor, target, downstream, weight, model)]


def helps(
    factor: Window, target: Window | None, downstream: Sequence[Window], weight: Number, model: CostModel
) -> bool:
    """Tell whether a tumbling factor window lowers the cost (Algorithm 4, Theorem 8); `weight` is λ.

    >>> from muntin.logical.cost import cost_model
    >>> model = cost_model([Window(20, 20)])
    >>> helps(Window(10, 10), None, [Window(20, 20)], 1, model)
    False
    """
    # At the root one event takes unit / rate of time; at rate 1 that is the paper's r_W.
    ratio = exact(factor.range * model.rate, model.unit) if target is None else exact(factor.range, target.range)
    if len(downstream) >= 2 and ratio >= 2:
        return True  # At least one reader gains (case 1). Below 2 only a fractional rate at the root comes.
    if weight <= 1:
        return False  # One tumbling reader (case 2), or one that fires once a period: it pays for all itself.
    return ratio * (weight - 1) >= weight  # Equation 8, which line 12 writes out for one reader.


def weigh(windows: Iterable[Window], model: CostModel) -> Weights:
    """Compute n_j and n_j * r_j of each window: all that Equation 2 needs to know of the readers."""
    instances = {w: model.instances(w) for w in windows}
    return {w: (n, n * w.range) for w, n in instances.items()}


def _sums(downstream: Sequence[Window], weights: Weights) -> tuple[Number, Number]:
    found = [weights[w] for w in downstream]
    return sum(n for n, _ in found), sum(weighted for _, weighted in found)


def _reads(total: Number, weighted: Number, parent: Window | None, model: CostModel) -> Number:
    """Sum n_j * M(W_j, parent) over the readers, from the sums of n_j and n_j * r_j (Theorem 3)."""
    if parent is None:
        return exact(weighted * model.rate, model.unit)
    return total + exact(weighted - total * parent.range, parent.slide)


def _cost(factor: Window, target: Window | None, model: CostModel) -> Number:
    if target is None:
        return model.from_events(factor)
    return model.instances(factor) * (1 + exact(factor.range - target.range, target.slide))


def _like(window: Window, size: int, slide: int) -> Window:
    return Window(size, slide, window.offset, timed=window.timed)
