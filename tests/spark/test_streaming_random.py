"""Windows over random streams: the rows of N native streaming aggregates, each in the same micro-batch."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

import muntin as mt
from muntin import hopping
from tests.spark.streams import Event, emitted, read, write
from tests.spark.test_streaming import ALL, BASE, SECOND, event

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from muntin import Window


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Window], int, list[list[Event]]]:
    """Draw windows, the seconds that events may be late, and the events of each micro-batch."""
    windows: list[Window] = []
    for number in range(draw(st.integers(1, 4))):
        length = draw(st.integers(2, 60))
        slide = draw(st.integers(max(1, length // 12), length))
        offset = draw(st.integers(0, 9))
        windows.append(hopping(f"{length}s", slide=f"{slide}s", offset=f"{offset}s", id=f"w{number}"))
    rng = random.Random(draw(st.integers(0, 2**32)))
    now, batches = BASE, []
    for _ in range(draw(st.integers(3, 6))):
        now += draw(st.sampled_from([0, 5, 20, 60, 200]))
        behind = draw(st.sampled_from([1, 15, 90]))
        count = draw(st.integers(1, 25))
        batches.append(
            [event(rng, (now - rng.randint(0, behind)) * SECOND + rng.randint(0, 999_999)) for _ in range(count)]
        )
    return windows, draw(st.sampled_from([0, 3, 20])), batches


@pytest.mark.slow
@seed(20261116)
@settings(max_examples=8, deadline=None)
@given(streams())
def test_rows_and_batches_are_those_of_native_aggregates(
    spark: SparkSession, stream: tuple[list[Window], int, list[list[Event]]]
) -> None:
    windows, delay, batches = stream
    with tempfile.TemporaryDirectory() as folder:
        source = read(spark, write(Path(folder) / "in", batches))
        q = mt.windows(source, time="ts", keys="k", watermark=f"{delay}s").over(*windows).agg(**ALL)
        ours = {way: q.plan(strategy=way).stream() for way in ("arrow", "spread")}
        found = emitted({**ours, "native": q.native()}, Path(folder))
    for way in ours:
        assert found[way].rows == found["native"].rows, way
