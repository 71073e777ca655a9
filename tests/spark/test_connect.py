"""Spark Connect: a client without `sparkContext` and `_jvm`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# A process of its own: one that has a classic session cannot have a Connect session too.
CLIENT = """
from pyspark.sql import SparkSession, functions as F

spark = (
    SparkSession.builder.remote("local[2]")
    .config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4")
    .config("spark.sql.session.timeZone", "UTC")
    # Small plans take longer to compile than to run.
    .config("spark.sql.codegen.wholeStage", "false").config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    .getOrCreate()
)
assert type(spark).__module__.startswith("pyspark.sql.connect"), type(spark)
import muntin as mt
from muntin import agg, hopping, tumbling
from muntin.errors import QueryError
from tests.spark.equal import check_equal, draw_events, frame_of, together

frame = frame_of(spark, draw_events(5, 150), 3)
span = agg.define("span", lift=lambda v: (v, v), combine=lambda x, y: (min(x[0], y[0]), max(x[1], y[1])),
                  lower=lambda x: x[1] - x[0], commutative=True, overlap_tolerant=True, returns="bigint")
windows = (tumbling("20s"), tumbling("30s", offset="10s"), hopping("1m", slide="20s"))
small, large = F.udf(lambda v: v is not None and v < 0, "boolean"), F.udf(lambda v: v is not None and v > 9, "boolean")
twice, thrice = F.udf(lambda v: v and v * 2, "long"), F.udf(lambda v: v and v * 3, "long")
q = (
    mt.windows(frame, time="ts", keys=["k_string", F.col("k_int").alias("i")]).over(*windows)
    .agg(n=agg.count(), low=agg.min("v_wild"), money=agg.avg("v_money", filter=F.col("v_bool")),
         last=agg.last("v_string", filter="v_int > 0"), middle=agg.median("v_byte"), span=span("v_long"),
         few=span("v_long", filter=small("v_byte")), many=span("v_long", filter=large("v_byte")),
         text=agg.count(filter=F.lit("01") == F.lit("1")), number=agg.count(filter=F.lit("01") == F.lit(1)),
         twice=agg.sum(twice("v_byte")), thrice=agg.sum(thrice("v_byte")))
)
frames = {name: q.plan(strategy=name).run() for name in ("native", "spread", "jvm", "arrow", "auto")}
for name, one in frames.items():
    assert one.dtypes == q.native().dtypes, name
found = together({"by hand": q.native(), **frames})
wanted = found.pop("by hand")
assert len(wanted) > 200
for name, rows in found.items():
    check_equal(rows, wanted, ["window_id", "window", "k_string", "i"], name)

shared = mt.windows(frame, time="ntz", keys="k_string").over(*windows).agg(n=agg.count(), low=agg.min("v_double"))
wide = together({"by hand": shared.native(wide=True), "arrow": shared.plan(strategy="arrow").run(wide=True)})
check_equal(wide["arrow"], wide["by hand"], ["k_string", "at"], "wide")

text = '''SELECT System.Window().Id AS id, System.Timestamp() AS t, k_string, AVG(v_double) AS mean, COUNT(*) AS n
FROM Input TIMESTAMP BY ts WHERE v_int > 0
GROUP BY k_string, Windows(Window('a', TumblingWindow(second, 20)), Window('b', HoppingWindow(second, 60, 20)))'''
asked = mt.sql(text, Input=frame)
answers = together({"by hand": asked.native(), **{n: asked.plan(strategy=n).run() for n in ("jvm", "arrow")}})
assert answers["by hand"]
for name, rows in answers.items():
    check_equal(rows, answers["by hand"], ["id", "t", "k_string"], name)

assert "events" in q.explain() and "median" in q.plan().explain()
maps = F.create_map("v_int", "v_int")
for wrong, words in (
    (lambda: mt.windows(frame, time="tss").over(*windows).agg(n=agg.count()).plan(), "did you mean 'ts'"),
    (lambda: mt.windows(frame, time="ts").over(*windows).agg(n=agg.count(filter="nope")).plan(), "cannot be taken"),
    (lambda: mt.windows(frame, time="ts").over(*windows).agg(n=agg.approx_distinct(maps)).plan(), "be computed"),
):
    try:
        wrong()
    except QueryError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
print("rows", len(wanted))
spark.stop()
"""


def test_connect_gives_the_rows_of_the_plan_written_by_hand(tmp_path: Path) -> None:
    script = tmp_path / "client.py"
    script.write_text(CLIENT)
    environment = dict(os.environ, PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    environment["PYTHONPATH"] = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert "rows" in done.stdout
