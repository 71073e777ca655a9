"""A made-up week of sensors, as Spark makes it: daily cycles, noise, dropouts, events that come out of order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

START: Final = "2026-01-05 00:00:00"
DAYS: Final = 7
# The same rows come out whatever the number of cores.
_PARTITIONS: Final = 8
_DAY: Final = 86_400.0
# Of all hours of a device so many in a thousand are silent, and of all readings so many are broken.
_SILENT, _BROKEN = 30, 4


def readings(spark: SparkSession, events: int, *, devices: int = 50, seed: int = 1) -> DataFrame:
    """Make about so many readings of temperature over a week, in order of arrival: device, ts, temperature, battery.

    A device's temperature has its own mean and swings with the hour of its own day; readings are noisy and some are
    null. Readings arrive up to some seconds after they are taken, so their times are out of order. Some devices report
    several times as often as others, and each is silent for some hours.
    """
    from pyspark.sql import functions as F

    def chance(*of: Column | str, salt: int) -> Column:
        """Draw from [0, 1), the same for the same row."""
        return F.pmod(F.xxhash64(*of, F.lit(seed), F.lit(salt)), F.lit(1 << 52)) / float(1 << 52)

    # Silent hours take some of the rows away again.
    rows = int(events / (1 - _SILENT / 1000))
    frame = spark.range(0, rows, 1, _PARTITIONS)
    number = F.floor(chance("id", salt=1) ** 1.5 * devices).cast("int")
    arrived = F.lit(DAYS * _DAY) * F.col("id") / rows
    delay = F.least(-F.log(1 - chance("id", salt=2)) * 2.0, F.lit(30.0))
    frame = frame.select("id", number.alias("n"), F.greatest(arrived - delay, F.lit(0.0)).alias("s"))
    hour = F.floor(F.col("s") / 3600)
    frame = frame.where(chance("n", hour, salt=3) >= _SILENT / 1000)
    mean = 12 + 14 * chance("n", salt=4)
    phase = 0.6 * chance("n", salt=5) + 2.2
    swing = (2 + 5 * chance("n", salt=6)) * F.sin(2 * 3.141592653589793 * F.col("s") / _DAY - phase)
    # Box and Muller: a normal draw from two even ones.
    normal = F.sqrt(-2 * F.log(1 - chance("id", salt=7))) * F.cos(6.283185307179586 * chance("id", salt=8))
    temperature = F.round(mean + swing + 0.4 * normal, 2)
    began = F.unix_micros(F.lit(START).cast("timestamp"))
    return frame.select(
        F.format_string("device-%02d", F.col("n")).alias("device"),
        F.timestamp_micros(began + F.floor(F.col("s") * 1e6).cast("bigint")).alias("ts"),
        F.when(chance("id", salt=9) >= _BROKEN / 1000, temperature).alias("temperature"),
        F.greatest(F.lit(100) - F.floor(F.col("s") / _DAY * (4 + F.col("n") % 5)), F.lit(0))
        .cast("int")
        .alias("battery"),
    )
