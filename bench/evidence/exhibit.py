"""A table or figure of a paper, our counterpart, and what the figures of both say about us."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from bench.report import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.chart import Chart
    from bench.evidence.reports import Measured
    from bench.report import Table

# Which figure is the better one: the larger, the smaller, or neither, where ours is to be like the paper's.
Sense: TypeAlias = Literal["more", "less", "like"]
LIKE: float = 0.25
"""Figures within this part of the paper's are like it."""
Verdict: TypeAlias = Literal["as good", "short", "unknown"]


@dataclass(frozen=True, slots=True)
class Held:
    """A figure of the paper and ours; None stands for never, or for a figure that there is not.

    >>> Held("R-5-tumbling", 1.85, 1.12).verdict, Held("Count", None, None, "less").verdict
    ('short', 'as good')
    """

    what: str
    paper: float | None
    ours: float | None
    sense: Sense = "more"
    unit: str = ""

    @property
    def verdict(self) -> Verdict:
        """Hold ours against the paper's."""
        if self.paper is None or self.ours is None:
            # Where less is better, None is never: as good only where the paper, too, got nowhere.
            if self.sense != "less":
                return "unknown"
            return "as good" if self.paper is None else "short"
        if self.sense == "more":
            good = self.ours >= self.paper
        elif self.sense == "less":
            good = self.ours <= self.paper
        else:
            good = abs(self.ours - self.paper) <= LIKE * abs(self.paper)
        return "as good" if good else "short"

    def __str__(self) -> str:
        never = "never" if self.sense == "less" else "-"
        ours, paper = (
            never if value is None else f"{shown(float(value))}{self.unit}" for value in (self.ours, self.paper)
        )
        return f"{self.what}: {ours} against {paper}"


@dataclass(frozen=True, slots=True)
class Counterpart:
    """What we have beside an exhibit: tables, charts to draw, pictures of reports by name, figures held, remarks.

    `reasons` are what the benchmark says of its figures.
    """

    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    pictures: tuple[str, ...] = ()
    held: tuple[Held, ...] = ()
    remarks: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Exhibit:
    """Tables or figures of a paper: what they show, and our counterpart from a benchmark, or why there is none.

    Of several benchmarks the first that has a report is taken.
    """

    kind: Literal["Table", "Figure"]
    numbers: tuple[str, ...]
    shows: str
    benchmarks: tuple[str, ...] = ()
    place: Callable[[Measured], Counterpart] | None = None
    why: str = ""

    def __post_init__(self) -> None:
        if bool(self.benchmarks) != (self.place is not None) or bool(self.benchmarks) == bool(self.why):
            msg = f"{self.name} needs a benchmark and how it is placed, or why there is none"
            raise ValueError(msg)

    @property
    def name(self) -> str:
        """Say its numbers as a reader would.

        >>> Exhibit("Figure", ("17", "18", "19"), "", why="-").name, Exhibit("Table", ("I",), "", why="-").name
        ('Figures 17 to 19', 'Table I')
        """
        if len(self.numbers) == 1:
            return f"{self.kind} {self.numbers[0]}"
        between = "and" if len(self.numbers) == 2 else "to"
        return f"{self.kind}s {self.numbers[0]} {between} {self.numbers[-1]}"


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper with its exhibits, in the order in which we show them."""

    key: str
    title: str
    authors: str
    measured: str
    exhibits: tuple[Exhibit, ...]
    also: str = ""


def counted(held: Sequence[Held]) -> str:
    """Count the figures in which we are as good as the paper.

    >>> counted([Held("a", 2, 3), Held("b", 2, 1)])
    'as good as the paper or better in 1 of 2'
    """
    known = [each for each in held if each.verdict != "unknown"]
    good = sum(each.verdict == "as good" for each in known)
    if not known:
        return "nothing to compare"
    like = "like the paper" if all(each.sense == "like" for each in known) else "as good as the paper or better"
    return f"{like} in {good} of {len(known)}"


def said(held: Sequence[Held]) -> str:
    """Say where we fall short of the paper, and by how much.

    >>> said([Held("R-5", 1.85, 1.12), Held("S-5", 2.17, 3.4)])
    'As good as the paper or better in 1 of 2. Short: R-5: 1.12 against 1.85.'
    """
    if not held:
        return ""
    short = [str(each) for each in held if each.verdict == "short"]
    count = counted(held)
    return f"{count[0].upper()}{count[1:]}." + (f" Short: {'; '.join(short)}." if short else "")
