"""The page's way to a manager: asked by this process, which has its token; the page never sees that."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from muntin.errors import ManagerError
from muntin.manager.client import Client
from muntin.manager.request import RequestError, read_name, read_registration
from muntin.studio.chart import chart
from muntin.studio.request import parts, text_of
from muntin.studio.results import Output, Results

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_STATUS_SECONDS: Final = 20.0


class Link:
    """Ask the manager of a checkpoint; where there is none, say how to get one."""

    def __init__(self, checkpoint: Path | None) -> None:
        self.checkpoint = checkpoint
        self._output: Output | None = None

    def status(self) -> dict[str, Any]:
        """Say how far everything is."""
        found: dict[str, Any] = self._client(_STATUS_SECONDS).status()
        return found

    def explain(self) -> dict[str, Any]:
        """Say how the queries are computed."""
        return {"text": self._client(_STATUS_SECONDS).explain()}

    def register(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Add a query: its windows and aggregates are texts with commas between."""
        windows = parts(text_of(said, "windows", most=20_000))
        aggregates: dict[str, str] = {}
        for part in parts(text_of(said, "aggregates", most=20_000)):
            column, equals, text = (each.strip() for each in part.partition("="))
            if not equals or "(" in column:
                msg = f"aggregates: cannot read {part!r}. Write COLUMN=AGGREGATE, for example low=min(temp)"
                raise RequestError(msg)
            if column in aggregates:
                msg = f"aggregates: {column} is given twice. Give each column a name of its own"
                raise RequestError(msg)
            aggregates[column] = text
        name = text_of(said, "name")
        # Said here already, what is wrong needs no manager.
        read_registration({"name": name, "windows": windows, "aggregates": aggregates})
        return self._answer(self._client().register(name, windows, aggregates, text=True))

    def suspend(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Let a query wait."""
        return self._answer(self._client().suspend(read_name(said), text=True))

    def resume(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Let a query go on."""
        return self._answer(self._client().resume(read_name(said), text=True))

    def drop(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Take a query away."""
        return self._answer(self._client().drop(read_name(said), text=True))

    def results(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Draw the latest rows of all queries for one column and one key."""
        queries = self.status()["queries"]
        if self._output is None and self.checkpoint is not None:
            self._output = Output.of(self.checkpoint if self.checkpoint.is_dir() else self.checkpoint.parent)
        if self._output is None:
            found = Results(
                note="the manager's rows go to a function, or it does not say where: only muntin serve does"
            )
        else:
            found = self._output.results(queries, text_of(said, "column"), text_of(said, "key", most=2_000))
        told = asdict(found)
        series = told.pop("series")
        return told | {
            "svg": chart(found.series, f"{found.column} by window") if found.series else "",
            "rows": sum(len(each["points"]) for each in series),
        }

    def _client(self, seconds: float | None = None) -> Client:
        if self.checkpoint is None:
            msg = (
                "no manager is known here. Start one with muntin serve, and the studio with "
                "muntin studio --manager CHECKPOINT"
            )
            raise ManagerError(msg)
        # Anew each time: a manager that was started again has another address and another token.
        return Client.at(self.checkpoint) if seconds is None else Client.at(self.checkpoint, seconds=seconds)

    @staticmethod
    def _answer(text: str) -> dict[str, Any]:
        return {"text": text}
