"""The program that is killed: windows over a stream of files into Parquet, on a Spark of its own.

It is started as `python -m tests.spark.stream_driver INPUT OUTPUT CHECKPOINT MASTER [SETTING=VALUE ...]`, goes on from
the checkpoint, and ends when it has read all there is.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import muntin as mt
from muntin import agg, hopping, tumbling
from muntin.spark.session import start
from tests.spark.streams import read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.spark.streams import Event

ROOT = Path(__file__).parents[2]


def drawn(seed: int, batches: int, start: int = 1_700_000_000) -> list[list[Event]]:
    """Draw the events of micro-batches: most out of order, some too late for short windows, some for all."""
    rng = random.Random(seed)
    now, found = start, []
    for _ in range(batches):
        now += rng.choice([0, 5, 10, 20, 60])
        behind = [rng.choice([10, 30, 90, 400]) for _ in range(rng.randint(5, 40))]
        found.append([_event(rng, now - rng.randint(0, most)) for most in behind])
    return found


def _event(rng: random.Random, second: int) -> Event:
    value = rng.choice([None, "NaN", *(rng.uniform(-9, 9) for _ in range(5))])
    key, text = rng.choice([None, "a", "b", "c"]), rng.choice([None, "x", "y"])
    return {"t": second * 1_000_000 + rng.randint(0, 999_999), "k": key, "i": rng.randint(-5, 5), "v": value, "s": text}


# Short and long; the longest is put together from a tree.
WINDOWS = [tumbling("10s"), tumbling("1m"), hopping("40s", slide="10s"), hopping("5m", slide="5s")]
AGGREGATES = {
    "n": agg.count(),
    "total": agg.sum("i"),
    "mean": agg.avg("v"),
    "low": agg.min("v"),
    "often": agg.max_count("i"),
    "late": agg.last("s"),
    "whose": agg.arg_max("i", "s"),
}


def asked(spark: SparkSession, folder: Path) -> DataFrame:
    """Ask for the windows of the events in a folder."""
    plan = mt.windows(read(spark, folder), time="ts", keys="k", watermark="20s").over(*WINDOWS).agg(**AGGREGATES).plan()
    assert [each["tree"] for each in plan.to_dict()["stream"]["windows"]] == [False, False, False, True]
    return plan.stream()


def launch(places: tuple[Path, Path, Path], scratch: Path, log: IO[bytes], *more: str) -> subprocess.Popen[bytes]:
    """Start the driver as the head of a process group, which its JVM is in too; `places` are its three folders."""
    scratch.mkdir(parents=True)
    environment = dict(
        os.environ,
        PYSPARK_PYTHON=sys.executable,
        PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        SPARK_LOCAL_IP="127.0.0.1",
        TMPDIR=str(scratch),
    )
    settings = [
        # Who is killed does not tidy up: what it leaves goes with the folder.
        f"spark.local.dir={scratch}",
        f"spark.driver.extraJavaOptions=-Djava.io.tmpdir={scratch} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.memory=700m",
        "spark.sql.shuffle.partitions=1",
    ]
    command = [sys.executable, "-m", "tests.spark.stream_driver", *map(str, places), *more]
    return subprocess.Popen(
        [*command, *settings], stdout=log, stderr=log, env=environment, cwd=ROOT, start_new_session=True
    )


def main(source: str, output: str, checkpoint: str, master: str, *settings: str) -> None:
    """Run to the end of what there is."""
    pairs: list[Any] = [setting.split("=", 1) for setting in settings]
    if not any(place.name.isdigit() for place in Path(checkpoint, "offsets").glob("*")):
        # Killed while it wrote the first offsets, Spark leaves a hidden file, for which it refuses the checkpoint ever
        # after (STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY). Nothing was read yet, so nothing is lost by a new one.
        shutil.rmtree(checkpoint, ignore_errors=True)
    spark = start(master, dict(pairs))
    query = (
        asked(spark, Path(source))
        .writeStream.format("parquet")
        .option("path", output)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
