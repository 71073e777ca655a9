"""Patterns in the paths of inputs, as Spark reads them: `events/*.csv`, `day-[0-9]`, `{may,june}/`."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from fnmatch import fnmatchcase
from glob import iglob
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARK: Final = re.compile(r"[*?\[{]")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")


def is_pattern(path: str) -> bool:
    """Tell whether Spark would look for what matches a path, and not for what is called so.

    >>> is_pattern("events/day-?.csv"), is_pattern("events/day-1.csv")
    (True, False)
    """
    return _MARK.search(path) is not None


def escaped(path: str) -> str:
    r"""Write the path of what bears such a name for Spark, which would take it for a pattern.

    >>> print(escaped("data[1].csv"))
    data\[1\].csv
    """
    return re.sub(r"[*?\[\]{}\\]", r"\\\g<0>", path)


def lie_in_one_another(mine: Path, theirs: Path) -> bool:
    """Tell whether a path is, holds or lies in another, or something that this matches where it is a pattern.

    Spark follows links, so what the links in a folder lead to counts as what is read.

    >>> [lie_in_one_another(Path("/a") / mine, Path("/a/*.csv")) for mine in ("b.csv", "b.csv/out", "out", "../a")]
    [True, True, False, True]
    """
    mine = mine.resolve()
    if theirs.exists() or not is_pattern(str(theirs)):
        return _meet(mine, theirs)
    return any(
        all(fnmatchcase(part, wanted) for part, wanted in zip(mine.parts, Path(text).resolve().parts, strict=False))
        or any(_meet(mine, Path(found)) for found in iglob(text))
        for text in _without_braces(str(theirs))
    )


def _meet(mine: Path, theirs: Path) -> bool:
    """Tell whether a path is, holds or lies in another that is there, or in what links below this lead to."""
    return any(
        mine == there or mine in there.parents or there in mine.parents
        for there in (theirs.resolve(), *(Path(link).resolve() for link in _links(theirs)))
    )


def _links(folder: Path | str) -> Iterator[str]:
    # What is no folder has none, and what may not be looked into Spark cannot read either. A scan knows what is a link
    # without a look at each file: there may be millions.
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                yield entry.path
            elif entry.is_dir():
                yield from _links(entry.path)


def _without_braces(text: str) -> list[str]:
    found = _BRACES.search(text)
    if found is None:
        return [text.replace("[^", "[!")]  # Python says otherwise what a set does not hold.
    return [
        whole
        for choice in found[1].split(",")
        for whole in _without_braces(text[: found.start()] + choice + text[found.end() :])
    ]
