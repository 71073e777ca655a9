"""What the page says, from the reports in a folder: the papers' exhibits with ours, and what is beyond the papers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bench.evidence import factor_windows, multi_query, reactive, subsumption
from bench.evidence.exhibit import Counterpart, counted, said
from bench.evidence.reports import read
from bench.evidence.steps import QUICK_SECONDS, STEPS
from bench.report import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bench.evidence.exhibit import Exhibit, Paper
    from bench.evidence.reports import Measured
    from bench.evidence.runs import Outcome
    from bench.report import Table

PAPERS: Final = (factor_windows.PAPER, reactive.PAPER, multi_query.PAPER, subsumption.PAPER)
# Columns in which a benchmark says whether it reached what it set out for.
_MET: Final = ("met", "above")
# And those with what it reached.
_FOUND: Final = ("found", "ms", "muntin's x")


@dataclass(frozen=True, slots=True)
class Shown:
    """An exhibit on the page: our counterpart and the report that it comes from, or the line that there is instead."""

    exhibit: Exhibit
    report: str | None
    counterpart: Counterpart | None
    line: str

    @property
    def verdict(self) -> str:
        """Say in few words how we compare."""
        if self.counterpart is None:
            return self.line
        return counted(self.counterpart.held) if self.counterpart.held else "side by side, no numbers in the paper"


@dataclass(frozen=True, slots=True)
class Page:
    """All that the page says: reports by name, what became of each benchmark, exhibits by paper, and warnings."""

    quick: bool
    reports: Mapping[str, Measured]
    outcomes: Mapping[str, Outcome]
    papers: tuple[tuple[Paper, tuple[Shown, ...]], ...]
    beyond: tuple[str, ...]
    warnings: tuple[str, ...]

    def short(self) -> list[tuple[Paper, Shown]]:
        """List the exhibits in which something of ours falls short."""
        return [
            (paper, each)
            for paper, several in self.papers
            for each in several
            if each.counterpart and any(held.verdict == "short" for held in each.counterpart.held)
        ]


def assemble(folder: Path, outcomes: Sequence[Outcome], *, quick: bool) -> Page:
    """Gather what there is in a folder; reports of benchmarks that were not run this time count too."""
    reports = {step.name: found for step in STEPS if (found := read(folder, step.name)) is not None}
    known = {each.name: each for each in outcomes}
    for name, each in known.items():
        if each.status in ("failed", "left out"):
            # An older report would pass for this run's.
            reports.pop(name, None)
    papers = tuple((paper, tuple(_shown(each, reports, known) for each in paper.exhibits)) for paper in PAPERS)
    placed = {name for paper in PAPERS for each in paper.exhibits for name in each.benchmarks}
    beyond = tuple(step.name for step in STEPS if step.name not in placed)
    return Page(quick, reports, known, papers, beyond, tuple(_warnings(reports, known, quick)))


def _shown(exhibit: Exhibit, reports: Mapping[str, Measured], outcomes: Mapping[str, Outcome]) -> Shown:
    if exhibit.place is None:
        return Shown(exhibit, None, None, exhibit.why)
    name = next((name for name in exhibit.benchmarks if name in reports), None)
    if name is None:
        return Shown(exhibit, None, None, missing(exhibit.benchmarks[0], outcomes))
    try:
        return Shown(exhibit, name, exhibit.place(reports[name]), "")
    except (LookupError, ValueError, TypeError, ArithmeticError) as error:
        # A report of an older form, or of too little to sum up, must not cost the reader all the others.
        told = f"The report of {name} cannot be laid beside it ({type(error).__name__}: {error})."
        return Shown(exhibit, None, None, told)


def missing(name: str, outcomes: Mapping[str, Outcome]) -> str:
    """Say why a benchmark has no report.

    >>> from bench.evidence.runs import Outcome
    >>> missing("gap", {"gap": Outcome("gap", "failed", 1.0, "no room")})
    'The benchmark gap failed: no room.'
    """
    told = outcomes.get(name)
    if told is not None and told.status == "failed":
        return f"The benchmark {name} failed: {told.message.rstrip('.')}."
    if told is not None and told.status == "left out":
        return f"The benchmark {name} was left out: {told.message.rstrip('.')}."
    return f"The benchmark {name} was not run: `muntin bench all --only {name}` adds it."


def _warnings(reports: Mapping[str, Measured], outcomes: Mapping[str, Outcome], quick: bool) -> list[str]:
    found = []
    failed = [each.name for each in outcomes.values() if each.status == "failed"]
    if failed:
        found.append(f"Failed: {', '.join(failed)}.")
    busy = {name: report.machine["load"] for name, report in reports.items() if report.busy}
    if busy:
        loads = ", ".join(f"{name} (load {load})" for name, load in busy.items())
        found.append(
            "The load was above the number of cores, so that these figures are provisional; it may be that of the "
            f"benchmark before: {loads}."
        )
    kinds_of: dict[str, dict[str, list[str]]] = {}
    for name, report in reports.items():
        stamp, amount = report.stamp, "unknown"
        if stamp is not None:
            amount = "quick" if stamp.quick else "in full"
        for what, kind in (
            ("machines", f"{report.machine['cpu']}, {report.machine['cores']} cores"),
            ("code", stamp.code if stamp else "unknown"),
            ("amounts", amount),
        ):
            kinds_of.setdefault(what, {}).setdefault(kind, []).append(name)
    for what, kinds in kinds_of.items():
        if len(kinds) > 1:
            told = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items())
            found.append(f"The reports are of different {what}: {told}.")
    if quick:
        found.append("A quick run measures little: its figures show that all works, and roughly where each stands.")
        taken = sum(seconds for step in STEPS if (seconds := _seconds(reports.get(step.name))) is not None)
        if taken > QUICK_SECONDS:
            found.append(f"It took {taken / 60:.0f} minutes; {QUICK_SECONDS // 60} are what it may take on two cores.")
    return found


def _seconds(report: Measured | None) -> float | None:
    return report.stamp.seconds if report and report.stamp else None


def goals(table: Table) -> str:
    """Count the goals that a table says are met, and name the others.

    >>> from bench.report import Table
    >>> goals(Table("Goals", ("what", "found", "goal", "met"), (("speed", 2, "> 1", "yes"), ("size", 2, "< 1", "no"))))
    '1 of 2 met. Not met: size (2, goal < 1).'
    """
    column = next((table.columns.index(name) for name in _MET if name in table.columns), None)
    if column is None:
        return ""
    judged = [row for row in table.rows if row[column] in ("yes", "no", "within")]
    if not judged:
        return ""
    missed = [f"{row[0]}{_figures(table, row)}" for row in judged if row[column] == "no"]
    met = f"{len(judged) - len(missed)} of {len(judged)} met."
    return met + (f" Not met: {'; '.join(missed)}." if missed else "")


def _figures(table: Table, row: Sequence[Any]) -> str:
    told = dict(zip(table.columns, row, strict=True))
    found = next((name for name in _FOUND if name in told), None)
    return f" ({shown(told[found])}, goal {shown(told['goal'])})" if found and "goal" in told else ""


def summary(page: Page) -> dict[str, Any]:
    """Give what the page says in a few figures, for a program."""
    return {
        "quick": page.quick,
        "warnings": list(page.warnings),
        "benchmarks": [
            {
                "name": step.name,
                "status": _status(page, step.name),
                "report": step.name in page.reports,
                "seconds": page.outcomes[step.name].seconds
                if step.name in page.outcomes
                else _seconds(page.reports.get(step.name)),
                "message": page.outcomes[step.name].message if step.name in page.outcomes else "",
            }
            for step in STEPS
        ],
        "exhibits": [
            {
                "paper": paper.key,
                "exhibit": each.exhibit.name,
                "benchmark": each.report,
                "as good": _count(each, "as good"),
                "short": _count(each, "short"),
                "says": said(each.counterpart.held) if each.counterpart else each.line,
            }
            for paper, several in page.papers
            for each in several
        ],
    }


def _status(page: Page, name: str) -> str:
    if name in page.outcomes:
        return page.outcomes[name].status
    return "from before" if name in page.reports else "not run"


def _count(each: Shown, verdict: str) -> int:
    return sum(held.verdict == verdict for held in each.counterpart.held) if each.counterpart else 0
