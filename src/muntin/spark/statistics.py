"""Statistics of a DataFrame without reading it: footers of its files, or its first rows."""

from __future__ import annotations

import contextlib
import io
import math
import re
import time
from dataclasses import replace
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

    from pyspark.sql import DataFrame

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
# Before the first row of such a plan there is all of the work below it. So it is looked at only where by hand so many
# windows do all of that work, or each event is in so many intervals that by hand it takes long however few there are;
# else the way that reads it once is as good as any.
_BLOCKING: Final = re.compile(
    r"(?m)^[ :+-]*(Aggregate|Sort|Join|Window|Distinct|Deduplicate|Repartition\w*|Except|Intersect|\w*Group\w*) "
)
WORTH: Final = 8
LONG: Final = 60
# Where few rows pass, the first ones take all of the work too: as much again as one window does. That times are not
# null is asked of all events, and few are.
_PASSING: Final = re.compile(r"(?m)^[ :+-]*(Filter (?:.* AND )?(?![(]*isnotnull\()|\w*MapIn\w+ )")
# After one of these nobody knows how many rows are left of those in the files.
_FEWER: Final = re.compile(
    r"(?m)^[ :+-]*((Aggregate|Join|Distinct|Deduplicate|Except|Intersect|Sample|Generate|Expand|\w*Limit|\w*Map\w*) "
    r"|Filter (?:.* AND )?(?![(]*isnotnull\())"
)
_LIMIT: Final = re.compile(r"(?m)^[ :+-]*\w*Limit (\d+)")
_DAY: Final = 86_400_000_000
UNSEEN: Final = "not looked at: even the first rows take all of the work before them"
# The first estimate that Spark prints is that of the whole plan.
_COUNT: Final = re.compile(r"rowCount=([\d.E+]+)")
_TOP: Final = re.compile(r"Statistics\([^)]*\)")
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
    printed = None
    if seen is None:
        printed = _explained(bound.events.select(bound.micros.alias("t")))
        if _is_dear(bound, printed) and not _is_kept(bound) and _is_short(bound):
            rows, took = _planned(printed), time.perf_counter() - began
            # As if each event had a key of its own: nothing is expected to shrink on the way.
            return Statistics(rows, max(rows, 1), _DAY, f"{UNSEEN}, rows by Spark's estimate", took, seen=False)
        seen = _sample(bound)
    if seen.rows < SAMPLE:
        took = time.perf_counter() - began
        keys, how = max(seen.keys, 1), "all rows seen"
        return Statistics(seen.rows, keys, seen.span, how, took, seen.items, text, hot=seen.hot)
    if rows is None:
        assert printed is not None, "files without footers are explained"
        rows, how = _planned(printed), "Spark's estimate of size and first rows"
    rows = max(rows, seen.rows)
    more = rows / seen.rows
    keys, span = seen.keys, seen.span
    # A table in order of time shows in its first rows the pace of the rest, one in order of key some of its keys, and
    # any other already its whole span and most of its keys.
    if seen.by_key:
        keys *= more
    elif seen.by_time:
        span = int(span * more)
    # What the last rows show is there too: what began in one instant or with one key need not go on so.
    keys, span = min(max(keys, seen.far_keys), rows), max(span, seen.far_span)
    took, hot = time.perf_counter() - began, 0.0 if seen.by_key else seen.hot
    found = Statistics(rows, keys, span, how, took, seen.items, text, hot=hot)
    return found if printed is None else _left(found, printed, named)


def left(bound: Bound, found: Statistics) -> Statistics:
    """Look again, at what is done to the files' rows before: few of them may be left.

    Spark takes some milliseconds to tell that, a part of what a query over few events takes.
    """
    if found.at_most or not found.seen or found.rows < SAMPLE:
        return found
    began = time.perf_counter()
    known = _left(found, _explained(bound.query.source), _names(bound))
    return replace(known, seconds=found.seconds + time.perf_counter() - began)


def _left(found: Statistics, printed: str, named: list[str]) -> Statistics:
    fewer = not _is_counted(printed) and (bool(_FEWER.search(printed)) or not named)
    rows = min(found.rows, *map(float, _LIMIT.findall(printed)), math.inf)
    return replace(found, rows=rows, keys=min(found.keys, rows), at_most=fewer)


class _Seen(NamedTuple):
    """What the first rows show."""

    rows: int
    keys: float
    span: int
    by_time: bool
    by_key: bool
    items: float | None = None
    hot: float = 0.0
    far_keys: float = 0
    """How many keys there are where the last rows are looked at too."""
    far_span: int = 0
    """From the first of these and those to the last."""


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
    try:
        return _first_and_last(bound, files, rows)
    except (OSError, KeyError, pa.ArrowException):
        # Files of other schemas, or of types that Arrow cannot tell apart: Spark knows what to make of them.
        return None


