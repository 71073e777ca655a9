"""What SQL means rests on its input too: on the names of its columns, and on what is given as the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin.errors import MuntinError, SqlError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from muntin.physical.choose import Strategy

STRATEGIES: Final[tuple[Strategy, ...]] = ("native", "spread", "arrow")
BY = "window(ts, '1 minute')"


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    return spark.sql(
        "select timestamp_seconds(id) ts, id % 2 a, id % 3 b, string(id % 4) device, double(id % 5) x,"
        " timestamp_seconds(id) `Event Time`, timestamp_seconds(id) `event-time` from range(200)"
    )


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT a AS b, count(*) AS n FROM e GROUP BY a, b, {BY}",
        f"SELECT a AS kk, max(b) AS a, count(*) AS n FROM e GROUP BY a, {BY}",
        f"SELECT 'all' AS device, count(*) AS n FROM e GROUP BY device, {BY}",
        f"SELECT a % 2 AS even, count(*) AS n FROM e GROUP BY even, {BY}",
    ],
)
def test_a_column_comes_before_an_alias_as_in_spark(spark: SparkSession, events: DataFrame, query: str) -> None:
    events.createOrReplaceTempView("e")
    expected = sorted(map(tuple, spark.sql(query).collect()))
    assert len(expected) > 3
    asked = mt.sql(query, e=events)
    for strategy in STRATEGIES:
        assert sorted(map(tuple, asked.plan(strategy=strategy).run().collect())) == expected


def test_an_alias_does_not_hide_the_column_that_is_grouped_by(events: DataFrame) -> None:
    with pytest.raises(SqlError, match="column a is neither in GROUP BY nor inside an aggregate"):
        mt.sql(f"SELECT a AS device, count(*) AS n FROM e GROUP BY device, {BY}", e=events)


@pytest.mark.parametrize("name", ["Event Time", "event-time", "EVENT TIME", "ts", "ts + INTERVAL 0 SECONDS"])
def test_the_time_is_a_column_by_its_name_or_an_expression(events: DataFrame, name: str) -> None:
    query = mt.sql("SELECT COUNT(*) AS n, System.Timestamp() AS e FROM i GROUP BY Tumbling(mi, 1)", time=name, i=events)
    assert sum(row.n for row in query.plan().run().collect()) == 200


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"i": "events.csv"}, "the input i must be a Spark DataFrame, got str"),
        ({"i": None}, "the input i must be a Spark DataFrame, got NoneType"),
        ({"time": 5}, "time is the name of a column, or an expression as text, got int"),
        ({}, "inputs given are: none. Pass i=df"),
    ],
)
def test_what_is_no_input_or_no_time_is_refused(events: DataFrame, given: dict[str, object], said: str) -> None:
    inputs = {"i": events, **given} if "time" in given else given
    with pytest.raises(SqlError) as error:
        mt.sql("SELECT COUNT(*) AS n FROM i GROUP BY Tumbling(mi, 1)", **inputs)  # type: ignore[arg-type]
    assert said in str(error.value)


def test_how_to_pass_an_input_whose_name_python_does_not_take(events: DataFrame) -> None:
    text = "SELECT COUNT(*) AS n FROM [iothub-input] TIMESTAMP BY ts GROUP BY Tumbling(mi, 1)"
    with pytest.raises(SqlError, match=r"Pass \*\*\{'iothub-input': df\}"):
        mt.sql(text)
    inputs: dict[str, Any] = {"iothub-input": events}
    assert mt.sql(text, **inputs).plan().run().count() == 5


def test_a_collation_that_there_is_not_is_refused_in_words(events: DataFrame) -> None:
    text = "SELECT COUNT(*) AS n FROM i TIMESTAMP BY ts WHERE device = 'b' COLLATE nowhere GROUP BY Tumbling(mi, 1)"
    with pytest.raises(SqlError) as error:
        mt.sql(text, i=events).plan()
    assert "WHERE" in str(error.value)
    assert "at org.apache" not in str(error.value)
    key = F.expr("device collate nowhere").alias("k")
    with pytest.raises(MuntinError, match="a key or the time cannot be taken"):
        mt.windows(events, time="ts", keys=key).over(mt.tumbling("1m")).agg(n=mt.agg.count())


def test_different_values_of_any_type_are_estimated(events: DataFrame) -> None:
    text = "SELECT APPROX_COUNT_DISTINCT(x) AS n FROM i TIMESTAMP BY ts GROUP BY Tumbling(hh, 1)"
    query = mt.sql(text, i=events.withColumn("x", F.when(F.col("x") > 0, F.col("x"))))
    for strategy in STRATEGIES:
        # The first event is on the bound of the hour before, with a null.
        assert sorted(row.n for row in query.plan(strategy=strategy).run().collect()) == [0, 4]
