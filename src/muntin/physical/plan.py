"""The physical plan: which aggregates over which windows go which way, and what that is expected to cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from muntin.logical.forest import Forest
    from muntin.physical.statistics import Statistics
    from muntin.window.spec import Window

Way: TypeAlias = Literal["native", "spread", "jvm", "arrow", "python", "distinct"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a step is expected to handle and to take: rows by kind, and seconds."""

    seconds: float
    panes: float = 0.0
    windows: float = 0.0


@dataclass(frozen=True, slots=True)
class Step:
    """Some aggregates over some windows, computed one way."""

    way: Way
    aggregates: tuple[str, ...]
    windows: tuple[Window, ...]
    estimate: Estimate
    reason: str
    pane: tuple[int, int] | None = None
    """The width and offset of the panes, in microseconds; None where the events are not aggregated to panes."""
    coarse: int | None = None
    """How many panes make a coarse bucket, where keys alone are too few to share the work."""
    pack: int = 1
    """How many neighbouring panes share a row on their way to Python, for arrow."""
    runs: bool = False
    """Whether neighbouring windows share a row on their way back from Python, for arrow."""
    forest: Forest | None = None
    """Which window reads which, for jvm."""

    @property
    def shares(self) -> bool:
        """Whether windows are made of partials, and not each straight from the events."""
        return self.way != "native" and not (self.way == "spread" and self.pane is None)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way that was weighed for a group of aggregates, and what it would take."""

    name: str
    aggregates: tuple[str, ...]
    seconds: float
    chosen: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class PhysicalPlan:
    """All steps, what was weighed, and on what figures."""

    steps: tuple[Step, ...]
    candidates: tuple[Candidate, ...]
    statistics: Statistics
    constants: str
    seconds: float
    """The time that the steps, and putting their results together, are expected to take."""
    native_seconds: float
    """The time that the plan written by hand is expected to take."""
