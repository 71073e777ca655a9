"""The text of a query and the places in it: every refusal shows its line, with a caret under the token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from muntin.errors import SqlError

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

Place: TypeAlias = tuple[int, int]
"""Where a token begins and ends in the text, counted from 0, both included."""

_BEFORE, _AFTER = 90, 110


@dataclass(frozen=True, slots=True)
class Source:
    r"""Hold the text of a query with its tokens.

    >>> Source("SELECT 1\nFROM t", ()).fail("no table", 14, 14)
    Traceback (most recent call last):
    ...
    muntin.errors.SqlError: line 2, column 6: no table
      FROM t
           ^
    """

    text: str
    tokens: tuple[Token, ...]

    def fail(self, message: str, start: int, end: int) -> NoReturn:
        """Refuse the query because of what stands from `start` to `end`, both counted from 0 and included."""
        raise self.error(message, (start, end))

    def error(self, message: str, place: Place | None, kind: type[SqlError] = SqlError) -> SqlError:
        """Make an error that shows a place, where that is known."""
        if place is None:
            return kind(message)
        start, end = min(place[0], len(self.text)), place[1]
        before = self.text[:start]
        line, begin = before.count("\n") + 1, before.rfind("\n") + 1
        stop = self.text.find("\n", start)
        shown = self.text[begin : stop if stop >= 0 else len(self.text)].rstrip("\r")
        # Of a query on one endless line only the neighbourhood is shown.
        skip = max(0, start - begin - _BEFORE) if len(shown) > _BEFORE + _AFTER else 0
        begin, shown = begin + skip, shown[skip : skip + _BEFORE + _AFTER]
        # Tabs are kept as tabs, so that the caret stands right at any width of them.
        indent = "".join(char if char == "\t" else " " for char in self.text[begin:start])
        width = max(1, min(end + 1, begin + len(shown)) - start)
        column = start - before.rfind("\n")
        error = kind(f"line {line}, column {column}: {message}\n  {shown}\n  {indent}{'^' * width}")
        error.line, error.column = line, column
        return error

    def fail_at(self, message: str, token: Token) -> NoReturn:
        """Refuse the query because of a token."""
        self.fail(message, token.start, token.end)

    def fail_on(self, message: str, node: exp.Expr, clause: str = "") -> NoReturn:
        """Refuse the query because of an expression: at its first token, or where none is known at its clause.

        Without a clause it is the expression around it: of `window(ts, NULL)` the parser tells no more.
        """
        place, around = self.place(node), node.parent
        while place is None and not clause and around is not None and not isinstance(around, (exp.Select, exp.Group)):
            place, around = self.place(around), around.parent
        if place is not None:
            self.fail(message, *place)
        self.fail_clause(message, clause or "SELECT")

    @staticmethod
    def place(node: exp.Expr) -> Place | None:
        """Find the first token of an expression."""
        return min(((n.meta["start"], n.meta["end"]) for n in node.walk() if "start" in n.meta), default=None)

    def fail_clause(self, message: str, *words: str) -> NoReturn:
        """Refuse the query because of a clause, found by the first of the words that it is written with."""
        for word in words:
            for token, depth in self.nested():
                if depth == 0 and not quoted(token) and " ".join(token.text.upper().split()) == word:
                    self.fail_at(message, token)
        self.fail_at(message, self.tokens[0])

    def nested(self) -> list[tuple[Token, int]]:
        """Give each token with the number of parentheses around it."""
        depth, found = 0, []
        for token in self.tokens:
            depth -= token.text == ")" and not quoted(token)
            found.append((token, depth))
            depth += token.text == "(" and not quoted(token)
        return found


def quoted(token: Token) -> bool:
    """Tell whether a token is a string or a quoted name: its text is then no word of the language.

    >>> from sqlglot.dialects.tsql import TSQL
    >>> [quoted(token) for token in TSQL().tokenize("a '(' [(]")]
    [False, True, True]
    """
    return token.token_type == TokenType.IDENTIFIER or token.token_type.name.endswith("STRING")
