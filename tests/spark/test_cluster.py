"""A real cluster: a standalone master and two workers on this machine, and a driver of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest

from tests.spark.stream_driver import asked, drawn, launch
from tests.spark.streams import emitted, plain, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

HOME = Path(pyspark.__file__).parent
# The driver: every strategy, the wide form, SQL, and an aggregate written in Python, each against the plan by hand.
DRIVER = """
import sys
from pyspark.sql import SparkSession, functions as F
import muntin as mt
from muntin import agg, hopping, tumbling
from tests.spark.equal import check_equal, draw_events, frame_of, together

spark = (
    SparkSession.builder.master(sys.argv[1])
    .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.shuffle.partitions", "4").config("spark.sql.session.timeZone", "UTC")
    .config("spark.executor.memory", "512m").config("spark.cores.max", "2").config("spark.executor.cores", "1")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
hosts = spark.sparkContext.parallelize(range(40), 8).map(lambda _: __import__("os").getppid()).distinct().count()
assert hosts == 2, f"{hosts} executors"
span = agg.define("span", lift=lambda v: (v, v), combine=lambda x, y: (min(x[0], y[0]), max(x[1], y[1])),
                  lower=lambda x: x[1] - x[0], commutative=True, overlap_tolerant=True, returns="bigint")
frame = frame_of(spark, draw_events(5, 400), 6)
q = (
    mt.windows(frame, time="ts", keys="k_string")
    .over(tumbling("20s"), tumbling("30s", offset="10s"), hopping("2m", slide="20s"))
    .agg(n=agg.count(), low=agg.min("v_double"), money=agg.sum("v_money"), last=agg.last("v_string"),
         middle=agg.median("v_byte"), span=span("v_long"))
)
shared = mt.windows(frame, time="ts", keys="k_string").over(*q.windows).agg(n=agg.count(), low=agg.min("v_double"))
frames = {name: q.plan(strategy=name).run() for name in ("spread", "jvm", "arrow", "auto")}
found = together({"by hand": q.native(), **frames})
wanted = found.pop("by hand")
assert len(wanted) > 200
for name, rows in found.items():
    check_equal(rows, wanted, ["window_id", "window", "k_string"], name)
wide = together({"by hand": shared.native(wide=True), "arrow": shared.plan(strategy="arrow").run(wide=True)})
check_equal(wide["arrow"], wide["by hand"], ["k_string", "at"], "wide")
print("rows", len(wanted))
spark.stop()
"""


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """Start a master and two workers of one core and one gigabyte, on free ports of the loopback, and stop them."""
    started: list[subprocess.Popen[bytes]] = []
    environment = dict(
        os.environ,
        SPARK_HOME=str(HOME),
        PYSPARK_PYTHON=sys.executable,
        SPARK_NO_DAEMONIZE="1",
        SPARK_LOCAL_IP="127.0.0.1",
        SPARK_DAEMON_MEMORY="256m",
        SPARK_WORKER_DIR=str(tmp_path / "work"),
        # As an installed package would be on every machine; the tests' own modules are beside it.
        PYTHONPATH=os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")]),
    )

    def start(log: Path, *command: str) -> Path:
        with log.open("wb") as out:
            started.append(
                subprocess.Popen(
                    [str(HOME / "bin" / "spark-class"), *command],
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    start_new_session=True,
                )
            )
        return log

    try:
        log = start(
            tmp_path / "master.log",
            "org.apache.spark.deploy.master.Master",
            *("--host", "127.0.0.1", "--port", "0", "--webui-port", "0"),
        )
        address = _await(log, r"Starting Spark master at (spark://\S+)")
        for number in range(2):
            worker = start(
                tmp_path / f"worker{number}.log",
                "org.apache.spark.deploy.worker.Worker",
                *("--host", "127.0.0.1", "--port", "0", "--webui-port", "0", "--cores", "1", "--memory", "1g"),
                address,
            )
            _await(worker, r"(Successfully registered with master)")
        yield address
    finally:
        for process in started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _await(log: Path, words: str, seconds: float = 120) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = re.search(words, log.read_text(errors="replace"))
        if found:
            return found[1]
        time.sleep(0.2)
    pytest.fail(f"{log.name} does not say {words!r}:\n{log.read_text(errors='replace')[-2000:]}")


def test_a_standalone_cluster_gives_the_rows_of_the_plan_written_by_hand(master: str, tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    environment = dict(os.environ, PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    environment["PYTHONPATH"] = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(script), master], capture_output=True, text=True, env=environment, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "rows" in done.stdout


def test_a_stream_goes_on_where_an_executor_is_killed(master: str, spark: SparkSession, tmp_path: Path) -> None:
    source, output, checkpoint = places = tmp_path / "in", tmp_path / "out", tmp_path / "checkpoint"
    write(source, drawn(1, 20))
    settings = ["spark.cores.max=2", "spark.executor.cores=1", "spark.executor.memory=512m"]
    log = tmp_path / "driver.log"
    with log.open("wb") as out:
        process = launch(places, tmp_path / "s", out, master, *settings)
    killed: set[int] = set()
    try:
        # Twice, each time the executor that has lived longest, while later micro-batches are under way.
        for batch in (3, 10):
            while not (checkpoint / "commits" / str(batch)).exists():
                assert process.poll() is None, log.read_text(errors="replace")[-3000:]
                time.sleep(0.01)
            killed.add(first := min(_executors(tmp_path / "work") - killed))
            os.kill(first, signal.SIGKILL)
        assert process.wait(300) == 0, log.read_text(errors="replace")[-3000:]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert len(killed) == 2
    wanted = emitted({"alone": asked(spark, source)}, tmp_path)["alone"].unnumbered
    found = sorted((plain(row) for row in spark.read.parquet(str(output)).collect()), key=repr)
    assert len(wanted) > 500
    assert found == wanted


def _executors(work: Path) -> set[int]:
    """Find the processes of the executors whose workers keep their files in a folder."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            mine = (place / "cwd").readlink().is_relative_to(work)
            if mine and b"CoarseGrainedExecutorBackend" in (place / "cmdline").read_bytes():
                found.add(int(place.name))
        except OSError:
            continue
    return found
