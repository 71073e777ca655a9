"""Results in the place of others on this machine: which may be, and the old one stands until the new is whole."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

from muntin.errors import MuntinError, RunError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def replaced(place: Path) -> Iterator[Path]:
    """Give a new folder to write to; once that has ended well it takes the place of the old one."""
    # Where the place is a link it stays one, and the folder it leads to is replaced.
    place = place.resolve()
    mark = uuid4().hex[:8]
    new, old = (place.with_name(f".{place.name}.muntin-{mark}{end}") for end in ("", "-old"))
    try:
        yield new
        _swap(place, new, old)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def check_replaced(path: str, place: Path) -> None:
    """Refuse to replace what is no result of Spark's: it would be lost."""
    if not place.exists():
        return
    found = _foreign(place)
    if found is not None:
        what = "is a file" if found == place else f"holds {found.relative_to(place)}"
        msg = (
            f"output {path} {what}, which is no result of an earlier run: --mode overwrite replaces whole folders that "
            "Spark wrote. Choose another --output, or take it away"
        )
        raise MuntinError(msg)
    above = place.resolve().parent
    if not os.access(above, os.W_OK):
        msg = f"cannot replace {path}: the new result is made beside it, and {above} may not be written to"
        raise MuntinError(msg)


def _foreign(place: Path) -> Path | None:
    """Find the first file or folder, by name, that is not as Spark writes them."""
    if not place.is_dir():
        return place
    for each in sorted(place.iterdir()):
        if each.name.startswith(("_", ".")):
            continue
        if not each.is_dir():
            if each.name.startswith("part-"):
                continue
            return each
        # A partition, `key=value`, holds what its table does.
        found = _foreign(each) if "=" in each.name else each
        if found is not None:
            return found
    return None


def _swap(place: Path, new: Path, old: Path) -> None:
    try:
        place.rename(old)
        try:
            new.rename(place)
        except BaseException:
            old.rename(place)
            raise
    except OSError as error:
        msg = f"the result cannot take the place of {place}, which is as it was: {error.strerror or error}"
        raise RunError(msg) from error
