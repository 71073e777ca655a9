"""SQL that does not go with its input: the error shows where, and says it in the words of SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import muntin as mt
from muntin import Statistics
from muntin.declare.sql import parse_sql
from muntin.errors import QueryError, SqlError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GIVEN = Statistics(rows=1e6, keys=1, span=1_000_000)
FROM = "FROM e TIMESTAMP BY ts"
BY = "GROUP BY Tumbling(mi, 5)"


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    return spark.sql("select timestamp_seconds(id) ts, id v, string(id) s, id k, map(id, id) m from range(3)")


# The query, the text at which the caret must stand, and what is said.
REFUSED = [
    (f"SELECT MIN(v) + MAX(nope) AS z {FROM} {BY}", "MAX", "nope cannot be taken from the input"),
    (f"SELECT COUNT(*), SUM(s) AS total {FROM} {BY}", "SUM", "`total`: sum takes numbers, and s is of type string. "
     "Cast it first: TRY_CAST(s AS float), which makes null"),
    (f"SELECT COUNT(*), SUM(s) {FROM} {BY}", "SUM", ": sum takes numbers, and s is"),
    ("SELECT SUM(s) FROM e GROUP BY window(ts, '5 minutes')", "SUM", "Cast it first: TRY_CAST(s AS double), which"),
    ("SELECT max(v), bool_or(v) FROM e GROUP BY window(ts, '5 minutes')", "bool_or", "for example bool_or(v > 0)"),
    ("SELECT bool_and(v) FROM e GROUP BY window(ts, '5 minutes')", "bool_and", "for example bool_and(v > 0)"),
    (f"SELECT MAX(m) {FROM} {BY}", "MAX", ": max cannot order m, of type map<bigint,bigint>"),
    (f"SELECT STRING_AGG(v) {FROM} {BY}", "v)", ": concat joins strings, and v is of type bigint"),
    (f"SELECT COUNT(*) FILTER (WHERE v) {FROM} {BY}", "COUNT", ": the filter is of type bigint, not a condition"),
    (f"SELECT APPROX_COUNT_DISTINCT(m) {FROM} {BY}", "APPROX", "approx_distinct cannot be computed: "),
    (f"SELECT percentile_cont(v) {FROM} {BY}", "percentile", "unknown function"),
    # The key takes the name of a column that aggregates read.
    (f"SELECT UPPER(s) AS s, SUM(s) {FROM} GROUP BY UPPER(s), Tumbling(mi, 5)", "SUM", "numbers, and s is of type"),
    (f"SELECT UPPER(s) AS s, SUM(nope) {FROM} GROUP BY UPPER(s), Tumbling(mi, 5)", "SUM", "nope cannot be computed"),
    (f"SELECT COUNT(*) {FROM} GROUP BY k, nope, Tumbling(mi, 5)", "nope", "the key nope: nope cannot be computed"),
    (f"SELECT COUNT(*) {FROM} GROUP BY k, m, Tumbling(mi, 5)", "m, T", "the key 'm' is of type map"),
    (f"SELECT COUNT(*) {FROM} WHERE nope > 1 {BY}", "nope", "WHERE: nope > 1 cannot be computed"),
    (f"SELECT COUNT(*) {FROM} {BY} HAVING MIN(v)", "MIN", "HAVING min(v) is of type bigint, not a condition"),
    (f"SELECT MIN(v) AS low {FROM} {BY} HAVING LOW", "LOW", "HAVING low is of type bigint, not a condition"),
    (f"SELECT COUNT(*) {FROM} {BY} HAVING 0 < MAX(v) AND MIN(v)", "0 <", "HAVING cannot be computed: "),
    (f"SELECT COUNT(*) {FROM} {BY} HAVING MIN(v) AND MAX(v) > 0", "MIN", "(min(v) AND (max(v) > 0))"),
    ("SELECT max(v) FROM e GROUP BY window(ts, '5 minutes') HAVING sum(v) + 1", "sum", "is of type bigint, not a"),
    (f"SELECT COUNT(*) {FROM} WHERE v {BY}", "v G", "WHERE v is of type bigint, not a condition"),
    (f"SELECT COUNT(*) {FROM.replace('ts', 'nope')} {BY}", "nope", "TIMESTAMP BY: nope cannot be computed"),
    (f"SELECT COUNT(*) {FROM.replace('ts', 'v')} {BY}", "v G", "TIMESTAMP BY v is of type bigint"),
    ("SELECT COUNT(*) FROM e GROUP BY window(nope, '5 minutes')", "nope", "TIMESTAMP BY: nope cannot be computed"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "at", "said"), REFUSED)
def test_what_does_not_go_with_the_input_is_shown_where_it_stands(
    events: DataFrame, text: str, at: str, said: str
) -> None:
    text = text.replace(" FROM", "\nFROM")
    start = text.index(at)
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    with pytest.raises(SqlError) as caught:
        mt.sql(text, e=events).plan(statistics=GIVEN)
    message, shown, caret = str(caught.value).split("\n")
    assert message.startswith(f"line {line}, column {column}: ")
    assert said in message
    assert (caught.value.line, caught.value.column) == (line, column)
    assert shown[caret.index("^") :].startswith(at)
    # Python is for those who write it, and so are muntin's own names.
    for foreign in ("agg.", "F.", "DataFrame", "_mt_", "_1`", "_2`"):
        assert foreign not in message


def test_a_column_that_is_muntins_own_is_not_offered(events: DataFrame) -> None:
    with pytest.raises(SqlError, match=r"following\? \[`") as caught:
        mt.sql(f"SELECT MIN(mt_tim) {FROM} {BY}", e=events).plan(statistics=GIVEN)
    assert "_mt_" not in str(caught.value)


def test_it_is_an_error_of_the_query_too_and_native_says_the_same(events: DataFrame) -> None:
    query = mt.sql(f"SELECT SUM(s) AS total {FROM} {BY}", e=events)
    with pytest.raises(QueryError, match="line 1, column 8: `total`: sum takes numbers"):
        query.native()


def test_what_names_nothing_of_the_text_is_said_as_it_is(events: DataFrame) -> None:
    query = mt.sql(f"SELECT COUNT(*) {FROM} {BY}", e=events)
    with pytest.raises(QueryError, match="no strategy 'fast'") as caught:
        query.plan(strategy="fast")  # type: ignore[arg-type]
    assert not isinstance(caught.value, SqlError)


# The words for a part of a time, and what DATEPART and DATENAME say of the first and of the second time.
TIMES = ("timestamp '2023-10-31 15:04:05.006007'", "timestamp '2028-01-02 00:59:59.999999'")
PARTS = [
    ("year yyyy yy", (2023, "2023"), (2028, "2028")),
    ("quarter qq q", (4, "4"), (1, "1")),
    ("month mm m", (10, "October"), (1, "January")),
    ("dayofyear dy y", (304, "304"), (2, "2")),
    ("day dd d", (31, "31"), (2, "2")),
    # January 1, 2028 is a Saturday, so the second week begins the day after.
    ("week wk ww", (44, "44"), (2, "2")),
    ("iso_week isowk isoww", (44, "44"), (52, "52")),
    ("weekday dw w", (3, "Tuesday"), (1, "Sunday")),
    ("hour hh", (15, "15"), (0, "0")),
    ("minute mi n", (4, "4"), (59, "59")),
    ("second ss s", (5, "5"), (59, "59")),
    ("millisecond ms", (6, "6"), (999, "999")),
    ("microsecond mcs", (6007, "6007"), (999999, "999999")),
]


def said(spark: SparkSession, expressions: list[str], columns: str) -> tuple[object, ...]:
    """Compute expressions of Azure's over one row, as arguments of an aggregate are."""
    texts = [parse_sql(f"SELECT MIN({text}) {FROM} {BY}").aggregates[0].arguments[0] for text in expressions]
    return tuple(spark.sql(f"select {columns}").selectExpr(*texts).collect()[0])


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz", "string"])
def test_parts_of_times_are_those_of_azure(spark: SparkSession, kind: str) -> None:
    asked = [
        (f"{function}({form(word)}, {column})", answer[place])
        for words, *answers in PARTS
        for word in words.split()
        for form in (str.lower, str.upper)
        for column, answer in zip("ab", answers, strict=True)
        for place, function in enumerate(("DATEPART", "DATENAME"))
    ]
    columns = ", ".join(f"cast({time} as {kind}) as {name}" for name, time in zip("ab", TIMES, strict=True))
    assert list(said(spark, [text for text, _ in asked], columns)) == [answer for _, answer in asked]


