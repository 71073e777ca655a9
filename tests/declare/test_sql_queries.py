"""Queries that are read: windows, keys, aggregates, outputs, and what else they say."""

from __future__ import annotations

import pytest

from muntin import hopping, tumbling
from muntin.aggregate.names import BUILT_IN
from muntin.declare.sql import AggregateCall, Key, Output, SelectQuery, parse_sql
from muntin.window.spec import Window

FIGURE_1A = """
SELECT DeviceID, System.Window().Id, Min(T) AS MinTemp,
FROM Input TIMESTAMP BY EntryTime
GROUP BY DeviceID, Windows(
  Window('20 min', TumblingWindow(minute, 20)),
  Window('30 min', TumblingWindow(minute, 30)),
  Window('40 min', TumblingWindow(minute, 40)))
"""


def azure(select: str = "MIN(x) AS low", by: str = "k, TumblingWindow(minute, 5)", rest: str = "") -> SelectQuery:
    return parse_sql(f"SELECT {select} FROM Input TIMESTAMP BY t GROUP BY {by} {rest}")


def spark(select: str = "min(x) AS low", by: str = "window(ts, '5 minutes'), k", rest: str = "") -> SelectQuery:
    return parse_sql(f"SELECT {select} FROM events GROUP BY {by} {rest}")


def test_figure_1a_of_the_paper() -> None:
    assert parse_sql(FIGURE_1A) == SelectQuery(
        source="Input",
        time="EntryTime",
        closed="right",
        where=None,
        keys=(Key("DeviceID", "DeviceID"),),
        windows=(tumbling("20m"), tumbling("30m"), tumbling("40m")),
        aggregates=(AggregateCall("MinTemp", "min", ("T",)),),
        having=None,
        outputs=(Output("DeviceID", "DeviceID"), Output("window_id", "window_id"), Output("MinTemp", "MinTemp")),
    )
    assert [window.id for window in parse_sql(FIGURE_1A).windows] == ["20 min", "30 min", "40 min"]


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("TumblingWindow(minute, 5)", tumbling("5m")),
        ("Tumbling(minute, 5)", tumbling("5m")),
        ("TUMBLINGWINDOW(MINUTE, 5)", tumbling("5m")),
        ("TumblingWindow(minute, 5, 1)", tumbling("5m", offset="1m")),
        ("TumblingWindow(minute, 5, -1)", tumbling("5m", offset="4m")),
        ("TumblingWindow(Duration(hour, 1))", tumbling("1h")),
        ("TumblingWindow(Duration(hour, 1), Offset(millisecond, -1))", Window(3_600_000_000, 3_600_000_000, -1000)),
        ("Tumbling(Duration(hh, 1), Offset(mi, 10))", tumbling("1h", offset="10m")),
        ("HoppingWindow(minute, 60, 10)", hopping("1h", "10m")),
        ("Hopping(minute, 60, 10)", hopping("1h", "10m")),
        ("HoppingWindow(minute, 60, 10, 5)", hopping("1h", "10m", offset="5m")),
        ("HoppingWindow(Duration(hour, 1), Hop(minute, 10))", hopping("1h", "10m")),
        ("Hopping(Duration(hour, 1), Hop(minute, 10), Offset(second, 30))", hopping("1h", "10m", offset="30s")),
        ("Hopping(Hop(minute, 10), Duration(hour, 1))", hopping("1h", "10m")),
        ("Hopping(minute, 10, 10)", tumbling("10m")),
        ("Hopping(minute, 7, 3)", hopping("7m", "3m")),
        ("Tumbling(hour, 0.5)", tumbling("30m")),
        *[(f"Tumbling({unit}, 3)", tumbling("3d")) for unit in ("day", "dd", "d", "DAY", "Dd")],
        *[(f"Tumbling({unit}, 3)", tumbling("3h")) for unit in ("hour", "hh", "HH")],
        *[(f"Tumbling({unit}, 3)", tumbling("3m")) for unit in ("minute", "mi", "n", "N", "Minute")],
        *[(f"Tumbling({unit}, 3)", tumbling("3s")) for unit in ("second", "ss", "s", "SS")],
        *[(f"Tumbling({unit}, 3)", tumbling("3ms")) for unit in ("millisecond", "ms", "MS")],
        *[(f"Tumbling({unit}, 3)", tumbling("3us")) for unit in ("microsecond", "mcs")],
    ],
)
def test_windows_of_azure(text: str, window: Window) -> None:
    for by in (text, f"k, {text}", f"{text}, k", f"Windows({text})", f"k, Windows(Window('an id', {text}))"):
        (found,) = azure(by=by).windows
        assert found == window
        assert found.timed
        assert found.id == ("an id" if "an id" in by else window.default_id if window.timed else found.default_id)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Windows(Tumbling(mi, 5), Hopping(mi, 60, 10))", ["tumbling_5m", "hopping_1h_10m"]),
        ("Windows(Window('a', Tumbling(mi, 5)), Window('b', Tumbling(mi, 5)))", ["a", "b"]),
        ("Windows(Window('it''s', Tumbling(mi, 5)), Tumbling(mi, 5))", ["it's", "tumbling_5m"]),
        ("Windows(Window(N'ä', Tumbling(mi, 5)))", ["ä"]),
        ("Windows(Window('(', Tumbling(mi, 5)), Window(')', Tumbling(mi, 6)))", ["(", ")"]),
    ],
)
def test_ids_of_windows(text: str, ids: list[str]) -> None:
    assert [window.id for window in azure(by=text).windows] == ids


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("window(ts, '40 minutes')", tumbling("40m")),
        ("window(ts, '40 minutes', '10 minutes')", hopping("40m", "10m")),
        ("window(ts, '40 minutes', '10 minutes', '5 minutes')", hopping("40m", "10m", offset="5m")),
        ("window(ts, '1 hour', '1 hour', '-5 minutes')", tumbling("1h", offset="55m")),
        ("WINDOW(ts, 'interval 2 hours')", tumbling("2h")),
        ("window(ts, '1 week')", tumbling("7d")),
        ("window(ts, '1 day 12 hours')", tumbling("36h")),
        ('window(ts, "90 seconds")', tumbling("90s")),
    ],
)
def test_windows_of_spark(text: str, window: Window) -> None:
    query = spark(by=f"{text}, k")
    assert query.windows == (window,)
    assert (query.time, query.closed, query.keys) == ("ts", "left", (Key("k", "k"),))


