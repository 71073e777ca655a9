"""Statistics of a DataFrame without reading it: footers of its files, or its first rows."""

from __future__ import annotations

import contextlib
import io
import re
import time
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql import functions as F

from muntin.kernels.groups import key_codes
from muntin.physical.statistics import Statistics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.incremental.columnar_operator import Array
    from muntin.spark.bound import Bound

# So many rows are looked at, in so many files at most, and so many files' footers.
SAMPLE: Final = 10_000
OPENED: Final = 8
FOOTERS: Final = 64
# From this correlation of place and time on, rows are in order of time.
TREND: Final = 0.7
# Spark counts so many bytes for a row of one 64-bit column.
BYTES: Final = 16
# What is assumed of a source that says nothing at all, or an absurd size.
ASSUMED: Final = 10_000_000
ABSURD: Final = 1e13
_TEXTS: Final = frozenset((".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".txt"))
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
    named = _names(bound)
    files = _parquet(named)
    text = bool(named) and all(_is_text(name) for name in named) and not _is_kept(bound)
    rows, how = (None, "") if files is None else (_rows(files), "file footers and first rows")
    seen = None if files is None or rows is None else _from_file(bound, files, rows)
    if seen is None:
        seen = _sample(bound)
    if seen.rows < SAMPLE:
        took = time.perf_counter() - began
        return Statistics(seen.rows, max(seen.keys, 1), seen.span, "all rows seen", took, seen.items, text)
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
    return Statistics(max(rows, seen.rows), keys, span, how, time.perf_counter() - began, seen.items, text)


class _Seen(NamedTuple):
    """What the first rows show."""

    rows: int
    keys: float
    span: int
    by_time: bool
    by_key: bool
    items: float | None = None


def _names(bound: Bound) -> list[str]:
    """Name the files of a source, where it has some."""
    try:
        return list(bound.query.source.inputFiles())
    except (PySparkException, AttributeError):
        return []


def _parquet(names: list[str]) -> list[str] | None:
    """Give the paths of files that are all local parquet."""
    parts = [urlparse(name) for name in names]
    if not names or any(part.scheme not in ("", "file") or not part.path.endswith(".parquet") for part in parts):
        return None
    return [unquote(part.path) for part in parts]


def _is_kept(bound: Bound) -> bool:
    """Tell whether the events are in Spark's cache, or will be once they were read."""
    level = bound.query.source.storageLevel
    return bool(level.useMemory or level.useDisk)


def _is_text(name: str) -> bool:
    """Tell by its name whether a file holds text to be parsed, compressed or not.

    >>> [_is_text(f"file:/data/{name}") for name in ("a.csv", "b.JSON.gz", "c.orc", "csv")]
    [True, True, False, False]
    """
    return not _TEXTS.isdisjoint(PurePosixPath(name.lower()).suffixes[-2:])


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
    query, items = bound.query, _item_names(bound)
    try:
        kinds = {field.name: field.type for field in pq.read_schema(files[0])}
        if any(name not in kinds for name in (query.time, *query.keys)) or not pa.types.is_timestamp(kinds[query.time]):
            return None
        if any(name not in kinds for name in items):
            # An expression, which only Spark can compute: how many values it has stays unknown.
            items = []
        batch = _first_rows(files, [*dict.fromkeys([query.time, *query.keys, *items])])
    except (OSError, pa.ArrowException):
        return None
    if batch is None or batch.num_rows < min(SAMPLE, rows):
        # Many small files: the first ones say little of the whole.
        return None
    micros = batch.column(query.time).cast(pa.timestamp("us", kinds[query.time].tz), safe=False).drop_null()
    keys = [batch.column(key) for key in query.keys]
    if len(micros) < batch.num_rows:
        return None
    codes, _ = key_codes(keys, batch.num_rows)
    values = [key_codes([*keys, batch.column(item)], batch.num_rows)[0] for item in items]
    return look(micros.cast(pa.int64()).to_numpy(), codes, values)


def _first_rows(files: list[str], columns: list[str]) -> pa.RecordBatch | None:
    """Read the first rows of the first files, in order of their names."""
    found: list[pa.RecordBatch] = []
    missing = SAMPLE
    for path in sorted(files)[:OPENED]:
        with pq.ParquetFile(path) as file:
            batch = next(file.iter_batches(missing, columns=columns), None)
        if batch is not None:
            found.append(batch)
            missing -= batch.num_rows
        if missing <= 0:
            break
    return pa.concat_batches(found) if found else None


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
    items = [F.xxhash64(*bound.keys, item).alias(f"i{n}") for n, item in enumerate(_items(bound))]
    rows = bound.events.select(bound.micros.alias("t"), key.alias("k"), *items).limit(SAMPLE).toArrow()
    values = [rows[f"i{n}"].to_numpy() for n in range(len(items))]
    return look(rows["t"].to_numpy(), rows["k"].to_numpy(), values)


def _items(bound: Bound) -> list[Column]:
    """List the values whose different ones are counted, by first appearances if that is cheaper."""
    return [recipe.item for recipe in bound.recipes.values() if recipe.item is not None]


def _item_names(bound: Bound) -> list[str]:
    """Give their columns' names; an empty one where it takes more than reading a column."""
    given = dict(bound.query.aggregates)
    counted = [given[name] for name, recipe in bound.recipes.items() if recipe.item is not None]
    return ["" if isinstance(of.columns[0], Column) or of.filter is not None else of.columns[0] for of in counted]


def look(times: Array, keys: Array, items: Sequence[Array] = ()) -> _Seen:
    """Judge the first rows by their times and keys, and by values with their keys that are counted once.

    >>> look(np.array([0, 20, 10, 30]), np.array([1, 2, 1, 2]))
    _Seen(rows=4, keys=2, span=30, by_time=True, by_key=False, items=None)
    """
    if not len(times):
        return _Seen(0, 1, 0, by_time=True, by_key=False)
    span = int(times.max()) - int(times.min())
    # Out of order by a little is in order: it is the trend that counts.
    trend = np.corrcoef(np.arange(len(times)), times.astype(np.float64))[0, 1] if span and len(times) > 1 else 1.0
    groups = len(np.unique(keys))
    by_key = groups > 1 and int(np.count_nonzero(np.diff(keys))) == groups - 1
    most = max(map(_different, items), default=None)
    return _Seen(len(times), _different(keys), span, by_time=bool(trend > TREND), by_key=by_key, items=most)


def _different(codes: Array) -> int:
    """Estimate how many different ones there are in all, from those of the first rows."""
    seen = len(np.unique(codes))
    if len(codes) == SAMPLE and seen > SAMPLE // 2:
        # Most were seen once: as many as make so few meet by chance.
        return int(len(codes) ** 2 / (2 * max(len(codes) - seen, 1)))
    return seen
