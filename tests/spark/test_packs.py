"""Several panes in a row on their way to Python: the same rows, whatever is missing in a pack."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

import muntin as mt
from muntin import Statistics, agg, hopping, tumbling
from muntin.physical.cost import PACKS
from muntin.table_plan import TablePlan
from tests.spark.equal import SECOND, check_equal, draw_events, frame_of, together
from tests.spark.test_equal import (
    FEW,
    FILTERS,
    FLOATS,
    INTEGERS,
    KEYS,
    MANY,
    TAKES,
    TIMES,
    applied,
    few_examples,
    interpreted,
    window_sets,
)
from tests.spark.test_sweep import unpaired

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from muntin import Query, Window

__all__ = ["interpreted"]

# Decimals and strings do not go by kernels; their place is in other tests.
_PACKED = ("count", "sum", "avg", "min", "max", "any", "all", "range", "geometric_mean")
_TYPES = (*INTEGERS, *FLOATS, "v_wild", *TIMES, "v_bool")


def packed(q: Query, pack: int, statistics: Statistics, *, runs: bool) -> TablePlan:
    """Plan by kernels with so many panes in a row, and windows in lists or not, whatever is cheapest."""
    plan = q.plan(strategy="arrow", statistics=statistics)
    assert isinstance(plan, TablePlan)
    steps = plan.physical.steps
    assert {step.way for step in steps} == {"arrow"}
    assert all(len(step.aggregates) for step in steps)
    wholes = [None if step.coarse is None else -(-step.coarse // pack) * pack for step in steps]
    forced = tuple(replace(step, pack=pack, coarse=whole, runs=runs) for step, whole in zip(steps, wholes, strict=True))
    return replace(plan, physical=replace(plan.physical, steps=forced))


@st.composite
def numbers(draw: st.DrawFn) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(draw(st.integers(1, 3))):
        function = draw(st.sampled_from(_PACKED))
        column = draw(st.sampled_from([name for name in TAKES[function] if name in _TYPES]))
        found |= applied(function, column, draw(st.sampled_from(FILTERS)))
    return found


@given(
    seed=st.integers(0, 2**32),
    windows=window_sets(),
    aggregates=numbers(),
    keys=st.sampled_from(KEYS),
    shape=st.sampled_from([(80, 0.15), (120, 0.0), (80, 0.8), (1, 0.0), (0, 0.0)]),
    start=st.sampled_from([0, -10_000 * SECOND - 7]),
    time=st.sampled_from(["ts", "ntz"]),
    pack=st.sampled_from((1, *PACKS)),
    runs=st.booleans(),
    statistics=st.sampled_from([FEW, MANY]),
)
@settings(few_examples, max_examples=16)
def test_packs_and_runs_have_the_rows_of_the_plan_written_by_hand(
    spark: SparkSession,
    interpreted: None,
    seed: int,
    windows: list[Window],
    aggregates: dict[str, Any],
    keys: tuple[str, ...],
    shape: tuple[int, float],
    start: int,
    time: str,
    pack: int,
    runs: bool,
    statistics: Statistics,
) -> None:
    frame = frame_of(spark, draw_events(seed, *shape, start=start), 2)
    q = mt.windows(frame, time=time, keys=keys).over(*windows).agg(**aggregates)
    found = together({"by hand": q.native(), "packed": packed(q, pack, statistics, runs=runs).run()})
    told = f"{pack} panes in a row, runs {runs}"
    check_equal(found["packed"], found["by hand"], ["window_id", "window", *q.keys], told)


@pytest.mark.slow
@pytest.mark.parametrize("wide", [False, True])
def test_a_long_key_in_packs_compiled_as_users_run_it(spark: SparkSession, wide: bool) -> None:
    """Chunks end inside a pack's windows, buckets between packs; every third pane is missing, some values are null."""
    events = spark.range(0, 160_000, 1, 3).select(
        F.timestamp_millis((F.col("id") - 70_000) * 1_500).alias("ts"),
        F.when(F.col("id") % 11 > 0, F.hash("id") % 1000).alias("v"),
    )
    q = (
        mt.windows(events, time="ts")
        .over(tumbling("2s"), hopping("1m", slide="30s", offset="1s"), hopping("25s", slide="10s"))
        .agg(total=agg.sum("v"), n=agg.count(), low=agg.min("v"))
    )
    for statistics in (Statistics(rows=1e8, span=240_000 * SECOND), Statistics(rows=1e8, keys=1e6, span=1)):
        plan = packed(q, 16, statistics, runs=True)
        assert (plan.physical.steps[0].coarse is None) is (statistics.keys > 1)
        assert unpaired(plan.run(wide=wide), q.native(wide=wide)) == 0


def test_dense_panes_are_packed_and_sparse_ones_are_not(spark: SparkSession) -> None:
    events = spark.createDataFrame([], "ts timestamp, k string, v double, s string")
    windows = (tumbling("2s"), tumbling("3s"))
    dense, sparse = Statistics(1e7, span=10_000_000 * SECOND), Statistics(1e7, keys=1e6, span=10_000_000 * SECOND)
    few = Statistics(1e5, span=100_000 * SECOND)

    def pack(statistics: Statistics, **aggregates: Any) -> int:
        plan = (
            mt.windows(events, time="ts", keys="k")
            .over(*windows)
            .agg(**aggregates)
            .plan(strategy="arrow", statistics=statistics)
        )
        assert isinstance(plan, TablePlan)
        (step,) = plan.physical.steps
        assert (f"{step.pack} of them in a row" in plan.explain()) is (step.pack > 1)
        assert plan.to_dict()["physical"]["steps"][0]["pack"] == step.pack
        assert plan.to_dict()["physical"]["steps"][0]["runs"] is step.runs
        # Windows come back in lists where they have neighbours, and what comes back are numbers.
        assert step.runs is (statistics is dense and "last" not in aggregates)
        return step.pack

    assert pack(dense, low=agg.min("v")) > 1
    assert pack(sparse, low=agg.min("v")) == 1
    # As dense, but too few for the lists to pay.
    assert pack(few, low=agg.min("v")) > 1
    # What stands beside a time, and a variance, are more than numbers that Spark merges in place.
    assert pack(dense, low=agg.min("v"), last=agg.last("s")) == 1
    assert pack(dense, low=agg.min("v"), spread=agg.stddev("v")) == 1
    # So many columns that a row of packs would be too wide.
    assert pack(dense, **{f"a{i}": agg.sum(F.col("v") * i) for i in range(30)}) == 1
