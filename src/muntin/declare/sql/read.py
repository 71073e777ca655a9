"""From text to one SELECT: which dialect it is, where its syntax fails, which clauses are not offered."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp
from sqlglot.errors import SqlglotError, TokenError

from muntin.declare.sql.azure_windows import WINDOW_FUNCTIONS
from muntin.declare.sql.dialect import SparkWindows, StreamAnalytics, SyntaxFault
from muntin.declare.sql.source import Source, quoted

if TYPE_CHECKING:
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.tokenizer_core import Token

EXAMPLE = "SELECT key, MIN(x) AS low FROM Input TIMESTAMP BY t GROUP BY key, TumblingWindow(minute, 5)"

# Per argument of sqlglot's Select: the words to point at, and the reason.
_REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "with_": (("WITH",), "WITH is not offered: a query has one step. Run each step as a query of its own"),
    "distinct": (("DISTINCT",), "SELECT DISTINCT is not offered: rows are distinct by key and window already"),
    "limit": (("TOP", "LIMIT"), "the number of rows is not limited here. Call limit(...) on the result"),
    "order": (("ORDER BY",), "the result has no order. Call orderBy(...) on it"),
    "sort": (("SORT BY",), "the result has no order. Call sortWithinPartitions(...) on it"),
    "joins": (("JOIN",), "a query has one input, JOIN is not offered. Join first, and query the joined DataFrame"),
    "laterals": (
        ("LATERAL", "CROSS APPLY"),
        "a query has one input, and no rows made of others. Explode first, and query the exploded DataFrame",
    ),
    "qualify": (("QUALIFY",), "QUALIFY is not offered: there is no OVER (...) to judge. Use HAVING"),
    "hint": (("SELECT",), "hints are not offered. Set them on the DataFrame"),
    "operation_modifiers": (("SELECT",), "modifiers of SELECT are not offered"),
}
_JOIN_SELECTS = {"UNION", "EXCEPT", "INTERSECT", "MINUS", "ALL", "DISTINCT"}
_READ = {"expressions", "from_", "where", "group", "having", "into", "kind"}


def read_select(text: str) -> tuple[Source, exp.Select, bool]:
    """Parse a query; the flag tells whether it is Azure's dialect.

    >>> _, select, azure = read_select("SELECT MIN(x) FROM i TIMESTAMP BY t GROUP BY TumblingWindow(minute, 5)")
    >>> select.args["group"].sql(), azure
    ('GROUP BY TUMBLINGWINDOW(minute, 5)', True)
    """
    if not isinstance(text, str):
        Source(repr(text), ()).fail(f"expected a query as text. Write for example {EXAMPLE!r}", 0, 0)
    source, dialect = _tokenize(text)
    if not source.tokens:
        source.fail(f"the query is empty. Write for example {EXAMPLE!r}", 0, 0)
    check_parentheses(source)
    source = _only_statement(source)
    parser = dialect.parser()
    try:
        (tree,) = parser.parse(list(source.tokens), text)
    except SyntaxFault as fault:
        explain(fault, source)
    except SqlglotError as error:
        reason = str(error).split("\n")[0]
        source.fail_clause(f"the query cannot be read: {reason}", "SELECT")
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        # sqlglot builds some functions without looking whether all arguments are there.
        last = parser._prev or source.tokens[0]
        source.fail_at("the arguments of the function that ends here are not as expected", last)
    if not isinstance(tree, exp.Select):
        source.fail_clause(
            "several SELECTs cannot be joined in one query. Run each as a query of its own, and union the results",
            *("UNION", "EXCEPT", "INTERSECT", "MINUS"),
        )
    _check_clauses(tree, source)
    return source, tree, isinstance(dialect, StreamAnalytics)


def _tokenize(text: str) -> tuple[Source, Dialect]:
    azure, spark = StreamAnalytics(), SparkWindows()
    found: dict[str, tuple[Token, ...]] = {}
    faults: dict[str, TokenError] = {}
    for name, dialect in (("azure", azure), ("spark", spark)):
        try:
            found[name] = tuple(dialect.tokenize(text))
        except TokenError as fault:
            faults[name] = fault
    if "azure" in found and _marks_azure(found["azure"]):
        return Source(text, found["azure"]), azure
    if "spark" in found and _marks_spark(found["spark"], text):
        return Source(text, found["spark"]), spark
    if not found:
        unclosed(text, faults["azure"])
    name = "azure" if "azure" in found else "spark"
    return Source(text, found[name]), azure if name == "azure" else spark


def unclosed(text: str, fault: TokenError) -> NoReturn:
    """Refuse a text of which the tokenizer found no end."""
    # sqlglot says "Missing ' from line:offset", and names no place for a comment.
    reason, _, offset = str(fault.__cause__).rpartition(":")
    if reason.startswith("Missing") and offset.isdecimal():
        mark = reason.split()[1]
        at = int(offset)
        Source(text, ()).fail(f"what opens here is never closed: expected {mark} before the end", at, at)
    at = max(text.rfind("/*"), 0)
    Source(text, ()).fail("the text cannot be split into words: is a comment /* left open?", at, at + 1)


def _words(tokens: tuple[Token, ...]) -> list[str]:
    return ["" if quoted(token) else token.text.upper() for token in tokens]


def _marks_azure(tokens: tuple[Token, ...]) -> bool:
    words = _words(tokens)
    pairs = set(pairwise(words))
    if ("TIMESTAMP", "BY") in pairs or any((name.upper(), "(") in pairs for name in WINDOW_FUNCTIONS):
        return True
    return any(three == ("SYSTEM", ".", last) for three in zip(words, words[1:], words[2:], strict=False)
               for last in ("WINDOW", "TIMESTAMP"))  # fmt: skip


def _marks_spark(tokens: tuple[Token, ...], text: str) -> bool:
    words = _words(tokens)
    pairs = set(pairwise(words))
    ticks = any(quoted(token) and text[token.start] == "`" for token in tokens)
    return ticks or ("WINDOW", "(") in pairs or ("SESSION_WINDOW", "(") in pairs


def check_parentheses(source: Source) -> None:
    """Refuse a parenthesis without its other half."""
    opened: list[Token] = []
    for token in source.tokens:
        if quoted(token):
            continue
        if token.text == "(":
            opened.append(token)
        elif token.text == ")":
            if not opened:
                source.fail_at("this ')' closes nothing: remove it, or add the '(' that it belongs to", token)
            opened.pop()
    if not opened:
        return
    places = [(source.text.count("\n", 0, t.start) + 1, t.start - source.text.rfind("\n", 0, t.start)) for t in opened]
    where = ", ".join(f"line {line} column {column}" for line, column in places)
    count = "1 '(' is" if len(opened) == 1 else f"{len(opened)} '(' are"
    source.fail_at(f"{count} never closed, opened at {where}: add the missing ')'", opened[-1])


def _only_statement(source: Source) -> Source:
    tokens = list(source.tokens)
    while tokens and tokens[-1].text == ";" and not quoted(tokens[-1]):
        tokens.pop()
    if not tokens:
        source.fail(f"the query is empty. Write for example {EXAMPLE!r}", 0, 0)
    source = Source(source.text, tuple(tokens))
    words = _words(source.tokens)
    if ";" in words:
        after = tokens[words.index(";") + 1]
        source.fail_at("one statement at a time: a second one starts here. Run each as a query of its own", after)
    if words[0] == "WITH":
        source.fail_at(_REFUSED["with_"][1], tokens[0])
    if words[0] != "SELECT":
        source.fail_at(f"expected SELECT, got {tokens[0].text!r}. Write for example {EXAMPLE!r}", tokens[0])
    for place, (token, depth) in enumerate(source.nested()):
        # Stream Analytics has several statements without a semicolon between them, one for each output.
        if place and words[place] == "SELECT" and depth == 0 and words[place - 1] not in _JOIN_SELECTS:
            source.fail_at("one statement at a time: a second one starts here. Run each as a query of its own", token)
    depths = [depth for _, depth in source.nested()]
    for index, pair in enumerate(pairwise(words)):
        if pair == ("LIMIT", "DURATION"):
            source.fail_at(
                "analytic functions over a LIMIT DURATION (LAG, LAST, ISFIRST) are not offered: they give a result "
                "per event, not per window. Compute them first, and query the result",
                tokens[index],
            )
        if pair == ("FROM", "FROM"):
            source.fail_at("expected the name of the input, got 'FROM'", tokens[index + 1])
        if pair[0] == "PARTITION BY" and depths[index] == 0 and "GROUP BY" not in words[:index]:
            source.fail_at("PARTITION BY is not offered: put the column into GROUP BY", tokens[index])
    return source


def explain(fault: SyntaxFault, source: Source) -> NoReturn:
    """Refuse what the parser did not expect, in words of ours."""
    message, token = str(fault), fault.token
    text = source.text[token.start : token.end + 1]
    if message.startswith("Invalid expression"):
        message = f"{text!r} is not expected here. Is a comma or an operator missing before it?"
    elif message.startswith("Expecting "):
        place = "after" if token is source.tokens[-1] else "near"
        message = f"expected {message.removeprefix('Expecting ')} {place} {text!r}"
    elif message.startswith("Required keyword"):
        message = f"an expression is missing near {text!r}: write what stands beside it"
    elif message.startswith("Expected table name"):
        message = f"expected the name of the input, got {text!r}. Write for example FROM Input TIMESTAMP BY t"
    source.fail_at(message, token)


def _check_clauses(select: exp.Select, source: Source) -> None:
    tables = select.args.get("from_")
    for name, (words, reason) in _REFUSED.items():
        joins = select.args.get("joins")
        if name == "joins" and joins and isinstance(joins[0].this, exp.Lateral):  # CROSS APPLY
            source.fail_on(_REFUSED["laterals"][1], joins[0].this, "FROM")
        if name == "joins" and joins and not any(j.kind or j.side or j.args.get("on") for j in joins):
            source.fail_on("a query has one input, this is a second: join or union them first", joins[0].this, "FROM")
        if select.args.get(name):
            source.fail_clause(reason, *words)
    for name, value in select.args.items():
        if value and name not in _READ:
            word = name.strip("_").upper()
            source.fail_clause(f"{word} is not offered in a query over windows. Apply it to the result", word)
    for inner in select.find_all(exp.Query):
        if inner is not select and not isinstance(inner, exp.Table):
            start = inner.this if isinstance(inner, exp.Subquery) else inner
            source.fail_on(
                "a query inside a query is not offered. Run it on its own, and query its result", start, "FROM"
            )
    if tables is None:
        source.fail_clause("the query reads nothing: add FROM with the name of an input", "GROUP BY", "SELECT")
    table = tables.this
    if not isinstance(table, exp.Table) or not all(isinstance(part, exp.Identifier) for part in table.parts):
        source.fail_on(
            "expected the name of an input after FROM. Register what it computes under a name", table, "FROM"
        )
    for name, value in table.args.items():
        if value and name not in {"this", "db", "catalog", "alias", "timestamp_by", "timestamp_over"}:
            source.fail_on(f"{name.strip('_')} on the input is not offered. Apply it to the DataFrame", table, "FROM")
