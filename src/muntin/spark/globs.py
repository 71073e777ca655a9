"""Patterns in the paths of inputs, as Spark reads them: `events/*.csv`, `day-[0-9]`, `{may,june}/`."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

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

    >>> [lie_in_one_another(Path("/a") / mine, Path("/a/*.csv")) for mine in ("b.csv", "b.csv/out", "out", "../a")]
    [True, True, False, True]
    """
    mine = mine.resolve()
    if theirs.exists() or not is_pattern(str(theirs)):
        there = theirs.resolve()
        return mine == there or mine in there.parents or there in mine.parents
    return any(
        all(fnmatchcase(part, wanted) for part, wanted in zip(mine.parts, Path(text).resolve().parts, strict=False))
        for text in _without_braces(str(theirs))
    )


def _without_braces(text: str) -> list[str]:
    found = _BRACES.search(text)
    if found is None:
        return [text.replace("[^", "[!")]  # Python says otherwise what a set does not hold.
    return [
        whole
        for choice in found[1].split(",")
        for whole in _without_braces(text[: found.start()] + choice + text[found.end() :])
    ]
