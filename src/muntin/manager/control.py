"""The endpoint through which commands talk to a manager: HTTP with JSON, on this machine, for whoever has the token."""

from __future__ import annotations

import ipaddress
import os
import secrets
import threading
from typing import TYPE_CHECKING, Final

from muntin.errors import ManagerError, MuntinError
from muntin.manager.client import Client
from muntin.manager.control_file import Control, read_control, remove_control, write_control
from muntin.manager.control_server import ControlServer
from muntin.manager.guard import READ_SECONDS

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from muntin.manager.routes import Managed

_PROBE_SECONDS: Final = 2.0
_LAST_SECONDS: Final = 5.0
# How often the listening thread looks whether it should end: so long `close` waits at most.
_LOOK_SECONDS: Final = 0.1


class Endpoint:
    """Answer requests to a manager for as long as this is open; `control.json` in its checkpoint says where.

    Port 0 takes any free one. Only programs on this machine can reach it, unless `allow_remote`: the token then
    travels over the network in the clear. A client has so many `seconds` to send its request.
    """

    def __init__(
        self,
        manager: Managed,
        checkpoint: Path,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        allow_remote: bool = False,
        seconds: float = READ_SECONDS,
    ) -> None:
        check_host(host, allow_remote=allow_remote)
        self._folder = checkpoint
        token = secrets.token_urlsafe(32)
        refuse_second(checkpoint)
        try:
            self._server = ControlServer(manager, host, port, token, seconds)
        except (OSError, OverflowError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            msg = f"cannot listen on {host} port {port}: {why}. Choose another --port, or 0 for any that is free"
            raise ManagerError(msg) from error
        self.control = Control(_reachable(host), self._server.server_port, os.getpid(), token)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_LOOK_SECONDS,), name="muntin-control", daemon=True
        )
        try:
            write_control(checkpoint, self.control)
        except BaseException:
            self._server.server_close()
            raise
        self._thread.start()

    def close(self) -> None:
        """Stop listening, and take `control.json` away; answers that are under way come to their end."""
        remove_control(self._folder, self.control)
        self._server.shutdown()
        self._server.wait(_LAST_SECONDS)
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def check_host(host: str, *, allow_remote: bool) -> None:
    """Refuse to listen where other machines can reach, unless that is wanted.

    >>> check_host("127.0.0.1", allow_remote=False), check_host("0.0.0.0", allow_remote=True)
    (None, None)
    >>> check_host("0.0.0.0", allow_remote=False)
    Traceback (most recent call last):
    ...
    muntin.errors.ManagerError: 0.0.0.0 can be reached from other machines: whoever reads the token on its way, ...
    """
    if is_loopback(host) or allow_remote:
        return
    msg = (
        f"{host} can be reached from other machines: whoever reads the token on its way, which is not encrypted, may "
        "change the queries. Leave --host out and come through an SSH tunnel, or pass --allow-remote if the network "
        "is yours"
    )
    raise ManagerError(msg)


def is_loopback(host: str) -> bool:
    """Tell whether only programs on this machine can reach a host.

    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("192.168.0.7"), is_loopback("example.org")
    (True, True, False, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        # What other names mean, the network decides, and may decide otherwise tomorrow.
        return host == "localhost"


def _reachable(host: str) -> str:
    """Give the address under which this machine itself reaches a host that it listens on."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)


def refuse_second(checkpoint: Path) -> None:
    """Refuse a checkpoint on which an endpoint answers; what a dead process left is written over."""
    try:
        found = read_control(checkpoint)
        # A process number says little: another program may have it by now. An answer to the token says all.
        Client(found, seconds=_PROBE_SECONDS).status()
    except MuntinError:
        return
    msg = (
        f"the manager in process {found.pid} answers for {checkpoint} at {found.address}: a checkpoint has one "
        "manager. Stop that one first, or give this one a checkpoint of its own"
    )
    raise ManagerError(msg)
