"""The one small Spark session that a run of tests shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def small_session(cores: int = 2) -> SparkSession:
    """Give the session that is active, or start a quiet one on this machine with few partitions, in UTC."""
    from pyspark.sql import SparkSession

    from muntin.spark.session import start

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    return start(
        f"local[{cores}]",
        {
            "spark.sql.shuffle.partitions": "4",
            "spark.driver.memory": "2g",
            # Tests run many small plans once: code is not run often enough for the second compiler to pay.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        },
    )
