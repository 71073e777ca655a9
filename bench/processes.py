"""A process and all that it started, as Linux tells of them: memory and processor time."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def resident(root: int) -> dict[str, int]:
    """Add up, by the name of their program, the bytes in memory of a process and all that it started.

    >>> sum(resident(os.getpid()).values()) > 2**20
    True
    """
    page = os.sysconf("SC_PAGE_SIZE")
    found: dict[str, int] = {}
    for _, name, fields in _family(root):
        found[name] = found.get(name, 0) + int(fields[21]) * page
    return found


@dataclass(frozen=True, slots=True)
class Used:
    """The seconds that one process has had on a processor: itself, and its children that have ended."""

    parent: int
    itself: float
    ended: float


def used(root: int) -> dict[tuple[int, int], Used]:
    """Tell what a process and all that it started have used so far, each by its number and when it started.

    >>> used(os.getpid())[identity(os.getpid())].itself > 0
    True
    """
    ticks = os.sysconf("SC_CLK_TCK")
    found = {}
    for number, _, fields in _family(root):
        mine, system, theirs, of_system = (int(field) / ticks for field in fields[11:15])
        found[number, int(fields[19])] = Used(int(fields[1]), mine + system, theirs + of_system)
    return found


def identity(number: int) -> tuple[int, int]:
    """Tell a process from an earlier one of the same number: by when it started, in ticks since the boot."""
    return number, int(_fields(Path(f"/proc/{number}"))[1][19])


def between(before: Mapping[tuple[int, int], Used], after: Mapping[tuple[int, int], Used]) -> float:
    """Add up the seconds on a processor between two readings.

    A process that has ended is part of its parent's `ended`, with all that it had used before the first reading too.
    One whose parent had ended as well is counted by nobody: what it used in between is lost, but nothing is taken off.

    >>> a, b = Used(0, 5.0, 1.0), Used(1, 3.0, 0.0)
    >>> between({(1, 0): a, (2, 0): b}, {(1, 0): Used(0, 6.0, 4.5)})
    1.5
    """
    left: dict[int, float] = {}
    for key, was in before.items():
        if key not in after:
            left[was.parent] = left.get(was.parent, 0.0) + was.itself + was.ended
    total = 0.0
    for key, now in after.items():
        was = before.get(key, Used(now.parent, 0.0, 0.0))
        total += max(now.itself - was.itself, 0.0) + max(now.ended - was.ended - left.get(key[0], 0.0), 0.0)
    return total


def _family(root: int) -> Iterator[tuple[int, str, list[str]]]:
    """Give the number, the name and the fields of a process and of all below it."""
    names, fields = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            names[int(folder.name)], fields[int(folder.name)] = _fields(folder)
        except OSError:
            continue
    for number, name in names.items():
        above = number
        while above and above != root:
            above = int(fields[above][1]) if above in fields else 0
        if above:
            yield number, name, fields[number]


def _fields(folder: Path) -> tuple[str, list[str]]:
    # The name stands in brackets and may hold blanks and brackets itself.
    head, _, rest = (folder / "stat").read_text().rpartition(")")
    return head.partition("(")[2], rest.split()
