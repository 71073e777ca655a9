"""What a planned query offers, over a table or a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muntin.show.html import to_fragment
from muntin.show.save import save

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike
    from pathlib import Path

    from pyspark.sql import DataFrame

    from muntin.api import LogicalPlan
    from muntin.query import Query
    from muntin.spark.bound import Bound
    from muntin.stream.layout import Mode


@dataclass(frozen=True, slots=True, repr=False)
class Plan(ABC):
    """A planned query: `run()` gives the rows of a table, `stream()` of a stream, `explain()` says how and why."""

    query: Query
    bound: Bound
    search: Callable[[], LogicalPlan]
    """Finds which window reads which, once, when that is asked for."""

    @property
    def logical(self) -> LogicalPlan:
        """Which window reads which, and what that saves."""
        return self.search()

    @abstractmethod
    def run(self, *, split: bool = False, wide: bool = False) -> Any:
        """Build the DataFrame of a query over a table."""

    @abstractmethod
    def stream(self, *, mode: Mode = "append", buckets: int | None = None) -> DataFrame:
        """Build the streaming DataFrame of a query over a stream."""

    @abstractmethod
    def explain(self) -> str:
        """Say how the query runs, and why so."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Give the plan as values that JSON can hold."""

    def plot(self, path: str | PathLike[str]) -> Path:
        """Write the logical plan to a file, as its name asks: .html, .svg, .mmd, .txt or .json.

        The page of HTML says how the query runs too.
        """
        return save(self.logical, path, said=self._said())

    def __str__(self) -> str:
        return self.explain()

    def _said(self) -> dict[str, str]:
        """Give what a notebook and a page show below the windows: texts by their headings."""
        return {"How it runs": self.explain()}

    def _repr_html_(self) -> str:
        return to_fragment(self.logical, self._said())

    def _repr_svg_(self) -> str:
        return self.logical._repr_svg_()
