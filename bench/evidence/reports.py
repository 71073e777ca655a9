"""Reports as they were written, read back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.measure import PROVISIONAL
from bench.report import Table
from bench.stamp import Stamp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bench.report import Cell


@dataclass(frozen=True, slots=True)
class Measured:
    """A benchmark's report: what `bench.report` wrote as JSON, its picture, and its parts by name."""

    name: str
    title: str
    machine: Mapping[str, Cell]
    settings: Mapping[str, Cell]
    tables: tuple[Table, ...]
    notes: tuple[str, ...]
    measurements: tuple[Mapping[str, Any], ...]
    parts: Mapping[str, Measured]
    svg: str
    stamp: Stamp | None
    busy: str = ""
    """A warning that the machine had other work."""

    def picked(self, **wanted: Cell) -> Iterator[Mapping[str, Any]]:
        """Go through the measurements that have these values."""
        return (row for row in self.measurements if all(row.get(name) == value for name, value in wanted.items()))

    def table(self, start: str) -> Table:
        """Give the table whose title starts so."""
        for table in self.tables:
            if table.title.startswith(start):
                return table
        msg = f"{self.name} has no table {start!r}, only {', '.join(repr(table.title) for table in self.tables)}"
        raise LookupError(msg)


def read(folder: Path, name: str) -> Measured | None:
    """Read a report from its folder; None where it is not there, or not whole."""
    try:
        content = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        svg = (folder / f"{name}.svg").read_text(encoding="utf-8")
        parts = {part: read(folder, part) for part in content.get("parts", ())}
        busy = [note for note in content["notes"] if note.startswith(PROVISIONAL)]
        return Measured(
            content["benchmark"],
            content["title"],
            content["machine"],
            content["settings"],
            tuple(_table(each) for each in content["tables"]),
            tuple(note for note in content["notes"] if note not in busy),
            tuple(content["measurements"]),
            {part: found for part, found in parts.items() if found is not None},
            svg,
            Stamp(**content["run"]) if content.get("run") else None,
            next(iter(busy), ""),
        )
    except (OSError, ValueError, KeyError, TypeError):
        # A run that was broken off leaves half a file: it is measured again, as is what an older version wrote.
        return None


def _table(told: Mapping[str, Any]) -> Table:
    return Table(told["title"], tuple(told["columns"]), tuple(tuple(row) for row in told["rows"]))