@pytest.mark.parametrize(
    ("text", "function", "arguments"),
    [
        ("AVG(x)", "avg", ("x",)),
        ("COUNT(*)", "count", ()),
        ("COUNT(1)", "count", ()),
        ("count(x)", "count", ("x",)),
        ("COUNT_BIG(*)", "count", ()),
        ("COUNT(DISTINCT x)", "count_distinct", ("x",)),
        ("Collect(DISTINCT x)", "collect_distinct", ("x",)),
        ("MIN(x)", "min", ("x",)),
        ("MAX(x + 1)", "max", ("x + 1",)),
        ("Max(Input.x)", "max", ("x",)),
        ("SUM(r.x)", "sum", ("r.x",)),
        ("STDEV(x)", "stddev", ("x",)),
        ("STDEVP(x)", "stddev_pop", ("x",)),
        ("VAR(x)", "variance", ("x",)),
        ("VARP(x)", "var_pop", ("x",)),
        ("Collect()", "collect", ("struct(*)",)),
        ("COLLECT(x)", "collect", ("x",)),
        ("TopOne() OVER (ORDER BY x DESC)", "arg_max", ("x", "struct(*)")),
        ("TopOne() OVER (ORDER BY x)", "arg_min", ("x", "struct(*)")),
        ("TopOne(y * z) OVER (ORDER BY x DESC)", "arg_max", ("x", "y * z")),
        ("TopOne(y) OVER (ORDER BY x)", "arg_min", ("x", "y")),
        ("TOPONE() OVER (ORDER BY x ASC)", "arg_min", ("x", "struct(*)")),
        ("TopOne() OVER (ORDER BY x DESC, y DESC)", "arg_max", ("STRUCT(x, y)", "struct(*)")),
        ("MEDIAN(x)", "median", ("x",)),
        ("APPROX_COUNT_DISTINCT(x)", "approx_distinct", ("x",)),
        ("SUM(CASE WHEN x > 1 THEN 1 ELSE 0 END)", "sum", ("CASE WHEN x > 1 THEN 1 ELSE 0 END",)),
        ("MAX(System.Timestamp())", "max", ("t",)),
        ("GEOMETRIC_MEAN(x)", "geometric_mean", ("x",)),
    ],
)
def test_aggregates_of_azure(text: str, function: str, arguments: tuple[str, ...]) -> None:
    assert function in BUILT_IN
    assert azure(f"{text} AS a").aggregates == (AggregateCall("a", function, arguments),)
    assert azure(f"{text} AS a").outputs == (Output("a", "a"),)


def test_the_quantile_of_azure_is_that_of_spark() -> None:
    call = AggregateCall("a", "approx_quantile", ("x",), (("q", 0.9),))
    assert azure("PERCENTILE_APPROX(x, 0.9) AS a").aggregates == (call,)


