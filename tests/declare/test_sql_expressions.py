"""Expressions: from Azure's dialect or Spark's to Spark SQL text that means the same."""

from __future__ import annotations

import pytest
import sqlglot

from muntin.declare.sql import parse_sql

AZURE = [
    ("ISNULL(x, 0)", "COALESCE(x, 0)"),
    ("COALESCE(x, y)", "COALESCE(x, y)"),
    ("CAST(x AS float)", "CAST(x AS DOUBLE)"),
    ("CAST(x AS bigint)", "CAST(x AS BIGINT)"),
    ("CAST(x AS nvarchar(max))", "CAST(x AS STRING)"),
    ("CAST(x AS datetime)", "CAST(x AS TIMESTAMP)"),
    ("CAST(x AS bit)", "CAST(x AS BOOLEAN)"),
    ("TRY_CAST(x AS bigint)", "TRY_CAST(x AS BIGINT)"),
    ("TRY_CAST(CAST(x AS float) AS float)", "TRY_CAST(CAST(x AS DOUBLE) AS DOUBLE)"),
    ("CASE WHEN x > 1 THEN 'a' ELSE 'b' END", "CASE WHEN x > 1 THEN 'a' ELSE 'b' END"),
    ("CASE x WHEN 1 THEN 2 END", "CASE x WHEN 1 THEN 2 END"),
    ("IIF(x > 1, 2, 3)", "IF(x > 1, 2, 3)"),
    ("LEN(x)", "LENGTH(CAST(x AS STRING))"),
    ("UPPER(x)", "UPPER(x)"),
    ("SUBSTRING(x, 1, 2)", "SUBSTRING(x, 1, 2)"),
    ("CONCAT(x, 'a')", "CONCAT(COALESCE(x, ''), 'a')"),
    ("REPLACE(x, 'a', 'b')", "REPLACE(x, 'a', 'b')"),
    ("CHARINDEX('a', x)", "LOCATE('a', x)"),
    ("x LIKE 'a%'", "x LIKE 'a%'"),
    ("x NOT LIKE y", "x NOT LIKE y"),
    ("x LIKE '[ab]%'", r"x RLIKE '(?s)^[ab].*\\z'"),
    ("NOT x NOT LIKE '[ab]'", r"NOT (NOT x RLIKE '(?s)^[ab]\\z')"),
    ("x !> 1 AND x !< y", "x <= 1 AND x >= y"),
    ("x IN (1, 2)", "x IN (1, 2)"),
    ("x BETWEEN 1 AND 2", "x BETWEEN 1 AND 2"),
    ("x IS NOT NULL", "NOT x IS NULL"),
    ("x <> 'it''s'", r"x <> 'it\'s'"),
    (r"x = 'a\b'", r"x = 'a\\b'"),
    ("x = '-- no comment /* here'", "x = '-- no comment /* here'"),
    ("x = 1 -- a comment\n", "x = 1"),
    ("x /* a comment */ = 1", "x = 1"),
    ("x = '(' OR x = '((' OR x = ')'", "x = '(' OR x = '((' OR x = ')'"),
    ("x = '('", "x = '('"),
    ("-x % 2", "-x % 2"),
    ("(x + 1) * 2", "(x + 1) * 2"),
    ("ABS(x) + FLOOR(x) + POWER(x, 2) + SQUARE(x)", "ABS(x) + FLOOR(x) + POWER(x, 2) + POWER(x, 2)"),
    ("[my col] + [order] + [plain]", "`my col` + `order` + `plain`"),
    ("r.a.b", "r.a.b"),
    ("DATEADD(minute, 5, x)", "DATE_ADD(MINUTE, 5, x)"),
    ("DATEADD(mi, -5, x)", "DATE_ADD(MINUTE, -5, x)"),
    ("DATEADD(n, 5, x)", "DATE_ADD(MINUTE, 5, x)"),
    ("DATEADD(d, 5, x)", "DATE_ADD(DAY, 5, x)"),
    ("DATEADD(ms, 5, x)", "DATE_ADD(MILLISECOND, 5, x)"),
    ("DATEADD(hh, 1, DATEADD(ss, 2, x))", "DATE_ADD(HOUR, 1, DATE_ADD(SECOND, 2, x))"),
    ("DATEADD(y, 5, x)", "DATE_ADD(DAY, 5, x)"),
    ("DATEADD(w, 5, x)", "DATE_ADD(DAY, 5, x)"),
    ("DATEDIFF(hour, x, y)", "TIMESTAMPDIFF(HOUR, DATE_TRUNC('HOUR', x), DATE_TRUNC('HOUR', y))"),
    ("DATEDIFF(Y, x, y)", "TIMESTAMPDIFF(DAY, DATE_TRUNC('DAY', x), DATE_TRUNC('DAY', y))"),
    ("DATEDIFF_BIG(ss, x, y)", "TIMESTAMPDIFF(SECOND, DATE_TRUNC('SECOND', x), DATE_TRUNC('SECOND', y))"),
    ("DATEPART(mi, x)", "CAST(EXTRACT(MINUTE FROM x) AS BIGINT)"),
    ("DATEPART(second, x)", "CAST(EXTRACT(SECOND FROM x) AS BIGINT)"),
    ("2 * DATEPART(ms, x)", "2 * CAST(EXTRACT(SECOND FROM x) * 1000 % 1000 AS BIGINT)"),
    ("DATEPART(mcs, x) + 1", "CAST(EXTRACT(SECOND FROM x) * 1000000 % 1000000 AS BIGINT) + 1"),
    ("DATEPART(month, x)", "CAST(EXTRACT(MONTH FROM x) AS BIGINT)"),
    ("DATEPART(iso_week, x)", "CAST(EXTRACT(WEEK FROM x) AS BIGINT)"),
    ("DATEPART(w, x)", "CAST(EXTRACT(DAYOFWEEK FROM x) AS BIGINT)"),
    ("DATETRUNC(hh, x)", "DATE_TRUNC('HOUR', x)"),
    ("DATETRUNC(iso_week, x)", "DATE_TRUNC('WEEK', x)"),
    ("DATENAME(m, x)", "DATE_FORMAT(x, 'MMMM')"),
    ("DATENAME(hh, DATEADD(hh, 1, x))", "CAST(CAST(EXTRACT(HOUR FROM DATE_ADD(HOUR, 1, x)) AS BIGINT) AS STRING)"),
    ("YEAR(x)", "YEAR(x)"),
    ("DATETIMEFROMPARTS(2020, 1, 2, 3, 4, 5, y)", "MAKE_TIMESTAMP(2020, 1, 2, 3, 4, (5) + (y) / 1000)"),
    ("GetArrayLength(x)", "SIZE(x)"),
    ("GetArrayElement(x, 0)", "GET(x, 0)"),
    ("GetRecordPropertyValue(x, 'a b')", "x.`a b`"),
    ("CAST(GetArrayElement(r.x, 0) AS float)", "CAST(GET(r.x, 0) AS DOUBLE)"),
]  # fmt: skip
SPARK = [
    "x + 1",
    "CAST(x AS FLOAT)",
    "COALESCE(x, 0)",
    "x.y.z",
    "x[0]",
    "m['k']",
    "`a b` / 2",
    "x DIV 2",
    "IF(x > 1, 2, 3)",
    "DATE_TRUNC('HOUR', ts)",
    "DATEDIFF(a, b)",
    "DATE_ADD(MINUTE, 5, a)",
    "TIMESTAMPDIFF(MINUTE, a, b)",
    "ts - INTERVAL '5' MINUTES",
    "x RLIKE 'a.b'",
    r"x = 'it\'s'",
    "XXHASH64(x)",
    "TRANSFORM(a, v -> v + 1)",
    "CASE WHEN x THEN y END",
    "UNIX_SECONDS(ts)",
]
# What sqlglot's own Spark would write in another way, with another result or none.
SPARK_AS_WRITTEN = [
    "FLOOR(LOG10(x)) + LOG2(x)",
    "VARIANT_GET(PARSE_JSON(x), '$.a', 'int')",
    "TO_CHAR(x, '999')",
    "LOCALTIMESTAMP() > ts",
    "CURRENT_CATALOG()",
    "COLLATE(x, 'UTF8_LCASE')",
    "x COLLATE UTF8_LCASE",
    "GET_JSON_OBJECT(x, '$.a[\"b\"]')",
]
SPARK_REWRITTEN = [
    # Spark 4 reads a doubled quote as one, and joins strings that stand apart or have other quotes.
    ("x = 'O''Brien'", r"x = 'O\'Brien'"),
    ("x = ''''", r"x = '\''"),
    ("x = 'a''''b''c'", r"x = 'a\'\'b\'c'"),
    ('x = "a""b"', "x = 'a\"b'"),
    ("x = \"O''Brien\"", r"x = 'O\'\'Brien'"),
    ("x = 'a' 'b'", "x = CONCAT('a', 'b')"),
    ("x = 'a'\"b\"", "x = CONCAT('a', 'b')"),
    # A sum, and the parentheses are the minus's.
    ("ts - interval 23 hours 30 minutes", "ts - (INTERVAL '23' HOURS + INTERVAL '30' MINUTES)"),
    (
        "ts - interval 1 day 2 hours 3 minutes > x",
        "ts - (INTERVAL '1' DAY + INTERVAL '2' HOURS + INTERVAL '3' MINUTES) > x",
    ),
]