def test_weeks_of_the_year_begin_on_sunday_and_on_the_first_of_january(spark: SparkSession) -> None:
    """Eleven years day by day: the first of January is every day of the week."""
    text = parse_sql(f"SELECT MIN(DATEPART(week, d)) {FROM} {BY}").aggregates[0].arguments[0]
    days = spark.range(4018).selectExpr("timestamp '2020-01-01' + make_dt_interval(cast(id as int)) as d")
    week = 0
    for day, found in days.selectExpr("cast(d as date)", text).collect():
        week = 1 if (day.month, day.day) == (1, 1) else week + (day.isoweekday() == 7)
        assert found == week, day


DIFFERENCES = [
    ("hour", "10:59:59", "11:00:00", 1),
    ("hour", "11:00:00", "10:59:59", -1),
    ("minute", "10:00:01", "10:00:59", 0),
    ("ss", "10:00:00.9", "10:00:01.1", 1),
    ("ms", "10:00:00.0009", "10:00:00.001", 1),
    ("mcs", "10:00:00", "10:00:00.000007", 7),
]
DAYS = [
    ("year yyyy yy", "2023-12-31", "2024-01-01", 1),
    ("quarter qq q", "2023-03-31", "2023-10-01", 3),
    ("month mm m", "2024-01-31", "2024-03-01", 2),
    ("day dd d dayofyear dy y weekday dw w", "2024-02-28", "2024-03-01", 2),
    # Saturday, Sunday, Monday.
    ("week wk ww", "2024-06-01", "2024-06-02", 1),
    ("week wk ww", "2024-06-02", "2024-06-03", 0),
    ("week wk ww", "2024-06-02", "2024-06-01", -1),
    ("week wk ww", "2023-12-31", "2024-01-06", 0),
]


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz", "string"])
def test_differences_count_the_boundaries_crossed(spark: SparkSession, kind: str) -> None:
    rows = [(w, f"2024-06-01 {a}", f"2024-06-01 {b}", n) for w, a, b, n in DIFFERENCES]
    rows += [(w, f"{a} 23:00:00", f"{b} 01:00:00", n) for words, a, b, n in DAYS for w in words.split()]
    columns = ", ".join(
        f"cast(timestamp '{a}' as {kind}) as a{place}, cast(timestamp '{b}' as {kind}) as b{place}"
        for place, (_, a, b, _) in enumerate(rows)
    )
    found = said(spark, [f"DATEDIFF({row[0]}, a{place}, b{place})" for place, row in enumerate(rows)], columns)
    assert list(zip(rows, found, strict=True)) == [(row, row[3]) for row in rows]


