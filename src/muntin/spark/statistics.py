"""Statistics of a DataFrame without reading it: footers of its files, or its first rows."""

from __future__ import annotations

import contextlib
import io
import re
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from muntin.physical.statistics import Statistics

if TYPE_CHECKING:
    from muntin.spark.bound import Bound

# So many rows are looked at, and so many files' footers.
SAMPLE: Final = 10_000
FOOTERS: Final = 64
# Spark counts so many bytes for a row of one 64-bit column.
BYTES: Final = 16
# What is assumed of a source that says nothing at all, or an absurd size.
ASSUMED: Final = 10_000_000
ABSURD: Final = 1e13
# The first estimate that Spark prints is that of the whole plan.
_COUNT: Final = re.compile(r"rowCount=([\d.E+]+)")
_SIZE: Final = re.compile(r"sizeInBytes=([\d.E+]+) ([KMGTPE]i?)?B")
_UNITS: Final[dict[str | None, int]] = {None: 1, **{unit: 1024**n for n, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}}


def statistics(bound: Bound) -> Statistics:
    """Look at a source's files and first rows: how many events, of how many keys, over how long."""
    began = time.perf_counter()
    rows, how = _rows(bound)
    keys, span, seen, ordered = _sample(bound)
    if seen < SAMPLE:
        found = Statistics(seen, max(keys, 1), span, "all rows seen", time.perf_counter() - began)
        return found
    if rows is None:
        rows, how = _planned(bound), "Spark's estimate of size and first rows"
    # A table in order of time shows in its first rows the pace of the rest; any other already its whole span.
    if ordered:
        span = int(span * max(rows / seen, 1.0))
    return Statistics(max(rows, seen), keys, span, how, time.perf_counter() - began)


def _rows(bound: Bound) -> tuple[float | None, str]:
    """Count rows by the footers of local parquet files, or guess them by the size of the files."""
    try:
        files = bound.query.source.inputFiles()
    except (PySparkException, AttributeError):
        return None, ""
    parts = [urlparse(file) for file in files]
    if not files or any(part.scheme not in ("", "file") or not part.path.endswith(".parquet") for part in parts):
        return None, ""
    few = parts[:: max(1, len(parts) // FOOTERS)]
    try:
        counted = sum(pq.read_metadata(unquote(part.path)).num_rows for part in few)
    except (OSError, pa.ArrowException):
        return None, ""
    return counted * len(parts) / len(few), "file footers and first rows"


def _planned(bound: Bound) -> float:
    """Read how many rows Spark's own optimizer expects, from what it prints: so it works over Connect too."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        bound.events.select(bound.micros.alias("t")).explain(mode="cost")
    counted, sized = _COUNT.search(printed.getvalue()), _SIZE.search(printed.getvalue())
    if counted:
        return float(counted[1])
    if not sized:
        return ASSUMED
    size = float(sized[1]) * _UNITS[sized[2]]
    return size / BYTES if size < ABSURD else ASSUMED


def _sample(bound: Bound) -> tuple[float, int, int, bool]:
    """Look at the first rows: keys, the time they span, how many there are, and whether they are in order of time."""
    key = F.xxhash64(*bound.keys) if bound.keys else F.lit(0)
    rows = bound.events.select(bound.micros.alias("t"), key.alias("k")).limit(SAMPLE).toArrow()
    times, keys = rows["t"].to_numpy(), rows["k"].to_numpy()
    if not len(times):
        return 1, 0, 0, True
    different = len(np.unique(keys))
    span = int(times.max() - times.min())
    ordered = bool(np.mean(np.diff(times) >= 0) > 0.9) if len(times) > 1 else True
    collisions = len(keys) - different
    if len(keys) == SAMPLE and different > SAMPLE // 2:
        # Most keys were seen once: as many as make so few meet by chance.
        different = int(len(keys) ** 2 / (2 * max(collisions, 1)))
    return different, span, len(times), ordered
