"""Queries that are refused: the place, the reason, and what to do instead."""

from __future__ import annotations

import pytest

from muntin.declare.sql import parse_sql
from muntin.errors import MuntinError, SqlError

FROM = "FROM Input TIMESTAMP BY t "
BY = "GROUP BY k, Tumbling(mi, 5)"
SPARK = "FROM e GROUP BY k, window(ts, '5 minutes')"

# The query, the text at which the caret must stand (its first appearance; "" for the start), part of the message.
SYNTAX = [
    ("", "", "the query is empty"),
    ("  -- nothing but a comment", "", "the query is empty"),
    (";;", "", "the query is empty"),
    ("SELECT", "SELECT", "add FROM"),
    ("SELECT 'abc FROM x", "'abc", "never closed: expected '"),
    ("SELECT [abc FROM x WHERE a = `b", "[abc", "never closed: expected ]"),
    ("SELECT /* abc", "/*", "comment /* left open"),
    (f"SELECT MIN(x {FROM} {BY}", "(x", "1 '(' is never closed"),
    (f"SELECT MIN(x)) AS low {FROM} {BY}", ") AS", "closes nothing"),
    ("UPDATE x SET a = 1", "UPDATE", "expected SELECT, got 'UPDATE'"),
    ("INSERT INTO o SELECT MIN(x) FROM i", "INSERT", "expected SELECT"),
    (f"SELECT MIN(x) {FROM} {BY}; SELECT 2", "SELECT 2", "one statement at a time"),
    # Stream Analytics needs no semicolon between statements.
    (f"SELECT MIN(x) INTO a {FROM} {BY} SELECT 2 INTO b FROM i", "SELECT 2", "one statement at a time"),
    (f"SELECT k MIN(x) {FROM} {BY}", "(x)", "Is a comma or an operator missing"),
    (f"SELECT MIN(x) FROM FROM Input {BY}", "FROM Input", "expected the name of the input"),
    (f"SELECT MIN(x) FROM WHERE x > 1 {BY}", "WHERE", "expected the name of the input"),
    (f"SELECT MIN(x) FROM Input TIMESTAMP BY {BY}", "GROUP BY", "expected the column or expression that holds"),
    (f"SELECT MIN() AS low {FROM} {BY}", ") AS", "an expression is missing"),
    (f"SELECT MIN(x) {FROM} WHERE x > {BY}", "GROUP BY", "an expression is missing"),
]
CLAUSES = [
    (f"SELECT MIN(x) {FROM} WHERE a LIKE 'b[0-9' {BY}", "'b[0-9'", "for a '[' write '[[]'"),
    (f"SELECT MEDIAN(DISTINCT x) {FROM} {BY}", "MEDIAN", "median(DISTINCT ...) is not offered"),
    (f"SELECT PERCENTILE_APPROX(x, y) {FROM} {BY}", "x, y", "expected one number between 0 and 1"),
    (f"SELECT PERCENTILE_APPROX(x, . 0.9) {FROM} {BY}", "x, .", "expected one number between 0 and 1"),
    (f"WITH s AS (SELECT a FROM i) SELECT MIN(x) FROM s {BY}", "WITH", "WITH is not offered"),
    (f"SELECT * {FROM} {BY}", "*", "SELECT * is not offered"),
    (f"SELECT Input.* {FROM} {BY}", "*", "SELECT * is not offered"),
    (f"SELECT DISTINCT k, MIN(x) {FROM} {BY}", "DISTINCT", "distinct by key and window already"),
    (f"SELECT TOP 5 MIN(x) {FROM} {BY}", "TOP", "Call limit(...)"),
    (f"SELECT MIN(x) {FROM} {BY} ORDER BY k", "ORDER BY", "Call orderBy(...)"),
    (f"SELECT MIN(x) {FROM} {BY} UNION SELECT 1", "UNION", "several SELECTs"),
    (f"SELECT MIN(x) FROM a TIMESTAMP BY t JOIN b ON a.k = b.k {BY}", "JOIN", "JOIN is not offered"),
    (f"SELECT MIN(x) FROM aa, bb {BY}", "bb", "this is a second"),
    (f"SELECT MIN(x) FROM aa TIMESTAMP BY t, bb TIMESTAMP BY t {BY}", "bb", "this is a second"),
    (f"SELECT MIN(x) FROM (SELECT yy FROM i) {BY}", "yy", "a query inside a query"),
    (f"SELECT MIN(x) {FROM} WHERE a IN (SELECT bb FROM c) {BY}", "bb", "a query inside a query"),
    (f"SELECT MIN(x) FROM f(1) {BY}", "f(1)", "expected the name of an input"),
    (f"SELECT MIN(x) FROM Input TIMESTAMP BY t PARTITION BY p {BY}", "PARTITION BY", "put the column into GROUP BY"),
    (f"SELECT MIN(x) FROM Input PARTITION BY p {BY}", "PARTITION BY", "put the column into GROUP BY"),
    (f"SELECT MIN(x) FROM Input PARTITION BY p TIMESTAMP BY t {BY}", "PARTITION BY", "put the column into GROUP BY"),
    (f"SELECT MIN(x) {FROM} CROSS APPLY f(aa) AS e {BY}", "f(aa)", "no rows made of others. Explode first"),
    (f"SELECT MIN(x) {FROM} GROUP BY Session(mi, 5) OVER (PARTITION BY k)", "Session", "depends on its events"),
    (f"SELECT MIN(x) {FROM} GROUP BY Tumbling(mi, 5) OVER (PARTITION BY k)", "Tumbling", "with session windows only"),
    (f"SELECT min(x) {SPARK} LIMIT 5", "LIMIT", "Call limit(...)"),
    (f"SELECT min(x) {SPARK} SORT BY k", "SORT BY", "sortWithinPartitions"),
    ("SELECT min(x) FROM e TABLESAMPLE (5 PERCENT) GROUP BY window(ts, '5 minutes')", "e TABLE", "sample on the input"),
    (
        "SELECT min(x) FROM e LATERAL VIEW explode(a) t AS b GROUP BY window(ts, '5 minutes')",
        "LATERAL",
        "Explode first",
    ),
    ("SELECT min(x), window(ts, '5 minutes') FROM e GROUP BY ALL", "GROUP BY", "GROUP BY ALL is not offered"),
    (f"SELECT MIN(x) {FROM} GROUP BY ROLLUP(k), Tumbling(mi, 5)", "k)", "GROUP BY ROLLUP is not offered"),
]
WINDOWS = [
    (f"SELECT MIN(x) {FROM}", "FROM", "has no window"),
    (f"SELECT MIN(x) {FROM} GROUP BY k", "GROUP BY", "has no window"),
    ("SELECT `a`, min(x) FROM e GROUP BY `a`", "GROUP BY", "for example window(ts, '5 minutes')"),
    (f"SELECT MIN(x) {FROM} GROUP BY Tumbling(minuet, 5)", "minuet", "'minuet'. Did you mean minute?"),
    (f"SELECT MIN(x) {FROM} GROUP BY Tumbling('minute', 5)", "'minute'", "without quotes"),
    (f"SELECT MIN(x) {FROM} GROUP BY Tumbling(week, 1)", "week", "unknown unit 'week'"),
    (f"SELECT MIN(x) {FROM} GROUP BY Tumbling(minute, 0)", "0)", "must be positive, got 0"),
    (f"SELECT MIN(x) {FROM} GROUP BY Tumbling(minute, -5)", "5)", "must be positive, got -5"),
    (f"SELECT MIN(x) {FROM} GROUP BY Tumbling(minute, y)", "y)", "expected a number, got y"),
    (f"SELECT MIN(x) {FROM} GROUP BY Tumbling(minute, 1e9)", "1e9", "expected a number"),
    (f"SELECT MIN(x) {FROM} GROUP BY Tumbling(mcs, 0.5)", "0.5", "whole microseconds"),
    (f"SELECT MIN(x) {FROM} GROUP BY Tumbling(day, 200000000)", "200000000", "64 bits"),
    (f"SELECT MIN(x) {FROM} GROUP BY Tumbling(minute)", "Tumbling", "takes a unit and 1 or 2 numbers"),
    (f"SELECT MIN(x) {FROM} GROUP BY Tumbling()", "Tumbling", "takes a unit and 1 or 2 numbers"),
    (f"SELECT MIN(x) {FROM} GROUP BY Hopping(minute, 5)", "Hopping", "takes a unit and 2 or 3 numbers"),
    (f"SELECT MIN(x) {FROM} GROUP BY Hopping(minute, 10, 20)", "20)", "hop 20m is longer than duration 10m"),
    (f"SELECT MIN(x) {FROM} GROUP BY Hopping(Duration(mi, 5))", "Hopping", "Hop(unit, number) is missing"),
    (f"SELECT MIN(x) {FROM} GROUP BY Hopping(Duration(mi, 5), Hop(mi, 0))", "0)", "the hop of a window must be"),
    (f"SELECT MIN(x) {FROM} GROUP BY Tumbling(Duration(mi, 5), Hop(mi, 1))", "Hop", "expected TumblingWindow"),
    (f"SELECT MIN(x) {FROM} GROUP BY Windows()", "Windows", "holds no window"),
    (f"SELECT MIN(x) {FROM} GROUP BY Windows(kk)", "kk", "in Windows(...)"),
    (f"SELECT MIN(x) {FROM} GROUP BY Windows(Window(Tumbling(mi, 5)))", "Window(T", "takes an id in quotes"),
    (f"SELECT MIN(x) {FROM} GROUP BY Windows(Window('', Tumbling(mi, 5)))", "Window('", "takes an id in quotes"),
    (f"SELECT MIN(x) {FROM} GROUP BY Windows(Window('a', kk))", "kk", "after the id"),
    (f"SELECT MIN(x) {FROM} GROUP BY Window('a', Tumbling(mi, 5))", "Window", "stands inside Windows(...)"),
    (f"SELECT MIN(x) {FROM} GROUP BY Windows(Window('a', Tumbling(mi, 5)), Window('A', Tumbling(mi, 6)))",
     "'A'", "window id 'A' stands twice (case does not count): 5m and 6m"),
    (f"SELECT MIN(x) {FROM} GROUP BY Windows(Tumbling(mi, 5), Tumbling(second, 300))", "Tumbling(second",
     "'tumbling_5m' stands twice"),
    (f"SELECT MIN(x) {FROM} GROUP BY Tumbling(mi, 5), Hopping(mi, 5, 1)", "Hopping", "a second window"),
    (f"SELECT MIN(x) {FROM} GROUP BY SessionWindow(mi, 5, 10)", "SessionWindow", "Use Spark's session_window"),
    (f"SELECT MIN(x) {FROM} GROUP BY k, Sliding(mi, 5)", "Sliding", "Use HoppingWindow"),
    (f"SELECT MIN(x) {FROM} GROUP BY Windows(Window('a', SlidingWindow(mi, 5)))", "SlidingWindow", "Use HoppingWindow"),
    (f"SELECT MIN(x) {FROM} GROUP BY SnapshotWindow()", "SnapshotWindow", "the very same time"),
    (f"SELECT MIN(x) {FROM} GROUP BY k, System.Timestamp()", "System", "is a snapshot window"),
    (f"SELECT MIN(x) {FROM} GROUP BY k, System.Timestamp", "System", "is a snapshot window"),
    (f"SELECT MIN(x) {FROM} GROUP BY System.Window().Id, Tumbling(mi, 5)", "System", "grouped by window already"),
    (f"SELECT MIN(x) {FROM} GROUP BY TumbelingWindow(mi, 5)", "Tumbeling", "Did you mean tumblingwindow"),
    (f"SELECT Tumbling(mi, 5) AS w, MIN(x) {FROM} {BY}", "Tumbling", "stands in GROUP BY only"),
    ("SELECT min(x) FROM e GROUP BY window(ts, '5 minutes'), WINDOW(ts, '6 minutes')", "WINDOW", "Spark refuses that"),
    ("SELECT min(x) FROM e GROUP BY session_window(ts, '5 minutes')", "session_window", "length of a session"),
    ("SELECT min(x) FROM e GROUP BY window(ts)", "window", "takes 2 to 4 arguments, got 1"),
    ("SELECT min(x) FROM e GROUP BY window(ts, 5)", "5", "expected a length in quotes"),
    ("SELECT min(x) FROM e GROUP BY window(ts, interval 10 seconds)", "interval", "expected a length in quotes"),
    ("SELECT min(x) FROM e GROUP BY window(ts, '5 m', INTERVAL '10' SECOND)", "INTERVAL", "a length in quotes, got"),
    ("SELECT min(x) FROM e GROUP BY k, window(ts, NULL)", "window", "expected a length in quotes, got NULL"),
    ("SELECT min(x) FROM e GROUP BY window(ts, '10 ns')", "'10", "is in nanoseconds"),
    ("SELECT min(x) FROM e GROUP BY window(ts, '10 mss')", "'10", "unknown unit 'mss'"),
    (f"SELECT MIN(x) {FROM} GROUP BY Tumbling(ns, 5)", "ns", "nanoseconds are finer than that"),
    ("SELECT min(x) FROM e GROUP BY window(ts, '5 parsecs')", "'5", "unknown unit 'parsecs'"),
    ("SELECT min(x) FROM e GROUP BY window(ts, '1 month')", "'1", "unknown unit 'month'"),
    ("SELECT min(x) FROM e GROUP BY window(ts, '-5 minutes')", "'-5", "negative"),
    ("SELECT min(x) FROM e GROUP BY window(ts, '0 minutes')", "'0", "must be positive"),
    ("SELECT min(x) FROM e GROUP BY window(ts, '5 minutes', '0 s')", "'0", "must be positive"),
    ("SELECT min(x) FROM e GROUP BY window(ts, '5 minutes', '6 minutes')", "'6", "slide 6m is longer than duration 5m"),
    (f"SELECT window(ts, '7 minutes'), min(x) {SPARK}", "window", "not the one of GROUP BY"),
    (f"SELECT window.middle, min(x) {SPARK}", "window", "window.start or window.end"),
    (f"SELECT window_time(window), min(x) {SPARK}", "window_time", "window.end - INTERVAL 1 MICROSECOND"),
    ("SELECT min(x) FROM e GROUP BY 3, window(ts, '5 minutes')", "3", "the SELECT list has 1 items"),
    (f"SELECT MIN(x) {FROM} GROUP BY 1, Tumbling(mi, 5)", "1", "expected a column"),
]  # fmt: skip
EXPRESSIONS = [
    (f"SELECT MNI(x) {FROM} {BY}", "MNI", "unknown function 'MNI'. Did you mean min?"),
    (f"SELECT k, UPPR(k), MIN(x) {FROM} {BY}", "UPPR", "Did you mean upper"),
    (f"SELECT MIN(x) {FROM} WHERE NOSUCHTHING(x) {BY}", "NOSUCH", "unknown function 'NOSUCHTHING'"),
    (f"SELECT udf.f(x) {FROM} {BY}", "udf", "user-defined function"),
    (
        f"SELECT MIN(x) FROM Input TIMESTAMP BY make_timestamp(y, m, d, h, mi, 0) {BY}",
        "make_timestamp",
        "make_timestamp is Spark's. Azure Stream Analytics says DATETIMEFROMPARTS(",
    ),
    (f"SELECT MIN(x) {FROM} WHERE timestamp_seconds(x) > 1 {BY}", "timestamp_seconds", "says DATEADD(second, x, CAST("),
    (f"SELECT MAX(date_trunc('hour', y)) {FROM} {BY}", "date_trunc", "Stream Analytics says DATETRUNC(hour, t)"),
    (
        f"SELECT MIN(x) {FROM} WHERE CAST(yy AS time) > z {BY}",
        "time)",
        "type TIME is not offered: it has no day. Write CAST",
    ),
    (f"SELECT MIN(TRY_CAST(yy AS time(3))) {FROM} {BY}", "time(3", "for a part of it DATEPART(hour, x)"),
    (f"SELECT min(cast(yy as TIME)) {SPARK}", "TIME", "date_format(x, 'HH:mm:ss')"),
    (f"SELECT count(*) filter (where x > time'10:00:00') {SPARK}", "time'", "CAST(x AS timestamp), or for the time"),
    (f"SELECT cast(max(yy) as TIME) {SPARK}", "TIME", "type TIME is not offered"),
    (f"SELECT CORR(x, y) {FROM} {BY}", "CORR", "unknown function 'corr'"),
    (f"SELECT mni(x) {SPARK}", "mni", "Did you mean min?"),
    (f"SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) {FROM} {BY}", "PERCENTILE", "percentile_approx"),
    (f"SELECT percentile(x, 0.9) {SPARK}", "x,", "use percentile_approx(x, 0.9)"),
    (f"SELECT k, percentile(x, 0.5, w) {SPARK}", "percentile", "two arguments here, got more: weights are not offered"),
    (f"SELECT percentile(DISTINCT x, 0.5) {SPARK}", "x,", "median(DISTINCT ...) is not offered"),
    (f"SELECT percentile_approx(x, array(0.1, 0.9)) {SPARK}", "x,", "one number between 0 and 1"),
    (f"SELECT MIN(x, y) {FROM} {BY}", "MIN", "min takes one argument"),
    (f"SELECT Collect(x, y) {FROM} {BY}", "Collect", "takes 1 arguments, got 2"),
    (f"SELECT MIN(*) {FROM} {BY}", "MIN", "expressions of the input"),
    (f"SELECT SUM(DISTINCT x) {FROM} {BY}", "SUM", "only COUNT(DISTINCT x)"),
    (f"SELECT COUNT(DISTINCT x, y) {FROM} {BY}", "COUNT", "only COUNT(DISTINCT x)"),
    (f"SELECT MIN(MAX(x)) {FROM} {BY}", "MAX", "an aggregate cannot stand in an argument of min"),
    (f"SELECT MIN(x) {FROM} WHERE MAX(x) > 1 {BY}", "MAX", "Use HAVING"),
    (f"SELECT MIN(x) {FROM} GROUP BY MAX(x), Tumbling(mi, 5)", "MAX", "an aggregate cannot stand in GROUP BY"),
    (f"SELECT first(x) IGNORE NULLS {SPARK}", "first", "FILTER (WHERE x IS NOT NULL)"),
    (f"SELECT string_agg(x, ',') {SPARK}", "x,", "concat takes one argument"),
    (f"SELECT SUM(x) OVER (PARTITION BY k) {FROM} {BY}", "SUM", "offered with TopOne() only"),
    (f"SELECT LAG(x) OVER (LIMIT DURATION(mi, 5)) {FROM} {BY}", "LIMIT", "LIMIT DURATION"),
    (f"SELECT TopOne() {FROM} {BY}", "TopOne", "TopOne needs an order"),
    (f"SELECT TopOne(x, y) OVER (ORDER BY x) {FROM} {BY}", "TopOne", "or TopOne(y) for one value"),
    (f"SELECT TopOne(DISTINCT y) OVER (ORDER BY x) {FROM} {BY}", "TopOne", "expressions of the input, got DISTINCT y"),
    (f"SELECT CollectTop(2) OVER (ORDER BY x) {FROM} {BY}", "CollectTop", "CollectTop is not offered. Write TopOne()"),
    (f"SELECT PERCENTILE_CONT(0.9) OVER (ORDER BY x) {FROM} {BY}", "PERC", "Write PERCENTILE_APPROX(x, 0.9)"),
    (f"SELECT PERCENTILE_DISC(0.9) OVER (ORDER BY x) {FROM} {BY}", "PERC", "Write PERCENTILE_APPROX(x, 0.9)"),
    (f"SELECT TopOne() OVER (ORDER BY x DESC, y) {FROM} {BY}", "TopOne", "the same direction"),
    (f"SELECT k {FROM} {BY}", "SELECT", "has no aggregate"),
    (f"SELECT k, yy, MIN(x) {FROM} {BY}", "yy", "column yy is neither in GROUP BY nor inside an aggregate"),
    (f"SELECT k, yy + 1 AS z, MIN(x) {FROM} {BY}", "yy", "write for example MAX(yy)"),
    (f"SELECT MIN(x) {FROM} {BY} HAVING yy > 1", "yy", "neither in GROUP BY"),
    (f"SELECT MIN(x) AS low, low + 1 AS z {FROM} {BY}", "low +", "neither in GROUP BY"),
    (f"SELECT xxhash64(yy), min(x) {SPARK}", "yy", "neither in GROUP BY"),
    (f"SELECT collate(yy, 'UTF8_LCASE'), min(x) {SPARK}", "yy", "neither in GROUP BY"),
    (f"SELECT MIN(x) AS window_id {FROM} {BY}", "window_id", "the window's own column"),
    (f"SELECT MIN(x) AS [Window] {FROM} {BY}", "[Window]", "the window's own column"),
    (f"SELECT MIN(x) AS _MT_a {FROM} {BY}", "_MT_a", "begin with '_mt_' are reserved"),
    (f"SELECT MIN(x) {FROM} GROUP BY T, Tumbling(mi, 5)", "T,", "the time of the events cannot be a key"),
    ("SELECT min(x) FROM e GROUP BY kk, window(kk, '5 minutes')", "kk", "the time of the events cannot be a key"),
    (f"SELECT MIN(x) {FROM} WHERE DATEDIFF(hour, , a) > 1 {BY}", "DATEDIFF", "expected three arguments"),
    (f"SELECT MIN(x) {FROM} WHERE LEN(a, b) > 1 {BY}", "b)", "arguments of the function that ends here"),
    (f"SELECT nobody(*) FILTER (WHERE x) {SPARK}", "nobody", "unknown function 'nobody'"),
    (f"SELECT count() {SPARK}", "count", "count takes an argument, got none"),
    (f"SELECT percentile_approx(x,) {SPARK}", "x,", "one number between 0 and 1"),
    (f"SELECT k, MIN(x) AS K {FROM} {BY}", "K FROM", "two columns 'K'"),
    (f"SELECT System.Window().Start, MIN(x) {FROM} {BY}", "System", "System.Window() has an Id only"),
    (f"SELECT MIN(x) {FROM} WHERE System.Window().Id = 'a' {BY}", "System", "known after grouping only"),
    (f"SELECT MIN(x) FROM Input WHERE System.Timestamp() > 1 {BY}", "System", "needs TIMESTAMP BY"),
    (f"SELECT MIN(x) {FROM} WHERE DATEPART(ns, aa) > 1 {BY}", "ns", "nanoseconds are finer than that"),
    (f"SELECT MIN(x) {FROM} WHERE DATENAME(ns, aa) > '1' {BY}", "ns", "nanoseconds are finer than that"),
    (f"SELECT MIN(x) {FROM} WHERE DATEADD(eon, 1, a) > b {BY}", "eon", "unknown unit 'eon'."),
    (f"SELECT MIN(x) {FROM} WHERE DATEDIFF(h, a, b) > 1 {BY}", "h,", "unknown unit 'h'. Did you mean hh?"),
    (f"SELECT MIN(x) {FROM} WHERE DATEDIFF(iso_week, a, b) > 1 {BY}", "iso_week", "unknown unit 'iso_week'"),
    (f"SELECT MIN(x) {FROM} WHERE DATEPART(minuet, a) > 1 {BY}", "minuet", "'minuet'. Did you mean minute?"),
    (f"SELECT MIN(x) {FROM} WHERE DATEPART('minute', a) > 1 {BY}", "'minute'", "minute mi n, second ss s,"),
    (f"SELECT k, DATENAME(us, MIN(x)) AS z {FROM} {BY}", "us", "unknown unit 'us'"),
    (f"SELECT MIN(x) {FROM} WHERE DATEPART(a) > 1 {BY}", "DATEPART", "expected two arguments: a unit, then a time"),
    (f"SELECT MIN(x) {FROM} WHERE DATENAME(month, a, b) > 1 {BY}", "DATENAME", "as in DATENAME(weekday, t)"),
    (f"SELECT MIN(x) {FROM} WHERE DATEADD(month, a) > 1 {BY}", "DATEADD", "expected three arguments: a unit, a number"),
    (f"SELECT GetRecordPropertyValue(k, k), MIN(x) {FROM} {BY}", "GetRecord", "a constant in quotes"),
]