def places(expression: str, input_of: str) -> tuple[str | None, ...]:
    """Put an expression where input is read: WHERE, an argument and a key."""
    azure = input_of == "azure"
    window = "Tumbling(mi, 5)" if azure else "window(ts, '5 minutes')"
    time = "TIMESTAMP BY t" if azure else ""
    where = parse_sql(f"SELECT COUNT(*) FROM i {time} WHERE {expression} GROUP BY {window}")
    argument = parse_sql(f"SELECT MIN({expression}) FROM i {time} GROUP BY {window}")
    key = parse_sql(f"SELECT COUNT(*) FROM i {time} GROUP BY {expression}, {window}")
    return where.where, argument.aggregates[0].arguments[0], key.keys[0].text


@pytest.mark.parametrize(("expression", "text"), AZURE)
def test_azure_to_spark(expression: str, text: str) -> None:
    assert places(expression, "azure") == (text, text, text)


@pytest.mark.parametrize("expression", [*SPARK, *SPARK_AS_WRITTEN])
def test_spark_stays(expression: str) -> None:
    assert places(expression, "spark") == (expression, expression, expression)


def test_logarithms_of_azure_are_those_of_spark() -> None:
    assert places("FLOOR(LOG10(x))", "azure") == ("FLOOR(LOG10(x))",) * 3


@pytest.mark.parametrize(("expression", "text"), SPARK_REWRITTEN)
def test_spark_keeps_its_meaning(expression: str, text: str) -> None:
    assert places(expression, "spark") == (text, text, text)


@pytest.mark.parametrize("text", [*(text for _, text in AZURE), *SPARK])
def test_texts_read_again_give_themselves(text: str) -> None:
    assert sqlglot.parse_one(text, dialect="spark").sql("spark") == text


@pytest.mark.parametrize(("expression", "text"), AZURE)
def test_the_same_over_keys(expression: str, text: str) -> None:
    """SELECT and HAVING go another way than WHERE does, to the same text."""
    keys = "x, y, r, [my col], [order], [plain]"
    query = parse_sql(
        f"SELECT ({expression}) AS a, COUNT(*) AS n FROM i TIMESTAMP BY t "
        f"GROUP BY {keys}, Tumbling(mi, 5) HAVING {expression}"
    )
    assert (query.outputs[0].text, query.having) == (text, text)
