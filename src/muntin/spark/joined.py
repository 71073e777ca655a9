"""Joins over windows as DataFrames: pairs that are near enough, and of each pair the windows that hold both."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.declare.query import WINDOW, WINDOW_ID
from muntin.errors import QueryError
from muntin.spark.bound import field, watermark_of, watermarked
from muntin.spark.panes import quoted
from muntin.spark.recipes.coding import ntz_from_micros, ntz_micros

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from muntin.join import WindowJoin
    from muntin.window.spec import Window

_SIDES: Final = ("left", "right")


def check(asked: WindowJoin) -> None:
    """Refuse columns that are not there, or of which no join can be made."""
    for side, frame, time in zip(_SIDES, (asked.left, asked.right), asked.times, strict=True):
        types = {column.name: column.dataType for column in frame.schema.fields}
        for name in (*asked.on, time):
            if name not in types:
                msg = f"the {side} DataFrame has no column {name!r}: it has {', '.join(types)}"
                raise QueryError(msg)
        if not isinstance(types[time], (T.TimestampType, T.TimestampNTZType)):
            msg = (
                f"the time column {time!r} of the {side} DataFrame is of type {types[time].simpleString()}: windows "
                "need a timestamp. Cast it first"
            )
            raise QueryError(msg)
    one, two = (frame.schema[time].dataType for frame, time in zip((asked.left, asked.right), asked.times, strict=True))
    if one != two:
        msg = f"the times are of type {one.simpleString()} and {two.simpleString()}: cast one to the other's type"
        raise QueryError(msg)
    for frame, time in zip((asked.left, asked.right), asked.times, strict=True):
        if not frame.isStreaming or watermark_of(watermarked(frame, time, asked.watermark), time) is not None:
            continue
        msg = "a join of streams must know how late events may be, or its state would only grow: pass watermark='10s'"
        raise QueryError(msg)


def shared(asked: WindowJoin) -> DataFrame:
    """Join once, for the longest window, and derive all windows from the pairs."""
    left, right = _sides(asked, asked.reach)
    near = [quoted(f"_mt_left_{place}") == quoted(f"_mt_right_{place}") for place in range(len(asked.on))]
    if asked.nested:
        widest = max(asked.windows, key=lambda window: window.range)
        left, right = (
            frame.withColumn(f"_mt_{side}_b", _start(_micros(asked, f"_mt_{side}"), widest))
            for side, frame in zip(_SIDES, (left, right), strict=True)
        )
        near.append(F.col("_mt_left_b") == F.col("_mt_right_b"))
    elif not asked.left.isStreaming:
        reach = F.lit(asked.reach)
        # Two events that are near lie in the same stretch of the longest range, or in stretches side by side.
        left, right = (
            frame.withColumn(
                f"_mt_{side}_b", _micros(asked, f"_mt_{side}") - F.pmod(_micros(asked, f"_mt_{side}"), reach)
            )
            for side, frame in zip(_SIDES, (left, right), strict=True)
        )
        around = F.array(*(F.col("_mt_right_b") + n * reach for n in (-1, 0, 1)))
        right = right.withColumn("_mt_right_b", F.explode(around))
        near.append(F.col("_mt_left_b") == F.col("_mt_right_b"))
    # In this form Spark finds how long a stream's event has to wait for its partner.
    span = f"INTERVAL {asked.reach} MICROSECONDS"
    near.append(F.expr(f"_mt_left > _mt_right - {span} AND _mt_left < _mt_right + {span}"))
    pairs = left.join(right, reduce(lambda x, y: x & y, near))
    one, two = _micros(asked, "_mt_left"), _micros(asked, "_mt_right")
    held = F.concat(*(_held(window, number, one, two) for number, window in enumerate(asked.windows)))
    each = pairs.withColumn("_mt_in", F.explode(held))
    ids = F.array(*(F.lit(window.id) for window in asked.windows))
    ranges = F.array(*(F.lit(window.range) for window in asked.windows))
    number, start = F.col("_mt_in")["w"], F.col("_mt_in")["s"]
    return each.select(
        F.get(ids, number).alias(WINDOW_ID),
        F.struct(
            _instant(asked, start).alias("start"), _instant(asked, start + F.get(ranges, number)).alias("end")
        ).alias(WINDOW),
        *(quoted(f"_mt_left_{place}").alias(name) for place, name in enumerate(asked.on)),
        *_SIDES,
    )


def native(asked: WindowJoin) -> DataFrame:
    """Join for each window by itself, and take the union."""
    found = []
    for window in asked.windows:
        times = [f"{length} microseconds" for length in (window.range, window.slide, window.offset)]
        left, right = (
            frame.withColumn(f"_mt_{side}_w", F.window(F.col(f"_mt_{side}"), *times))
            for side, frame in zip(_SIDES, _sides(asked, 0), strict=True)
        )
        same = [F.col("_mt_left_w") == F.col("_mt_right_w")]
        same += [quoted(f"_mt_left_{place}") == quoted(f"_mt_right_{place}") for place in range(len(asked.on))]
        found.append(
            left.join(right, reduce(lambda x, y: x & y, same)).select(
                F.lit(window.id).alias(WINDOW_ID),
                F.col("_mt_left_w").alias(WINDOW),
                *(quoted(f"_mt_left_{place}").alias(name) for place, name in enumerate(asked.on)),
                *_SIDES,
            )
        )
    return reduce(lambda x, y: x.unionAll(y), found)


def _sides(asked: WindowJoin, more: int) -> list[DataFrame]:
    """Give both sides the same form: the keys, the time, and all but the keys in a struct.

    Spark drops an event that is behind the watermark before it meets another by its time, and one of a window only when
    the window is over: a watermark that comes later by the longest window, `more`, drops none that a window waits for.
    """
    found = []
    for side, frame, time in zip(_SIDES, (asked.left, asked.right), asked.times, strict=True):
        if asked.watermark is not None and watermark_of(frame, time) is None:
            frame = watermarked(frame, time, asked.watermark + more)
        keys = [field(frame, name).alias(f"_mt_{side}_{place}") for place, name in enumerate(asked.on)]
        others = [field(frame, name).alias(name) for name in frame.columns if name not in asked.on]
        taken = frame.select(*keys, field(frame, time).alias(f"_mt_{side}"), F.struct(*others).alias(side))
        found.append(taken.where(F.col(f"_mt_{side}").isNotNull()))
    return found


def _held(window: Window, number: int, one: Column, two: Column) -> Column:
    """List the intervals of a window that hold two times: they start after the later less the range, to the earlier."""
    earlier, later = F.least(one, two), F.greatest(one, two)
    last = _start(earlier, window)
    # The number of slides by which an interval may start before the last one and still hold the later time.
    back = F.floor((last + window.range - 1 - later) / F.lit(window.slide)).cast("long")
    kind = "array<struct<w:int,s:bigint>>"
    starts = F.transform(
        F.sequence(F.lit(0).cast("long"), F.greatest(back, F.lit(0))),
        lambda n: F.struct(F.lit(number).alias("w"), (last - n * window.slide).alias("s")),
    )
    return F.when(back >= 0, starts.cast(kind)).otherwise(F.array().cast(kind))


def _start(micros: Column, window: Window) -> Column:
    """Find the last interval of a window that starts at a time or before."""
    return micros - F.pmod(micros - F.lit(window.offset), F.lit(window.slide))


def _ntz(asked: WindowJoin) -> bool:
    return isinstance(asked.left.schema[asked.times[0]].dataType, T.TimestampNTZType)


def _micros(asked: WindowJoin, name: str) -> Column:
    return ntz_micros(F.col(name)) if _ntz(asked) else F.unix_micros(F.col(name))


def _instant(asked: WindowJoin, micros: Column) -> Column:
    return ntz_from_micros(micros) if _ntz(asked) else F.timestamp_micros(micros)
