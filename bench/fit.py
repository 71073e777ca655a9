"""The cost model's constants fitted to half of some window sets, and tested on the other half, which they never saw."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from bench.workloads import Setup, table_setups
from muntin import agg, hopping
from muntin.logical.optimize import check_optimizer
from muntin.physical.choose import choose
from muntin.physical.constants import SHIPPED, Constants
from muntin.physical.cost import Prices
from muntin.physical.statistics import Statistics
from muntin.physical.ways import Group

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from bench.tables import Reading
    from muntin import Window
    from muntin.logical.forest import Forest
    from muntin.logical.optimize import Optimizer

# What a query of the tables asks for: the minimum of a float for each string.
_GROUP: Final = Group(("low",), 1, True, columnar=True, custom=False, packable=True, listable=True)
_SECOND: Final = 1_000_000
_ROUNDS: Final = 20
# How much a constant that is twice the one that ships counts, beside a prediction that is twice what was seen.
_TRUST: Final = 0.05
_STEP: Final = 1e-4
FITTED: Final = tuple(
    field.name for field in fields(Constants) if field.name not in ("cores", "source", "fold", "part")
)


T = TypeVar("T", "Reading", "Run")


@dataclass(frozen=True, slots=True)
class Run:
    """A plan of a window set that was run, native or one of the tables', and its seconds with planning left out."""

    setup: str
    set: int
    plan: str
    seconds: float
    ways: str = ""
    """The ways it took: a plan by another way is not the one that was seen."""


def runs(found: Iterable[Reading]) -> list[Run]:
    """List what was run, native once for each window set."""
    native = {(r.setup, r.set): r.native for r in found}
    by_hand = [Run(setup, number, "native", seconds) for (setup, number), seconds in native.items()]
    return by_hand + [Run(r.setup, r.set, r.plan, r.executing, r.ways) for r in found]


def once(found: Iterable[Reading]) -> list[Reading]:
    """Keep each window set once: one that several seeds draw was measured once, and must not count as several."""
    first: dict[tuple[str, tuple[Window, ...]], int] = {}
    return [r for r in found if first.setdefault((r.setup, _windows(r.setup, r.set)), r.set) == r.set]


def halves(found: Sequence[T]) -> tuple[list[T], list[T]]:
    """Part what was found by its window sets: of each setup the first, third, ... and the others."""
    ours: list[T] = []
    others: list[T] = []
    numbers: dict[str, list[int]] = {}
    for each in found:
        known = numbers.setdefault(each.setup, [])
        if each.set not in known:
            known.append(each.set)
        (others if known.index(each.set) % 2 else ours).append(each)
    return ours, others


def predict(run: Run, events: int, constants: Constants) -> float:
    """Say what a run takes by the model, in seconds, with other constants than those it was planned with."""
    windows = _windows(run.setup, run.set)
    statistics = Statistics(events, 1, events * _SECOND)
    if run.plan == "native":
        return Prices(statistics, constants, 1, packable=True, listable=True).native(windows).seconds
    optimizer, strategy = ("auto", _way(run.ways)) if run.plan == "auto" else (run.plan, "jvm")
    check_optimizer(optimizer)
    plan = choose(windows, [_GROUP], lambda _: _forest(run.setup, run.set, optimizer), strategy, statistics, constants)  # type: ignore[arg-type]
    return plan.seconds


def fit(found: Sequence[Run], events: int, start: Constants = SHIPPED) -> Constants:
    """Find the constants that come nearest to what was seen, by factors, without straying far from those given.

    Gauss-Newton on logarithms: constants stay positive, and being off by a factor counts the same for a run of a second
    as for one of a minute. What the runs say nothing of stays as it is.
    """
    seen = np.log([run.seconds for run in found])
    first = _logs(start)
    logs = first.copy()
    for _ in range(_ROUNDS):
        now = _with(start, logs)
        base = np.log([predict(run, events, now) for run in found])
        slopes = np.empty((len(found), len(logs)))
        for place in range(len(logs)):
            moved = logs.copy()
            moved[place] += _STEP
            there = _with(start, moved)
            slopes[:, place] = (np.log([predict(run, events, there) for run in found]) - base) / _STEP
        pull = _TRUST * len(found) ** 0.5 * np.eye(len(logs))
        left = np.concatenate((seen - base, pull @ (first - logs)))
        step, *_ = np.linalg.lstsq(np.vstack((slopes, pull)), left, rcond=None)
        # Half a factor of e at most at a time: choices between packs and lists make the model bend.
        logs += np.clip(step, -0.5, 0.5)
        if np.abs(step).max() < 1e-3:
            break
    return replace(_with(start, logs), source=f"fitted to {len(found)} runs over {events:,} events")


def _logs(constants: Constants) -> npt.NDArray[np.float64]:
    return np.log([getattr(constants, name) for name in FITTED])


def _with(constants: Constants, logs: npt.NDArray[np.float64]) -> Constants:
    found: dict[str, Any] = dict(zip(FITTED, map(float, np.exp(logs)), strict=True))
    return replace(constants, **found)


@cache
def _windows(setup: str, number: int) -> tuple[Window, ...]:
    drawn = _setups()[setup].windows(number)
    return tuple(hopping(f"{window.range}s", slide=f"{window.slide}s") for window in drawn)


@cache
def _setups() -> dict[str, Setup]:
    return {setup.name: setup for setup in table_setups(5, 10, 15, 20)}


@cache
def _forest(setup: str, number: int, optimizer: Optimizer) -> Forest:
    from muntin import optimize

    plan = optimize(_windows(setup, number), agg.min, optimizer=optimizer, rate=1, unit=_SECOND, period="steady")
    return plan.groups[0].forest


def _way(ways: str) -> str:
    """Take the strategy of the ways that a plan took: several of one, or `arrow` with others beside it."""
    named = Counter(way.split()[-1] for way in ways.split(" + "))
    return next(iter(named)) if len(named) == 1 else "auto"
