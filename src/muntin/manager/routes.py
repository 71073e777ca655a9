"""Which path of the control endpoint asks what of a manager."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from muntin.manager.request import read_name, read_registration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from muntin.aggregate.algebra import Aggregate
    from muntin.window.spec import Window


class Answer(Protocol):
    """What a manager answers with: values for programs, text for people."""

    def to_dict(self) -> dict[str, Any]:
        """Give it as values that JSON can hold."""

    def text(self) -> str:
        """Write it for people."""


class Managed(Protocol):
    """What an endpoint needs of a manager; calls may come from several threads at once."""

    def register(self, name: str, windows: Sequence[Window], aggregates: Mapping[str, Aggregate]) -> Answer:
        """Add a query."""

    def suspend(self, name: str) -> Answer:
        """Let a query wait."""

    def resume(self, name: str) -> Answer:
        """Let a query go on."""

    def drop(self, name: str) -> Answer:
        """Take a query away."""

    def status(self) -> Answer:
        """Say how far everything is."""

    def explain(self) -> str:
        """Say how the queries are computed."""

    def stop(self) -> None:
        """End the stream."""


@dataclass(frozen=True, slots=True)
class Explained:
    """An explanation, which is text to people and programs alike."""

    said: str

    def to_dict(self) -> dict[str, Any]:
        """Give it as values that JSON can hold."""
        return {"text": self.said}

    def text(self) -> str:
        """Write it for people."""
        return self.said


@dataclass(frozen=True, slots=True)
class Stopping:
    """A stop that was asked for: it is answered first, because after it nobody answers."""

    def to_dict(self) -> dict[str, Any]:
        """Give it as values that JSON can hold."""
        return {"stopping": True}

    def text(self) -> str:
        """Write it for people."""
        return "stopping after the batch that runs"


@dataclass(frozen=True, slots=True)
class Route:
    """One path: its method, what it asks of a manager, and what is left to do once that is answered."""

    method: Literal["GET", "POST"]
    ask: Callable[[Managed, Mapping[str, Any]], Answer]
    reads_body: bool = False
    afterwards: Callable[[Managed], None] | None = None


def _register(manager: Managed, said: Mapping[str, Any]) -> Answer:
    query = read_registration(said)
    return manager.register(query.name, query.windows, query.aggregates)


ROUTES: Final[Mapping[str, Route]] = MappingProxyType(
    {
        "/register": Route("POST", _register, reads_body=True),
        "/suspend": Route("POST", lambda manager, said: manager.suspend(read_name(said)), reads_body=True),
        "/resume": Route("POST", lambda manager, said: manager.resume(read_name(said)), reads_body=True),
        "/drop": Route("POST", lambda manager, said: manager.drop(read_name(said)), reads_body=True),
        "/status": Route("GET", lambda manager, _: manager.status()),
        "/explain": Route("GET", lambda manager, _: Explained(manager.explain())),
        "/stop": Route("POST", lambda manager, _: Stopping(), afterwards=lambda manager: manager.stop()),
    }
)
"""All paths; what each takes is in `muntin.manager.request`."""
