"""The HTTP of the control endpoint: who may ask, how much, how slowly, and how refusals are answered."""

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
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from muntin.errors import ManagerError, MuntinError, StateError
from muntin.manager.request import RequestError, read_body
from muntin.manager.routes import ROUTES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muntin.manager.routes import Managed, Route

MOST_BYTES: Final = 1 << 20
"""A request longer than this is refused before it is read: a thousand windows take a tenth of it."""
READ_SECONDS: Final = 10.0
"""So long a client may take to send a request, all in all."""
_LINGER_SECONDS: Final = 1.0
_log: Final = logging.getLogger(__name__)


class ControlServer(ThreadingHTTPServer):
    """Listen, and answer each request in a thread of its own."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, manager: Managed, host: str, port: int, token: str, seconds: float = READ_SECONDS) -> None:
        self.manager, self.token, self.seconds = manager, token, seconds
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._under_way, self._done = 0, threading.Condition()
        super().__init__((host, port), ControlHandler)
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
        _log.exception("a request to the control endpoint failed")


class ControlHandler(BaseHTTPRequestHandler):
    """Answer one request, and close."""

    server: ControlServer
    server_version, sys_version = "muntin", ""

    def setup(self) -> None:
        """Read with a deadline for the whole request: bytes that trickle in do not hold a thread for long."""
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_Until(self.connection, time.monotonic() + self.server.seconds))

    def answer(self) -> None:
        """Check a request, ask the manager, and send what it says."""
        after = None
        headers: Mapping[str, str] = {}
        try:
            self._check_sender()
            route = self._route()
            said = read_body(self._body()) if route.reads_body else {}
            found = route.ask(self.server.manager, said)
            plain = "text/plain" in self.headers.get("Accept", "")
            status, content = HTTPStatus.OK, found.text() if plain else json.dumps(found.to_dict())
            after = route.afterwards
        except _Refused as refusal:
            status, headers, plain = refusal.status, refusal.headers, False
            content = _error(refusal, "RequestError")
        except MuntinError as error:
            conflict = isinstance(error, (ManagerError, StateError)) and not isinstance(error, RequestError)
            status, plain = HTTPStatus.CONFLICT if conflict else HTTPStatus.BAD_REQUEST, False
            content = _error(error, type(error).__name__)
        except Exception:
            _log.exception("%s %s failed", self.command, self.path)
            status, plain = HTTPStatus.INTERNAL_SERVER_ERROR, False
            content = _error("the manager failed on this request; its own log says how", "InternalError")
        self._send(status, content, "text/plain" if plain else "application/json", headers)
        if after is not None:
            after(self.server.manager)

    # Every method is answered here, so that a wrong one is refused like all else.
    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = answer

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no HTTP; the parent would send a page."""
        self._send(HTTPStatus(code), _error(message or HTTPStatus(code).phrase, "RequestError"), "application/json", {})

    def version_string(self) -> str:
        """Name the program, and not which Python it runs on."""
        return self.server_version

    def log_message(self, format: str, *args: Any) -> None:
        """Log in the program's own way; the parent would print."""
        _log.debug(format, *args)

    def _check_sender(self) -> None:
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or not self.server.is_meant(hosts[0].strip()):
            msg = f"the request is for {', '.join(hosts) or 'no host'}, and this is another"
            raise _Refused(HTTPStatus.MISDIRECTED_REQUEST, msg)
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        # In constant time: how long a comparison takes must not tell how much of a guess is right.
        right = hmac.compare_digest(token.strip().encode("utf-8", "replace"), self.server.token.encode())
        if scheme.lower() != "bearer" or not right:
            msg = "the request needs the token of this manager, from its control.json: Authorization: Bearer TOKEN"
            raise _Refused(HTTPStatus.UNAUTHORIZED, msg, {"WWW-Authenticate": "Bearer"})

    def _route(self) -> Route:
        path = urlsplit(self.path).path
        route = ROUTES.get(path)
        if route is None:
            msg = f"there is no {path}. Known are {', '.join(ROUTES)}"
            raise _Refused(HTTPStatus.NOT_FOUND, msg)
        if route.method != self.command:
            msg = f"{path} takes {route.method}, got {self.command}"
            raise _Refused(HTTPStatus.METHOD_NOT_ALLOWED, msg, {"Allow": route.method})
        return route

    def _body(self) -> bytes:
        lengths = self.headers.get_all("Content-Length") or []
        if not lengths or "Transfer-Encoding" in self.headers:
            msg = "the request must say how long it is: send a Content-Length, and no Transfer-Encoding"
            raise _Refused(HTTPStatus.LENGTH_REQUIRED, msg)
        if len(lengths) > 1 or not re.fullmatch(r"[0-9]{1,18}", lengths[0]):
            msg = f"Content-Length must be one whole number, got {', '.join(lengths)}"
            raise _Refused(HTTPStatus.BAD_REQUEST, msg)
        size = int(lengths[0])
        if size > MOST_BYTES:
            msg = f"the request has {size:,} bytes, and at most {MOST_BYTES:,} are taken"
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, msg)
        try:
            body = self.rfile.read(size)
        except TimeoutError as error:
            msg = f"the request did not come within {self.server.seconds:g} s: its Content-Length says {size:,} bytes"
            raise _Refused(HTTPStatus.REQUEST_TIMEOUT, msg) from error
        if len(body) < size:
            msg = f"Content-Length says {size:,} bytes, and {len(body):,} came"
            raise _Refused(HTTPStatus.BAD_REQUEST, msg)
        return body

    def _send(self, status: HTTPStatus, content: str, kind: str, headers: Mapping[str, str]) -> None:
        body = content.encode("utf-8", "replace") + b"\n"
        fixed = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Connection": "close",
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }
        with suppress(OSError):  # a client that went away needs no answer
            self.connection.settimeout(self.server.seconds)
            self.send_response(status)
            for name, value in (fixed | dict(headers)).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else body)


class _Refused(Exception):
    """A request that is refused before the manager hears of it."""

    def __init__(self, status: HTTPStatus, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers or {}


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


def _error(message: object, kind: str) -> str:
    return json.dumps({"error": str(message), "kind": kind})


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
