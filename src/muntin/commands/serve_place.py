"""`serve.json` in a manager's checkpoint: which files it reads and where it writes, so that others are refused."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from muntin.commands.stream_job import absolute, check_apart
from muntin.errors import StateError
from muntin.manager.control_file import NAME as CONTROL
from muntin.manager.registry import write_whole
from muntin.manager.sink import local
from muntin.spark.files import check_output
from muntin.stream.differ import difference

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from muntin.spark.files import Source

NAME: Final = "serve.json"
_FORM: Final = 1
# What a manager itself has in its checkpoint.
_OWN: Final = frozenset({"registry", "spark", CONTROL, NAME})
_ADVICE: Final = "Go on as before, or start with a new checkpoint and a new output: all files are read again then"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a manager reads, writes and remembers; `schema` are the input's columns, once it has started."""

    folder: Path
    output: Path
    said: Mapping[str, str]
    schema: Mapping[str, Any] | None = None

    @classmethod
    def checked(cls, source: Source, output: str, checkpoint: str) -> Place:
        """Refuse folders that do not go together, or that belong to something else."""
        folder, out = local(checkpoint, "checkpoint"), local(output, "output")
        check_apart(checkpoint, output=output, input=source.path)
        # Whether an output may be there is for the checkpoint to say.
        check_output(output, "parquet", [source], overwrite=True)
        said = {"input": f"{absolute(source.path)} ({source.format})", "output": str(out.resolve())}
        if folder.exists() and not folder.is_dir():
            msg = f"the checkpoint {checkpoint} is a file: give a folder, which need not exist yet"
            raise StateError(msg)
        if (folder / NAME).exists():
            before, schema = _read(folder / NAME)
            if before != said:
                told = difference(before, said, _ADVICE)
                raise StateError(told.replace("belongs to another query", "is of another stream"))
            return cls(folder, out, said, schema)
        _refuse_foreign(folder)
        if not _has_versions(folder) and any(each.is_file() for each in out.rglob("*")):
            msg = (
                f"output {output} is there already, and the checkpoint {checkpoint} is new: all files would be read "
                "again, and rows be there twice. Choose another --output, or the --checkpoint that belongs to this one"
            )
            raise StateError(msg)
        return cls(folder, out, said)

    def keep(self, schema: Mapping[str, Any]) -> None:
        """Write it down, unless it is; `schema` is Spark's own JSON."""
        if self.schema is None:
            write_whole(self.folder / NAME, json.dumps({"version": _FORM, **self.said, "schema": schema}, indent=2))


def _read(path: Path) -> tuple[dict[str, str], dict[str, Any]]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        version = said["version"]
        if version == _FORM:
            return {"input": said["input"], "output": said["output"]}, dict(said["schema"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = (
            f"{path}, which says what the checkpoint belongs to, is damaged ({type(error).__name__}: {error}). "
            "Put it back from a copy"
        )
        raise StateError(msg) from error
    msg = f"{path} has version {version}, and this muntin reads {_FORM}. Go on with the muntin that wrote it"
    raise StateError(msg)


def _refuse_foreign(folder: Path) -> None:
    others = [] if not folder.is_dir() else [name for name in os.listdir(folder) if name not in _OWN]
    # A start that was cut short may have left a file half written.
    others = [name for name in others if not name.startswith(".")]
    if others:
        msg = (
            f"the checkpoint {folder} is not a manager's: {min(others)} in it is of something else. "
            "Give another folder, which need not exist yet"
        )
        raise StateError(msg)


def _has_versions(folder: Path) -> bool:
    return any(each.stem.isdigit() for each in (folder / "registry").glob("*.json"))
