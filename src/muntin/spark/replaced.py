"""Results in the place of others on this machine: the old one stands until the new one is whole."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

from muntin.errors import RunError

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