def test_what_is_added_is_of_the_unit_and_fractions_are_cut_off(spark: SparkSession) -> None:
    added = [
        ("yy, 1", "2025-01-31 00:00:00"), ("q, 1", "2024-04-30 00:00:00"), ("m, 1", "2024-02-29 00:00:00"),
        ("y, 2", "2024-02-02 00:00:00"), ("dw, 2", "2024-02-02 00:00:00"), ("w, 2", "2024-02-02 00:00:00"),
        ("d, -31", "2023-12-31 00:00:00"), ("ww, 1", "2024-02-07 00:00:00"), ("hh, 25", "2024-02-01 01:00:00"),
        ("n, 1.9", "2024-01-31 00:01:00"), ("n, -1.9", "2024-01-30 23:59:00"), ("s, 61", "2024-01-31 00:01:01"),
        ("ms, 5", "2024-01-31 00:00:00.005"), ("mcs, 5", "2024-01-31 00:00:00.000005"),
    ]  # fmt: skip
    texts = [f"CAST(DATEADD({what}, a) AS nvarchar(max))" for what, _ in added]
    assert list(said(spark, texts, "timestamp '2024-01-31' as a")) == [answer for _, answer in added]


def test_the_time_of_text_is_compared_as_a_time(spark: SparkSession) -> None:
    """As text 09:00+02:00 is after 08:00Z; it is an hour before."""
    texts = ["2024-06-01T09:00:00+02:00", "2024-06-01T08:00:00Z", "2024-06-01 08:00:01"]
    frame = spark.createDataFrame([(text,) for text in texts], "ts string")
    after = "WHERE System.Timestamp() > '2024-06-01T07:30:00Z'"
    count = "SELECT COUNT(*) AS n, MAX(System.Timestamp()) AS high"
    found = mt.sql(f"{count} {FROM} GROUP BY Tumbling(hour, 24)", e=frame).native()
    assert found.selectExpr("n", "unix_seconds(high)").collect() == [(3, 1_717_228_801)]
    found = mt.sql(f"{count} {FROM} {after} GROUP BY Tumbling(hour, 24)", e=frame).native()
    assert [row.n for row in found.collect()] == [2]


