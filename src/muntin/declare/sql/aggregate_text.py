"""One aggregate as text, the way it prints: `min(temp)`, `count(filter=temp > 30)`, `approx_quantile(ms, q=0.99)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NoReturn

from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError, TokenError

from muntin.aggregate.names import resolve
from muntin.declare.sql.dialect import SparkWindows, SyntaxFault
from muntin.declare.sql.expression import input_expression, spark_text
from muntin.declare.sql.read import check_parentheses, explain, unclosed
from muntin.declare.sql.source import Source, quoted
from muntin.errors import AggregateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlglot.tokenizer_core import Token

    from muntin.aggregate.algebra import Aggregate, AggregateFunction

EXAMPLE: Final = "min(temp), count() or avg(temp, filter=temp > 0)"
_WORD: Final = re.compile(r"[A-Za-z_]\w*")


def parse_aggregate(text: str) -> Aggregate:
    """Read an aggregate of columns; nothing in the text is run, a filter is checked and kept as Spark SQL.

    >>> parse_aggregate("Mean(temp)"), parse_aggregate("count(*) FILTER (WHERE temp > 30)")
    (avg(temp), count(filter=temp > 30))
    >>> parse_aggregate("min(temp * 2)")
    Traceback (most recent call last):
    ...
    muntin.errors.SqlError: line 1, column 5: `min` reads columns by name, and this is an expression. Add it to ...
      min(temp * 2)
          ^^^^^^^^
    """
    try:
        return _parse(text)
    except RecursionError:
        Source(text, ()).fail("the filter is nested too deeply. Compute parts of it as columns first", 0, 0)


def _parse(text: str) -> Aggregate:
    source = _source(text)
    name, *rest = source.tokens
    if quoted(name) or not _WORD.fullmatch(name.text):
        source.fail_at(f"expected the name of an aggregate. Write for example {EXAMPLE}", name)
    try:
        function = resolve(name.text)
    except AggregateError as error:
        source.fail_at(str(error), name)
    inside, after = _parted(rest, source)
    columns: list[str] = []
    settings: dict[str, object] = {}
    for piece in inside:
        if len(piece) > 1 and not quoted(piece[0]) and piece[1].text == "=" and _WORD.fullmatch(piece[0].text):
            key = piece[0].text.lower()
            if key in settings:
                source.fail_at(f"{key} is given twice", piece[0])
            settings[key] = _setting(key, piece, source)
        elif not _counts_rows(function, piece):
            columns.append(_column(function, piece, source))
    if after:
        if "filter" in settings:
            source.fail_at("there are two filters: join them with AND in one", after[0])
        settings["filter"] = _filter_clause(after, source)
    try:
        return function(*columns, **settings)
    except AggregateError as error:
        source.fail(str(error), name.start, source.tokens[-1].end)


def _source(text: str) -> Source:
    if not isinstance(text, str):
        Source(repr(text), ()).fail(f"expected an aggregate as text. Write for example {EXAMPLE}", 0, 0)
    try:
        source = Source(text, tuple(SparkWindows().tokenize(text)))
    except TokenError as fault:
        unclosed(text, fault)
    if not source.tokens:
        source.fail(f"the aggregate is empty. Write for example {EXAMPLE}", 0, 0)
    for token in source.tokens:
        if token.text == ";" and not quoted(token):
            source.fail_at("one aggregate at a time: remove the ';' and what follows", token)
    check_parentheses(source)
    return source


def _parted(tokens: Sequence[Token], source: Source) -> tuple[list[list[Token]], list[Token]]:
    """Part what stands in the parentheses at its commas, and give what follows them."""
    if not tokens:
        return [], []
    if quoted(tokens[0]) or tokens[0].text != "(":
        source.fail_at(f"expected '(' after {source.tokens[0].text!r}. Write for example {EXAMPLE}", tokens[0])
    pieces: list[list[Token]] = [[]]
    depth, place = 1, 1
    while True:
        # Every parenthesis is closed, that was checked: the loop ends.
        token = tokens[place]
        mark = "" if quoted(token) else token.text
        depth += (mark == "(") - (mark == ")")
        place += 1
        if depth == 0 or (depth == 1 and mark == ","):
            if not pieces[-1] and (mark == "," or len(pieces) > 1):
                source.fail_at("a column is missing before this", token)
            if depth == 0:
                return [piece for piece in pieces if piece], list(tokens[place:])
            pieces.append([])
        else:
            pieces[-1].append(token)


def _counts_rows(function: AggregateFunction, piece: Sequence[Token]) -> bool:
    # COUNT(*) and COUNT(1) count rows in every SQL.
    return (
        function.name == "count"
        and len(piece) == 1
        and not quoted(piece[0])
        and (piece[0].text == "*" or piece[0].text.isdecimal())
    )


def _column(function: AggregateFunction, piece: Sequence[Token], source: Source) -> str:
    """Read a column's name, or a path into it; backticks hold any name."""
    names, dots = piece[::2], piece[1::2]
    named = all(_is_name(token, source) for token in names) and all(token.text == "." for token in dots)
    if named and len(piece) % 2:
        if len(names) == 1:
            return names[0].text
        return ".".join(source.text[token.start : token.end + 1] for token in names)
    start, end = piece[0].start, piece[-1].end
    if piece[0].text.upper() == "DISTINCT" and function.name in ("count", "collect"):
        source.fail(f"DISTINCT is an aggregate of its own here: write {function.name}_distinct(...)", start, end)
    source.fail(
        f"`{function.name}` reads columns by name, and this is an expression. Add it to the events as a column first",
        start,
        end,
    )


