"""Joins over windows: `join(left, right, on=, windows=)`, one join for the widest window and all others out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muntin.declare.query import RESERVED, WINDOW, WINDOW_ID
from muntin.duration import format_duration, parse_duration
from muntin.errors import QueryError
from muntin.window.spec import window_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import timedelta

    from pyspark.sql import DataFrame

    from muntin.window.spec import Window


@dataclass(frozen=True, slots=True, repr=False)
class WindowJoin:
    """Pairs of events of one key that lie in one window: `run()` gives them, window by window.

    Columns are window_id, window, the keys, `left` and `right`: structs of what the two events hold beside the keys.
    """

    left: Any
    right: Any
    on: tuple[str, ...]
    windows: tuple[Window, ...]
    times: tuple[str, str]
    watermark: int | None = None

    @property
    def reach(self) -> int:
        """How far apart, in microseconds, two events of a pair are at most: less than the longest window."""
        return max(window.range for window in self.windows)

    @property
    def nested(self) -> bool:
        """Whether every window lies in one interval of the longest: then pairs are found by that interval alone."""
        widest = max(self.windows, key=lambda window: window.range)
        return widest.range == widest.slide and all(
            window.range == window.slide
            and widest.range % window.range == 0
            and (window.offset - widest.offset) % window.range == 0
            for window in self.windows
        )

    def run(self) -> DataFrame:
        """Build the DataFrame: one join for the longest window, from which each shorter one takes its pairs.

        Over two streams it is a streaming DataFrame, for the output mode append.
        """
        from muntin.spark.joined import shared

        return shared(self)

    def native(self) -> DataFrame:
        """Build the plan written by hand: a join for each window, and their union. The baseline, and the oracle."""
        from muntin.spark.joined import native

        return native(self)

    def explain(self) -> str:
        """Say how pairs are found."""
        how = (
            "the windows nest: events meet by key and interval of the longest"
            if self.nested
            else f"events meet by key if less than {format_duration(self.reach)} lie between them"
        )
        ids = ", ".join(window.id for window in self.windows)
        return f"one join instead of {len(self.windows)}: {how}\nof each pair the windows that hold both: {ids}"

    def __repr__(self) -> str:
        return f"<join on {', '.join(self.on)} over {len(self.windows)} windows>"


def join(
    left: DataFrame,
    right: DataFrame,
    *,
    on: str | Sequence[str],
    windows: Iterable[Window],
    time: str | tuple[str, str] = "ts",
    watermark: str | timedelta | None = None,
) -> WindowJoin:
    """Join events of two tables, or of two streams, that have the same keys and lie in one window.

    `time` is the name of the time column, or two of them, for left and right. Over streams `watermark` says how late
    events may be, unless they have watermarks already. A pair is there once for each interval of each window that holds
    both events.
    """
    for frame in (left, right):
        if not hasattr(frame, "groupBy"):
            msg = f"a join takes two Spark DataFrames, got {type(frame).__name__}"
            raise QueryError(msg)
    keys = (on,) if isinstance(on, str) else tuple(on)
    if not keys:
        msg = "a join needs at least one key: every event would meet every other. Name it with on="
        raise QueryError(msg)
    several = window_set(windows)
    if not several[0].timed:
        msg = f"{several[0]!r} counts a plain unit, and events have times: declare it with durations"
        raise QueryError(msg)
    times = (time, time) if isinstance(time, str) else tuple(time)
    if len(times) != 2:
        msg = f"time is one column's name or two, for left and right, got {time!r}"
        raise QueryError(msg)
    for key in keys:
        if key.lower() in (WINDOW_ID, WINDOW, "left", "right") or key.lower().startswith(RESERVED):
            msg = f"the key {key!r} is named like a column of the result: rename it first"
            raise QueryError(msg)
    if left.isStreaming != right.isStreaming:
        msg = "one side is a stream and the other a table: windows need both to be the same"
        raise QueryError(msg)
    late = None if watermark is None else parse_duration(watermark)
    found = WindowJoin(left, right, keys, several, (times[0], times[1]), late)
    from muntin.spark.joined import check

    check(found)
    return found
