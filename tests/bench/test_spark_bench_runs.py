from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from bench import events, features, forum, never_slower, report, stages, tables
from bench.evidence.factor_windows import boosts, throughput
from bench.evidence.reports import read
from bench.kept import Kept, part
from bench.spark_session import fingerprint
from bench.workloads import table_setups
from muntin.errors import MuntinError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench.workloads import Setup

T = TypeVar("T")
TINY = tables.PaperTable(
    "table1",
    "Tiny",
    (2,),
    {f"{generator}-2-{shape}": (1.0, 1.0, 0.0001, 2.0) for generator in "RS" for shape in ("tumbling", "hopping")},
)


def track(jobs: Sequence[T], _: str, /) -> Sequence[T]:
    return jobs


@pytest.mark.slow
def test_a_tiny_table_has_every_plan_of_every_set(spark: Any, tmp_path: Path) -> None:
    scale = tables.Scale(events=2_000, sets=1, repeats=1, few=500)
    told = tables.measure(TINY, scale, track, events.constant_pace)
    rows = [dict(zip(told.measurements.columns, row, strict=True)) for row in told.measurements.rows]
    assert [(row["setup"], row["plan"]) for row in rows] == [
        (setup, plan) for setup in TINY.figures for plan in ("mincost", "factor", "auto")
    ]
    for row in rows:
        assert row["seconds"] > row["planning_s"] > 0  # type: ignore[operator]
        assert row["boost_without_planning"] > row["boost"]  # type: ignore[operator]
        assert row["plan"] == "auto" or row["ways"] == "jvm"
        assert (row["paper_cost"] is None) == (row["plan"] == "auto")
    assert "in 4 of 4 setups" in told.notes[0]
    assert max(map(len, report.as_text(told).splitlines())) <= 80
    report.write(told, tmp_path)
    written = read(tmp_path, "table1")
    assert written is not None
    ours = boosts(TINY, 2_000, written)
    assert [held.verdict for held in ours.held] == ["as good"] * 4
    assert [row[0] for table in ours.tables for row in table.rows] == [*TINY.figures, *TINY.figures]
    assert [len(chart.panels) for chart in throughput((2,), 2_000, written).charts] == [4]


