"""Window subsumption: Figures 10 to 12 of the paper, which has words and curves, beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bench.evidence.exhibit import Counterpart, Exhibit, Held, Paper
from bench.subsume_sum import PAPER_SECONDS

if TYPE_CHECKING:
    from bench.evidence.reports import Measured

# "Just a handful of groups", "orders of magnitude": the least that the words can mean.
HANDFUL: Final = 5.0
ORDERS: Final = 100.0


def groups(found: Measured) -> Counterpart:
    """Count the groups, as Figure 10 does."""
    table = found.table("All windows at once")
    place = table.columns.index("groups")
    held = tuple(Held(str(row[0]), HANDFUL, _float(row[place]), "less") for row in table.rows)
    late = found.table("Embedded one by one")
    return Counterpart(
        (table, late),
        pictures=(found.name,),
        held=held,
        remarks=("The paper: just a handful of groups in any setting; held against five, on average of the draws.",),
        reasons=found.notes[:2],
    )


def memory(found: Measured) -> Counterpart:
    """Compare what windows hold, as Figure 11 does for the medium class."""
    tables = tuple(table for table in found.tables if table.title.startswith("Held for all windows"))
    events = next(table for table in tables if "Figure 11" in table.title)
    place = events.columns.index("times less")
    held = tuple(
        Held(str(row[0]), ORDERS, _float(row[place]), unit="x")
        for row in events.rows
        if str(row[0]).startswith("medium")
    )
    return Counterpart(
        tables,
        held=held,
        remarks=("The paper: less by orders of magnitude for the medium class; held against two orders.",),
        reasons=found.notes[2:3],
    )


def sums(found: Measured) -> Counterpart:
    """Give the time of SUM, as Figure 12 does."""
    rates, alone = (found.table(start) for start in ("SUM over", "Results of"))
    classes = rates.columns[1:]
    last = rates.rows[-1]
    held = tuple(
        Held(f"{kind}, {last[0]} events per unit", PAPER_SECONDS, _seconds(last[1 + i]), "less", " s")
        for i, kind in enumerate(classes)
    )
    return Counterpart(
        (rates, alone),
        held=held,
        remarks=(f"The paper: below {PAPER_SECONDS:.0f} s in most cases, up to 100,000 events a second, in C++.",),
        reasons=found.notes[3:],
    )


def _float(cell: object) -> float | None:
    return float(cell) if isinstance(cell, int | float) else None


def _seconds(milliseconds: object) -> float | None:
    value = _float(milliseconds)
    return None if value is None else value / 1e3


_SUBSUME: Final = ("subsume",)

PAPER: Final = Paper(
    "window-subsumption",
    "Window subsumption",
    "",
    "C++, a 2.13 GHz Xeon; ours is one thread of Python",
    (
        Exhibit("Figure", ("10",), "groups of windows, and the time to find them", _SUBSUME, groups),
        Exhibit("Figure", ("11",), "memory of all windows' states", _SUBSUME, memory),
        Exhibit("Figure", ("12",), "SUM over 10,000 windows", _SUBSUME, sums),
        Exhibit(
            "Figure", tuple(map(str, range(1, 10))), "examples", why="They explain the method and measure nothing."
        ),
    ),
)
