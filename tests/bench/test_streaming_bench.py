from __future__ import annotations

import doctest
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow.parquet as pq
import pytest

from bench import processes, registry, report, streaming, streaming_soak, streaming_source
from bench.events import BEGIN
from bench.streaming_source import (
    MUNTIN,
    SEPARATE,
    SHAPES,
    UNION,
    WAYS,
    Batch,
    Case,
    Day,
    Patience,
    Ran,
    Reading,
    State,
)
from muntin import hopping

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import ModuleType

T = TypeVar("T")


def track(jobs: Sequence[T], _: str, /) -> Sequence[T]:
    return jobs


def dicts(table: report.Table) -> list[dict[str, Any]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def ran(*queries: Sequence[float], files: int = 100) -> Ran:
    """Make runs whose micro-batches took some seconds; their state grows with their number."""
    return Ran(
        tuple(
            tuple(Batch(number, taken, State(10 * (number + 1), files, 7)) for number, taken in enumerate(seconds))
            for seconds in queries
        ),
        50.0,
    )


@pytest.mark.parametrize("module", [streaming, streaming_soak, streaming_source])
def test_doctests(module: ModuleType) -> None:
    outcome = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_both_are_known_by_name() -> None:
    assert registry.benchmark("streaming").__module__ == "bench.streaming"
    assert registry.benchmark("soak").__module__ == "bench.streaming_soak"
    assert registry.options("streaming") == registry.options("soak") == {"events"}


# --- the stream


def test_a_stream_has_a_file_for_each_core_and_batch_in_order(tmp_path: Path) -> None:
    stream = streaming_source.write(tmp_path / "in", batches=3, events=1_001, keys=7, stretch=60.0, cores=2)
    paths = sorted(stream.path.iterdir())
    assert [path.stat().st_mtime for path in paths] == [1, 2, 3, 4, 5, 6]
    found = [pq.read_table(path) for path in paths]
    assert [table.num_rows for table in found] == [501, 500] * 3
    assert {key for table in found for key in table["device"].to_pylist()} == set(range(7))
    for number in range(3):
        times = sorted(
            time.timestamp() - BEGIN - 60 * number
            for table in found[2 * number : 2 * number + 2]
            for time in table["ts"].to_pylist()
        )
        assert times[len(times) // 2] == pytest.approx(28, abs=5)
        assert times[-1] < 60
        assert times[0] >= -60
    again = streaming_source.write(tmp_path / "again", batches=3, events=1_001, keys=7, stretch=60.0, cores=2)
    assert pq.read_table(again.path / paths[0].name) == found[0]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 5, 10, 20])
def test_windows_are_as_many_as_said_and_not_longer_than_ten_minutes(shape: str, count: int) -> None:
    found = streaming_source.windows(shape, count)
    assert len(set(found)) == count
    assert max(window.range for window in found) <= 600_000_000
    assert {window.range == window.slide for window in found} == {shape == "tumbling"}


# --- what is made of it


def test_ways_are_compared_over_the_batches_that_all_ended() -> None:
    found = Reading(
        Case("tumbling", 1, 2),
        1_000,
        1,
        {MUNTIN: [ran([9, 1, 1, 5, 5])], UNION: [ran([9, 4, 4])], SEPARATE: [ran([9, 8, 8], [9, 2, 2, 2])]},
    )
    assert found.last == 2
    assert found.rate(MUNTIN) == 1_000
    assert found.rate(UNION) == 250
    # Of two queries side by side one took 8 s and one 2 s: 5 s in the mean.
    assert found.rate(SEPARATE) == 200
    assert found.times(MUNTIN, UNION) == 4
    assert found.ended(MUNTIN) == 4
    assert found.seconds(MUNTIN, found.ended(MUNTIN)) == [1, 1, 5, 5]
    assert found.state(SEPARATE) == State(60, 200, 14)
    assert found.state(MUNTIN) == State(30, 100, 7)


def test_a_way_that_ended_nothing_has_no_figures() -> None:
    found = Reading(Case("tumbling", 1, 1), 1_000, 2, {MUNTIN: [ran([9, 9, 1])], UNION: [ran([])]})
    assert found.rate(UNION) is None
    assert found.times(MUNTIN, UNION) is None
    assert found.state(UNION) is None
    assert found.rate(SEPARATE) is None


def case(count: int, ours: float, theirs: float, *, files: tuple[int, int] = (100, 900)) -> Reading:
    ways = {MUNTIN: [ran([ours] * 3, files=files[0])], UNION: [ran([theirs] * 3, files=files[1])]}
    return Reading(Case("hopping", 1_000, count), 100, 1, ways)


