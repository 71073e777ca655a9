"""White space, comments and the case of the language's words do not change what a query says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.declare.sql import parse_sql
from muntin.declare.sql.dialect import SparkWindows, StreamAnalytics
from muntin.declare.sql.source import quoted
from muntin.errors import MuntinError, SqlError

QUERIES = [
    "SELECT DeviceID, System.Window().Id, Min(T) AS MinTemp FROM Input TIMESTAMP BY EntryTime GROUP BY DeviceID, "
    "Windows(Window('20 min', TumblingWindow(minute, 20)), Window('-- (', Hopping(Duration(hh, 1), Hop(mi, 10))))",
    "SELECT i.[a b] AS k, MAX(x) - MIN(x) AS r, CAST(AVG(x) AS float) f, System.Timestamp() AS e INTO o "
    "FROM Input i TIMESTAMP BY DATEADD(second, 1, t) OVER j WHERE x > 1 AND y LIKE '/* %' OR z IN (1, 2) "
    "GROUP BY i.[a b], TumblingWindow(Duration(hour, 1), Offset(millisecond, -1)) HAVING COUNT(*) > 2 AND r < 5",
    "SELECT TopOne() OVER (ORDER BY x DESC) AS top, Collect() AS c, COUNT(DISTINCT x) AS n FROM Input "
    "GROUP BY HoppingWindow(n, 60, 10, 5)",
    "SELECT window(ts, '40 minutes', '10 minutes') AS w, device, min(t), count(*) FILTER (WHERE x > 1) AS n "
    "FROM events WHERE y IS NOT NULL GROUP BY window(ts, '40 minutes', '10 minutes'), device HAVING n > 2",
    "SELECT `a b`, percentile_approx(x, 0.9) AS p, window.start AS s FROM db.events "
    "GROUP BY `a b`, window(ts, '1 hour')",
]
# Words of the language; any other name is the user's, and may come back as it was written.
LANGUAGE = """
    SELECT FROM AS TIMESTAMP BY OVER WHERE AND OR LIKE IN IS NOT NULL GROUP HAVING INTO ORDER DESC DISTINCT FILTER CAST
    FLOAT SYSTEM WINDOW ID WINDOWS TUMBLINGWINDOW HOPPINGWINDOW HOPPING DURATION HOP OFFSET MINUTE HOUR HH MI
    SECOND MILLISECOND MIN MAX AVG COUNT COLLECT TOPONE DATEADD PERCENTILE_APPROX START
"""
WORDS = set(LANGUAGE.split())
GAPS = st.sampled_from(
    [" ", "\n", "\t", "  \r\n ", " /* a ) comment */ ", " -- it's ( a comment\n", "\n/* TIMESTAMP BY */\n", " /**/ "]
)


def pieces(query: str) -> list[tuple[str, bool]]:
    """Split a query into its tokens as written, each with whether it is a word of the language."""
    dialect = StreamAnalytics() if "`" not in query and "window(" not in query else SparkWindows()
    written = [(query[token.start : token.end + 1], quoted(token)) for token in dialect.tokenize(query)]
    return [(text, not name and set(text.upper().split()) <= WORDS) for text, name in written]


@pytest.mark.parametrize("query", QUERIES)
def test_the_split_is_whole(query: str) -> None:
    split = pieces(query)
    assert "".join(text for text, _ in split).replace(" ", "") == query.replace(" ", "")
    assert {text.upper() for text, word in split if word} >= {"SELECT", "FROM", "GROUP BY"}


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(QUERIES))
def test_layout_does_not_matter(data: st.DataObject, query: str) -> None:
    laid_out = data.draw(GAPS)
    for text, word in pieces(query):
        if word:
            flips = data.draw(st.lists(st.booleans(), min_size=len(text), max_size=len(text)))
            text = "".join(char.swapcase() if flip else char for char, flip in zip(text, flips, strict=True))
        laid_out += text + data.draw(GAPS)
    again, plain = parse_sql(laid_out), parse_sql(query)
    assert again == plain
    assert [window.id for window in again.windows] == [window.id for window in plain.windows]


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(QUERIES))
def test_damage_is_refused_or_read_never_a_crash(data: st.DataObject, query: str) -> None:
    """Drop, double or swap tokens: either a query comes out, or an error that says where."""
    split = [text for text, _ in pieces(query)]
    for _ in range(data.draw(st.integers(1, 3))):
        at, other = (data.draw(st.integers(0, len(split) - 1)) for _ in range(2))
        change = data.draw(st.sampled_from(["drop", "double", "swap", "open"]))
        if change == "drop":
            split[at] = ""
        elif change == "double":
            split[at] = f"{split[at]} {split[at]}"
        elif change == "swap":
            split[at], split[other] = split[other], split[at]
        else:
            split[at] = data.draw(st.sampled_from(["(", ")", "'", ",", ";", "*", "[", "`", "/*", "--", "\\", "0", "."]))
    try:
        parse_sql(" ".join(split))
    except MuntinError as error:
        assert isinstance(error, SqlError), error
        assert error.line is not None
