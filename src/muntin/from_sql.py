"""Queries written in SQL, over DataFrames."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from muntin.aggregate.names import resolve
from muntin.declare.query import RESERVED
from muntin.declare.sql import parse_sql
from muntin.declare.sql.source import Source
from muntin.duration import parse_duration
from muntin.errors import AggregateError, QueryError, SqlError, SqlQueryError
from muntin.query import Query

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from pyspark.sql import DataFrame

    from muntin.declare.sql import AggregateCall, SelectQuery
    from muntin.logical.optimize import Optimizer
    from muntin.physical.choose import Strategy
    from muntin.physical.statistics import Statistics
    from muntin.planned import Plan


# Hints to somebody who writes Python, and the same for SQL.
_HINTS: Final = (
    (re.compile(r'Cast it first: agg\.\w+\(F\.expr\(".*"\)\), or (TRY_CAST\(.* AS) float\) in SQL, which'),
     r"Cast it first: \1 {number}), which"),
    (re.compile(r"for example agg\.(any|all)\(F\.col\('(.*)'\) > 0\)"), r"for example {any}(\2 > 0)"),
    (re.compile(r"the DataFrame"), "the input"),
)  # fmt: skip
_SYSTEM_TIME: Final = re.compile(r"\bsystem\s*\.\s*timestamp\b", re.IGNORECASE)


def sql(text: str, *, time: str | None = None, watermark: str | timedelta | None = None, **inputs: DataFrame) -> Query:
    """Read a query in the Azure Stream Analytics dialect or Spark SQL, over DataFrames given by name.

    `time` names the events' time column where the query has no TIMESTAMP BY. Windows are `(start, end]` in Azure's
    dialect and `[start, end)` in Spark's, as in each of them.
    """
    for name, frame in inputs.items():
        if not hasattr(frame, "groupBy"):
            msg = f"the input {name} must be a Spark DataFrame, got {type(frame).__name__}"
            raise SqlError(msg)
    if not (time is None or isinstance(time, str)):
        msg = f"time is the name of a column, or an expression as text, got {type(time).__name__}"
        raise SqlError(msg)
    named = {name.lower(): frame for name, frame in inputs.items()}

    def columns_of(source: str) -> list[str]:
        return named[source.lower()].columns if source.lower() in named else []

    parsed = parse_sql(text, columns=columns_of)
    if parsed.source.lower() not in named:
        given = ", ".join(inputs) if inputs else "none"
        wanted = f"{parsed.source}=df" if parsed.source.isidentifier() else f"**{{{parsed.source!r}: df}}"
        msg = f"the query reads {parsed.source!r}, and the inputs given are: {given}. Pass {wanted}"
        raise SqlError(msg)
    frame = named[parsed.source.lower()]
    columns = {name.lower(): name for name in frame.columns}
    if time is not None and time.lower() in columns:
        # A name as it stands, whatever letters it has.
        time = "`" + columns[time.lower()].replace("`", "``") + "`"
    when = parsed.time or time
    if when is None:
        msg = "the query does not say which column is the time: add TIMESTAMP BY column, or pass time='column'"
        raise SqlError(msg)
    from muntin.spark.asked import is_text, prepared

    if _SYSTEM_TIME.search(text) and is_text(frame, when):
        parsed = parse_sql(text, time_is_text=True, columns=columns_of)

    source, aggregates = prepared(frame, parsed, when, text)
    with _placed(text, parsed):
        return SqlQuery(
            source=source,
            time=f"{RESERVED}time",
            keys=tuple(key.name for key in parsed.keys),
            windows=parsed.windows,
            aggregates=tuple(
                (call.name, resolve(call.function)(*columns, filter=kept, **dict(call.params)))
                for call, (columns, kept) in zip(parsed.aggregates, aggregates, strict=True)
            ),
            watermark=None if watermark is None else parse_duration(watermark),
            having=parsed.having,
            origins=tuple(
                (name, columns.get(text.replace("`", "").lower()))
                for name, text in ((f"{RESERVED}time", when), *((key.name, key.text) for key in parsed.keys))
            ),
            outputs=tuple((output.name, output.text) for output in parsed.outputs),
            text=text,
            parsed=parsed,
        )


@dataclass(frozen=True, slots=True)
class SqlQuery(Query):
    """A query that was written in SQL: what does not go with its input is shown where it stands in the text."""

    text: str = field(default="", compare=False, repr=False)
    parsed: SelectQuery | None = field(default=None, compare=False, repr=False)

    def native(self, *, wide: bool = False) -> DataFrame:
        """Build the plan written by hand, see `Query.native`."""
        with _placed(self.text, self.parsed):
            _check_having(self)
            return Query.native(self, wide=wide)

    def plan(
        self,
        *,
        optimizer: Optimizer = "auto",
        strategy: Strategy = "auto",
        statistics: Statistics | None = None,
    ) -> Plan:
        """Plan the query, see `Query.plan`."""
        with _placed(self.text, self.parsed):
            _check_having(self)
            return Query.plan(self, optimizer=optimizer, strategy=strategy, statistics=statistics)


def _check_having(query: SqlQuery) -> None:
    """Refuse a HAVING that is no condition: the types of the aggregates tell, and one window has them all."""
    if query.having is None or query.parsed is None:
        return
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F

    from muntin.spark.reason import reason

    result = Query.native(replace(query, windows=query.windows[:1], having=None, outputs=None))
    try:
        kind = result.select(F.expr(query.having).alias("c")).schema[0].dataType.simpleString()
    except AnalysisException as error:
        msg = f"HAVING cannot be computed: {_called(reason(error), query.parsed)}"
        raise Source(query.text, ()).error(msg, query.parsed.having_place, SqlQueryError) from error
    if kind != "boolean":
        msg = f"HAVING {_called(query.having, query.parsed)} is of type {kind}, not a condition"
        raise Source(query.text, ()).error(msg, query.parsed.having_place, SqlQueryError)


def _called(said: str, parsed: SelectQuery) -> str:
    """Write calls where names of muntin's own stand for them."""
    shown = {output.name for output in parsed.outputs}
    calls = {c.name: f"{c.function}({', '.join(c.arguments)})" for c in parsed.aggregates if c.name not in shown}
    if not calls:
        return said
    return re.sub(rf"\b({'|'.join(map(re.escape, calls))})\b", lambda found: calls[found[1]], said)


