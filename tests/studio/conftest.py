from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from muntin.studio.server import Studio

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Caller:
    """Ask a studio over a real socket; headers that are None are left out."""

    studio: Studio

    def __call__(
        self, method: str, path: str, body: object = None, **headers: str | None
    ) -> tuple[int, dict[str, str], bytes]:
        given: dict[str, str | None] = {"Authorization": f"Bearer {self.studio.token}"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.studio.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_host="Host" in given, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            if content is not None and "Content-Length" not in given:
                connection.putheader("Content-Length", str(len(content)))
            connection.endheaders(content)
            response = connection.getresponse()
            return response.status, dict(response.headers), response.read()
        finally:
            connection.close()

    def json(self, method: str, path: str, body: object = None, **headers: str | None) -> tuple[int, dict[str, Any]]:
        status, _, content = self(method, path, body, **headers)
        return status, json.loads(content)

    def plan(self, **said: object) -> dict[str, Any]:
        status, found = self.json("POST", "/api/plan", said)
        assert status == 200, found
        return found


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    with Studio(seconds=1.0) as opened:
        yield opened


@pytest.fixture
def call(studio: Studio) -> Caller:
    return Caller(studio)
