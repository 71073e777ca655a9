from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from muntin.cli import main
from muntin.show.bars import bars
from muntin.testing.iot import DAYS, readings

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_the_demo_runs_both_plans_and_their_rows_agree(spark: SparkSession, tmp_path: Path) -> None:
    arguments = ["demo", "--events", "3000", "--out", str(tmp_path / "demo")]
    result = CliRunner().invoke(main, arguments, prog_name="muntin", env={"COLUMNS": "60"})
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert re.search(r"All [\d,]+ rows agree with the plan written by hand, in each of 10 windows\.", said)
    times = dict(re.findall(r"^(native|muntin) +([\d.]+) s  #+$", result.stdout, re.MULTILINE))
    assert times.keys() == {"native", "muntin"}
    native, muntin = float(times["native"]), float(times["muntin"])
    told = re.search(r"muntin takes (?:1/([\d.]+) of native's time|([\d.]+) times as long)", said)
    assert told is not None
    above, below = (native, muntin) if told[1] else (muntin, native)
    # Times are told to a hundredth, their ratio to a tenth.
    low, high = (above - 0.005) / (below + 0.005) - 0.051, (above + 0.005) / (below - 0.005) + 0.051
    assert low <= float(told[1] or told[2]) <= high
    assert (tmp_path / "demo" / "plan.html").read_text().startswith("<!doctype html>")
    chart = ET.fromstring((tmp_path / "demo" / "times.svg").read_text())
    shown = [text.text for text in chart.iter("{http://www.w3.org/2000/svg}text")]
    assert f"{native:.2f} s" in shown
    assert f"{muntin:.2f} s" in shown


def test_readings_are_the_same_for_a_seed_and_have_what_they_claim(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    frame = readings(spark, 200_000)
    rows: Any = frame.toPandas()
    assert 195_000 < len(rows) < 205_000
    assert rows.equals(readings(spark, 200_000).toPandas())
    assert not rows.equals(readings(spark, 200_000, seed=2).toPandas())
    assert rows["device"].nunique() == 50
    assert (rows["ts"].max() - rows["ts"].min()).days == DAYS - 1
    late = rows["ts"].cummax() - rows["ts"]
    assert 0 < late.max().total_seconds() <= 60
    assert 0.001 < rows["temperature"].isna().mean() < 0.01
    # By day it is warmer than by night.
    hourly: Any = frame.groupBy(F.hour("ts").alias("h")).agg(F.avg("temperature").alias("t")).toPandas()
    by_hour = hourly.set_index("h")["t"].sort_index()
    assert by_hour.loc[13:17].mean() > by_hour.loc[1:5].mean() + 2
    hours = rows.groupby(["device", rows["ts"].dt.floor("h")]).size()
    busiest = hours["device-00"]
    assert len(busiest) < DAYS * 24


def test_bars_are_as_long_as_their_figures() -> None:
    chart = ET.fromstring(bars("Time & more", "a note", [("native", 8.0, "8 s"), ("muntin", 2.0, "2 s")]))
    _, native, muntin = chart.iter("{http://www.w3.org/2000/svg}rect")
    assert float(native.attrib["width"]) == pytest.approx(4 * float(muntin.attrib["width"]))