def test_goals_are_met_or_not() -> None:
    found = [case(1, 1.0, 1.0), case(10, 1.2, 6.0), case(20, 1.6, 15.9)]
    table, (said,) = streaming._goals(found)
    assert table.rows[0] == ("goal", "<= 1.5", ">= 5", ">= 10", "<= 0.1", "")
    (row,) = table.rows[1:]
    assert (row[0], row[5]) == ("hopping, 1,000 keys", "1/4")
    assert row[1:5] == pytest.approx((1.6, 5.0, 9.9375, 1 / 9))
    assert "20 : 1 window 0 of 1, 10: faster 1 of 1, 20: faster 0 of 1, 10: state 0 of 1" in said
    small = [case(10, 1.2, 6.0, files=(100, 1_000))]
    row = streaming._goals(small)[0].rows[1]
    assert row == ("hopping, 1,000 keys", None, row[2], None, 0.1, "2/2")
    assert row[2] == pytest.approx(5.0)


def test_the_day_counts_natives_fixed_time_once() -> None:
    day = Day(
        1_000,
        8,
        {
            (MUNTIN, 1_000): (2, ran([9, 9, 0.5])),
            (UNION, 10): (1, ran([9, 2.0])),
            (MUNTIN, 20): (1, ran([9, 0.1, 0.3])),
            (UNION, 20): (1, ran([9, 3.0])),
        },
    )
    # 2 s for ten events, and 0.1 s for each that follows.
    assert day.by_hand == pytest.approx(2.0 + 0.1 * 990)
    assert day.times == pytest.approx(202)
    assert day.seconds(MUNTIN, 20) == 0.1
    assert "202 times as fast (goal 100, met)" in streaming._day_said(day)
    last = dicts(streaming._day_table(day))[-1]
    assert last["way"] == "native, extrapolated"
    assert last["s a batch"] == pytest.approx(101)
    never = replace(day, ran=dict(day.ran) | {(UNION, 20): (1, ran([9]))})
    assert never.times is None
    assert "native did not end" in streaming._day_said(never)


# --- the wait


class Query:
    """A query that commits a micro-batch each time it is asked whether it runs."""

    def __init__(self, place: Path, batches: int) -> None:
        self.commits, self.batches = place / "commits", batches
        self.commits.mkdir(parents=True)

    @property
    def isActive(self) -> bool:
        done = sum(path.name.isdigit() for path in self.commits.iterdir())
        (self.commits / str(done)).touch()
        (self.commits / f".{done}.crc").touch()
        return done < self.batches

    def awaitTermination(self) -> None:
        if self.batches < 0:
            msg = "failed"
            raise RuntimeError(msg)


@pytest.mark.parametrize(
    ("patience", "batches", "stopped"),
    [(Patience(2, 3, 0.0), 100, True), (Patience(2, 3, 9.0), 4, False), (Patience(2, 300, 0.0, 0.0), 100, True)],
)
def test_a_run_ends_when_its_time_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: Patience, batches: int, stopped: bool
) -> None:
    monkeypatch.setattr(streaming_source, "_POLL", 0.0)
    query = Query(tmp_path / "0", batches)
    streaming_source._wait([query], [tmp_path / "0"], patience, time.monotonic())
    done = streaming_source._committed(tmp_path / "0")
    assert (done < batches) == stopped
    assert done >= (patience.warm + patience.least if patience.end else 1)


def test_a_query_that_fails_is_not_waited_for(tmp_path: Path) -> None:
    queries = [Query(tmp_path / "0", 1_000), Query(tmp_path / "1", -1)]
    with pytest.raises(RuntimeError, match="failed"):
        streaming_source._wait(queries, [tmp_path / "0", tmp_path / "1"], Patience(), time.monotonic())


# --- the soak


def samples(*jvm: int) -> list[streaming_soak.Sample]:
    return [
        streaming_soak.Sample(60.0 * number, size * 1_000_000, 80_000_000, 50_000_000, 20, 3_000, 0, number, 0.5, 100)
        for number, size in enumerate(jvm)
    ]


def test_only_what_grows_in_the_second_half_is_not_flat() -> None:
    settled = streaming_soak.report(streaming_soak.Scale(), samples(10, 50, 90, 100, 101, 102, 103), {})
    assert settled.notes[0].startswith("All are flat.")
    rows = {row[0]: row for row in settled.tables[0].rows}
    assert rows["memory of the JVM (MB)"][1:] == (101.5, 103.0, 1.0, "+3.0%", "yes")
    leaking = streaming_soak.report(streaming_soak.Scale(), samples(10, 50, 90, 100, 105, 110, 115), {})
    assert leaking.notes[0].startswith("Not flat: memory of the JVM.")
    assert max(map(len, report.as_text(leaking).splitlines())) <= 80
    memory, state = settled.chart.panels
    assert [series.name for series in memory.series] == ["memory of the JVM", "memory of Python"]
    assert memory.series[1].values == (100.0,) * 7
    # There was no memory for state in these samples: nothing to draw.
    assert [series.name for series in state.series] == ["state rows", "state files"]