def test_the_time_of_text_is_the_one_that_it_stands_for() -> None:
    text = """
        SELECT MAX(System.Timestamp()) AS a, System.Timestamp() AS b FROM Input TIMESTAMP BY t
        WHERE System.Timestamp() > x GROUP BY YEAR(System.Timestamp()), Tumbling(mi, 5) HAVING System.Timestamp() > 'c'
    """
    plain, of_text = parse_sql(text), parse_sql(text, time_is_text=True)
    assert (plain.where, plain.keys[0].text, plain.aggregates[0].arguments) == ("t > x", "YEAR(t)", ("t",))
    cast = "CAST(t AS TIMESTAMP)"
    assert (of_text.where, of_text.keys[0].text) == (f"{cast} > x", f"YEAR({cast})")
    assert of_text.aggregates[0].arguments == (cast,)
    assert (of_text.time, of_text.outputs, of_text.having) == ("t", plain.outputs, plain.having)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("mean(x)", AggregateCall("a", "avg", ("x",))),
        ("std(x)", AggregateCall("a", "stddev", ("x",))),
        ("stddev_samp(x)", AggregateCall("a", "stddev", ("x",))),
        ("stddev_pop(x)", AggregateCall("a", "stddev_pop", ("x",))),
        ("variance(x)", AggregateCall("a", "variance", ("x",))),
        ("var_samp(x)", AggregateCall("a", "variance", ("x",))),
        ("var_pop(x)", AggregateCall("a", "var_pop", ("x",))),
        ("max_by(a, b)", AggregateCall("a", "arg_max", ("b", "a"))),
        ("min_by(a, b)", AggregateCall("a", "arg_min", ("b", "a"))),
        ("first(x)", AggregateCall("a", "first", ("x",))),
        ("last(x)", AggregateCall("a", "last", ("x",))),
        ("any_value(x)", AggregateCall("a", "first", ("x",))),
        ("collect_list(x)", AggregateCall("a", "collect", ("x",))),
        ("collect_set(x)", AggregateCall("a", "collect_distinct", ("x",))),
        ("bool_or(x)", AggregateCall("a", "any", ("x",))),
        ("every(x)", AggregateCall("a", "all", ("x",))),
        ("approx_count_distinct(x)", AggregateCall("a", "approx_distinct", ("x",))),
        ("percentile_approx(x, 0.9)", AggregateCall("a", "approx_quantile", ("x",), (("q", 0.9),))),
        ("percentile(x, 0.5)", AggregateCall("a", "median", ("x",))),
        ("count_if(x > 1)", AggregateCall("a", "count", filter="x > 1")),
        ("count(*) FILTER (WHERE x > 1)", AggregateCall("a", "count", filter="x > 1")),
        ("sum(x) FILTER (WHERE y = 'a')", AggregateCall("a", "sum", ("x",), filter="y = 'a'")),
        ("count_if(x) FILTER (WHERE y)", AggregateCall("a", "count", filter="x AND y")),
    ],
)
def test_aggregates_of_spark(text: str, call: AggregateCall) -> None:
    assert call.function in BUILT_IN
    assert spark(f"{text} AS a").aggregates == (call,)


@pytest.mark.parametrize(
    ("select", "outputs", "functions"),
    [
        ("k, MAX(a) - MIN(a) AS r", [("k", "k"), ("r", "max_1 - min_2")], ["max", "min"]),
        ("CAST(AVG(x) AS float) f", [("f", "CAST(avg_1 AS DOUBLE)")], ["avg"]),
        ("MIN(x) AS a, min(X) AS b", [("a", "a"), ("b", "a")], ["min"]),
        ("MIN(x), MIN(y)", [("min", "min_1"), ("min_2", "min_2")], ["min", "min"]),
        ("STDEV(x), Collect()", [("stdev", "stddev_1"), ("collect", "collect_2")], ["stddev", "collect"]),
        ("SUM(x) / COUNT(*)", [("column_1", "sum_1 / count_2")], ["sum", "count"]),
        ("low = MIN(x)", [("low", "low")], ["min"]),
        ("MIN(x) [a b]", [("a b", "min_1")], ["min"]),
        ("MIN(x) AS k", [("k", "min_1")], ["min"]),
        ("System.Timestamp() AS e, MIN(x) m", [("e", "window.end"), ("m", "m")], ["min"]),
        ("System.Timestamp, MIN(x) m", [("window_end", "window.end"), ("m", "m")], ["min"]),
        ("System.Window().Id AS window_id, MIN(x) m", [("window_id", "window_id"), ("m", "m")], ["min"]),
        ("CONCAT(k, System.Window().Id) AS c, MIN(x) m",
         [("c", "CONCAT(COALESCE(k, ''), COALESCE(window_id, ''))"), ("m", "m")], ["min"]),
        ("'a' AS c, COUNT(*) AS n", [("c", "'a'"), ("n", "n")], ["count"]),
        ("Input.k, MIN(Input.x) AS m", [("k", "k"), ("m", "m")], ["min"]),
        ("K, MIN(x) AS m", [("K", "k"), ("m", "m")], ["min"]),
        ("max_1 = MIN(x), MAX(y) + 1 AS z", [("max_1", "max_1"), ("z", "max_2 + 1")], ["min", "max"]),
        ("UPPER(k) AS u, (MIN(x)) AS m", [("u", "UPPER(k)"), ("m", "m")], ["min"]),
    ],
)  # fmt: skip
def test_outputs(select: str, outputs: list[tuple[str, str]], functions: list[str]) -> None:
    query = azure(select)
    assert [(output.name, output.text) for output in query.outputs] == outputs
    assert [call.function for call in query.aggregates] == functions


