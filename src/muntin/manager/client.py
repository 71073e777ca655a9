"""Talking to a manager that runs elsewhere: each call is one request to its control endpoint."""

from __future__ import annotations

import json
import os
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, Any, Final

from muntin.errors import ManagerError
from muntin.manager.control_file import read_control

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from muntin.manager.control_file import Control

# A change takes effect when the micro-batch that runs is done, and that may be a long one.
SECONDS: Final = 300.0
_TEXT: Final = {"Accept": "text/plain"}


class Client:
    """Ask a manager to change its queries, and how far it is.

    Answers are values as JSON has them; `text=True` asks for text instead, as people read it.
    """

    def __init__(self, control: Control, *, seconds: float = SECONDS) -> None:
        self.control, self._seconds = control, seconds

    @classmethod
    def at(cls, checkpoint: Path, *, seconds: float = SECONDS) -> Client:
        """Find the manager of a checkpoint, or of a `control.json`."""
        return cls(read_control(checkpoint), seconds=seconds)

    def register(
        self,
        name: str,
        windows: Sequence[str | Mapping[str, str]],
        aggregates: Mapping[str, str],
        *,
        text: bool = False,
    ) -> Any:
        """Add a query: `register("load", ["5m", "1h/10m"], {"low": "min(temp)"})`."""
        said = {"name": name, "windows": list(windows), "aggregates": dict(aggregates)}
        return self._ask("POST", "/register", said, text=text)

    def suspend(self, name: str, *, text: bool = False) -> Any:
        """Let a query wait."""
        return self._ask("POST", "/suspend", {"name": name}, text=text)

    def resume(self, name: str, *, text: bool = False) -> Any:
        """Let a query go on."""
        return self._ask("POST", "/resume", {"name": name}, text=text)

    def drop(self, name: str, *, text: bool = False) -> Any:
        """Take a query away."""
        return self._ask("POST", "/drop", {"name": name}, text=text)

    def status(self, *, text: bool = False) -> Any:
        """Ask how far everything is."""
        return self._ask("GET", "/status", text=text)

    def explain(self) -> str:
        """Ask how the queries are computed."""
        return str(self._ask("GET", "/explain", text=True))

    def stop(self, *, text: bool = False) -> Any:
        """Ask the manager to end the stream after the micro-batch that runs."""
        return self._ask("POST", "/stop", {}, text=text)

    def _ask(self, method: str, path: str, said: Mapping[str, Any] | None = None, *, text: bool = False) -> Any:
        headers = {"Authorization": f"Bearer {self.control.token}"} | (_TEXT if text else {})
        body = None if said is None else json.dumps(said)
        connection = HTTPConnection(self.control.host, self.control.port, timeout=self._seconds)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            content = response.read().decode("utf-8")
            if response.status == 200 and text:
                return content.rstrip("\n")
            found = json.loads(content)
            if response.status == 200:
                return found
            refusal = str(found["error"])
        except TimeoutError as error:
            raise ManagerError(self._slow(changes=method == "POST")) from error
        except OSError as error:
            raise ManagerError(self._silent(error)) from error
        except (HTTPException, ValueError, KeyError, TypeError) as error:
            msg = f"what answers at {self.control.address} is no manager. {self._stale()}"
            raise ManagerError(msg) from error
        finally:
            connection.close()
        if response.status == 401:
            msg = f"the manager at {self.control.address} does not take the token. {self._stale()}"
            raise ManagerError(msg)
        raise ManagerError(refusal)

    def _slow(self, *, changes: bool) -> str:
        perhaps = "; the change may still take effect, muntin status tells" if changes else ""
        return (
            f"the manager at {self.control.address} (process {self.control.pid}) did not answer within "
            f"{self._seconds:g} s{perhaps}. A long micro-batch may run: try again later"
        )

    def _silent(self, error: OSError) -> str:
        where = f"the manager does not answer at {self.control.address} ({error.strerror or error})"
        if not _alive(self.control.pid):
            return (
                f"{where}: its process {self.control.pid} has ended, and not by being stopped. "
                "Start it again with muntin serve: it goes on from its checkpoint with the same queries"
            )
        return f"{where}, though process {self.control.pid} runs: it may be stopping. Try again in a moment"

    def _stale(self) -> str:
        return (
            f"The manager that was process {self.control.pid} has ended, and something else has its address. "
            "Start it again with muntin serve: it goes on from its checkpoint"
        )


def _alive(pid: int) -> bool:
    """Tell whether a process runs, its own or another user's.

    >>> _alive(os.getpid())
    True
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