@contextmanager
def _placed(text: str, parsed: SelectQuery | None) -> Iterator[None]:
    """Show where the aggregate or key stands that an error names, in the words of SQL."""
    try:
        yield
    except (QueryError, AggregateError) as error:
        said = str(error)
        if parsed is None or isinstance(error, SqlError):
            raise
        for number, call in enumerate(parsed.aggregates):
            if said.startswith((f"`{call.name}`", f"`{call.function}`")):
                msg = _in_sql(said, call, number, parsed)
                raise Source(text, ()).error(msg, call.place, SqlQueryError) from error
        for key in parsed.keys:
            if said.startswith(f"the key {key.name!r}"):
                raise Source(text, ()).error(said, key.place, SqlQueryError) from error
        raise


def _in_sql(said: str, call: AggregateCall, number: int, parsed: SelectQuery) -> str:
    """Say what is wrong with an aggregate as somebody who writes SQL reads it."""
    if call.name not in (output.name for output in parsed.outputs):
        # A name of muntin's own: the caret says which it is.
        said = said.removeprefix(f"`{call.name}`: ").replace(f"`{call.name}`", call.function)
    for place, argument in enumerate(call.arguments):
        # What an aggregate reads is an expression, or a column that was made of it.
        for token in (f"({RESERVED}a{number}_{place})", f"({argument})"):
            said = said.replace(token, argument)
    number_type = "float" if parsed.closed == "right" else "double"
    # Spark offers columns that are near, and one of them may be muntin's.
    said = re.sub(rf"`{RESERVED}\w+`, |,? ?`{RESERVED}\w+`", "", said)
    condition = "bool_and" if call.function == "all" else "bool_or"
    for words, instead in _HINTS:
        said = words.sub(instead.replace("{number}", number_type).replace("{any}", condition), said)
    return said