def _first_and_last(bound: Bound, files: list[str], rows: float) -> _Seen | None:
    query, items = bound.query, _item_names(bound)
    origins = dict(query.origins)
    time, *keyed = (origins.get(name, name) for name in (query.time, *query.keys))
    kinds = {field.name: field.type for field in pq.read_schema(min(files))}
    if time is None or time not in kinds or not pa.types.is_timestamp(kinds[time]):
        return None
    named = [key for key in keyed if key is not None and key in kinds]
    if len(named) < len(keyed):
        return None
    if any(name not in kinds for name in items):
        # An expression, which only Spark can compute: how many values it has stays unknown.
        items = []
    columns = [*dict.fromkeys([time, *named, *items])]
    batch = _first_rows(files, columns)
    if batch is None or batch.num_rows < min(SAMPLE, rows):
        # Many small files: the first ones say little of the whole.
        return None
    near, far = batch.num_rows, _last_rows(files, columns) if rows > SAMPLE else None
    batch = batch if far is None else pa.concat_batches([batch, far])
    micros = batch.column(time).cast(pa.timestamp("us", kinds[time].tz), safe=False).drop_null()
    keys = [batch.column(key) for key in named]
    if len(micros) < batch.num_rows:
        return None
    codes, _ = key_codes(keys, batch.num_rows)
    values = [key_codes([*keys, batch.column(item)], batch.num_rows)[0] for item in items]
    times = micros.cast(pa.int64()).to_numpy()
    seen = look(times[:near], codes[:near], [codes[:near] for codes in values])
    return seen if far is None else _beyond(seen, look(times[near:], codes[near:]), times, codes)


def _beyond(seen: _Seen, far: _Seen, times: Array, codes: Array) -> _Seen:
    """Add to what the first rows show what the last do."""
    keys = max(far.keys, len(np.unique(codes)))
    return seen._replace(
        far_keys=keys, far_span=int(times.max()) - int(times.min()), hot=max(seen.hot, 0.0 if far.by_key else far.hot)
    )


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


def _last_rows(files: list[str], columns: list[str]) -> pa.RecordBatch | None:
    """Read the first rows of the last row group, unless that is the first too: they are far from the first rows."""
    with pq.ParquetFile(max(files)) as file:
        last = file.num_row_groups - 1
        if last < (1 if len(files) == 1 else 0):
            return None
        return next(file.iter_batches(SAMPLE, row_groups=[last], columns=columns), None)


def _is_dear(bound: Bound, printed: str) -> bool:
    """Tell whether the first rows may take as much work as all the query by hand."""
    if _BLOCKING.search(printed):
        return True
    return len(bound.query.windows) == 1 and bool(_PASSING.search(printed))


def _is_short(bound: Bound) -> bool:
    """Tell whether windows are few, and none of them has an event in very many intervals."""
    windows = bound.query.windows
    return len(windows) < WORTH and all(window.range < LONG * window.slide for window in windows)


def _explained(frame: DataFrame) -> str:
    """Let Spark print a plan: so it works over Connect too."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        frame.explain(mode="cost")
    return printed.getvalue()


def _is_counted(printed: str) -> bool:
    """Tell whether Spark knows how many rows the whole plan gives."""
    top = _TOP.search(printed)
    return top is not None and bool(_COUNT.search(top[0]))


def _planned(printed: str) -> float:
    """Read how many rows Spark's own optimizer expects, from what it prints."""
    counted, sized = _COUNT.search(printed), _SIZE.search(printed)
    if counted:
        return float(counted[1])
    if not sized:
        return ASSUMED
    size = float(sized[1]) * _UNITS[sized[2]]
    return size / BYTES if size < ABSURD else ASSUMED


def _sample(bound: Bound) -> _Seen:
    """Look at the first rows: their keys, the time they span, and whether they are in order of time or of key."""
    # A map has no hash of its own, not even deep within a key that Spark groups by.
    keys = [
        key.cast("string") if "map<" in bound.key_type(name).simpleString() else key
        for key, name in zip(bound.keys, bound.query.keys, strict=True)
    ]
    key = F.xxhash64(*keys) if keys else F.lit(0)
    items = [F.xxhash64(*keys, item) for item in _items(bound)]
    # Collected, and not as Arrow: so Spark reads one partition after another, until there are rows enough.
    rows = bound.events.select(bound.micros, key, *items).limit(SAMPLE).collect()
    times, codes, *values = np.array(rows, np.int64).reshape(len(rows), 2 + len(items)).T
    return look(times, codes, values)


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
    _Seen(rows=4, keys=2, span=30, by_time=True, by_key=False, items=None, hot=0.5, far_keys=0, far_span=0)
    """
    if not len(times):
        return _Seen(0, 1, 0, by_time=True, by_key=False)
    span = int(times.max()) - int(times.min())
    # Out of order by a little is in order: it is the trend that counts.
    trend = np.corrcoef(np.arange(len(times)), times.astype(np.float64))[0, 1] if span and len(times) > 1 else 1.0
    each = np.unique(keys, return_counts=True)[1]
    groups, hot = len(each), float(each.max() / len(keys))
    by_key = groups > 1 and int(np.count_nonzero(np.diff(keys))) == groups - 1
    most = max(map(_different, items), default=None)
    return _Seen(len(times), _different(keys), span, by_time=bool(trend > TREND), by_key=by_key, items=most, hot=hot)


def _different(codes: Array) -> int:
    """Estimate how many different ones there are in all, from those of the first rows."""
    seen = len(np.unique(codes))
    if len(codes) == SAMPLE and seen > SAMPLE // 2:
        # Most were seen once: as many as make so few meet by chance.
        return int(len(codes) ** 2 / (2 * max(len(codes) - seen, 1)))
    return seen
