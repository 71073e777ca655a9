"""The plan that Spark would run: over guessed columns, by every strategy, and where Spark is not there or goes away."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from muntin.errors import MuntinError
from muntin.studio.columns import guessed_schema
from muntin.studio.request import read_ask
from muntin.studio.spark_plan import LocalSpark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAPER = {"windows": [{"range": "20m"}, {"range": "30m"}, {"range": "40m"}], "aggregates": "low=min(temp), n=count()"}
AZURE = """SELECT d.Name, System.Window().Id, AVG(T) AS Mean, MAX(a - b) AS Wide
FROM Input TIMESTAMP BY Ts WHERE Kind = 'a' AND UPPER(City) LIKE 'B%' AND NOT Broken
GROUP BY d.Name, Windows(TumblingWindow(minute, 20), HoppingWindow(minute, 60, 10))"""
SPARK = "SELECT k, count(*) FILTER (WHERE t > 30) AS hot FROM events GROUP BY k, window(ts, '40 minutes', '10 minutes')"


@pytest.mark.parametrize(
    ("said", "schema"),
    [
        (PAPER, "`ts` timestamp, `temp` double"),
        (PAPER | {"aggregates": "min, any(ok), arg_max", "keys": "device, site"},
         "`ts` timestamp, `value` double, `ok` boolean, `other` double, `device` string, `site` string"),
        ({"mode": "sql", "sql": AZURE},
         "`Ts` timestamp, `Kind` string, `City` string, `Broken` boolean, `d` struct<`Name`: string>, `T` double, "
         "`a` double, `b` double"),
        ({"mode": "sql", "sql": SPARK}, "`ts` timestamp, `k` string, `t` double"),
    ],
    ids=["form", "bare", "azure", "spark"],
)  # fmt: skip
def test_columns_are_guessed_from_what_is_done_with_them(said: dict[str, object], schema: str) -> None:
    assert guessed_schema(read_ask(said)) == schema


@pytest.mark.parametrize(
    "said", [PAPER, PAPER | {"keys": "device"}, {"mode": "sql", "sql": AZURE}, {"mode": "sql", "sql": SPARK}]
)
def test_spark_plans_over_the_guessed_columns(spark: SparkSession, said: dict[str, object]) -> None:
    found = LocalSpark().explain(read_ask(said), {})
    assert "== Physical Plan ==" in found["spark"]
    assert "10,000,000 events of 100 keys" in found["explain"]
    assert "what was weighed:" in found["explain"]


@pytest.mark.parametrize("strategy", ["native", "spread", "jvm", "arrow"])
def test_the_strategy_reaches_spark(spark: SparkSession, strategy: str) -> None:
    found = LocalSpark().explain(
        read_ask(PAPER | {"keys": "device"}), {"strategy": strategy, "rows": "2,000", "keys_count": "7"}
    )
    assert "2,000 events of 7 keys" in found["explain"]
    assert f"1. {strategy}: " in found["explain"]
    assert ("MapInArrow" in found["spark"]) == (strategy == "arrow")


def test_the_rate_of_the_page_is_that_of_the_plan(spark: SparkSession) -> None:
    found = LocalSpark().explain(
        read_ask(PAPER | {"rate": "120", "unit": "minute"}), {"rows": "1000", "keys_count": "10"}
    )
    # 1,000 events of 10 keys at 120 a minute and key: 50 seconds.
    assert "1,000 events of 10 keys over 50 s" in found["explain"]


@pytest.mark.parametrize(
    ("said", "more", "words"),
    [
        (PAPER, {"schema": "ts timestamp, temp string, x nonsense"}, "nonsense"),
        (PAPER, {"schema": "when timestamp"}, "there is no such column"),
        (PAPER, {"schema": "ts double, temp double"}, "timestamp"),
        (PAPER, {"strategy": "magic"}, "no strategy 'magic'"),
        (PAPER, {"rows": "-4"}, "the number of events must be a whole number"),
        (PAPER, {"keys_count": "many"}, "the number of keys must be a whole number"),
        ({"windows": [{"range": "20"}]}, {}, "Declare it with durations"),
        ({"mode": "sql", "sql": SPARK.replace("events", "text")}, {}, "cannot be named 'text'"),
        ({"mode": "sql", "sql": SPARK.replace("t > 30", "nonsense(t) > 30")}, {}, "NONSENSE"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_spark_cannot_plan_is_said(
    spark: SparkSession, said: dict[str, object], more: dict[str, str], words: str
) -> None:
    with pytest.raises(MuntinError) as caught:
        LocalSpark().explain(read_ask(said), more)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value) or "^" in str(caught.value)


def test_a_session_that_is_not_its_own_is_left_running(spark: SparkSession) -> None:
    house = LocalSpark()
    house.explain(read_ask(PAPER), {})
    house.close()
    assert spark.range(3).count() == 3
    with pytest.raises(MuntinError, match="closing"):
        house.explain(read_ask(PAPER), {})


def run(code: str, **environment: str) -> str:
    head = (
        "from muntin.studio.spark_plan import LocalSpark\n"
        "from muntin.studio.request import read_ask\n"
        "from muntin.errors import MuntinError\n"
        "house, ask = LocalSpark(), read_ask({'windows': [{'range': '20m'}]})\n"
        "def look():\n"
        "    try:\n"
        "        print('plan' if '== Physical Plan ==' in house.explain(ask, {})['spark'] else 'none')\n"
        "    except MuntinError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", head + code],
        capture_output=True, text=True, timeout=600, check=False, env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.slow
def test_spark_that_dies_is_told_of_and_starts_anew_as_one_that_was_stopped_does() -> None:
    said = run(
        "import os, signal, muntin.studio.spark_plan as module\n"
        "printed = module._printed\n"
        "def cut(frame):\n"
        "    from pyspark import SparkContext\n"
        "    process = SparkContext._gateway.proc\n"
        "    os.kill(process.pid, signal.SIGKILL); process.wait()\n"
        "    module._printed = printed\n"
        "    return printed(frame)\n"
        "module._printed = cut\n"
        "look()\n"
        "look()\n"
        "house._spark.stop()\n"
        "look()\n"
        "house.close()\n"
    )
    assert said == "Spark was closed meanwhile. Press the button again: it is started anew\nplan\nplan\n"


def test_without_pyspark_it_is_said_how_to_get_it() -> None:
    assert "pip install 'muntin[spark]'" in run("import sys; sys.modules['pyspark'] = None\nlook()\n")


def test_without_java_it_is_said_how_to_get_it() -> None:
    assert "Spark needs Java" in run("look()\n", JAVA_HOME="/nowhere")
