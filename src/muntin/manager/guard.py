"""HTTP for a small server on one's own machine: who may ask, how much, how slowly, and how refusals are answered."""

from __future__ import annotations

import hmac
import io
import ipaddress
import json
import logging
import re
import socket
import socketserver
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar, Final

from muntin.errors import ManagerError, MuntinError, StateError
from muntin.manager.request import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MOST_BYTES: Final = 1 << 20
"""A request longer than this is refused before it is read: a thousand windows take a tenth of it."""
READ_SECONDS: Final = 10.0
"""So long a client may take to send a request, all in all."""
_LINGER_SECONDS: Final = 1.0
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent back, and what is left to do once it is."""

    content: bytes
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    status: HTTPStatus = HTTPStatus.OK
    afterwards: Callable[[], None] | None = None

    @classmethod
    def of(cls, values: object) -> Reply:
        """Send values as JSON."""
        return cls(json.dumps(values).encode("utf-8", "replace") + b"\n")


class Refused(Exception):
    """A request that is refused before anybody hears of it."""

    def __init__(self, status: HTTPStatus, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers or {}


class GuardedServer(ThreadingHTTPServer):
    """Listen, and answer each request in a thread of its own."""

    daemon_threads = True
    # Commands of a script may come all at once: one that finds no place waits a second for its next try, or is cut off.
    request_queue_size = 64

    def __init__(
        self, handler: type[GuardedHandler], host: str, port: int, token: str, seconds: float = READ_SECONDS
    ) -> None:
        self.token, self.seconds = token, seconds
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._under_way, self._done = 0, threading.Condition()
        super().__init__((host, port), handler)
        self._names = _names(host, self.server_port)

    def server_bind(self) -> None:
        """Bind; the parent would ask the network for this machine's name, which may take long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", self.server_address[1]

    def is_meant(self, host: str) -> bool:
        """Tell whether a Host header names this endpoint.

        A page in a browser whose name was made to lead here sends its own name: only addresses, and the names that
        nobody else can have, are let in.
        """
        if host.lower() in self._names:
            return True
        return "" in self._names and _address(host, self.server_port)

    def wait(self, seconds: float) -> None:
        """Wait for the answers that are under way, but not for ever."""
        with self._done:
            self._done.wait_for(lambda: self._under_way == 0, seconds)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Count a request, and start its thread."""
        with self._done:
            self._under_way += 1
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a request, and count it off."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._done:
                self._under_way -= 1
                self._done.notify_all()

    def shutdown_request(self, request: Any) -> None:
        """Let the client read the answer before the connection goes: what it still sends is taken and dropped.

        A socket that is closed over unread bytes is reset, and a refusal sent before it is lost on the way.
        """
        with suppress(OSError):
            request.shutdown(socket.SHUT_WR)
            until = time.monotonic() + _LINGER_SECONDS
            while (left := until - time.monotonic()) > 0:
                request.settimeout(left)
                if not request.recv(1 << 16):
                    break
        self.close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log what no answer could be given to; the parent would print it."""
        _log.exception("a request failed")


