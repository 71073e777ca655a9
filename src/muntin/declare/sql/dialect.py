"""Two dialects on sqlglot's parsers: Azure Stream Analytics, and Spark SQL with `window(...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.dialects.tsql import TSQL
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.parsers.tsql import TSQLParser
from sqlglot.tokenizer_core import Token, TokenType

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot.dialects.dialect import DialectType

T = TypeVar("T")


LOGARITHMS = ("LOG10", "LOG2")
"""They stay as they are in both dialects: log10(1000) is 3, and sqlglot's log(10, 1000) is less by a rounding."""
AS_WRITTEN = (
    *LOGARITHMS,
    *("PARSE_JSON", "GET_JSON_OBJECT", "TO_CHAR", "COLLATE", "LOCALTIMESTAMP", "CURRENT_CATALOG"),
)
"""Functions of Spark's that stay as they are: sqlglot leaves them out, or writes what Spark does not read."""


class SyntaxFault(ParseError):
    """Say what sqlglot's parser did not expect, and at which token."""

    token: Token


def _fault(message: str, token: Token) -> SyntaxFault:
    fault = SyntaxFault(message, [{"description": message}])  # sqlglot adds to the list when it tries again
    fault.token = token
    return fault


def _without(known: dict[str, T], *words: str) -> dict[str, T]:
    return {word: what for word, what in known.items() if word not in words}


def _at(token: Token | None, node: exp.Expr | None) -> exp.Expr | None:
    # Types have no place in sqlglot's tree.
    if token and isinstance(node, exp.DataType):
        node.meta.update(start=token.start, end=token.end)
    return node


class StreamAnalyticsParser(TSQLParser):
    """Read T-SQL with `TIMESTAMP BY expression [OVER ...]` after a table."""

    # sqlglot keeps of a unit what it takes it for: y is a year to it, w a week, and hh an hour of twelve.
    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = _without(
        TSQLParser.FUNCTIONS,
        "DATEADD",
        "DATEDIFF",
        "DATEDIFF_BIG",
        "DATENAME",
        "DATETRUNC",
        "DATE_TRUNC",
        *LOGARITHMS,
    )
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = _without(TSQLParser.FUNCTION_PARSERS, "DATEPART")

    _reading_time = False

    def raise_error(self, message: str, token: Token | None = None) -> None:
        """Keep the token, which sqlglot's own error gives only as a piece of text."""
        raise _fault(message, token or self._curr or self._prev)

    def _parse_table_alias(self, *args: Any, **options: Any) -> exp.TableAlias | None:
        # TIMESTAMP is a word like any other to T-SQL: without this it would be the table's alias.
        return None if self._at_timestamp_by() else super()._parse_table_alias(*args, **options)

    def _parse_table(self, *args: Any, **options: Any) -> exp.Expr | None:
        table = super()._parse_table(*args, **options)
        if table is None or not self._at_timestamp_by():
            return table
        self._advance(2)
        self._reading_time = True
        time = self._parse_disjunction()
        self._reading_time = False
        if time is None:
            self.raise_error("Expecting the column or expression that holds the event's time")
        table.set("timestamp_by", time)
        if self._match(TokenType.OVER):
            table.set("timestamp_over", self._parse_csv(self._parse_column))
        if not table.args.get("alias"):
            table.set("alias", self._parse_table_alias(alias_tokens=self.TABLE_ALIAS_TOKENS))
        return table

    def _parse_types(self, *args: Any, **options: Any) -> exp.Expr | None:
        token = self._curr
        return _at(token, super()._parse_types(*args, **options))

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        # In `TIMESTAMP BY f(t) OVER key` the OVER belongs to TIMESTAMP BY, not to f.
        return this if self._reading_time else super()._parse_window(this, alias=alias)

    def _at_timestamp_by(self) -> bool:
        if not self._curr or not self._next or self._curr.token_type == TokenType.IDENTIFIER:
            return False
        return self._curr.text.upper() == "TIMESTAMP" and self._next.text.upper() == "BY"


class StreamAnalytics(TSQL):
    """The dialect of Azure Stream Analytics."""

    class Tokenizer(TSQL.Tokenizer):
        """T-SQL without the words that are plain names in Stream Analytics."""

        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **_without(
                TSQL.Tokenizer.KEYWORDS,
                "WINDOW",
                "OFFSET",
                "OUTPUT",
                "OPTION",
                "GO",
                "PRINT",
                "PROC",
                "XML",
                "IMAGE",
                "SESSION",
            ),
            "!>": TokenType.LTE,  # not greater
            "!<": TokenType.GTE,
        }

    Parser = StreamAnalyticsParser


class SparkWindowsParser(SparkParser):
    """Read Spark SQL, and say at which token it went wrong."""

    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = _without(SparkParser.FUNCTIONS, *AS_WRITTEN)
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        **SparkParser.FUNCTION_PARSERS,
        "PERCENTILE": lambda self: self._parse_percentile(),
    }

    def _parse_types(self, *args: Any, **options: Any) -> exp.Expr | None:
        token = self._curr
        return _at(token, super()._parse_types(*args, **options))

    def _parse_percentile(self) -> exp.Expr:
        token, first = self._tokens[self._index - 2], self._index
        if len(self._parse_csv(self._parse_lambda)) > 2:
            # sqlglot drops the third.
            self.raise_error(
                "percentile takes two arguments here, got more: weights are not offered. "
                "Repeat the events by their weight first, or write percentile(x, 0.5) without one",
                token,
            )
        self._retreat(first)
        return self._parse_distinct_arg_function(exp.Quantile)

    def _parse_interval(self, require_interval: bool = True, *args: Any, **options: Any) -> Any:
        # sqlglot writes `INTERVAL 10 SECONDS` anew, and the places of its words are gone.
        token = self._curr
        interval: Any = super()._parse_interval(require_interval, *args, **options)
        if require_interval and isinstance(interval, exp.Add):
            # Several units are a sum to sqlglot: `t - INTERVAL 23 HOURS 30 MINUTES` would add the minutes.
            interval = exp.paren(interval, copy=False)
        if interval is not None and token:
            interval.meta.update(start=token.start, end=token.end)
        return interval

    def raise_error(self, message: str, token: Token | None = None) -> None:
        """Keep the token, which sqlglot's own error gives only as a piece of text."""
        raise _fault(message, token or self._curr or self._prev)


class SparkWindows(Spark):
    """Spark SQL whose `window` is a function, not the clause that names frames."""

    class Tokenizer(Spark.Tokenizer):
        """Spark's words but one."""

        KEYWORDS: ClassVar[dict[str, TokenType]] = _without(Spark.Tokenizer.KEYWORDS, "WINDOW")

    Parser = SparkWindowsParser

    def tokenize(self, sql: str, dialect: DialectType = None) -> list[Token]:
        """Read a doubled quote in a string as one quote, as Spark 4 does: sqlglot finds two strings that touch."""
        found: list[Token] = []
        for token in super().tokenize(sql, dialect):
            last = found[-1] if found else None
            if last is not None and _touch(last, token, sql):
                text = f"{last.text}{sql[token.start]}{token.text}"
                token = Token(last.token_type, text, last.line, last.col, last.start, token.end, token.comments)
                found.pop()
            found.append(token)
        return found


def _touch(one: Token, other: Token, sql: str) -> bool:
    strings = one.token_type == other.token_type == TokenType.STRING
    return strings and one.end + 1 == other.start and sql[one.start] == sql[other.start]
