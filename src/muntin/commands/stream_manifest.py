"""`muntin.json` in a checkpoint: which query it belongs to, so that another is refused before anything is touched."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from muntin.errors import StateError
from muntin.stream.differ import columns, difference

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from muntin.declare.sql import SelectQuery

NAME: Final = "muntin.json"
_FORM: Final = 1
NEW: Final = "start with a new checkpoint and a new output"
_ADVICE: Final = f"Go on with what wrote it, or {NEW}: all files are read again then"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a checkpoint belongs to: the query as text, what of it must stay the same, and the input's columns."""

    query: str
    plan: Mapping[str, Any]
    schema: Mapping[str, Any]
    """A schema in Spark's own JSON."""

    def refuse(self, plan: Mapping[str, Any]) -> None:
        """Refuse another query than the one that wrote the checkpoint."""
        if dict(self.plan) != dict(plan):
            raise StateError(as_options(difference(self.plan, plan, _ADVICE)))

    def write(self, checkpoint: Path) -> None:
        """Write it into a checkpoint, all of it or nothing."""
        checkpoint.mkdir(parents=True, exist_ok=True)
        said = {"version": _FORM, "query": self.query, "plan": dict(self.plan), "schema": dict(self.schema)}
        hidden = checkpoint / f".{NAME}.tmp"
        with hidden.open("w", encoding="utf-8") as file:
            json.dump(said, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        os.replace(hidden, checkpoint / NAME)


def find(checkpoint: Path) -> Manifest | None:
    """Read the manifest of a checkpoint; None where a checkpoint is yet to be made."""
    if checkpoint.exists() and not checkpoint.is_dir():
        msg = f"the checkpoint {checkpoint} is a file: give a folder, which need not exist yet"
        raise StateError(msg)
    place = checkpoint / NAME
    if not place.exists():
        # A start that was cut short may have left the manifest half written, and nothing else.
        if checkpoint.is_dir() and any(name != f".{NAME}.tmp" for name in os.listdir(checkpoint)):
            msg = (
                f"the checkpoint {checkpoint} is not empty, and has no {NAME}: something else wrote it. "
                "Give another folder, which need not exist yet"
            )
            raise StateError(msg)
        return None
    if not _numbered(checkpoint / "offsets"):
        # A start that failed before it read anything binds nobody.
        return None
    try:
        said = json.loads(place.read_text(encoding="utf-8"))
        version = said["version"]
        if version == _FORM:
            return Manifest(str(said["query"]), dict(said["plan"]), dict(said["schema"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = (
            f"{place}, which says what the checkpoint belongs to, is damaged ({type(error).__name__}: {error}). "
            f"Put it back from a copy, or {NEW}"
        )
        raise StateError(msg) from error
    msg = f"{place} has version {version}, and this muntin reads {_FORM}. Go on with the muntin that wrote it, or {NEW}"
    raise StateError(msg)


def described(parsed: SelectQuery, time: str, **more: Any) -> dict[str, Any]:
    """Say what of a query must stay the same from start to start; `more` is what is not in its text.

    >>> from muntin.declare.sql import parse_sql
    >>> found = described(parse_sql("SELECT k, count(*) AS n FROM e GROUP BY window(ts, '5 minutes'), k"), "ts")
    >>> found["keys"], found["windows"], found["aggregates"], found["outputs"]
    (['k'], ['tumbling_5m: 5m'], ['n=count()'], ['k', 'n'])
    """
    from muntin.stream.version import VERSION

    return {
        "version": VERSION,
        "time": time,
        "closed": parsed.closed,
        "where": parsed.where,
        "keys": [_named(key.name, key.text) for key in parsed.keys],
        "windows": [f"{window.id}: {window}" for window in parsed.windows],
        "aggregates": [
            f"{call.name}={call.function}({', '.join([*call.arguments, *(f'{n}={v!r}' for n, v in call.params)])})"
            + (f" where {call.filter}" if call.filter else "")
            for call in parsed.aggregates
        ],
        "having": parsed.having,
        "outputs": [_named(output.name, output.text) for output in parsed.outputs],
        **more,
    }


def refuse_columns(before: list[tuple[str, str]], now: list[tuple[str, str]]) -> None:
    """Refuse an input of which a column went or is of another type; one that came is nothing to a query that ran."""
    known = {name for name, _ in before}
    changed = list(columns(before, [(name, kind) for name, kind in now if name in known]))
    if changed:
        msg = (
            f"the input changed: {'; '.join(changed)}. The checkpoint's slices hold the columns as they were: "
            f"take the files of another form away, or {NEW}"
        )
        raise StateError(msg)


def as_options(message: str) -> str:
    """Advise with an option where the words are those of the Python interface."""
    return message.replace("stream(buckets=...)", "--buckets")


def committed(checkpoint: Path) -> bool:
    """Tell whether a micro-batch of a checkpoint was written to the end."""
    return bool(_numbered(checkpoint / "commits"))


def refuse_damage(checkpoint: Path) -> None:
    """Refuse a checkpoint whose own logs, as far as Spark reads them again, were cut short."""
    looked_at = [checkpoint / "metadata"] if (checkpoint / "metadata").exists() else []
    looked_at += _numbered(checkpoint / "offsets")[-2:] + _numbered(checkpoint / "commits")[-1:]
    for place in looked_at:
        if not _whole(place.read_text(encoding="utf-8", errors="replace"), log=place.name != "metadata"):
            msg = f"the checkpoint is damaged: {place} was cut short. Put it back from a copy, or {NEW}"
            raise StateError(msg)


def _whole(text: str, *, log: bool) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    if log:
        # The first line is the version; of others than the first nothing is known but that something stands there.
        if len(lines) < 2 or not re.fullmatch(r"v\d+", lines[0]):
            return False
        if lines[0] != "v1":
            return True
        lines = [line for line in lines[1:] if line != "-"]
    try:
        return bool([json.loads(line) for line in lines])
    except ValueError:
        return False


def _numbered(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted((place for place in folder.iterdir() if place.name.isdigit()), key=lambda place: int(place.name))


def _named(name: str, text: str) -> str:
    return name if name == text else f"{text} AS {name}"