@pytest.mark.parametrize(
    ("by", "keys", "select", "output"),
    [
        ("a.id, b.id", [("id", "a.id"), ("id_2", "b.id")], "b.id", ("id", "id_2")),
        ("UPPER(k)", [("u", "UPPER(k)")], "upper(K) AS u", ("u", "u")),
        ("UPPER(k)", [("key_1", "UPPER(k)")], "LEN(UPPER(k)) AS n", ("n", "LENGTH(CAST(key_1 AS STRING))")),
        ("[my key]", [("my key", "`my key`")], "[my key]", ("my key", "`my key`")),
        ("[order]", [("order", "`order`")], "[order]", ("order", "`order`")),
        ("window_id", [("window_id_2", "window_id")], "window_id AS w", ("w", "window_id_2")),
        ("_mt_a", [("key_a", "_mt_a")], "_mt_a AS a", ("a", "key_a")),
        ("r", [("r", "r")], "r.a.[b c] AS a", ("a", "r.a.`b c`")),
        ("[r s]", [("r s", "`r s`")], "[R S].a AS a", ("a", "`r s`.a")),
        ("k, k, Input.K", [("k", "k")], "k", ("k", "k")),
        ("a + b", [("s", "a + b")], "(a + b) AS s", ("s", "s")),
    ],
)
def test_keys(by: str, keys: list[tuple[str, str]], select: str, output: tuple[str, str]) -> None:
    query = azure(f"{select}, COUNT(*) AS n_", by=f"{by}, Tumbling(mi, 5)")
    assert [(key.name, key.text) for key in query.keys] == keys
    assert (query.outputs[0].name, query.outputs[0].text) == output


@pytest.mark.parametrize(
    ("select", "by", "outputs"),
    [
        ("window(ts, '5 minutes') AS w, min(x)", "window(TS, '5 minutes')", [("w", "window"), ("min(x)", "min_1")]),
        ("window, min(x) m", "window(ts, '5 minutes')", [("window", "window"), ("m", "m")]),
        ("window.start, window.end e, min(x) m", "window(ts, '5 minutes')",
         [("start", "window.start"), ("e", "window.end"), ("m", "m")]),
        ("window(ts, '5 minutes').start s, min(x) m", "window(ts, '5 minutes')", [("s", "window.start"), ("m", "m")]),
        ("window(ts, '5 minutes') w, min(x) m", "w", [("w", "window"), ("m", "m")]),
        ("window(ts, '5 minutes') w, w.start s, min(x) m", "1", [("w", "window"), ("s", "window.start"), ("m", "m")]),
        ("upper(k) AS u, min(x) m", "window(ts, '5 minutes'), u", [("u", "u"), ("m", "m")]),
        ("upper(k) AS k, min(x) m", "window(ts, '5 minutes'), k", [("k", "UPPER(k)"), ("m", "m")]),
        ("events.k, min(events.x) m", "window(events.ts, '5 minutes'), events.k", [("k", "k"), ("m", "m")]),
        ("`a b`, min(`x y`) `m n`", "window(ts, '5 minutes'), `a b`", [("a b", "`a b`"), ("m n", "min_1")]),
        ("xxhash64(k) h, min(x) m", "window(ts, '5 minutes'), k", [("h", "XXHASH64(k)"), ("m", "m")]),
    ],
)  # fmt: skip
def test_spark_queries(select: str, by: str, outputs: list[tuple[str, str]]) -> None:
    query = spark(select, by)
    assert [(output.name, output.text) for output in query.outputs] == outputs
    assert (str(query.time).lower(), query.windows) == ("ts", (tumbling("5m"),))