@pytest.mark.slow
def test_a_table_that_was_broken_off_goes_on_where_it_was(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scale = tables.Scale(events=2_000, sets=1, repeats=1, few=500)
    measured: list[str] = []
    once = tables._measured

    def breaking(spark: Any, setup: Setup, *rest: Any) -> list[tables.Reading]:
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append(setup.name)
        return once(spark, setup, *rest)

    monkeypatch.setattr(tables, "_measured", breaking)
    with pytest.raises(KeyboardInterrupt):
        tables.measure(TINY, scale, track, events.constant_pace, tmp_path)
    before = measured.copy()
    measured.clear()
    told = tables.measure(TINY, scale, track, events.constant_pace, tmp_path)
    assert before + measured == list(TINY.figures)
    assert len(told.measurements.rows) == 3 * len(TINY.figures)
    assert "2 of the window sets were measured by an earlier run, which was broken off." in told.notes
    report.write(told, tmp_path)
    # What is in a report is measured anew where it is asked for again.
    assert len(Kept(part(tmp_path, "table1"), {})) == 0


@pytest.mark.slow
def test_rows_that_differ_stop_a_benchmark(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = events.constant_pace(spark, tmp_path, 200, few=100)
    setup = table_setups(2)[0]
    runs = tables._runs(tables._query(spark, source.path, setup.windows(0)))
    counted = iter([(1, 1), (1, 2)])
    monkeypatch.setattr(tables, "fingerprint", lambda _: next(counted))
    with pytest.raises(AssertionError, match="R-2-tumbling, set 0: the rows of mincost are not those"):
        tables._warm_up(spark, setup, 0, source, runs)


@pytest.mark.slow
def test_a_sample_is_repeated_end_to_end(spark: Any, tmp_path: Path) -> None:
    sample = tmp_path / "sample.parquet"
    spark.sql(
        "SELECT timestamp_micros(1000000 + v * 10) AS ts, v AS mf01 FROM VALUES (2), (0), (1) AS t(v)"
    ).write.parquet(str(sample))
    source = events.power(spark, tmp_path, 8, sample, few=4)
    assert "sample.parquet: 3 real events, repeated end to end 2.7 times" in source.what
    rows = spark.read.parquet(source.path).selectExpr("unix_micros(ts) AS t", "v").collect()
    assert [(row.t - 1_000_000, row.v) for row in rows] == [(10 * i, i % 3) for i in range(8)]
    assert spark.read.parquet(source.few).count() == 4
    with pytest.raises(MuntinError, match="there is no"):
        events.power(spark, tmp_path, 8, tmp_path / "none.parquet")
    spark.range(3).write.parquet(str(tmp_path / "other.parquet"))
    with pytest.raises(MuntinError, match="cannot be read as parquet with the columns ts and mf01"):
        events.power(spark, tmp_path, 8, tmp_path / "other.parquet")


@pytest.mark.slow
def test_the_stand_in_is_in_order_of_time_and_named_as_such(spark: Any, tmp_path: Path) -> None:
    source = events.power(spark, tmp_path, 1_000, None)
    assert source.what.startswith("synthetic stand-in")
    times = [row[0] for row in spark.read.parquet(source.path).selectExpr("unix_micros(ts)").collect()]
    assert times == sorted(times)
    assert (times[-1] - times[0]) / 999 == pytest.approx(10_000, rel=0.01)


@pytest.mark.slow
def test_rolling_counts_agree_with_over_on_every_minute(spark: Any) -> None:
    told = forum.measure(forum.Scale(600, 2, 2, 2, repeats=1), track, by_hand=False)
    rows = {row[0]: row for row in told.tables[0].rows}
    assert set(rows) == {forum.OURS, *forum.OVER, forum.WHOLE}
    assert rows["OVER events"][1] == 600
    assert rows[forum.OURS][1] == rows[forum.SAME][1]
    assert rows[forum.WHOLE][2:4] == (None, None)
    assert spark.conf.get(forum.TREE) == "false"


@pytest.mark.slow
def test_every_stage_is_measured_on_the_same_windows(spark: Any, tmp_path: Path) -> None:
    path = events.constant_pace(spark, tmp_path, 500).path
    made = stages.plans(spark.read.parquet(path), 10, 500)
    windows = {name: fingerprint(build()) for name, build in made.items() if name.startswith(("windows", "native"))}
    assert len(windows) == 2 + 2 * len(stages.PACKS)
    assert len(set(windows.values())) == 1, windows
    measured = stages._measured(spark, path, 10, 500, 1)
    found = [replace(each, pane=pane) for pane in stages.PANES for each in measured]
    told = stages.report(found, {"events": 500})
    assert len(told.measurements.rows) == len(stages.PANES) * len(made)
    assert all(row[3] > 0 and row[4] >= 0 for row in told.measurements.rows)  # type: ignore[operator]
    assert max(map(len, report.as_text(told).splitlines())) <= 80
    report.write(told, tmp_path)


@pytest.mark.slow
def test_every_engine_gives_as_many_rows(spark: Any) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("polars")
    from bench import peers

    told = peers.measure(peers.Scale(3_000, 1_000, 1), track)
    for table in told.tables:
        rows = {engine: count for engine, count, *_ in table.rows if engine != "DuckDB, OVER events"}
        assert len(rows) == 4
        assert len(set(rows.values())) == 1, rows


@pytest.mark.slow
def test_every_engine_gives_the_same_rows(spark: Any, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("polars")
    from bench import peers

    path = events.constant_pace(spark, tmp_path, 3_000).path
    query = peers.dashboard(spark.read.parquet(path))
    expected = sorted((r.window_id, seconds(r.window.start), r.low) for r in query.plan().run().collect())
    duck = peers.duckdb_table(peers.duckdb_windows(path)).to_pylist()
    assert sorted((r["window_id"], seconds(r["start"]), r["low"]) for r in duck) == expected
    polars = peers.polars_windows(path).to_dicts()
    assert sorted((r["window_id"], seconds(r["ts"]), r["low"]) for r in polars) == expected

    path = events.shop(spark, tmp_path, "shop", 1_000, 3, days=2)
    wide = features.features(spark.read.parquet(path)).plan().run(wide=True)
    names = [name for name in wide.columns if name not in ("visitor", "at")]

    def features_of(rows: list[dict[str, Any]]) -> dict[tuple[int, int], list[int | None]]:
        return {(row["visitor"], seconds(row["at"])): [row[name] for name in names] for row in rows}

    counts = features_of([row.asDict() for row in wide.collect()])
    assert features_of(peers.duckdb_table(peers.duckdb_minutes(path)).to_pylist()) == counts
    assert features_of(peers.polars_rolling(path).to_dicts()) == counts


def seconds(instant: datetime) -> int:
    """Count the seconds of a time in UTC, which some engines give without a zone."""
    return int(instant.replace(tzinfo=UTC).timestamp())


@pytest.mark.slow
def test_a_workload_is_run_both_ways(spark: Any, tmp_path: Path) -> None:
    workload = never_slower._drawn("aggregates", 0, 500)
    found = never_slower._measured(spark, tmp_path, workload, never_slower.Scale(repeats=1), 0)
    assert 0 < found.executing < found.auto
    assert found.ratio > found.bare > 0
    told = never_slower._report(never_slower.Scale(), [found], {})
    assert told.tables[1].rows[0][0] == "aggregates 0"
    assert max(map(len, report.as_text(told).splitlines())) <= 80
