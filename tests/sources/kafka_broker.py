"""A Kafka broker of the tests' own: one node that is its own controller, on free ports of the loopback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.sources.maven import jar, with_dependencies

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VERSION = "4.1.0"
PATIENCE = 90
CLUSTER = "bXVudGluLXRlc3RzLW9ubA"  # Any 16 bytes in base64.
SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={folder}/data
num.partitions=2
offsets.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
"""


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    """Start a broker that keeps its files in a folder, give its address, and kill it whatever happens."""
    jars = [str(with_dependencies("org.apache.kafka", "kafka_2.13", VERSION) / "*")]
    # Without one that speaks, a broker that does not start would not say why.
    jars.append(str(jar("org.slf4j", "slf4j-simple", "1.7.36")))
    folder.mkdir()
    port, controller = _free_ports()
    settings, log = folder / "server.properties", folder / "log"
    settings.write_text(SETTINGS.format(port=port, controller=controller, folder=folder))
    home = os.environ.get("JAVA_HOME")
    java = [f"{home}/bin/java" if home else "java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", os.pathsep.join(jars)]
    with log.open("wb") as out:
        subprocess.run(
            [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(settings)],
            stdout=out,
            stderr=out,
            timeout=PATIENCE,
            check=True,
        )
        process = subprocess.Popen(
            [*java, "kafka.Kafka", str(settings)], stdout=out, stderr=out, cwd=folder, start_new_session=True
        )
    try:
        end = time.monotonic() + PATIENCE
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > end:
                pytest.fail(f"the broker did not start:\n{log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.2)
        yield f"127.0.0.1:{port}"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def _listens(port: int) -> bool:
    with socket.socket() as each:
        each.settimeout(1)
        return each.connect_ex(("127.0.0.1", port)) == 0