@pytest.mark.parametrize(
    ("having", "text"),
    [
        ("MIN(x) > 5", "low > 5"),
        ("low > 5 AND k <> 'a'", "low > 5 AND k <> 'a'"),
        ("COUNT(*) > 2", "count_3 > 2"),
        ("r * 2 > 5", "(low - max_2) * 2 > 5"),
        ("System.Window().Id = 'a'", "window_id = 'a'"),
        ("System.Timestamp() > '2020-01-01'", "window.end > '2020-01-01'"),
    ],
)
def test_having(having: str, text: str) -> None:
    assert azure("MIN(x) AS low, MIN(x) - MAX(x) AS r", rest=f"HAVING {having}").having == text


def test_an_aggregate_in_having_alone() -> None:
    query = azure("'reset' AS command", "Tumbling(second, 15)", "HAVING AVG(machine.temperature) > 25")
    assert query.aggregates == (AggregateCall("avg_1", "avg", ("machine.temperature",)),)
    assert (query.keys, query.having) == ((), "avg_1 > 25")


@pytest.mark.parametrize(
    ("clause", "source", "time", "over"),
    [
        ("FROM Input TIMESTAMP BY t", "Input", "t", ()),
        ("FROM Input", "Input", None, ()),
        ("FROM [my input] TIMESTAMP BY [my time]", "my input", "`my time`", ()),
        ("FROM Input i TIMESTAMP BY i.t", "Input", "t", ()),
        ("FROM Input AS i TIMESTAMP BY i.r.t", "Input", "r.t", ()),
        ("FROM Input TIMESTAMP BY t i", "Input", "t", ()),
        ("FROM Input TIMESTAMP BY t OVER k", "Input", "t", ("k",)),
        ("FROM Input TIMESTAMP BY t OVER k, r.j", "Input", "t", ("k", "r.j")),
        ("FROM Input TIMESTAMP BY DATEADD(second, n, t) OVER k", "Input", "DATE_ADD(SECOND, n, t)", ("k",)),
        ("FROM Input TIMESTAMP BY CAST(t AS datetime)", "Input", "CAST(t AS TIMESTAMP)", ()),
        ("FROM Input timestamp\n/* why */ by t", "Input", "t", ()),
        ("FROM db.Input TIMESTAMP BY db.Input.t", "db.Input", "t", ()),
    ],
)
def test_the_input(clause: str, source: str, time: str | None, over: tuple[str, ...]) -> None:
    query = parse_sql(f"SELECT MIN(x) AS low {clause} GROUP BY k, Tumbling(mi, 5);")
    assert (query.source, query.time, query.over, query.closed) == (source, time, over, "right")


def test_where_and_into() -> None:
    query = parse_sql("""
        SELECT i.k, COUNT(*) AS n INTO [my output] FROM Input i TIMESTAMP BY t + d
        WHERE i.x > 1 AND i.r.s LIKE 'a%' AND System.Timestamp() > '2020' OR NOT ISNULL(x, 0) = 1
        GROUP BY i.k, Tumbling(mi, 5)
    """)
    assert query.where == "x > 1 AND r.s LIKE 'a%' AND (t + d) > '2020' OR NOT COALESCE(x, 0) = 1"
    assert (query.into, query.time) == ("my output", "t + d")
    plain = parse_sql("SELECT COUNT(*) INTO Output FROM Input TIMESTAMP BY t GROUP BY Tumbling(mi, 5)")
    assert (plain.into, plain.where) == ("Output", None)


def test_what_is_called_as_a_constant_is_no_constant() -> None:
    query = azure("COUNT(*) AS [true], MAX(x) AS [null], UPPER(k) AS [False]", "UPPER(k), Tumbling(mi, 5)")
    assert [(output.name, output.text) for output in query.outputs] == [
        ("true", "count_1"),
        ("null", "max_2"),
        ("False", "`False`"),
    ]
    assert spark("count_if(ok) AS true").outputs == (Output("true", "count_1"),)


def test_keys_of_a_map_that_differ_in_case_are_aggregated_apart() -> None:
    query = spark("max(m.A), max(M.a), max(m.r.A), max(m.x[0].A), max(m.x[0].a), max(`m`.A), max(X) + max(x)")
    assert [call.arguments for call in query.aggregates] == [
        ("m.A",), ("M.a",), ("m.r.A",), ("m.x[0].A",), ("m.x[0].a",), ("X",)
    ]  # fmt: skip
