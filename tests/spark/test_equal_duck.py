"""Results are those of DuckDB, which shares no code with muntin and none with Spark."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

import muntin as mt
from muntin import agg
from tests.spark.duck import by_duckdb
from tests.spark.equal import EPOCH, SIZE, check_equal, draw_events, frame_of, together
from tests.spark.test_equal import (
    FEW,
    FLOATS,
    INTEGERS,
    KEYS,
    MANY,
    TINY,
    VALUES,
    few_examples,
    interpreted,
    window_sets,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from muntin import Statistics, Window

__all__ = ["interpreted"]

# Where both mean the same. DuckDB's mean of decimals is a double, and its spread of infinities an error.
TAKES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("count", "min", "max", "first", "last"), VALUES),
    **dict.fromkeys(("sum", "avg", "stddev", "stddev_pop", "variance", "var_pop"), (*INTEGERS, *FLOATS)),
    "median": ("v_byte", "v_double"),
    "count_distinct": tuple(column for column in VALUES if column != "v_wild"),
    "any": ("v_bool",),
    "all": ("v_bool",),
    "collect": ("v_int", "v_string"),
    "collect_distinct": ("v_int", "v_string"),
}
ROUNDED = ("sum", "avg", "median", "stddev", "stddev_pop", "variance", "var_pop")
# A function, its columns, and a filter.
Call = tuple[str, tuple[str, ...], "str | None"]
FILTERS: tuple[str | None, ...] = (None, None, "v_int > 0", "v_bool", "v_byte > 99")


@st.composite
def aggregate_sets(draw: st.DrawFn) -> dict[str, Call]:
    found: dict[str, Call] = {}
    for place in range(draw(st.integers(2, 7))):
        function = draw(st.sampled_from([*TAKES, "arg_min", "arg_max", "sum decimals"]))
        kept = draw(st.sampled_from(FILTERS))
        if function == "sum decimals":
            found[f"r{place}"] = ("sum", (draw(st.sampled_from(["v_money", "v_decimal"])),), kept)
        elif function in TAKES:
            found[f"r{place}"] = (function, (draw(st.sampled_from(TAKES[function])),), kept)
        else:
            found[f"r{place}"] = (function, (draw(st.sampled_from(VALUES)), draw(st.sampled_from(VALUES))), kept)
    return found


@given(
    seed=st.integers(0, 2**32),
    windows=window_sets(),
    calls=aggregate_sets(),
    keys=st.sampled_from(KEYS),
    rows=st.sampled_from([1, 60, 120]),
    statistics=st.sampled_from([FEW, MANY]),
)
@settings(few_examples, max_examples=10)
def test_any_query_has_the_rows_of_duckdb(
    spark: SparkSession,
    interpreted: None,
    seed: int,
    windows: list[Window],
    calls: dict[str, Call],
    keys: tuple[str, ...],
    rows: int,
    statistics: Statistics,
) -> None:
    events = draw_events(seed, rows)
    named = {name: getattr(agg, function)(*columns, filter=kept) for name, (function, columns, kept) in calls.items()}
    q = mt.windows(frame_of(spark, events, 2), time="ts", keys=keys).over(*windows).agg(**named)
    sizes: dict[str, Call] = {
        SIZE + name: ("size of squares" if function.startswith("var") else "size", columns, kept)
        for name, (function, columns, kept) in calls.items()
        if function in ROUNDED and columns[0] in (*INTEGERS, *FLOATS)
    }
    wanted = by_duckdb(events, keys, windows, {**calls, **sizes})
    for row in wanted:
        row["window"] = {"start": moment(row.pop("start")), "end": moment(row.pop("end"))}
    frames = {name: q.plan(strategy=name, statistics=statistics).run() for name in ("spread", "jvm", "arrow")}
    frames["straight from the events"] = q.plan(strategy="spread", statistics=TINY).run()
    for name, found in together({"by hand": q.native(), **frames}).items():
        check_equal(found, wanted, ["window_id", "window", *keys], f"{name} {calls}")


def moment(micros: int) -> datetime.datetime:
    return EPOCH + datetime.timedelta(microseconds=micros)
