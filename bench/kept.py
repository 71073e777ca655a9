"""What a long benchmark has found so far, kept as it comes: one that was broken off goes on where it was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from bench.measure import machine
from bench.stamp import CHECKOUT, code, versions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Rows = list[dict[str, Any]]
_OF: Final = "of"


def part(folder: Path, name: str) -> Path:
    """Say where a benchmark keeps what it has found until its report is written."""
    return folder / f".{name}.part"


class Kept:
    """Findings by name, a line of JSON each; the first line says what was measured, how, by which code and where.

    What was found otherwise is not gone on with. Without a path nothing is kept.
    """

    def __init__(self, path: Path | None, settings: Mapping[str, object]) -> None:
        here = machine()
        self._path = path
        self._found: dict[str, Rows] = {}
        if path is None:
            return
        # Through JSON, as what is read back: it has lists where there were tuples.
        of = json.loads(
            json.dumps(
                {"code": code(CHECKOUT), "versions": versions(), "cpu": here.cpu, "cores": here.cores} | dict(settings)
            )
        )
        first, *lines = _lines(path) or [{}]
        if first.get(_OF) == of:
            self._found = {line["name"]: line["rows"] for line in lines}
        # Written anew, because the last line may have been cut off.
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
        self._add({_OF: of})
        for name, rows in self._found.items():
            self._add({"name": name, "rows": rows})

    def __len__(self) -> int:
        """Count what is known from before, and since."""
        return len(self._found)

    def get(self, name: str) -> Rows | None:
        """Give what was found, None where that was not measured yet."""
        return self._found.get(name)

    def keep(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep what was found."""
        self._found[name] = [dict(row) for row in rows]
        if self._path is not None:
            self._add({"name": name, "rows": self._found[name]})

    def _add(self, line: Mapping[str, object]) -> None:
        assert self._path is not None
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _lines(path: Path) -> list[dict[str, Any]]:
    """Read lines up to the first that is none."""
    found: list[dict[str, Any]] = []
    if not path.exists():
        return found
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            break
        if not isinstance(value, dict):
            break
        found.append(value)
    return found