def test_times_are_cut_at_every_unit_and_weeks_at_sunday(spark: SparkSession) -> None:
    cut = {
        "yy": "2023-01-01 00:00:00", "q": "2023-10-01 00:00:00", "m": "2023-10-01 00:00:00", "y": "2023-10-31 00:00:00",
        "d": "2023-10-31 00:00:00", "ww": "2023-10-29 00:00:00", "iso_week": "2023-10-30 00:00:00",
        "hh": "2023-10-31 15:00:00", "n": "2023-10-31 15:04:00", "s": "2023-10-31 15:04:05",
        "ms": "2023-10-31 15:04:05.006", "mcs": "2023-10-31 15:04:05.006007",
    }  # fmt: skip
    texts = [f"CAST(DATETRUNC({unit}, a) AS nvarchar(max))" for unit in cut]
    assert list(said(spark, texts, f"{TIMES[0]} as a")) == list(cut.values())
    sunday = said(spark, ["CAST(DATETRUNC(week, a) AS nvarchar(max))"], "timestamp '2024-06-02 23:00:00' as a")
    assert sunday == ("2024-06-02 00:00:00",)


LIKE = [
    ("a[0-9]%", ["a1", "a12x", "a3\nb"], ["a", "b1", "xa1", "a-"]),
    ("[^a-c.]_", ["d1", "^x"], ["a1", ".1", "d", "d12"]),
    ("[[]x]", ["[x]"], ["x", "[x"]),
    ("[]a]", ["]", "a"], ["[]a]"]),
    ("[-+]1", ["-1", "+1"], ["1", ",1"]),
    (r"c:\%", ["c:\\", "c:\\temp"], ["c:", "c:%"]),
    (r"[\w&&^]", ["w", "\\", "&", "^"], ["a", ""]),
    ("50!%%' ESCAPE '!", ["50%", "50% off"], ["50", "50 %"]),
    ("a!b' ESCAPE '!", ["ab"], ["a!b"]),
    ("1.5$[|]", ["1.5$|"], ["1x5$|"]),
]


@pytest.mark.parametrize(("pattern", "matching", "others"), LIKE)
def test_like_knows_sets_of_characters(
    spark: SparkSession, pattern: str, matching: list[str], others: list[str]
) -> None:
    where = parse_sql(f"SELECT COUNT(*) {FROM} WHERE x LIKE '{pattern}' {BY}")
    frame = spark.createDataFrame([(text,) for text in [*matching, *others]], "x string")
    assert where.where is not None
    assert [row[0] for row in frame.where(where.where).collect()] == matching


def test_columns_called_as_constants_hold_their_values(events: DataFrame) -> None:
    found = mt.sql(f"SELECT COUNT(*) AS [true], UPPER(s) AS [null] {FROM} GROUP BY UPPER(s), Tumbling(mi, 5)", e=events)
    assert sorted(map(tuple, found.native().collect())) == [(1, "0"), (1, "1"), (1, "2")]
    assert sorted(map(tuple, found.plan(statistics=GIVEN).run().collect())) == [(1, "0"), (1, "1"), (1, "2")]
