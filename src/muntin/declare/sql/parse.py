"""The way of a query: read, mend, group, rewrite, and hold what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import SqlglotError

from muntin.declare.sql.azure_functions import mend
from muntin.declare.sql.expression import input_expression, prepare, spark_text
from muntin.declare.sql.grouped import Groups
from muntin.declare.sql.grouping import read_grouping
from muntin.declare.sql.outputs import read_outputs
from muntin.declare.sql.query import SelectQuery
from muntin.declare.sql.read import read_select
from muntin.declare.sql.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def parse_sql(
    text: str, *, time_is_text: bool = False, columns: Callable[[str], Iterable[str]] | None = None
) -> SelectQuery:
    """Read one SELECT over windows; its expressions come back as Spark SQL.

    `time_is_text` says that what TIMESTAMP BY names is text: `System.Timestamp()` is then the time that it stands for.
    `columns` names the columns of an input, where they are known: Spark's GROUP BY takes them before aliases.

    >>> query = parse_sql("SELECT k, MAX(a) - MIN(a) AS spread FROM i TIMESTAMP BY t GROUP BY k, Tumbling(mi, 5)")
    >>> query.outputs[1], [call.name for call in query.aggregates]
    (Output(name='spread', text='max_1 - min_2'), ['max_1', 'min_2'])
    """
    try:
        return _parse(text, time_is_text, columns)
    except SqlglotError as error:  # what its generator cannot write, met outside of any one expression
        Source(text, ()).fail(f"a part of the query has no form in Spark: {error}", 0, 0)
    except RecursionError:
        Source(text, ()).fail("the query is nested too deeply. Compute parts of it as columns first", 0, 0)


def _parse(text: str, time_is_text: bool, columns: Callable[[str], Iterable[str]] | None) -> SelectQuery:
    source, select, azure = read_select(text)
    table = select.args["from_"].this
    if azure:
        mend(select, source)
    prepare(select, _qualifiers(table))
    time = said = table.args.get("timestamp_by")
    if time is not None:
        time = input_expression(time, source, azure=azure, place="TIMESTAMP BY")
    moment = exp.cast(time, exp.DType.TIMESTAMPTZ) if time is not None and time_is_text else time
    known = frozenset(name.lower() for name in columns(_dotted(table))) if columns else frozenset()
    grouping = read_grouping(select, time, moment, source, azure=azure, columns=known)
    if grouping.time is not None:
        said = grouping.time
        time = input_expression(grouping.time, source, azure=azure, place="window(...)")
    aliases = {item.alias.lower(): item.unalias() for item in select.expressions if item.alias}
    groups = Groups(grouping, moment, source, azure, aliases)
    outputs = read_outputs(select.expressions, groups)
    having, where, into = (select.args.get(clause) for clause in ("having", "where", "into"))
    having_place = None if having is None else source.place(having)
    having_text = None if having is None else spark_text(groups.rewrite(having.this, having=True), source)
    where_place = None if where is None else source.place(where)
    if where is not None:
        where = input_expression(where.this, source, azure=azure, time=moment)
    if not groups.calls:
        source.fail_clause(
            "the query has no aggregate. Add one to the SELECT list, for example COUNT(*) AS n", "SELECT"
        )
    return SelectQuery(
        source=_dotted(table),
        time=None if time is None else spark_text(time, source),
        closed="right" if azure else "left",
        where=None if where is None else spark_text(where, source),
        keys=tuple(grouping.keys.values()),
        windows=grouping.windows,
        aggregates=tuple(groups.calls.values()),
        having=having_text,
        outputs=outputs,
        into=None if into is None else _dotted(into.this),
        over=tuple(
            spark_text(input_expression(key, source, azure=azure, time=time, place="OVER"), source)
            for key in table.args.get("timestamp_over") or ()
        ),
        where_place=where_place,
        time_place=None if said is None else source.place(said),
        having_place=having_place,
    )


def _dotted(table: exp.Table) -> str:
    return ".".join(part.name for part in table.parts)


def _qualifiers(table: exp.Table) -> tuple[tuple[str, ...], ...]:
    if table.alias:
        return ((table.alias.lower(),),)
    parts = tuple(part.name.lower() for part in table.parts)
    return (parts, parts[-1:])
