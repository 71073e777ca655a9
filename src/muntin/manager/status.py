"""What a manager says of its queries and its stream: for people, and as values that JSON can hold."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from muntin.manager.asked import Asked
    from muntin.manager.history import Position, Start

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(micros: int) -> str:
    """Write a time in microseconds since 1970, in UTC.

    >>> moment(1_700_000_000_000_000)
    '2023-11-14T22:13:20+00:00'
    """
    return (_EPOCH + timedelta(microseconds=micros)).isoformat()


def told(start: Start) -> str:
    """Say where a window's first interval begins.

    >>> from muntin.manager.history import Start
    >>> told(Start(None)), told(Start(0, True))
    ('from the first event', 'from 1970-01-01T00:00:00+00:00, by retained slices')
    """
    if start.at is None:
        return "from the first event"
    return f"from {moment(start.at)}{', by retained slices' if start.retained else ''}"


class Seen(NamedTuple):
    """How far a stream is, by what Spark says of its last micro-batch."""

    batch: int
    watermark: int | None
    rows_per_second: float | None
    slices: int | None
    state_bytes: int | None


def seen_in(progress: Any, before: Position) -> Seen:
    """Read what Spark says of a micro-batch; where it says nothing yet, how far the stream had come before.

    >>> from muntin.manager.history import Position
    >>> seen_in(None, Position(7, 60_000_000))
    Seen(batch=7, watermark=60000000, rows_per_second=None, slices=None, state_bytes=None)
    """
    if progress is None:
        return Seen(before.batch, before.watermark, None, None, None)
    mark = progress["eventTime"].get("watermark")
    kept = progress["observedMetrics"].get("muntin_state", {})
    # A row where Spark is classic, a dict over Connect: both may lack it.
    slices = dict(kept.asDict() if hasattr(kept, "asDict") else kept).get("slices")
    operators = progress["stateOperators"]
    used = sum(each["customMetrics"].get("rocksdbSstFileSize", 0) for each in operators) if operators else None
    watermark = (
        before.watermark if mark is None else (datetime.fromisoformat(mark) - _EPOCH) // timedelta(microseconds=1)
    )
    return Seen(progress["batchId"], watermark, progress.get("processedRowsPerSecond"), slices, used)


@dataclass(frozen=True, slots=True)
class Change:
    """What was done: to which query, which version of the registry has it, how long the stream stood still."""

    done: str
    query: Asked
    version: int
    pause: float | None
    """Seconds from the last micro-batch's end to the next one's beginning; None where the stream did not run before."""

    def text(self) -> str:
        """Say it in a few lines."""
        stood = "" if self.pause is None else f"; the stream stood still for {self.pause:.2f} s"
        lines = [f"{self.query.name} {self.done} (version {self.version}{stood})"]
        lines += [
            f"  {window.id}: {told(start)}"
            for window, start in zip(self.query.windows, self.query.starts, strict=False)
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Give it as values that JSON can hold."""
        return {
            "done": self.done,
            "version": self.version,
            "pause_s": self.pause,
            "query": query_dict(self.query),
        }

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True, slots=True)
class Status:
    """How a manager is: its queries, and the stream under them."""

    state: str
    """running, idle (no query runs), stopped, or failed."""
    version: int
    queries: tuple[Asked, ...]
    batch: int
    watermark: int | None
    rows_per_second: float | None
    slices: int | None
    state_bytes: int | None
    pauses: tuple[float, ...]
    """How long the stream stood still at each change since this manager began, in seconds."""
    first_rows: dict[str, float]
    """How long after its registration each query gave its first row, in seconds."""
    failure: str = ""

    def text(self) -> str:
        """Say it in a few lines."""
        since = "" if self.watermark is None else f", watermark {moment(self.watermark)}"
        rate = "" if self.rows_per_second is None else f", {self.rows_per_second:,.0f} events/s"
        kept = "" if self.slices is None else f", {self.slices:,} slices"
        size = "" if self.state_bytes is None else f" in {self.state_bytes / 1e6:,.1f} MB"
        lines = [f"{self.state}: version {self.version}, micro-batch {self.batch}{since}{rate}{kept}{size}"]
        if self.failure:
            lines.append(f"  {self.failure}")
        for query in self.queries:
            first = self.first_rows.get(query.name)
            came = "" if first is None else f", first row after {first:.1f} s"
            lines.append(f"{query.name}: {query.activity}{came}")
            what = ", ".join(f"{name}={aggregate!r}" for name, aggregate in query.aggregates)
            lines.append(f"  {what}")
            for place, window in enumerate(query.windows):
                start = f" {told(query.starts[place])}" if query.starts else ""
                lines.append(f"  {window.id}{start}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Give it as values that JSON can hold."""
        return {
            "state": self.state,
            "version": self.version,
            "batch": self.batch,
            "watermark": None if self.watermark is None else moment(self.watermark),
            "rows_per_second": self.rows_per_second,
            "slices": self.slices,
            "state_bytes": self.state_bytes,
            "pauses_s": list(self.pauses),
            "failure": self.failure,
            "queries": [query_dict(query) | {"first_row_s": self.first_rows.get(query.name)} for query in self.queries],
        }

    def __str__(self) -> str:
        return self.text()


def query_dict(query: Asked) -> dict[str, Any]:
    """Give a query as people ask for it, as values that JSON can hold."""
    starts = query.starts or (None,) * len(query.windows)
    return {
        "name": query.name,
        "activity": query.activity,
        "aggregates": {name: repr(aggregate) for name, aggregate in query.aggregates},
        "windows": [
            {
                "id": window.id,
                "window": str(window),
                "since": None if start is None or start.at is None else moment(start.at),
                "retained": start is not None and start.retained,
            }
            for window, start in zip(query.windows, starts, strict=True)
        ],
    }