class GuardedHandler(BaseHTTPRequestHandler):
    """Answer one request by `reply`, and close."""

    server: GuardedServer
    server_version, sys_version = "muntin", ""
    always: ClassVar[Mapping[str, str]] = {
        "Connection": "close",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    """What every answer says besides its own headers."""
    where: ClassVar[str] = "this server"
    """Whose token is asked for, and where it is found."""
    failure: ClassVar[str] = "this request failed; the server's own log says how"
    """What is said of a defect: no more, because what went wrong may name what is secret."""

    def reply(self) -> Reply:
        """Check a request and answer it; the checks are `check_host`, `check_token` and `body`."""
        raise NotImplementedError

    def answer(self) -> None:
        """Send what `reply` gives, or why it refuses."""
        try:
            found = self.reply()
        except Refused as refusal:
            found = _error(refusal, "RequestError", refusal.status, refusal.headers)
        except MuntinError as error:
            conflict = isinstance(error, (ManagerError, StateError)) and not isinstance(error, RequestError)
            status = HTTPStatus.CONFLICT if conflict else HTTPStatus.BAD_REQUEST
            found = _error(error, type(error).__name__, status)
        except Exception:
            _log.exception("%s %s failed", self.command, self.path)
            found = _error(self.failure, "InternalError", HTTPStatus.INTERNAL_SERVER_ERROR)
        self._send(found)
        if found.afterwards is not None:
            found.afterwards()

    # Every method is answered here, so that a wrong one is refused like all else.
    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = answer

    def check_host(self) -> None:
        """Refuse a request that is meant for another host."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or not self.server.is_meant(hosts[0].strip()):
            msg = f"the request is for {', '.join(hosts) or 'no host'}, and this is another"
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, msg)

    def check_token(self) -> None:
        """Refuse a request without the token."""
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        # In constant time: how long a comparison takes must not tell how much of a guess is right.
        right = hmac.compare_digest(token.strip().encode("utf-8", "replace"), self.server.token.encode())
        if scheme.lower() != "bearer" or not right:
            msg = f"the request needs the token of {self.where}: Authorization: Bearer TOKEN"
            raise Refused(HTTPStatus.UNAUTHORIZED, msg, {"WWW-Authenticate": "Bearer"})

    def body(self) -> bytes:
        """Read what a request holds, unless it is too long or too slow."""
        lengths = self.headers.get_all("Content-Length") or []
        if not lengths or "Transfer-Encoding" in self.headers:
            msg = "the request must say how long it is: send a Content-Length, and no Transfer-Encoding"
            raise Refused(HTTPStatus.LENGTH_REQUIRED, msg)
        if len(lengths) > 1 or not re.fullmatch(r"[0-9]{1,18}", lengths[0]):
            msg = f"Content-Length must be one whole number, got {', '.join(lengths)}"
            raise Refused(HTTPStatus.BAD_REQUEST, msg)
        size = int(lengths[0])
        if size > MOST_BYTES:
            msg = f"the request has {size:,} bytes, and at most {MOST_BYTES:,} are taken"
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, msg)
        try:
            body = self.rfile.read(size)
        except TimeoutError as error:
            msg = f"the request did not come within {self.server.seconds:g} s: its Content-Length says {size:,} bytes"
            raise Refused(HTTPStatus.REQUEST_TIMEOUT, msg) from error
        if len(body) < size:
            msg = f"Content-Length says {size:,} bytes, and {len(body):,} came"
            raise Refused(HTTPStatus.BAD_REQUEST, msg)
        return body

    def setup(self) -> None:
        """Read with a deadline for the whole request: bytes that trickle in do not hold a thread for long."""
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_Until(self.connection, time.monotonic() + self.server.seconds))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no HTTP; the parent would send a page."""
        status = HTTPStatus(code)
        self._send(_error(message or status.phrase, "RequestError", status))

    def version_string(self) -> str:
        """Name the program, and not which Python it runs on."""
        return self.server_version

    def log_message(self, format: str, *args: Any) -> None:
        """Log in the program's own way; the parent would print."""
        _log.debug(format, *args)

    def _send(self, found: Reply) -> None:
        own = {"Content-Type": f"{found.kind}; charset=utf-8", "Content-Length": str(len(found.content))}
        with suppress(OSError):  # a client that went away needs no answer
            self.connection.settimeout(self.server.seconds)
            self.send_response(found.status)
            for name, value in (own | dict(self.always) | dict(found.headers)).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else found.content)


class _Until(io.RawIOBase):
    """Read from a socket until a moment, whatever the client does."""

    def __init__(self, connection: socket.socket, moment: float) -> None:
        self._connection, self._moment = connection, moment

    def readable(self) -> bool:
        """Tell that it can be read from."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there."""
        left = self._moment - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


def _error(error: object, kind: str, status: HTTPStatus, headers: Mapping[str, str] | None = None) -> Reply:
    said: dict[str, object] = {"error": str(error), "kind": kind}
    # Where in a query it is, for whoever wants to point there.
    said |= {name: getattr(error, name) for name in ("line", "column") if getattr(error, name, None) is not None}
    return Reply(Reply.of(said).content, headers=headers or {}, status=status)


def _names(host: str, port: int) -> frozenset[str]:
    """List the Host headers that are let in; with "" among them, every address is."""
    own = f"[{host}]" if ":" in host else host
    found = {own.lower(), "localhost", "127.0.0.1", "[::1]"}
    try:
        open_to_others = not ipaddress.ip_address(host).is_loopback
    except ValueError:
        open_to_others = host != "localhost"
    if open_to_others:
        found.add(socket.gethostname().lower())
    named = {f"{name}:{port}" for name in found} | (found if port == 80 else set())
    return frozenset(named | ({""} if open_to_others else set()))


def _address(host: str, port: int) -> bool:
    """Tell whether a Host header is a plain address: no name that somebody could make lead elsewhere."""
    name, _, number = host.rpartition(":")
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return number == str(port)
