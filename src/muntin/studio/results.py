"""The rows that a manager's queries have given: read from the Parquet files of its output, the latest of each."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from muntin.declare.query import WINDOW, WINDOW_ID
from muntin.errors import ManagerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Of each query the micro-batches that were written last; of each file so many rows; of each window so many points.
_BATCHES: Final = 60
_ROWS: Final = 200_000
_POINTS: Final = 240
_KEYS: Final = 50
_CACHE: Final = 2_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Series:
    """One window of a query: its values by the end of their intervals, in microseconds since 1970."""

    query: str
    window: str
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Results:
    """What can be drawn: the columns and keys to choose from, and the series of those chosen."""

    columns: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    column: str = ""
    key: str = ""
    series: tuple[Series, ...] = ()
    note: str = ""


@dataclass(slots=True)
class Output:
    """The folder into which a manager writes, and what was read from it already."""

    folder: Path
    _read: dict[tuple[Path, int], list[dict[str, Any]]] = field(default_factory=dict)

    @classmethod
    def of(cls, checkpoint: Path) -> Output | None:
        """Find the output of a manager that `muntin serve` runs; one that Python runs does not say."""
        try:
            said = json.loads((checkpoint / "serve.json").read_text(encoding="utf-8"))
            return cls(Path(said["output"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def results(self, queries: Sequence[Mapping[str, Any]], column: str, key: str) -> Results:
        """Read the latest rows of queries, as a manager's status lists them, for one column and one key."""
        rows = {query["name"]: list(self._rows(query["name"])) for query in queries}
        if not any(rows.values()):
            return Results(note="no query has given rows yet: a window leaves when the watermark has passed its end")
        named = [(query["name"], name) for query in queries for name in query["aggregates"]]
        columns = tuple(dict.fromkeys(name for query, name in named if any(_numeric(row, name) for row in rows[query])))
        by = _key_columns(queries, [row for found in rows.values() for row in found])
        keys = tuple(dict.fromkeys(_key(row, by) for found in rows.values() for row in found))
        if not columns:
            return Results(keys=keys[:_KEYS], note="the queries have no column of numbers to draw")
        column = column if column in columns else columns[0]
        key = key if key in keys else min(keys)
        found = tuple(
            Series(query["name"], window, points)
            for query in queries
            if column in query["aggregates"]
            for window, points in _points(rows[query["name"]], by, column, key).items()
        )
        return Results(columns, tuple(sorted(keys)[:_KEYS]), column, key, found)

    def _rows(self, name: str) -> Iterator[dict[str, Any]]:
        whole = sorted((self.folder / name).glob("batch=*/_SUCCESS"))[-_BATCHES:]
        for mark in whole:
            yield from self._batch(mark)

    def _batch(self, mark: Path) -> list[dict[str, Any]]:
        """Read the rows of a micro-batch, once for each time that it was written."""
        try:
            place = (mark, mark.stat().st_mtime_ns)
            if place not in self._read:
                if len(self._read) >= _CACHE:
                    self._read.clear()
                self._read[place] = list(_read(mark.parent))
            return self._read[place]
        except OSError:
            # The manager may be writing the same micro-batch anew: it is there at the next look.
            return []


def _read(folder: Path) -> Iterator[dict[str, Any]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        msg = "reading a manager's rows needs PyArrow, which is not installed here: pip install 'muntin[spark]'"
        raise ManagerError(msg) from error
    for path in sorted(folder.glob("*.parquet")):
        try:
            file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
            if file.metadata.num_rows > _ROWS:
                continue
            yield from file.read().to_pylist()
        except pa.ArrowInvalid as error:
            msg = f"{path} cannot be read as Parquet: {error}"
            raise ManagerError(msg) from error


def _numeric(row: Mapping[str, Any], name: str) -> bool:
    value = row.get(name)
    return not isinstance(value, (str, bytes, list, dict)) and hasattr(value, "__float__")


def _key_columns(queries: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Find the keys: what all rows have but for windows and aggregates.

    All queries of a manager have the same keys; one of the same name that was dropped may have had other aggregates.
    """
    own = {WINDOW, WINDOW_ID, *(name for query in queries for name in query["aggregates"])}
    shapes = list(dict.fromkeys(map(tuple, rows)))
    return tuple(name for name in shapes[0] if name not in own and all(name in shape for shape in shapes))


def _key(row: Mapping[str, Any], by: Sequence[str]) -> str:
    return ", ".join(str(row[name]) for name in by)


def _points(
    rows: Sequence[Mapping[str, Any]], by: Sequence[str], column: str, key: str
) -> dict[str, tuple[tuple[int, float], ...]]:
    found: dict[str, dict[int, float]] = {}
    for row in rows:
        if _key(row, by) == key and _numeric(row, column):
            found.setdefault(row[WINDOW_ID], {})[_micros(row[WINDOW]["end"])] = float(row[column])
    return {window: tuple(sorted(points.items())[-_POINTS:]) for window, points in sorted(found.items())}


def _micros(moment: datetime) -> int:
    """Count microseconds since 1970; Spark's files hold times in UTC, also where they do not say so."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)
