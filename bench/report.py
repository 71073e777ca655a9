"""What a benchmark has found, and how it is written: CSV, JSON, Markdown and an SVG chart."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from bench.chart import Chart, draw
from bench.kept import part
from bench.measure import Machine, machine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bench.stamp import Stamp

Cell: TypeAlias = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                msg = f"table {self.title!r} has {len(self.columns)} columns, but a row of {len(row)}: {row!r}"
                raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Report:
    """The findings: tables for people, every single measurement, a chart, and how they came about.

    `parts` are reports of their own, of which this one sums up the findings.
    """

    name: str
    title: str
    settings: Mapping[str, Cell]
    tables: tuple[Table, ...]
    measurements: Table
    chart: Chart
    notes: tuple[str, ...] = ()
    machine: Machine = field(default_factory=machine)
    parts: tuple[Report, ...] = ()

    def remarks(self) -> tuple[str, ...]:
        """List the notes, and before them a warning where the figures cannot be relied on."""
        return (self.machine.busy, *self.notes) if self.machine.busy else self.notes

    def provenance(self) -> dict[str, Cell]:
        """Tell where, when and how the figures were taken."""
        return {"benchmark": self.name, **asdict(self.machine), **self.settings}


def write(report: Report, folder: Path, stamp: Stamp | None = None) -> tuple[Path, ...]:
    """Write a report and its parts in all forms into a folder, over the files of an earlier run."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [path for part in report.parts for path in write(part, folder, stamp)]
    forms = {"md": as_markdown, "csv": as_csv, "svg": as_svg}
    texts = {suffix: form(report) for suffix, form in forms.items()}
    # Last, because whoever finds the JSON takes all of the report to be there.
    texts["json"] = as_json(report, stamp)
    for suffix, text in texts.items():
        path = folder / f"{report.name}.{suffix}"
        path.write_text(text, encoding="utf-8", newline="")
        paths.append(path)
    # What was kept on the way is in the report now.
    part(folder, report.name).unlink(missing_ok=True)
    return tuple(paths)


def as_text(report: Report) -> str:
    """Write the tables and notes for a terminal."""
    tables = [f"{table.title}\n{_aligned(table)}" for table in report.tables]
    notes = [textwrap.fill(note, width=80) for note in (*report.remarks(), str(report.machine))]
    return "\n\n".join([report.title, *tables, *notes])


def as_markdown(report: Report) -> str:
    """Write the tables, the notes and the provenance as a page that shows the chart."""
    lines = [f"# {report.title}", "", f"![{report.title}]({report.name}.svg)", ""]
    for table in report.tables:
        lines += [f"## {table.title}", "", *_markdown(table), ""]
    lines += [line for note in report.remarks() for line in (note, "")]
    settings = Table("", ("setting", "value"), tuple(report.provenance().items()))
    return "\n".join([*lines, "## How it was measured", "", *_markdown(settings), ""])


def as_csv(report: Report) -> str:
    """Write every measurement as one line, below comment lines that hold the provenance."""
    out = io.StringIO()
    out.writelines(f"# {name}: {shown(value)}\n" for name, value in report.provenance().items())
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(report.measurements.columns)
    writer.writerows(report.measurements.rows)
    return out.getvalue()


def as_json(report: Report, stamp: Stamp | None = None) -> str:
    """Write all of it, parts by their names."""
    content = {
        "benchmark": report.name,
        "title": report.title,
        "machine": asdict(report.machine),
        "settings": dict(report.settings),
        "tables": [asdict(table) for table in report.tables],
        "notes": report.remarks(),
        "parts": [part.name for part in report.parts],
        "run": None if stamp is None else asdict(stamp),
        "measurements": [dict(zip(report.measurements.columns, row, strict=True)) for row in report.measurements.rows],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def as_svg(report: Report) -> str:
    """Draw the chart, with the provenance as its description."""
    settings = ", ".join(f"{name} {shown(value)}" for name, value in report.settings.items())
    # A picture is passed on without its page: it carries the warning itself.
    caption = f"{report.machine.busy} {report.machine}".strip()
    return draw(report.chart, caption=caption, description=f"{report.machine}. {settings}")


def shown(value: Cell) -> str:
    """Write a cell for people: floats to three significant digits, a dash for what is missing.

    >>> [shown(value) for value in (0.012345, 3.0, 1234.5678, 12, None, "R-5")]
    ['0.0123', '3.00', '1,235', '12', '-', 'R-5']
    """
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if value == 0:
        return "0"
    digits = 2 - _magnitude(value)
    return f"{value:.{digits}f}"


def _magnitude(value: float) -> int:
    """Find the power of ten of the first digit, after rounding to three."""
    return int(f"{value:.2e}".partition("e")[2])


def _aligned(table: Table) -> str:
    rows = [table.columns, *(tuple(map(shown, row)) for row in table.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.columns))]
    # Figures line up on the right, the names in the first column on the left.
    return "\n".join("  ".join(_placed(i, cell, widths[i]) for i, cell in enumerate(row)).rstrip() for row in rows)


def _placed(column: int, cell: str, width: int) -> str:
    return cell.rjust(width) if column else cell.ljust(width)


def _markdown(table: Table) -> Sequence[str]:
    rule = " | ".join("---:" if i else ":---" for i in range(len(table.columns)))
    rows = [" | ".join(shown(cell).replace("|", "\\|") for cell in row) for row in table.rows]
    return [f"| {line} |" for line in (" | ".join(table.columns), rule, *rows)]
