"""Events of every type, drawn by a seed, and what it means that two results are equal."""

from __future__ import annotations

import datetime
import math
import random
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

SECOND = 1_000_000
YEAR = 31_536_000 * SECOND
UTC = datetime.UTC
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
# A column of this name before its own holds the sum of the absolute values of a float aggregate's input.
SIZE = "size_"

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("ntz", pa.timestamp("us")),
        ("us", pa.int64()),
        ("k_string", pa.string()),
        ("k_int", pa.int32()),
        ("k_double", pa.float64()),
        ("k_bool", pa.bool_()),
        ("k_date", pa.date32()),
        ("k_struct", pa.struct([("a", pa.float64()), ("b", pa.string())])),
        ("k_time", pa.timestamp("us", "UTC")),
        ("v_byte", pa.int8()),
        ("v_short", pa.int16()),
        ("v_int", pa.int32()),
        ("v_long", pa.int64()),
        ("v_float", pa.float32()),
        ("v_double", pa.float64()),
        ("v_wild", pa.float64()),
        ("v_money", pa.decimal128(10, 2)),
        ("v_decimal", pa.decimal128(38, 18)),
        ("v_string", pa.string()),
        ("v_date", pa.date32()),
        ("v_time", pa.timestamp("us", "UTC")),
        ("v_ntz", pa.timestamp("us")),
        ("v_bool", pa.bool_()),
        ("v_binary", pa.binary()),
    ]
)


def draw_events(seed: int, rows: int, nulls: float = 0.15, start: int = 0) -> pa.Table:
    """Draw events around `start` (microseconds), some far away, some at one time, some without time or values."""
    draw = random.Random(seed)

    def maybe(value: Any) -> Any:
        return None if draw.random() < nulls else value

    found = []
    for _ in range(rows):
        kind = draw.random()
        us = start + draw.randrange(-100 * SECOND, 200 * SECOND)
        if kind < 0.3:
            us -= us % SECOND
        elif kind < 0.35:
            us += draw.choice([-1, 1]) * YEAR
        timeless = draw.random() < 0.03
        moment = EPOCH + datetime.timedelta(microseconds=us)
        found.append(
            {
                "us": None if timeless else us,
                "ts": None if timeless else moment,
                "ntz": None if timeless else moment.replace(tzinfo=None),
                "k_string": maybe(draw.choice(["", "a", "ä", "b"])),
                "k_int": maybe(draw.randrange(-1, 3)),
                "k_double": maybe(draw.choice([0.0, -0.0, math.nan, 1.5, math.inf])),
                "k_bool": maybe(draw.random() < 0.5),
                "k_date": maybe(datetime.date(1969, 12, 30 + draw.randrange(2))),
                "k_struct": maybe({"a": maybe(draw.choice([0.0, -0.0, math.nan])), "b": maybe(draw.choice("xy"))}),
                "k_time": maybe(EPOCH + datetime.timedelta(microseconds=draw.choice([-1, 0, 1]))),
                "v_byte": maybe(draw.randrange(-60, 60)),
                "v_short": maybe(draw.randrange(-(2**14), 2**14)),
                "v_int": maybe(draw.choice([-(2**31), 2**31 - 1, draw.randrange(9)])),
                "v_long": maybe(draw.choice([draw.randrange(-(2**54), 2**54), draw.randrange(-3, 3)])),
                "v_float": maybe(draw.randrange(-1000, 1000) / 8),
                "v_double": maybe(draw.choice([draw.uniform(-1e3, 1e3), float(draw.randrange(4))])),
                "v_wild": maybe(draw.choice([0.0, -0.0, 1e300, -2.5, 3.0, math.nan, math.inf, -math.inf])),
                "v_money": maybe(Decimal(draw.randrange(-(10**9), 10**9)) / 100),
                "v_decimal": maybe(Decimal(draw.randrange(-(10**30), 10**30)).scaleb(-18)),
                "v_string": maybe("".join(draw.choice("abä") for _ in range(draw.randrange(4)))),
                "v_date": maybe(datetime.date(1970, 1, 1) + datetime.timedelta(draw.randrange(-9, 9))),
                "v_time": maybe(EPOCH + datetime.timedelta(microseconds=draw.randrange(-5, 10**9))),
                "v_ntz": maybe(datetime.datetime(1969, 12, 31, 23, 59, 59, draw.randrange(10**6))),
                "v_bool": maybe(draw.random() < 0.6),
                "v_binary": maybe(bytes(draw.randrange(256) for _ in range(draw.randrange(3)))),
            }
        )
    return pa.Table.from_pylist(found, schema=SCHEMA)


def frame_of(spark: SparkSession, events: pa.Table, partitions: int = 3) -> DataFrame:
    """Make a DataFrame of events, in several partitions and in no order."""
    # Without the schema Spark would read a time without zone as one in the session's zone.
    types = from_arrow_schema(SCHEMA, prefer_timestamp_ntz=True)
    frame = spark.createDataFrame(events, schema=types).repartition(partitions)
    assert dict(frame.dtypes)["ntz"] == dict(frame.dtypes)["v_ntz"] == "timestamp_ntz"
    return frame


def together(frames: Mapping[str, DataFrame]) -> dict[str, list[dict[str, Any]]]:
    """Collect several frames of one schema in one job."""
    named = [frame.select(F.lit(name).alias("_frame"), "*") for name, frame in frames.items()]
    rows = reduce(lambda x, y: x.unionAll(y), named).toArrow().to_pylist()
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in frames}
    for row in rows:
        found[row.pop("_frame")].append(row)
    return found


def plain(value: Any) -> Any:
    """Make a value that equals itself: NaN by name, one zero, times in UTC."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, datetime.datetime):
        return value if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


def check_equal(
    found: Sequence[Mapping[str, Any]], wanted: Sequence[Mapping[str, Any]], marks: Sequence[str], what: str = ""
) -> None:
    """Fail unless both have the same rows, told apart by `marks`: floats to nine digits, all else exactly."""
    ours, theirs = (_by_marks(rows, marks, what) for rows in (found, wanted))
    extra, missing = ours.keys() - theirs.keys(), theirs.keys() - ours.keys()
    assert not extra and not missing, (
        f"{what}: {len(extra)} rows too many {sorted(extra)[:3]}, {len(missing)} missing {sorted(missing)[:3]}"
    )
    for at, right in theirs.items():
        left = ours[at]
        assert {name for name in right if not name.startswith(SIZE)} <= left.keys() <= right.keys()
        for name in left:
            value = right[name]
            size = right.get(SIZE + name, 0.0) or 0.0
            assert _same(left[name], value, size), f"{what}: {name} of {at} is {left[name]!r}, not {value!r}"


def _by_marks(rows: Sequence[Mapping[str, Any]], marks: Sequence[str], what: str) -> dict[str, Mapping[str, Any]]:
    found = {repr([plain(row[mark]) for mark in marks]): row for row in rows}
    assert len(found) == len(rows), f"{what}: {len(rows) - len(found)} rows stand there twice"
    return found


def _same(x: Any, y: Any, size: float) -> bool:
    x, y = plain(x), plain(y)
    if isinstance(x, float) and isinstance(y, float) and not math.isinf(x) and not math.isinf(y):
        return abs(x - y) <= 1e-9 * max(abs(x), abs(y), size if math.isfinite(size) else 0.0)
    return type(x) is type(y) and bool(x == y)
