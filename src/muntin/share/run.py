"""Run a tree for real, composite slide by composite slide: items into slices, slices into the results that are due."""

from __future__ import annotations

from bisect import bisect_left
from functools import reduce
from typing import TYPE_CHECKING, Any, Generic

from muntin.errors import IncrementalError
from muntin.incremental import ALGORITHMS
from muntin.incremental.structure import EMPTY, Empty, P

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.incremental.structure import Operator, Structure
    from muntin.share.schedule import Schedule


class TreeRun(Generic[P]):
    """Fold items into slices and slices into results, with one structure for all ranges, or one for each.

    Items come at the times `arrivals` of every composite slide, one in each unit of time unless told. Before the
    longest range has passed, results aggregate what is there.

    >>> from muntin import Window, agg
    >>> from muntin.share.schedule import schedule
    >>> run = TreeRun(schedule([Window(6, 2), Window(8, 4)]), "FlatFIT", agg.max)
    >>> run.turn([3, 1, 4, 1]), run.turn([5, 9, 2, 6])
    ([(0, 3), (0, 4), (1, 4)], [(0, 9), (0, 9), (1, 9)])
    """

    def __init__(
        self, schedule: Schedule, technique: str, operator: Operator[P], arrivals: Sequence[int] | None = None
    ) -> None:
        if technique not in ALGORITHMS:
            msg = f"unknown technique {technique!r}: known are {', '.join(ALGORITHMS)}"
            raise IncrementalError(msg)
        times = range(schedule.period) if arrivals is None else sorted(arrivals)
        self.items = len(times)
        self._operator = operator
        kind = ALGORITHMS[technique]
        make = _EachRange if kind.card.multi_query is None else _AllRanges
        self.final: _EachRange[P] | _AllRanges[P] = make(schedule, kind, operator)
        # How many items come before each point.
        passed = [0, *(bisect_left(times, point.at) for point in schedule.points)]
        self._steps = [
            (before, upto, point.edge, place, point.due)
            for place, (before, upto, point) in enumerate(zip(passed, passed[1:], schedule.points, strict=False))
        ]
        self._rest = passed[-1]  # where no point lies at the end, items after the last go into the slice that is open
        self._running: P | Empty = EMPTY

    def fill(self, slices: Sequence[P]) -> None:
        """Put slices in as if they had passed, the last of them for each range, without asking for a result.

        >>> from muntin import Window, agg
        >>> from muntin.share.schedule import schedule
        >>> run = TreeRun(schedule([Window(6, 2)]), "DABA", agg.max)
        >>> run.fill([9, 1, 8, 2])
        >>> run.turn([3, 4])
        [(0, 8)]
        """
        self.final.fill(slices)

    def turn(self, items: Sequence[P]) -> list[tuple[int, P]]:
        """Take the items of one composite slide in, and give its results: the window's place, and the partial."""
        if len(items) != self.items:
            msg = f"a composite slide has {self.items} items here, got {len(items)}"
            raise IncrementalError(msg)
        combine, final = self._operator.combine, self.final
        answers: list[tuple[int, P]] = []
        for before, upto, edge, place, due in self._steps:
            self._fold(items[before:upto])
            if edge:
                final.insert(self._operator.identity if self._running is EMPTY else self._running, place)
                self._running = EMPTY
            for window in due:
                closed = final.answer(window, place)
                running = self._running  # empty, unless Cutty's window ends inside a slice and reads it as it stands
                if closed is EMPTY:
                    closed = self._operator.identity if running is EMPTY else running
                elif running is not EMPTY:
                    closed = combine(closed, running)
                answers.append((window, closed))
        self._fold(items[self._rest :])
        return answers

    def _fold(self, items: Sequence[P]) -> None:
        if items:
            folded = reduce(self._operator.combine, items)
            self._running = folded if self._running is EMPTY else self._operator.combine(self._running, folded)


class _AllRanges(Generic[P]):
    """One structure as long as the longest range, asked for the newest slices of each."""

    def __init__(self, schedule: Schedule, kind: type[Structure[P]], operator: Operator[P]) -> None:
        place = {size: i for i, size in enumerate(schedule.ranges)}
        self._longest = [point.held[-1] for point in schedule.points]
        self._asked: list[dict[int, int]] = [
            {i: point.held[place[schedule.windows[i].range]] for i in point.due} for point in schedule.points
        ]
        self.structure: Any = kind(operator)
        register = getattr(self.structure, "register", None)
        if register is not None:
            # SlickDeque-Inv: a running aggregate for every number of slices that any result is made of.
            for count in sorted({count for asked in self._asked for count in asked.values() if count}):
                register(count)

    def fill(self, slices: Sequence[P]) -> None:
        """Hold the last slices."""
        for partial in slices[-self._longest[-1] :]:
            self.structure.insert(partial)

    def insert(self, partial: P, place: int) -> None:
        """Add a slice, and drop those that no range reaches back to."""
        structure, room = self.structure, self._longest[place] - 1
        while len(structure) > room:
            structure.evict()
        structure.insert(partial)

    def asked(self, window: int, place: int) -> int:
        """Count the closed slices of a window that are there."""
        return min(self._asked[place][window], len(self.structure))

    def answer(self, window: int, place: int) -> P | Empty:
        """Aggregate the closed slices of a window, if there are any."""
        count = self.asked(window, place)
        found: P | Empty = self.structure.query_last(count) if count else EMPTY
        return found


class _EachRange(Generic[P]):
    """A structure for each distinct range, asked for all it holds."""

    def __init__(self, schedule: Schedule, kind: type[Structure[P]], operator: Operator[P]) -> None:
        place = {size: i for i, size in enumerate(schedule.ranges)}
        self._range = [place[window.range] for window in schedule.windows]
        self._held = [point.held for point in schedule.points]
        self.structures = [kind(operator) for _ in schedule.ranges]

    def fill(self, slices: Sequence[P]) -> None:
        """Hold the last slices, each structure those of its range."""
        for structure, held in zip(self.structures, self._held[-1], strict=True):
            for partial in slices[-max(held, 1) :]:
                structure.insert(partial)

    def insert(self, partial: P, place: int) -> None:
        """Add a slice to each structure, and drop what its range does not reach back to."""
        for structure, held in zip(self.structures, self._held[place], strict=True):
            while len(structure) >= max(held, 1):
                structure.evict()
            structure.insert(partial)

    def answer(self, window: int, place: int) -> P | Empty:
        """Aggregate the closed slices of a window, if there are any."""
        which = self._range[window]
        structure, held = self.structures[which], self._held[place][which]
        while len(structure) > held:
            structure.evict()
        return structure.query() if len(structure) else EMPTY
