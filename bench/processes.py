"""A process and all that it started, as Linux tells of them: memory and processor time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def resident(root: int) -> dict[str, int]:
    """Add up, by the name of their program, the bytes in memory of a process and all that it started.

    >>> sum(resident(os.getpid()).values()) > 2**20
    True
    """
    page = os.sysconf("SC_PAGE_SIZE")
    found: dict[str, int] = {}
    for name, fields in _family(root):
        found[name] = found.get(name, 0) + int(fields[21]) * page
    return found


def processor(root: int) -> float:
    """Add up the seconds that a process and all that it started have had on a processor.

    >>> processor(os.getpid()) > 0
    True
    """
    ticks = os.sysconf("SC_CLK_TCK")
    # By itself and for the system, and the same of children that have ended.
    return sum(sum(map(int, fields[11:15])) for _, fields in _family(root)) / ticks


def _family(root: int) -> Iterator[tuple[str, list[str]]]:
    """Give the name and the fields of a process and of all below it."""
    names, fields = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # The name stands in brackets and may hold blanks and brackets itself.
            head, _, rest = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        names[int(folder.name)], fields[int(folder.name)] = head.partition("(")[2], rest.split()
    for number, name in names.items():
        above = number
        while above and above != root:
            above = int(fields[above][1]) if above in fields else 0
        if above:
            yield name, fields[number]
