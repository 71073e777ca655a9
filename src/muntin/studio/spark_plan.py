"""The plan that Spark would run, over an empty table with the query's columns; Spark starts when it is needed."""

from __future__ import annotations

import contextlib
import io
import threading
import warnings
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from muntin.aggregate.algebra import Aggregate
from muntin.errors import MuntinError, QueryError
from muntin.from_sql import sql
from muntin.logical.cost import read_rate
from muntin.manager.request import RequestError
from muntin.physical.choose import check_strategy
from muntin.physical.statistics import Statistics
from muntin.query import windows
from muntin.spark.reason import reason
from muntin.spark.session import NO_SPARK, start
from muntin.studio.columns import guessed_schema
from muntin.studio.model import planned
from muntin.studio.request import text_of
from muntin.studio.snippets import TIME, guessed_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from muntin.query import Query
    from muntin.studio.request import Ask

_CONF: Final = {"spark.driver.memory": "1g"}
_OWN_NAMES: Final = ("text", "time", "watermark")
_LONGEST: Final = 10**18  # microseconds of events at most: longer than any


class LocalSpark:
    """Hold a Spark of the page's own, for plans and nothing else; one that runs in this process already is borrowed."""

    def __init__(self) -> None:
        self._spark: SparkSession | None = None
        self._lock = threading.Lock()
        self._own = self._closed = False

    def explain(self, ask: Ask, said: Mapping[str, Any]) -> dict[str, str]:
        """Plan a query over an empty table, as over so many events of so many keys, and say how Spark would run it."""
        schema = text_of(said, "schema", most=20_000) or guessed_schema(ask)
        found = _statistics(ask, said)
        strategy: Any = text_of(said, "strategy") or "auto"
        check_strategy(strategy)
        with self._lock:
            spark = self._session()
            try:
                query = _query(ask, spark.createDataFrame([], schema))
                plan = query.plan(optimizer=ask.optimizer, strategy=strategy, statistics=found)
                return {"schema": schema, "explain": plan.explain(), "spark": _printed(plan.run())}
            except MuntinError:
                raise
            except Exception as error:
                if not _alive(spark):
                    self._let_go()
                    msg = "Spark was closed meanwhile. Press the button again: it is started anew"
                    raise MuntinError(msg) from error
                if not type(error).__module__.startswith(("pyspark", "py4j")):
                    raise
                msg = (
                    f"Spark cannot plan this over a table with {schema}: {reason(error)} Change the columns if need be"
                )
                raise QueryError(msg) from error

    def close(self) -> None:
        """Stop what was started."""
        with self._lock:
            self._closed = True
            if self._spark is not None and self._own:
                self._let_go()

    def _session(self) -> SparkSession:
        if self._closed:
            msg = "the studio is closing, and Spark with it. Start muntin studio again"
            raise MuntinError(msg)
        if self._spark is not None and not _alive(self._spark):
            self._let_go()
        if self._spark is None:
            self._spark, self._own = _begin()
        return self._spark

    def _let_go(self) -> None:
        """Stop Spark, and forget a JVM that may be no more: PySpark would talk to it for ever."""
        from pyspark import SparkContext

        assert self._spark is not None
        with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
            self._spark.stop()
        self._spark = None
        with SparkContext._lock:
            gateway = SparkContext._gateway
            SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
        with contextlib.suppress(Exception):
            # The JVM ends when nobody holds the other end of its input.
            gateway.proc.stdin.close()  # type: ignore[union-attr]
            gateway.shutdown()  # type: ignore[union-attr]


def _begin() -> tuple[SparkSession, bool]:
    """Find the session of this process, or start one, and tell whether it is ours."""
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MuntinError(NO_SPARK) from error
    if SparkContext._active_spark_context is not None:
        return SparkSession.builder.getOrCreate(), False
    return start("local[1]", _CONF), True


def _query(ask: Ask, frame: DataFrame) -> Query:
    if ask.query is None:
        aggregates = {
            name: what if isinstance(what, Aggregate) else what(*guessed_columns(what)) for name, what in ask.aggregates
        }
        return windows(frame, time=TIME, keys=list(ask.keys)).over(*ask.windows).agg(**aggregates)
    source = ask.query.source
    if source.lower() in _OWN_NAMES:
        msg = f"an input cannot be named {source!r} in Python: call it otherwise, for example FROM Input"
        raise QueryError(msg)
    inputs: dict[str, Any] = {source: frame}
    return sql(ask.text, time=None if ask.query.time else TIME, **inputs)


def _statistics(ask: Ask, said: Mapping[str, Any]) -> Statistics:
    """Say how many events there would be: at the page's rate, so many of each key."""
    rows, keys = (_count(said, name, usual) for name, usual in (("rows", 10_000_000), ("keys_count", 100)))
    keys = min(keys, rows)
    unit = planned(ask).model.unit
    span = min(int(Fraction(rows, keys) / read_rate(ask.rate) * unit), _LONGEST)
    return Statistics(rows, keys, max(span, 1), "as asked")


def _count(said: Mapping[str, Any], field: str, usual: int) -> int:
    text = text_of(said, field).replace(",", "").replace("_", "")
    if not text:
        return usual
    if not text.isdecimal() or len(text) > 15 or int(text) == 0:
        what = "events" if field == "rows" else "keys"
        msg = f"the number of {what} must be a whole number from 1 up, got {text[:24]!r}"
        raise RequestError(msg)
    return int(text)


def _printed(frame: DataFrame) -> str:
    """Catch what Spark prints of a plan: there is no other way to it that works over Connect too."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        frame.explain(mode="formatted")
    return printed.getvalue().strip()


def _alive(spark: SparkSession) -> bool:
    """Tell whether Spark still runs: it is one of this process, never one behind Connect."""
    try:
        return not spark.sparkContext._jsc.sc().isStopped()
    except Exception:
        return False
