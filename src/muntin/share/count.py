"""Omega counted: run the real structure, and count what it does for each slice."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from muntin.errors import WindowError
from muntin.incremental.slickdeque import SlickDequeNonInv
from muntin.share.run import TreeRun
from muntin.share.schedule import schedule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.share.combs import Cut
    from muntin.window.spec import Window

# Slices that fill the longest range before counting starts, and those that are counted.
LIMIT: Final = 5_000_000


@dataclass(frozen=True, slots=True)
class Counted:
    """What was done for a number of slices: calls of combine or inverse, and places looked at to find answers.

    Only SlickDeque-NonInv looks for its answers: one comparison for each result that is due, and one step along the
    deque for each place that lies before the last answer (multi-query paper, before Equation 7).
    """

    slices: int
    results: int
    combines: int
    lookups: int

    @property
    def omega(self) -> Fraction:
        """Operations for each slice, as Table 3 counts them: combines, and lookups in the deque."""
        return Fraction(self.combines + self.lookups, self.slices)

    @property
    def due(self) -> Fraction:
        """Operations for each slice, as `muntin.share.omega_due` counts them: combines, and one for each result."""
        return Fraction(self.combines + self.results, self.slices)


def count_operations(
    windows: Sequence[Window],
    technique: str,
    function: AggregateFunction,
    *,
    cut: Cut = "pairs",
    least: int = 1,
    seed: int = 0,
) -> Counted:
    """Count the operations of one composite slide, or of as many as have `least` slices, once all ranges are full.

    Slices carry random whole numbers: SlickDeque-NonInv does what the data ask for, the others do not look at them.

    >>> from muntin import Window, agg
    >>> count_operations([Window(8, 1)], "SlickDeque-Inv", agg.sum)
    Counted(slices=1, results=1, combines=2, lookups=0)
    >>> count_operations([Window(8, 1)], "TwoStacks", agg.sum, least=800).omega
    Fraction(5, 2)
    """
    plan = schedule(windows, cut)
    # One composite slide more than the longest range: the first slice may have begun before time 0.
    full = -(-plan.ranges[-1] // plan.period) + 1
    turns = -(-least // plan.edges)
    if (full + turns) * plan.edges > LIMIT:
        msg = (
            f"to count {technique} on these {len(windows)} windows takes {(full + turns) * plan.edges:,} slices, of "
            f"which {full * plan.edges:,} only fill the longest range; the limit is {LIMIT:,}. Use the estimate"
        )
        raise WindowError(msg)
    calls = _Calls()
    inverse = None if function.inverse is None else calls.through(function.inverse)
    counting = replace(function, combine=calls.through(function.combine), inverse=inverse)
    starts = list(plan.slicing.edges_between(0, plan.period))
    run = TreeRun(plan, technique, counting, starts)
    if technique == SlickDequeNonInv.card.name:
        run.final.answer = calls.looking(run.final)  # type: ignore[method-assign, assignment]
    draw = random.Random(seed)
    results = 0
    for turn in range(full + turns):
        if turn == full:
            calls.combines = calls.lookups = 0
        answers = run.turn([function.lift(draw.randrange(1 << 30)) for _ in starts])
        results += len(answers) if turn >= full else 0
    return Counted(turns * plan.edges, results, calls.combines, calls.lookups)


class _Calls:
    """Counters, and the functions that advance them."""

    def __init__(self) -> None:
        self.combines = 0
        self.lookups = 0

    def through(self, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Count the calls of a function."""

        def call(x: Any, y: Any) -> Any:
            self.combines += 1
            return function(x, y)

        return call

    def looking(self, final: Any) -> Callable[[int, int], Any]:
        """Count what a walk along the deque looks at: each result, and the places up to that of the shortest range."""
        answer = final.answer
        last: list[tuple[int, int]] = [(-1, -1)]

        def asked(window: int, place: int) -> Any:
            deque = final.structure.candidates
            newest = deque[-1][0]
            self.lookups += 1
            if (place, newest) != last[0]:  # the first result here, and so the one of the shortest range
                last[0] = (place, newest)
                count = final.asked(window, place)
                self.lookups += sum(at <= newest - count for at, _ in deque)
            return answer(window, place)

        return asked