def _is_name(token: Token, source: Source) -> bool:
    if quoted(token):
        return source.text[token.start] == "`"
    return _WORD.fullmatch(token.text) is not None


def _setting(key: str, piece: Sequence[Token], source: Source) -> object:
    value = piece[2:]
    if not value:
        source.fail_at(f"{key} is given no value", piece[1])
    if key == "filter":
        if len(value) == 1 and quoted(value[0]) and source.text[value[0].start] != "`":
            # In quotes, as other settings that are text: the condition is inside.
            inner = _source(value[0].text)
            return _condition(inner.tokens, inner)
        return _condition(value, source)
    node = _tree(value, source)
    sign = -1 if isinstance(node, exp.Neg) else 1
    node = node.this if isinstance(node, exp.Neg) else node
    if isinstance(node, exp.Literal) and not node.is_string:
        return sign * (int(node.name) if node.name.isdecimal() else float(node.name))
    if isinstance(node, exp.Literal):
        return node.name
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    source.fail(f"{key} must be a number or text in quotes", value[0].start, value[-1].end)


def _filter_clause(tokens: Sequence[Token], source: Source) -> str:
    """Read `FILTER (WHERE condition)`, and nothing after it."""
    words = ["" if quoted(token) else token.text.upper() for token in tokens]
    if words[:3] != ["FILTER", "(", "WHERE"] or words[-1] != ")":
        source.fail(
            "expected nothing more, or FILTER (WHERE condition). Is an aggregate meant that reads several columns?",
            tokens[0].start,
            tokens[-1].end,
        )
    if len(tokens) == 4:
        source.fail_at("the filter has no condition", tokens[2])
    return _condition(tokens[3:-1], source)


def _condition(tokens: Sequence[Token], source: Source) -> str:
    node = _tree(tokens, source)
    if node.find(exp.Query) is not None:
        source.fail("a query cannot stand in a filter", tokens[0].start, tokens[-1].end)
    for name in node.find_all(exp.Identifier):
        if not _WORD.fullmatch(name.name):
            name.set("quoted", True)
    return spark_text(input_expression(node, source, azure=False, place="a filter"), source)


def _tree(tokens: Sequence[Token], source: Source) -> exp.Expr:
    """Parse an expression, which is all that is looked for: no statement is."""
    try:
        (tree,) = SparkWindows().parser().parse_into(exp.Condition, list(tokens), source.text)
    except ParseError as error:
        _refuse(error, tokens, source)
    except (SqlglotError, ValueError, TypeError, KeyError, IndexError, AttributeError):
        # sqlglot builds some functions without looking whether all arguments are there.
        source.fail("this is no expression that can be read", tokens[0].start, tokens[-1].end)
    if tree is None:
        source.fail("this is no expression that can be read", tokens[0].start, tokens[-1].end)
    return tree


def _refuse(error: ParseError, tokens: Sequence[Token], source: Source) -> NoReturn:
    for fault in _causes(error):
        if isinstance(fault, SyntaxFault):
            explain(fault, Source(source.text, tuple(tokens)))
    source.fail("this is no expression that can be read", tokens[0].start, tokens[-1].end)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
