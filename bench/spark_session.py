"""Spark for benchmarks: one session, runs that keep no rows, and what must be known of both."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from bench.measure import spread
from muntin.spark.session import session
from muntin.table_plan import TablePlan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from bench.report import Cell
    from muntin.logical.optimize import Optimizer
    from muntin.physical.choose import Strategy
    from muntin.physical.statistics import Statistics
    from muntin.query import Query

_SHOWN: Final = {
    "shuffle partitions": "spark.sql.shuffle.partitions",
    "adaptive": "spark.sql.adaptive.enabled",
    "driver memory": "spark.driver.memory",
}


def sink(frame: DataFrame) -> None:
    """Compute every row and keep none."""
    frame.write.format("noop").mode("overwrite").save()


def fingerprint(frame: DataFrame) -> tuple[int, int]:
    """Count the rows and add up their hashes: equal for equal rows in any order."""
    from pyspark.sql import functions as F

    columns = [F.col(f"`{name}`") for name in sorted(frame.columns)]
    # As decimals, because a sum of hashes overflows.
    row = frame.agg(F.count("*"), F.sum(F.xxhash64(*columns).cast("decimal(38,0)"))).first()
    assert row is not None
    return int(row[0]), int(row[1] or 0)


def settings(spark: SparkSession) -> dict[str, Cell]:
    """Say which Spark it is, and the settings that times depend on."""
    # None as what to give instead: Spark takes any other for a value, and checks that it is of the option's type.
    found = {name: spark.conf.get(key, None) or "" for name, key in _SHOWN.items()}
    return {"Spark": spark.version, "master": spark.conf.get("spark.master", None) or "", **found}


@contextmanager
def configured(spark: SparkSession, options: Mapping[str, str]) -> Iterator[None]:
    """Set options of a session for a while."""
    # Not every option has a value, or a default, before it is set; any other stand-in must be of the option's type.
    before = {name: spark.conf.get(name, None) for name in options}
    try:
        for name, value in options.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            if old is not None:
                spark.conf.set(name, old)
            else:
                spark.conf.unset(name)


class Native:
    """The plan written by hand, built and run anew with each call."""

    def __init__(self, query: Query, *, wide: bool = False) -> None:
        self.query, self.wide = query, wide

    def __call__(self) -> None:
        """Run."""
        sink(self.query.native(wide=self.wide))


class Planned:
    """A query planned and run anew with each call; it keeps the last plan and what each planning took.

    Looking at the source for statistics is part of planning. Statistics that are given are not looked for.
    """

    def __init__(
        self,
        query: Query,
        optimizer: Optimizer = "auto",
        strategy: Strategy = "auto",
        *,
        wide: bool = False,
        statistics: Statistics | None = None,
    ) -> None:
        self.query, self.wide = query, wide
        self.chosen: dict[str, Any] = {"optimizer": optimizer, "strategy": strategy, "statistics": statistics}
        self.planning: list[float] = []
        self._plan: TablePlan | None = None

    def __call__(self) -> None:
        """Plan and run."""
        start = time.perf_counter()
        self._plan = self._planned()
        self.planning.append(time.perf_counter() - start)
        sink(self._plan.run(wide=self.wide))

    @property
    def plan(self) -> TablePlan:
        """The last plan; one is made where there is none."""
        if self._plan is None:
            self._plan = self._planned()
        return self._plan

    def _planned(self) -> TablePlan:
        plan = self.query.plan(**self.chosen)
        assert isinstance(plan, TablePlan)
        return plan

    def without_planning(self, seconds: tuple[float, ...]) -> float:
        """Take planning off the last runs, and give their median."""
        return spread(s - p for s, p in zip(seconds, self.planning[-len(seconds) :], strict=True)).median

    def ways(self) -> str:
        """Name the ways that the plan takes, with their number where a way is taken more than once."""
        found = [step.way for step in self.plan.physical.steps]
        return " + ".join(way if found.count(way) == 1 else f"{found.count(way)} {way}" for way in dict.fromkeys(found))


__all__ = ["Native", "Planned", "configured", "fingerprint", "session", "settings", "sink"]