def test_memory_is_that_of_a_process_and_of_all_it_started() -> None:
    before = processes.resident(os.getpid())
    child = subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    grandchild = int(child.stdout.readline())
    try:
        deadline = time.monotonic() + 5
        while "sleep" not in (found := processes.resident(os.getpid())) and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        os.kill(grandchild, signal.SIGKILL)
        child.wait()
        child.stdout.close()
    assert found["sleep"] > 0
    assert "sleep" not in before
    assert sum(found.values()) > sum(before.values())


def used_by(*few: int) -> dict[tuple[int, int], processes.Used]:
    """Leave out others that this process may have started, such as Spark, which works on."""
    return {key: was for key, was in processes.used(os.getpid()).items() if key[0] in few}


def test_a_process_whose_parent_ends_first_takes_nothing_off_what_is_used() -> None:
    burn = "import time\nwhile time.process_time() < 0.4: pass\nprint('burnt', flush=True)\ntime.sleep(60)"
    child = subprocess.Popen(
        ["sh", "-c", f'"{sys.executable}" -c "{burn}" & echo $!; wait'], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    grandchild = int(child.stdout.readline())
    try:
        assert child.stdout.readline() == "burnt\n"
        before = used_by(os.getpid(), child.pid, grandchild)
        assert before[processes.identity(grandchild)].itself >= 0.3
    finally:
        child.kill()
        child.wait()
        os.kill(grandchild, signal.SIGKILL)
        child.stdout.close()
    start = time.process_time()
    while time.process_time() < start + 0.2:
        pass
    after = used_by(os.getpid(), child.pid, grandchild)
    assert 0.15 <= processes.between(before, after) < 0.4
    total = [sum(each.itself + each.ended for each in reading.values()) for reading in (before, after)]
    assert total[1] < total[0], "sums of all processes go back here, and what is used must not"


def test_a_process_that_is_waited_for_counts_from_the_first_reading_on() -> None:
    burn = "import time\nwhile time.process_time() < 0.4: pass\nprint('burnt', flush=True)\ninput()"
    child = subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    child.stdout.readline()
    before = used_by(os.getpid(), child.pid)
    child.communicate("\n")
    assert 0 <= processes.between(before, used_by(os.getpid(), child.pid)) < 0.3


# --- small runs on Spark


@pytest.mark.slow
def test_a_small_stream_is_run_every_way(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "DAY", (hopping("1h", slide="15m"),))
    monkeypatch.setattr(streaming_source, "RANGES", {1: (60,), 2: (20, 60), 5: (20, 40, 60)})
    before = spark.conf.get("spark.sql.shuffle.partitions")
    day = streaming.DayScale(60, 3, 1, 2, 5, 4, Patience(1, 1, 0.0))
    scale = streaming.Scale(
        (1, 2), (3,), ("hopping",), 100, 5, rounds=2, patience=Patience(1, 1, 0.0), day=day, separated=2
    )
    told = streaming.measure(scale, track)
    rows = dicts(told.measurements)
    assert {(row["windows"], row["way"], row["round"]) for row in rows if row["shape"] == "hopping"} == {
        (windows, way, turn)
        for windows, ways in ((1, (MUNTIN, UNION)), (2, (MUNTIN, UNION, SEPARATE)))
        for way in ways
        for turn in (0, 1)
    }
    assert {row["shape"] for row in rows} == {"hopping", "24 h by 1 minute"}
    assert {row["query"] for row in rows if row["way"] == SEPARATE} == {0, 1}
    for row in rows:
        assert row["seconds"] > 0
        assert row["state_rows"] > 0
        assert row["state_file_bytes"] > 0
    rates = {row["windows"]: row for row in dicts(told.tables[1])}
    assert rates["2 hopping"]["batches"] >= 1
    assert all(rates["2 hopping"][column] > 0 for column in (*WAYS, "x union", "x separate"))
    assert rates["1 hopping"][SEPARATE] is None
    assert told.tables[-1].title == "24 h by 1 minute"
    assert all(row["s a batch"] > 0 for row in dicts(told.tables[-1]))
    assert max(map(len, report.as_text(told).splitlines())) <= 80
    assert "<svg" in report.as_svg(told)
    assert spark.conf.get("spark.sql.shuffle.partitions") == before


@pytest.mark.slow
def test_rows_that_differ_stop_the_benchmark(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = iter([(1, 1), (1, 2)])
    monkeypatch.setattr(streaming, "fingerprint", lambda _: next(counted))
    with pytest.raises(AssertionError, match="the rows of muntin and of native aggregates differ"):
        streaming.agree(streaming._Bench(spark, tmp_path, 1))


@pytest.mark.slow
def test_a_short_soak_sees_memory_and_state(spark: Any) -> None:
    told = streaming_soak.measure(streaming_soak.Scale(6.0, 1.0, 500, 10, 200, "500 milliseconds"), track)
    assert len(told.measurements.rows) == 6
    last = dicts(told.measurements)[-1]
    assert last["jvm"] > 100_000_000
    assert last["python"] > 10_000_000
    assert last["state_rows"] > 0
    assert last["batch"] > 1
    assert max(map(len, report.as_text(told).splitlines())) <= 80
