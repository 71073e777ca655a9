"""SELECT and HAVING: expressions over groups, rewritten over the names of keys, aggregates and the window."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from muntin.declare.sql import spark_window
from muntin.declare.sql.aggregates import SQL_NAMES, WHOLE_RECORD, Call, fail_unknown, is_aggregate, read_call
from muntin.declare.sql.dialect import AS_WRITTEN
from muntin.declare.sql.expression import (
    check_function,
    input_expression,
    is_plain,
    is_system_window,
    is_timestamp,
    is_window_id,
    name,
    operand,
    spark_text,
    spelling,
)
from muntin.declare.sql.grouping import unique
from muntin.declare.sql.query import OWN_NAMES, AggregateCall

if TYPE_CHECKING:
    from muntin.declare.sql.grouping import Grouping
    from muntin.declare.sql.source import Source


@dataclass(slots=True)
class Groups:
    """Rewrite expressions over the groups of one query, and gather the aggregates that they call."""

    grouping: Grouping
    time: exp.Expr | None
    source: Source
    azure: bool
    aliases: dict[str, exp.Expr]
    """The SELECT list by alias, in lower case: HAVING may use them."""
    calls: dict[tuple[object, ...], AggregateCall] = field(default_factory=dict)

    def rewrite(self, node: exp.Expr, alias: str = "", *, having: bool = False) -> exp.Expr:
        """Write an expression over internal names; an aggregate that is the whole of it takes `alias` for its name."""
        whole = spelling(node) if alias and is_aggregate(node.unnest()) else None

        def visit(part: exp.Expr) -> exp.Expr:
            if isinstance(part, (exp.Literal, exp.Identifier)):
                return part
            key = self.grouping.keys.get(spelling(part)) if type(part) in self.grouping.kinds else None
            if key is not None:
                return name(key.name, quoted=any(i.args.get("quoted") for i in part.find_all(exp.Identifier)))
            if is_aggregate(part):
                return name(self._call(part, alias if whole and spelling(part) == whole else ""))
            window = self._azure(part) if self.azure else self._spark(part)
            if window is not None:
                return window
            if isinstance(part, exp.Column):
                return self._column(part, having=having)
            if isinstance(part, exp.Star):
                self._star(part)
            check_function(part, self.source, azure=self.azure)
            return part

        return node.copy().transform(visit, copy=False)

    def _azure(self, part: exp.Expr) -> exp.Expr | None:
        if is_timestamp(part):
            return exp.column("end", table="window")
        if is_window_id(part):
            return name("window_id")
        if is_system_window(part) or (isinstance(part, exp.Dot) and is_system_window(part.this)):
            self.source.fail_on(
                "System.Window() has an Id only: write System.Window().Id; its end is System.Timestamp()", part
            )
        return None

    def _spark(self, part: exp.Expr) -> exp.Expr | None:
        if spark_window.is_window(part):
            if spelling(part) != self.grouping.window:
                self.source.fail_on("this window is not the one of GROUP BY: write them alike", part)
            return name("window")
        if isinstance(part, exp.Anonymous) and part.name.lower() == "window_time":
            self.source.fail_on("window_time is not offered: write window.end - INTERVAL 1 MICROSECOND", part)
        if not isinstance(part, exp.Column):
            return None
        first, *fields = [piece.name.lower() for piece in part.parts]
        aliased = first in self.aliases and spelling(self.aliases[first]) == self.grouping.window
        if first != "window" and not aliased:
            return None
        if fields not in ([], ["start"], ["end"]):
            self.source.fail_on("a window has a start and an end: write window.start or window.end", part)
        return exp.column(fields[0], table="window") if fields else name("window")

    def _column(self, column: exp.Column, *, having: bool) -> exp.Expr:
        if isinstance(column.this, exp.Star):
            self._star(column)
        field = self._field(column)
        if field is not None:
            return field
        known = self.aliases.get(column.name.lower()) if having and len(column.parts) == 1 else None
        if known is not None:
            return operand(self.rewrite(known))
        call = column.find_ancestor(exp.Anonymous)
        known_to_spark = call is not None and call.name.upper() in AS_WRITTEN  # collate is no misspelt collect
        if call is not None and not known_to_spark and difflib.get_close_matches(call.name.lower(), SQL_NAMES, n=1):
            fail_unknown(call, self.source)
        written = column.sql("spark")
        self.source.fail_on(
            f"column {written} is neither in GROUP BY nor inside an aggregate: a window holds many values of it. "
            f"Add it to GROUP BY, or write for example MAX({written})",
            column,
        )

    def _field(self, column: exp.Column) -> exp.Expr | None:
        """Find a field of a key that is a record: r.a.b where r is grouped by."""
        parts = column.parts
        for length in range(len(parts) - 1, 0, -1):
            key = self.grouping.keys.get(".".join(part.name.lower() for part in parts[:length]))
            if key is not None:
                return exp.Dot.build([name(key.name), *(part.copy() for part in parts[length:])])
        return None

    def _star(self, node: exp.Expr) -> NoReturn:
        self.source.fail_on(
            "SELECT * is not offered: after grouping there are keys, aggregates and the window. Name the columns", node
        )

    def _call(self, node: exp.Expr, alias: str) -> str:
        call = read_call(node, self.source)
        place = f"an argument of {call.function}"
        arguments = tuple(WHOLE_RECORD if a is None else self._input(a, place) for a in call.arguments)
        condition = None if call.filter is None else self._input(call.filter, "FILTER")
        # Names that differ in case only are one column: T and t are aggregated once. m.A and m.a may be keys of a map.
        alike = tuple(None if a is None else spelling(a, fields=False) for a in (*call.arguments, call.filter))
        identity = (call.function, alike, call.params)
        if identity not in self.calls:
            self.calls[identity] = AggregateCall(
                self._name(call, alias), call.function, arguments, call.params, condition, self.source.place(node)
            )
        return self.calls[identity].name

    def _input(self, node: exp.Expr, place: str) -> str:
        checked = input_expression(node, self.source, azure=self.azure, time=self.time, place=place)
        return spark_text(checked, self.source)

    def _name(self, call: Call, alias: str) -> str:
        taken = {*OWN_NAMES, *(k.name.lower() for k in self.grouping.keys.values())}
        taken |= {c.name.lower() for c in self.calls.values()}
        # The alias makes plans readable; where it is no plain name, a number will do.
        if is_plain(alias) and alias.lower() not in taken:
            return alias
        return unique(f"{call.function}_{len(self.calls) + 1}", taken | set(self.aliases))
