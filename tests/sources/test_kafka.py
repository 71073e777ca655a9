"""Kafka as source and sink: a real broker, and Spark's own connector."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from tests.sources.kafka_broker import broker
from tests.sources.maven import jar

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SCALA = "2.13"
# The connector of the Spark that is here; where the registry has none, the nearest that was seen to run with Spark 4.3.
CONNECTOR = [
    ("org.apache.spark", f"spark-sql-kafka-0-10_{SCALA}", pyspark.__version__, "4.2.0"),
    ("org.apache.spark", f"spark-token-provider-kafka-0-10_{SCALA}", pyspark.__version__, "4.2.0", "4.0.0"),
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.commons", "commons-pool2", "2.13.1"),
]


def test_windows_go_from_topic_to_topic_as_from_a_table(tmp_path: Path) -> None:
    jars = [str(jar(*each)) for each in CONNECTOR]
    environment = dict(os.environ, PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with broker(tmp_path / "broker") as address:
        command = [sys.executable, "-m", "tests.sources.kafka_driver", address, str(tmp_path / "checkpoint"), *jars]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=300, check=False
        )
    assert done.returncode == 0, f"with {', '.join(map(os.path.basename, jars))}:\n{done.stderr[-4000:]}"
    # 3 devices; 29 to 31 windows of 30 s, 15 or 16 of a minute, 38 to 41 of five minutes.
    assert done.stdout.startswith("rows ")
    assert 240 < int(done.stdout.split()[1]) < 280
