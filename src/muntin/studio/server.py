"""The studio's server: the page for whoever is on this machine, and plans for whoever has the token."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal
from urllib.parse import urlsplit

from muntin.aggregate.names import BUILT_IN
from muntin.errors import MuntinError
from muntin.logical.optimize import OPTIMIZERS
from muntin.manager.control import is_loopback
from muntin.manager.guard import READ_SECONDS, GuardedHandler, GuardedServer, Refused, Reply
from muntin.manager.request import read_body
from muntin.studio.link import Link
from muntin.studio.model import costs, exported, shown
from muntin.studio.pages import pages
from muntin.studio.request import read_ask, text_of
from muntin.studio.spark_plan import LocalSpark
from muntin.studio.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

_LAST_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.05
# Scripts and styles come from here alone, and nothing written into the page runs; no frames, no other hosts.
_POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)


class Studio:
    """Serve the page for as long as this is open; `url` has the token that lets the browser in.

    >>> with Studio(port=0) as studio:
    ...     studio.url.startswith(f"http://127.0.0.1:{studio.port}/?token=")
    True
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        manager: Path | None = None,
        spark: LocalSpark | None = None,
        seconds: float = READ_SECONDS,
    ) -> None:
        if not is_loopback(host):
            msg = (
                f"{host} can be reached from other machines, and the studio is for this one: leave --host out, and "
                "come from elsewhere through an SSH tunnel"
            )
            raise MuntinError(msg)
        self.token = secrets.token_urlsafe(32)
        self._spark = spark or LocalSpark()
        try:
            self._server = _Server(Link(manager), self._spark, host, port, self.token, seconds)
        except (OSError, OverflowError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            msg = f"cannot listen on {host} port {port}: {why}. Choose another --port, or 0 for any that is free"
            raise MuntinError(msg) from error
        self.port = self._server.server_port
        named = f"[{host}]" if ":" in host else host
        self.address = f"http://{named}:{self.port}/"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_LOOK_SECONDS,), name="muntin-studio", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """The address with the token."""
        return f"{self.address}?token={self.token}"

    def close(self) -> None:
        """Stop listening, and Spark if it was started."""
        self._server.shutdown()
        self._server.wait(_LAST_SECONDS)
        self._server.server_close()
        self._thread.join()
        self._spark.close()

    def __enter__(self) -> Studio:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Server(GuardedServer):
    """A guarded server that knows a manager, perhaps, and a Spark, once it is started."""

    def __init__(self, link: Link, spark: LocalSpark, host: str, port: int, token: str, seconds: float) -> None:
        self.link, self.spark, self.turns = link, spark, Turns()
        super().__init__(_Handler, host, port, token, seconds)


class _Handler(GuardedHandler):
    """The page's files need no token, for they hold nothing of anybody's; all else does."""

    server: _Server
    always: ClassVar[Mapping[str, str]] = {
        **GuardedHandler.always,
        "Content-Security-Policy": _POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Frame-Options": "DENY",
    }
    where = "this studio, from the address that muntin studio printed"
    failure = "the studio failed on this, which is a defect of the studio; its own log says how"

    def reply(self) -> Reply:
        """Send a file of the page, or what a path of the page's asks for."""
        self.check_host()
        path = urlsplit(self.path).path
        page = pages().get(path)
        if page is not None:
            self._check_method(path, "GET")
            return Reply(*page)
        self.check_token()
        route = ROUTES.get(path)
        if route is None:
            msg = f"there is no {path}"
            raise Refused(HTTPStatus.NOT_FOUND, msg)
        self._check_method(path, route.method)
        said = read_body(self.body()) if route.method == "POST" else {}
        return Reply.of(route.ask(self.server, said))

    def _check_method(self, path: str, method: str) -> None:
        if self.command != method:
            msg = f"{path} takes {method}, got {self.command}"
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, msg, {"Allow": method})


@dataclass(frozen=True, slots=True)
class _Route:
    """One path: its method, and what it asks of whom."""

    method: Literal["GET", "POST"]
    ask: Callable[[_Server, Mapping[str, Any]], Mapping[str, Any]]


def _about(server: _Server, said: Mapping[str, Any]) -> dict[str, Any]:
    from muntin import __version__

    checkpoint = server.link.checkpoint
    return {
        "version": __version__,
        "optimizers": list(OPTIMIZERS),
        "aggregates": sorted(BUILT_IN),
        "manager": None if checkpoint is None else str(checkpoint),
    }


def _in_turn(
    make: Callable[[Any, Mapping[str, Any]], dict[str, Any]],
) -> Callable[[_Server, Mapping[str, Any]], dict[str, Any]]:
    """Answer in turn, and not at all what a later request of the same page has overtaken."""

    def answer(server: _Server, said: Mapping[str, Any]) -> dict[str, Any]:
        with server.turns.turn(said) as wanted:
            return {"stale": not wanted} | (make(read_ask(said), said) if wanted else {})

    return answer


ROUTES: Final[Mapping[str, _Route]] = MappingProxyType(
    {
        "/api/about": _Route("GET", _about),
        "/api/plan": _Route("POST", _in_turn(lambda ask, said: shown(ask))),
        "/api/costs": _Route("POST", _in_turn(lambda ask, said: costs(ask))),
        "/api/save": _Route("POST", lambda _, said: {"text": exported(read_ask(said), text_of(said, "form"))}),
        "/api/spark": _Route("POST", lambda server, said: server.spark.explain(read_ask(said), said)),
        "/api/manager/status": _Route("GET", lambda server, _: server.link.status()),
        "/api/manager/explain": _Route("GET", lambda server, _: server.link.explain()),
        "/api/manager/results": _Route("POST", lambda server, said: server.link.results(said)),
        "/api/manager/register": _Route("POST", lambda server, said: server.link.register(said)),
        "/api/manager/suspend": _Route("POST", lambda server, said: server.link.suspend(said)),
        "/api/manager/resume": _Route("POST", lambda server, said: server.link.resume(said)),
        "/api/manager/drop": _Route("POST", lambda server, said: server.link.drop(said)),
    }
)
"""All paths that need the token."""
