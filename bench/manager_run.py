"""The program that is killed: a manager whose queries change at random, on a Spark of its own.

It is started as `python -m bench.manager_run FOLDER CHANGES SEED`, goes on from what it finds in the folder, writes
down every change that was carried out, and ends when all events have been through.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from muntin import agg, hopping, tumbling
from muntin.manager.manager import Manager
from muntin.spark.session import start

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muntin import Window
    from muntin.aggregate.algebra import Aggregate

DELAY: Final = "10s"
RETAIN: Final = "60s"
SCHEMA: Final = "t bigint, k string, i bigint"
# Windows whose edges meet and others whose do not; the longest is put together from a tree.
POOL: Final[Mapping[str, tuple[tuple[Window, ...], Mapping[str, Aggregate]]]] = {
    "minutes": ((tumbling("1m"), tumbling("30s")), {"n": agg.count(), "total": agg.sum("i")}),
    "often": ((hopping("1m", "10s"),), {"low": agg.min("i"), "high": agg.max("i")}),
    "uneven": ((hopping("50s", "20s"), tumbling("30s")), {"n": agg.count()}),
    "sevens": ((tumbling("7s"),), {"total": agg.sum("i"), "low": agg.min("i")}),
    "shifted": ((tumbling("20s", offset="3s"), hopping("40s", "20s", offset="3s")), {"mean": agg.avg("i")}),
    "long": ((hopping("5m", "5s"),), {"n": agg.count(), "high": agg.max("i")}),
    "brief": ((tumbling("2s"),), {"n": agg.count()}),
}


def main(folder: Path, changes: int, seed: int) -> None:
    """Change the queries until there were so many changes, then let the stream come to its end."""
    log = folder / "log.jsonl"
    done = sum(line["kind"] == "change" for line in lines(log))
    rng = random.Random(f"{seed} {done} {len(lines(log))}")
    spark = start(
        "local[2]",
        {
            "spark.local.dir": str(folder / "scratch"),
            "spark.driver.memory": "800m",
            "spark.sql.shuffle.partitions": "2",
            # What is compared later needs the watermarks of all micro-batches.
            "spark.sql.streaming.minBatchesToRetain": "100000",
        },
    )
    from pyspark.sql import functions as F

    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder / "in"))
    stream = events.withColumn("ts", F.timestamp_micros("t"))
    places: dict[str, Any] = {"checkpoint": folder / "checkpoint", "sink": folder / "out"}
    with Manager(stream, time="ts", keys="k", watermark=DELAY, retain=RETAIN, trigger="200ms", **places) as manager:
        write(log, {"kind": "start", "version": version(manager)})
        while done < changes:
            time.sleep(rng.uniform(0.5, 4))
            what, name = drawn(rng, manager)
            began = time.monotonic()
            change = manager.register(name, *POOL[name]) if what == "register" else getattr(manager, what)(name)
            write(
                log,
                {
                    "kind": "change",
                    "what": what,
                    "pause": change.pause,
                    "took": time.monotonic() - began,
                    "first_rows": manager.status().first_rows,
                    "version": version(manager),
                },
            )
            done += 1
        if not any(query.running for query in manager.status().queries):
            name = next(iter(POOL))
            known = {query.name for query in manager.status().queries}
            _ = manager.resume(name) if name in known else manager.register(name, *POOL[name])
            write(log, {"kind": "start", "version": version(manager)})
        manager.process_available()
        write(log, {"kind": "end", "first_rows": manager.status().first_rows, "batch": manager.status().batch})
    spark.stop()


def drawn(rng: random.Random, manager: Manager) -> tuple[str, str]:
    """Draw what to do next, to which query."""
    known = {query.name: query.running for query in manager.status().queries}
    new = [name for name in POOL if name not in known]
    running = [name for name, runs in known.items() if runs]
    waiting = [name for name, runs in known.items() if not runs]
    ways = [("register", new)] * 3 + [
        ("suspend", running),
        ("resume", waiting),
        ("resume", waiting),
        ("drop", list(known)),
    ]
    what, names = rng.choice([way for way in ways if way[1]])
    return what, rng.choice(names)


def version(manager: Manager) -> dict[str, Any]:
    """Take down which queries run, and from where on."""
    return manager._registry.version.to_dict()


def write(log: Path, line: dict[str, Any]) -> None:
    """Add a line for good."""
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())


def lines(log: Path) -> list[dict[str, Any]]:
    """Read all lines that are whole."""
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
