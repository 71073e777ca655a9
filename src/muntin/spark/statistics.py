"""Statistics of a DataFrame without reading it: footers of its files, or its first rows."""

from __future__ import annotations

import contextlib
import io
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from muntin.kernels.groups import key_codes
from muntin.physical.statistics import Statistics

if TYPE_CHECKING:
    from muntin.incremental.columnar_operator import Array
    from muntin.spark.bound import Bound

# So many rows are looked at, and so many files' footers.
SAMPLE: Final = 10_000
FOOTERS: Final = 64
# From this correlation of place and time on, rows are in order of time.
TREND: Final = 0.7
# Spark counts so many bytes for a row of one 64-bit column.
BYTES: Final = 16
# What is assumed of a source that says nothing at all, or an absurd size.
ASSUMED: Final = 10_000_000
ABSURD: Final = 1e13
# The first estimate that Spark prints is that of the whole plan.
_COUNT: Final = re.compile(r"rowCount=([\d.E+]+)")
_SIZE: Final = re.compile(r"sizeInBytes=([\d.E+]+) ([KMGTPE]i?)?B")
_UNITS: Final[dict[str | None, int]] = {
    None: 1,
    **{unit: 1024**n for n, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
}


def statistics(bound: Bound) -> Statistics:
    """Look at a source's files and first rows: how many events, of how many keys, over how long."""
    began = time.perf_counter()
    files = _files(bound)
    rows, how = (None, "") if files is None else (_rows(files), "file footers and first rows")
    seen = None if files is None or rows is None else _from_file(bound, files, rows)
    if seen is None:
        seen = _sample(bound)
    if seen.rows < SAMPLE:
        return Statistics(seen.rows, max(seen.keys, 1), seen.span, "all rows seen", time.perf_counter() - began)
    if rows is None:
        rows, how = _planned(bound), "Spark's estimate of size and first rows"
    more = max(rows / seen.rows, 1.0)
    keys, span = seen.keys, seen.span
    # A table in order of time shows in its first rows the pace of the rest, one in order of key some of its keys, and
    # any other already its whole span and most of its keys.
    if seen.by_key:
        keys *= more
    elif seen.by_time:
        span = int(span * more)
    return Statistics(max(rows, seen.rows), keys, span, how, time.perf_counter() - began)


class _Seen(NamedTuple):
    """What the first rows show."""

    rows: int
    keys: float
    span: int
    by_time: bool
    by_key: bool


def _files(bound: Bound) -> list[str] | None:
    """Name the files of a source, if they are local parquet."""
    try:
        files = bound.query.source.inputFiles()
    except (PySparkException, AttributeError):
        return None
    parts = [urlparse(file) for file in files]
    if not files or any(part.scheme not in ("", "file") or not part.path.endswith(".parquet") for part in parts):
        return None
    return [unquote(part.path) for part in parts]


def _rows(files: list[str]) -> float | None:
    """Count rows by the footers of files, or of some of them."""
    few = files[:: max(1, len(files) // FOOTERS)]
    try:
        counted = sum(pq.read_metadata(file).num_rows for file in few)
    except (OSError, pa.ArrowException):
        return None
    return float(counted * len(files) / len(few))


def _from_file(bound: Bound, files: list[str], rows: float) -> _Seen | None:
    """Look at the first rows of a file itself: a job of Spark's would take a hundred times as long.

    Only where the file has the time and the keys as columns of those names, the time as a timestamp. A query
    may have derived them anew or filtered them, which an estimate can bear.
    """
    query = bound.query
    try:
        file = pq.ParquetFile(max(files, key=lambda path: Path(path).stat().st_size))
        kinds = {field.name: field.type for field in file.schema_arrow}
        if any(name not in kinds for name in (query.time, *query.keys)) or not pa.types.is_timestamp(kinds[query.time]):
            return None
        batch = next(file.iter_batches(SAMPLE, columns=[query.time, *query.keys]), None)
    except (OSError, pa.ArrowException):
        return None
    if batch is None or batch.num_rows < min(SAMPLE, rows):
        # Many small files: the first says little of the whole.
        return None
    micros = batch.column(query.time).cast(pa.timestamp("us", kinds[query.time].tz), safe=False).drop_null()
    keys = [batch.column(key) for key in query.keys]
    if len(micros) < batch.num_rows:
        return None
    codes, _ = key_codes(keys, batch.num_rows)
    return look(micros.cast(pa.int64()).to_numpy(), codes)


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


def _sample(bound: Bound) -> _Seen:
    """Look at the first rows: their keys, the time they span, and whether they are in order of time or of key."""
    key = F.xxhash64(*bound.keys) if bound.keys else F.lit(0)
    rows = bound.events.select(bound.micros.alias("t"), key.alias("k")).limit(SAMPLE).toArrow()
    return look(rows["t"].to_numpy(), rows["k"].to_numpy())


def look(times: Array, keys: Array) -> _Seen:
    """Judge the first rows by their times and keys.

    >>> look(np.array([0, 20, 10, 30]), np.array([1, 2, 1, 2]))
    _Seen(rows=4, keys=2, span=30, by_time=True, by_key=False)
    """
    if not len(times):
        return _Seen(0, 1, 0, by_time=True, by_key=False)
    different = len(np.unique(keys))
    span = int(times.max()) - int(times.min())
    # Out of order by a little is in order: it is the trend that counts.
    trend = np.corrcoef(np.arange(len(times)), times.astype(np.float64))[0, 1] if span and len(times) > 1 else 1.0
    by_key = different > 1 and int(np.count_nonzero(np.diff(keys))) == different - 1
    if len(keys) == SAMPLE and different > SAMPLE // 2:
        # Most keys were seen once: as many as make so few meet by chance.
        different = int(len(keys) ** 2 / (2 * max(len(keys) - different, 1)))
    return _Seen(len(times), different, span, by_time=bool(trend > TREND), by_key=by_key)
