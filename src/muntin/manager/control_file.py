"""`control.json` in a manager's checkpoint: where its endpoint listens, and the token that only its owner can read."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final

from muntin.errors import ManagerError
from muntin.manager.registry import write_whole

if TYPE_CHECKING:
    from pathlib import Path

NAME: Final = "control.json"
VARIABLE: Final = "MUNTIN_CONTROL"
_FORM: Final = 1
_OWNER_ONLY: Final = 0o600


@dataclass(frozen=True, slots=True)
class Control:
    """Say how to reach a manager: its address, its process, and the token that it asks for."""

    host: str
    port: int
    pid: int
    # Whoever has the token may change the queries: it must not end up in a log by way of a repr.
    token: str = field(repr=False)

    @property
    def address(self) -> str:
        """The host and port, as a browser or curl would have them.

        >>> Control("::1", 8080, 1, "secret")
        Control(host='::1', port=8080, pid=1)
        >>> Control("::1", 8080, 1, "secret").address
        '[::1]:8080'
        """
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def write_control(folder: Path, control: Control) -> None:
    """Write it into a checkpoint, all of it or nothing, and never for a moment readable to others."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / NAME, json.dumps({"version": _FORM} | asdict(control), indent=2), _OWNER_ONLY)
    except OSError as error:
        msg = (
            f"cannot write {folder / NAME}, through which commands find the manager: {error.strerror}. "
            "Give a checkpoint in a folder that may be written to"
        )
        raise ManagerError(msg) from error


def remove_control(folder: Path, control: Control) -> None:
    """Take it away again, unless it is another manager's by now."""
    with suppress(ManagerError, OSError):
        if read_control(folder) == control:
            (folder / NAME).unlink()


def read_control(place: Path) -> Control:
    """Read it from a checkpoint, or from the file itself.

    >>> from pathlib import Path
    >>> read_control(Path("nowhere"))
    Traceback (most recent call last):
    ...
    muntin.errors.ManagerError: no manager runs on nowhere: there is no nowhere/control.json. Start one with ...
    """
    path = place / NAME if place.name != NAME else place
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        if said["version"] == _FORM:
            return Control(str(said["host"]), int(said["port"]), int(said["pid"]), str(said["token"]))
    except (FileNotFoundError, NotADirectoryError) as error:
        msg = (
            f"no manager runs on {path.parent}: there is no {path}. Start one with muntin serve --checkpoint "
            f"{path.parent} ..., or give the checkpoint of one that runs with --checkpoint or {VARIABLE}"
        )
        raise ManagerError(msg) from error
    except PermissionError as error:
        msg = (
            f"{path} may not be read by this user: whoever reads the token in it may change the queries, so only "
            "the user who started the manager may. Run the command as that user"
        )
        raise ManagerError(msg) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = (
            f"{path}, which says where the manager listens, is damaged ({type(error).__name__}: {error}). "
            "Stop the manager and start it again, and it is written anew"
        )
        raise ManagerError(msg) from error
    msg = f"{path} has version {said['version']}, and this muntin reads {_FORM}. Use the muntin that serves there"
    raise ManagerError(msg)
