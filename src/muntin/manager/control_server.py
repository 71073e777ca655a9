"""The HTTP of the control endpoint: requests of the paths in `routes`, guarded, asked of a manager."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from muntin.manager.guard import READ_SECONDS, GuardedHandler, GuardedServer, Refused, Reply
from muntin.manager.request import read_body
from muntin.manager.routes import ROUTES

if TYPE_CHECKING:
    from muntin.manager.routes import Managed, Route


class ControlServer(GuardedServer):
    """A guarded server in front of a manager."""

    def __init__(self, manager: Managed, host: str, port: int, token: str, seconds: float = READ_SECONDS) -> None:
        self.manager = manager
        super().__init__(ControlHandler, host, port, token, seconds)


class ControlHandler(GuardedHandler):
    """Ask the manager what a request asks for."""

    server: ControlServer
    where = "this manager, from its control.json"
    failure = "the manager failed on this request; its own log says how"

    def reply(self) -> Reply:
        """Check a request, ask the manager, and give what it says."""
        self.check_host()
        self.check_token()
        route = self._route()
        manager = self.server.manager
        found = route.ask(manager, read_body(self.body()) if route.reads_body else {})
        after = None if route.afterwards is None else partial(route.afterwards, manager)
        if "text/plain" in self.headers.get("Accept", ""):
            text = found.text().encode("utf-8", "replace") + b"\n"
            return Reply(text, "text/plain", afterwards=after)
        return replace(Reply.of(found.to_dict()), afterwards=after)

    def _route(self) -> Route:
        path = urlsplit(self.path).path
        route = ROUTES.get(path)
        if route is None:
            msg = f"there is no {path}. Known are {', '.join(ROUTES)}"
            raise Refused(HTTPStatus.NOT_FOUND, msg)
        if route.method != self.command:
            msg = f"{path} takes {route.method}, got {self.command}"
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, msg, {"Allow": route.method})
        return route