@pytest.mark.parametrize("newlines", [False, True], ids=["one line", "many lines"])
@pytest.mark.parametrize(("query", "at", "message"), [*SYNTAX, *CLAUSES, *WINDOWS, *EXPRESSIONS])
def test_refused_with_place_and_reason(query: str, at: str, message: str, newlines: bool) -> None:
    """Spread over lines, the place moves and the message does not."""
    text = query.replace(" ", "\n\t") if newlines and "--" not in query else query
    at = at.replace(" ", "\n\t") if newlines and "--" not in query else at
    assert at in text
    with pytest.raises(SqlError) as caught:
        parse_sql(text)
    start = text.index(at)
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    assert (caught.value.line, caught.value.column) == (line, column)
    *first, shown, caret = str(caught.value).split("\n")
    assert "\n".join(first).startswith(f"line {line}, column {column}: ")
    assert message in "\n".join(first)
    assert shown == "  " + text.split("\n")[line - 1]
    assert caret.strip("\t ^") == ""
    assert caret.index("^") == column + 1
    assert [char == "\t" for char in caret[:column]] == [char == "\t" for char in shown[:column]]


def test_figure_1a_as_printed_names_the_open_parentheses() -> None:
    text = (
        "SELECT DeviceID, System.Window().Id, Min(T) AS MinTemp,\nFROM Input TIMESTAMP BY EntryTime\n"
        "GROUP BY DeviceID, Windows(\n  Window('20 min', TumblingWindow(minute, 20),\n"
        "  Window('30 min', TumblingWindow(minute, 30),\n  Window('40 min', TumblingWindow(minute, 40))"
    )
    expected = "3 '(' are never closed, opened at line 3 column 27, line 4 column 9, line 5 column 9"
    with pytest.raises(SqlError, match="3 '\\(' are never closed") as caught:
        parse_sql(text)
    assert expected in str(caught.value)


@pytest.mark.parametrize("given", [None, 5, b"SELECT 1"])
def test_only_text_is_a_query(given: object) -> None:
    with pytest.raises(SqlError, match="expected a query as text"):
        parse_sql(given)  # type: ignore[arg-type]


def test_deep_nesting_is_refused_not_a_crash() -> None:
    with pytest.raises(SqlError, match="nested too deeply"):
        parse_sql(f"SELECT {'(' * 5000}1{')' * 5000} AS a, MIN(x) {FROM} {BY}")


def test_of_an_endless_line_the_neighbourhood_is_shown() -> None:
    many = ", ".join(f"MIN(x{i}) AS low{i}" for i in range(200))
    with pytest.raises(SqlError) as caught:
        parse_sql(f"SELECT {many}, yy {FROM} {BY}")
    _, shown, caret = str(caught.value).split("\n")
    assert len(shown) < 250
    assert shown[caret.index("^") :].startswith("yy")
    assert caught.value.column == len(f"SELECT {many}, ") + 1


def test_the_error_is_one_of_the_package() -> None:
    with pytest.raises(MuntinError):
        parse_sql("SELECT")
