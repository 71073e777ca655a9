"""A Spark session of the command line's own: on this machine, quiet, and with settings that suit it."""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from muntin.errors import MuntinError
from muntin.spark.progress import waiting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

# Of the machine's memory the JVM may take half, within these bounds: the rest is for Python's workers and the files.
_LEAST_MEMORY, _MOST_MEMORY = 1, 8
# So many partitions for each core after a shuffle: enough to share work evenly, and Spark joins those that are small.
_PARTITIONS: Final = 4
_LOCAL: Final = re.compile(r"local(\[(?P<cores>\d+|\*)(,\s*\d+)?\])?")
_TELLS_NOTHING: Final = re.compile(
    r"Error initializing SparkContext|Could not create the Java Virtual Machine|fatal exc"
)
_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
NO_SPARK: Final = (
    "running a query needs PySpark, which is not installed here. "
    "Install it with pip install 'muntin[spark]', or use the Python that your Spark comes with"
)
_NO_JAVA: Final = "Install Java 17 or later, or set JAVA_HOME to the folder of one that is there"


@contextmanager
def session(master: str = "local[*]", conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Give the session that is active, or start one for as long as this lasts."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MuntinError(NO_SPARK) from error
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    with waiting("starting Spark"):
        started = start(master, conf)
    try:
        yield started
    finally:
        started.stop()


def start(master: str = "local[*]", conf: Mapping[str, str] | None = None) -> SparkSession:
    """Start Spark without a word on the terminal; `conf` has the last say on every setting."""
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    # Workers would otherwise run whatever python3 PATH has, without muntin.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = SparkConf().setAppName("muntin").setMaster(master)
    for name, value in (defaults(master) | dict(conf or {})).items():
        settings.set(name, value)
    # The JVM greets and warns before any log level can be set: what it says is kept aside, for when it fails.
    with tempfile.TemporaryFile() as said:
        try:
            gateway = launch_gateway(settings, {"stdout": said, "stderr": said})  # type: ignore[no-untyped-call]
            context = SparkContext(conf=settings, gateway=gateway)
        except (PySparkException, Py4JError, OSError) as error:
            said.seek(0)
            raise MuntinError(_failure(said.read().decode(errors="replace"), error)) from error
    context.setLogLevel("OFF")
    # PySpark writes each refusal to standard error as JSON, and then raises it.
    for name in _LOGGERS:
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)
    return SparkSession.builder.getOrCreate()


def defaults(master: str) -> dict[str, str]:
    """Choose settings: times in UTC, no pages served, and sizes by the machine where Spark runs on it.

    >>> defaults("local[2]")["spark.sql.shuffle.partitions"], "spark.driver.memory" in defaults("spark://host:7077")
    ('8', False)
    """
    found = {
        # Times in files without a zone mean the same everywhere.
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.log.level": "ERROR",
    }
    local = _LOCAL.fullmatch(master)
    if local:
        cores = {None: 1, "*": os.cpu_count() or 1}.get(local["cores"]) or int(local["cores"])
        found["spark.sql.shuffle.partitions"] = str(_PARTITIONS * cores)
        found["spark.driver.memory"] = f"{_memory()}g"
        # Spark on one machine talks to itself: names that the network gives this machine may not lead back to it.
        found["spark.driver.host"] = found["spark.driver.bindAddress"] = "127.0.0.1"
    return found


def _memory() -> int:
    try:
        half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (ValueError, OSError, AttributeError):
        return _LEAST_MEMORY
    return max(_LEAST_MEMORY, min(_MOST_MEMORY, half >> 30))


def _failure(said: str, error: Exception) -> str:
    r"""Say why Spark did not start, and what to do.

    >>> _failure("/opt/spark-class: line 97: java: command not found", OSError())
    'Spark needs Java, and there is none here. Install Java 17 or later, or set JAVA_HOME to ...'
    >>> _failure("Error: Could not create the Java Virtual Machine.\nInvalid maximum heap size: -Xmxfoo", OSError())
    'Spark did not start: Invalid maximum heap size: -Xmxfoo'
    """
    if re.search(r"JAVA_HOME is not set|java: (command )?not found|java: No such file", said):
        return f"Spark needs Java, and there is none here. {_NO_JAVA}"
    if "UnsupportedClassVersionError" in said or "Unrecognized option" in said:
        return f"Spark cannot run on the Java found here ({os.environ.get('JAVA_HOME', 'by PATH')}). {_NO_JAVA}"
    lines = [line.strip() for line in [*said.splitlines(), *str(error).splitlines()] if line.strip()]
    # The cause stands in the first line that names an error; what follows is the way to it.
    telling = [line for line in lines if not _TELLS_NOTHING.search(line)] or lines
    cause = next(
        (line for line in telling if re.search(r"Exception|[Ee]rror|Invalid", line)),
        telling[-1] if telling else "no reason",
    )
    return f"Spark did not start: {cause[:300]}"
