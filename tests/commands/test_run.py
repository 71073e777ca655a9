from __future__ import annotations

import csv
import io
import json
import random
import shutil
import subprocess
import sys
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from muntin.cli import main
from muntin.commands import run as run_command
from muntin.commands.stream import events
from muntin.errors import MuntinError
from muntin.spark import progress as progress_module
from muntin.spark.files import local_path, parse_input, read, writable, write
from muntin.spark.replaced import check_replaced

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from muntin.spark.files import Format

QUERY = """\
SELECT device, System.Window().Id AS wid, System.Timestamp() AS t, MIN(temp) AS low, SUM(temp) AS total, COUNT(*) AS n
FROM Input TIMESTAMP BY ts
WHERE temp > -50
GROUP BY device, Windows(
    Window('10 min', TumblingWindow(minute, 10)),
    Window('30 min', HoppingWindow(minute, 30, 10)))
"""
EVENTS = 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("run")
    (place / "query.sql").write_text(QUERY)
    chance = random.Random(4)
    with (place / "events.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["device", "ts", "temp"])
        for i in range(EVENTS):
            when = datetime(2026, 1, 5) + timedelta(seconds=20 * i + chance.random())
            temp = "" if i % 50 == 7 else round(chance.gauss(20, 5), 3)
            rows.writerow([f"d{chance.randrange(3)}", when.isoformat(" ", "milliseconds"), temp])
    return place


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["run", *map(str, arguments)], prog_name="muntin")


def refused(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stdout == ""
    return result.stderr.removeprefix("muntin: error: ").removesuffix("\n")


def by_hand(folder: Path) -> dict[tuple[str, str, datetime], tuple[float, float, int]]:
    """Compute the query in plain Python: windows are (start, end], and called by their end."""
    found: dict[tuple[str, str, datetime], list[float]] = {}
    with (folder / "events.csv").open() as file:
        events = [
            (r["device"], datetime.fromisoformat(r["ts"]), float(r["temp"])) for r in csv.DictReader(file) if r["temp"]
        ]
    first = datetime(2026, 1, 5)
    for name, length in (("10 min", 10), ("30 min", 30)):
        for step in range(1, 20):
            end = first + timedelta(minutes=10 * step)
            for device, when, temp in events:
                if end - timedelta(minutes=length) < when <= end:
                    found.setdefault((device, name, end), []).append(temp)
    return {place: (min(temps), sum(temps), len(temps)) for place, temps in found.items()}


@pytest.mark.parametrize("strategy", ["auto", "arrow", "jvm", "spread"])
def test_csv_in_parquet_out_with_every_row_verified(
    spark: SparkSession, folder: Path, tmp_path: Path, strategy: str
) -> None:
    out = tmp_path / "out"
    result = run(
        folder / "query.sql",
        "-i",
        f"Input={folder}/events.csv",
        "-o",
        out,
        "--verify",
        "--strategy",
        strategy,
        "--json",
    )
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    summary = json.loads(result.stdout)
    expected = by_hand(folder)
    assert summary["input"] == {"name": "Input", "path": f"{folder}/events.csv", "format": "csv", "rows": EVENTS}
    assert summary["output"] == {"path": str(out), "format": "parquet", "rows": len(expected)}
    counts = {name: sum(place[1] == name for place in expected) for name in ("10 min", "30 min")}
    assert {window["id"]: window["rows"] for window in summary["windows"]} == counts
    assert summary["verify"] == {
        "equal": True,
        "differing": 0,
        "windows": [{"id": name, "rows": count, "native": count} for name, count in counts.items()],
        "examples": [],
    }
    if strategy != "auto":
        assert {step["strategy"] for step in summary["plan"]["steps"]} == {strategy}
    assert {"planning", "running", "shared", "native"} == summary["seconds"].keys()
    rows = pq.read_table(out).to_pylist()
    assert len(rows) == len(expected)
    for row in rows:
        low, total, n = expected[row["device"], row["wid"], row["t"].replace(tzinfo=None)]
        assert (row["low"], row["n"]) == (low, n)
        assert row["total"] == pytest.approx(total, rel=1e-9)


def test_the_summary_says_what_was_done(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    result = run(folder / "query.sql", "-i", f"input={folder}/events.csv", "-o", out)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert f"rows in {EVENTS} from {folder}/events.csv (csv)" in said
    rows = [json.loads(line) for part in out.glob("*.json") for line in part.read_text().splitlines()]
    assert f"rows out {len(rows)} to {out} (json)" in said
    assert len(rows) == len(by_hand(folder))
    assert "windows 10 min: " in said
    assert "plan spread: " in said
    assert "s for planning" in said
    assert "verify" not in said


def test_windows_become_two_columns_in_csv(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    query = tmp_path / "query.sql"
    query.write_text("SELECT window, max(temp) AS high FROM e GROUP BY window(ts, '1 hour'), device")
    out = tmp_path / "out"
    assert run(query, "-i", f"e={folder}/events.csv", "-o", out, "-f", "csv").exit_code == 0
    (part,) = (part for part in out.glob("*.csv") if part.stat().st_size)
    rows = list(csv.DictReader(part.read_text().splitlines()))
    assert list(rows[0]) == ["window_start", "window_end", "high"]
    assert {row["window_end"] for row in rows} >= {"2026-01-05T01:00:00.000000Z"}


@pytest.mark.parametrize("form", ["csv", "json"])
def test_microseconds_are_kept_in_text(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """A time before 1900 too, when the zone of the session had seconds, and in a record; read as muntin reads."""
    micros = [1_767_571_200_123_456, 1, -2_900_000_000_123_457]
    times = "timestamp_micros(m) t, timestamp_micros(m)::timestamp_ntz n"
    values = f"select m, {times} from (select explode(array({', '.join(map(str, micros))})) m)"
    query = tmp_path / "query.sql"
    record = ", max_by(struct(t, n), m) AS r" if form == "json" else ""
    query.write_text(
        f"SELECT window, m, max(t) AS t, max(n) AS n{record} FROM e GROUP BY window(t, '10 us', '10 us', '1 us'), m"
    )
    arguments = (query, "-i", f"e={tmp_path}/events", "-o", tmp_path / "out", "-f", form)
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        spark.sql(values).write.parquet(str(tmp_path / "events"))
        result = run(*arguments)
        assert result.exit_code == 0, result.output
        back = read(spark, parse_input(f"o={tmp_path}/out", form))
        start = "window.start" if form == "json" else "window_start"
        columns = [start, "t", "n", *(("r.t", "r.n") if form == "json" else ())]
        found = back.selectExpr("m", *(f"unix_micros({column})" for column in columns)).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    for m, starts, *others in found:
        assert starts == m - (m - 1) % 10
        assert others == [m] * len(others)
    assert sorted(row[0] for row in found) == sorted(micros)


def test_json_and_parquet_are_read_by_suffix_in_folders_and_an_empty_input_gives_an_empty_output(
    spark: SparkSession, tmp_path: Path
) -> None:
    query = tmp_path / "query.sql"
    query.write_text(QUERY)
    (tmp_path / "events").mkdir()
    records = [{"device": "a", "ts": f"2026-01-05T00:0{i}:00Z", "temp": i} for i in range(5)]
    (tmp_path / "events" / "one.json").write_text("\n".join(map(json.dumps, records)))
    assert run(query, "-i", f"Input={tmp_path}/events", "-o", tmp_path / "out").exit_code == 0
    rows = pq.read_table(tmp_path / "out").to_pylist()
    # The event at 00:00 belongs to the window that ends then.
    assert sorted((row["n"], row["low"]) for row in rows if row["wid"] == "10 min") == [(1, 0), (4, 1)]
    spark.createDataFrame([], "device string, ts timestamp, temp double").write.parquet(str(tmp_path / "none"))
    result = run(query, "-i", f"Input={tmp_path}/none", "-o", tmp_path / "empty", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["output"]["rows"] == 0
    assert pq.read_table(tmp_path / "empty").num_rows == 0


def test_a_run_that_fails_leaves_no_folder_behind(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    query = tmp_path / "query.sql"
    query.write_text("SELECT MAX(temp) + device AS bad FROM Input TIMESTAMP BY ts GROUP BY device, Tumbling(mi, 5)")
    arguments = (query, "-i", f"Input={folder}/events.csv", "-o", tmp_path / "out")
    for _ in range(2):
        result = run(*arguments)
        assert result.exit_code == 1, result.output
        assert "cannot be cast" in result.stderr
        assert not (tmp_path / "out").exists()


def test_an_output_among_what_a_pattern_matches_is_refused(folder: Path, tmp_path: Path) -> None:
    """Spark would take the input away to write the output in its place, and then count what it wrote as read."""
    for name in ("a.csv", "b.csv"):
        shutil.copy(folder / "events.csv", tmp_path / name)
    for pattern, output in (
        ("*.csv", "a.csv"),
        ("[a-c].csv", "b.csv"),
        ("{a,z}.csv", "a.csv"),
        ("?.csv", "c.csv"),
        ("*", "out"),
        ("*.csv", "a.csv/out"),
        ("*.csv", ""),
        ("../*/*.csv", "a.csv"),
    ):
        arguments = ("-i", f"Input={tmp_path}/{pattern}", "--input-format", "csv", "-o", tmp_path / output)
        assert "lie in one another" in refused(folder / "query.sql", *arguments, "--mode", "overwrite")
    assert (tmp_path / "a.csv").read_bytes() == (folder / "events.csv").read_bytes()


def test_patterns_name_inputs_and_so_do_brackets_in_a_name(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "events.csv", tmp_path / "may-1.csv")
    shutil.copy(folder / "events.csv", tmp_path / "may-2.csv")
    shutil.copy(folder / "events.csv", tmp_path / "odd[1] {b}*.csv")
    for place, (path, files) in enumerate(
        [("may-[12].csv", 2), ("may-?.csv", 2), ("{may-1,june-1}.csv", 1), ("*-2.csv", 1), ("odd[1] {b}*.csv", 1)]
    ):
        out = tmp_path / f"out{place}"
        result = run(folder / "query.sql", "-i", f"Input={tmp_path}/{path}", "-o", out, "--json")
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["input"]["rows"] == files * EVENTS


def test_csv_is_read_and_written_as_pythons_csv_does(spark: SparkSession, tmp_path: Path) -> None:
    """Quotes, commas, backslashes and white space: by Python to Spark, and by Spark to Python."""
    chance = random.Random(3)
    texts = ['6" disk, "used"', '"', '""', "\\", '\\"', 'a\\",b', " a ", "\ta\t", " ", "#a", "'", ",", "a\\", "ä"]
    texts += ["".join(chance.choices("\",\\ \ta'#", k=chance.randrange(1, 7))) for _ in range(200)]
    with (tmp_path / "e.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["number", 'te"xt '], *enumerate(texts)])
    (tmp_path / "in").mkdir()
    shutil.copy(tmp_path / "e.csv", tmp_path / "in")
    frame = read(spark, parse_input(f"e={tmp_path}/e.csv"))
    assert frame.columns == ["number", 'te"xt ']
    assert [text for _, text in sorted(frame.collect())] == texts
    stream = events(spark, parse_input(f"e={tmp_path}/in"), frame.schema).writeStream.trigger(availableNow=True)
    stream.format("memory").queryName("quoted").start().awaitTermination()
    assert [text for _, text in sorted(spark.table("quoted").collect())] == texts
    write(frame.coalesce(1), f"{tmp_path}/out", "csv", overwrite=False)
    (part,) = (tmp_path / "out").glob("part-*")
    with part.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == frame.columns
    assert [text for _, text in sorted(rows, key=lambda row: int(row[0]))] == texts


def test_a_path_after_file_is_taken_as_it_is_written_as_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("a b", "a%20b"):
        (tmp_path / f"{name}.csv").write_text(f"x\n{name}\n")
        source = parse_input(f"e=file://{tmp_path}/{name}.csv")
        frame = read(spark, source)
        assert [row.x for row in frame.collect()] == [name]
        out = f"file:{tmp_path}/out {name}#1"
        for overwrite in (False, True):
            write(frame, out, "json", overwrite=overwrite)
        assert local_path(out) == tmp_path / f"out {name}#1"
        assert [row.x for row in read(spark, parse_input(f"o={out}")).collect()] == [name]


def test_a_folder_says_why_it_tells_no_format(folder: Path, tmp_path: Path) -> None:
    arguments = (folder / "query.sql", "-i", f"Input={tmp_path}", "-o", folder / "none")
    assert "holds no files: expected files that end in .parquet" in refused(*arguments)
    (tmp_path / "a.csv").touch()
    (tmp_path / "b.json").touch()
    assert "holds files of csv and of json: expected" in refused(*arguments)


def test_one_array_of_json_is_no_record_a_line(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "events.json").write_text(json.dumps([{"device": "a", "ts": "2026-01-05", "temp": 1}] * 2, indent=1))
    said = refused(folder / "query.sql", "-i", f"Input={tmp_path}/events.json", "-o", tmp_path / "out")
    assert "is a record of JSON. Write one record a line" in said


def test_a_dry_run_explains_and_writes_nothing(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    arguments = (folder / "query.sql", "-i", f"Input={folder}/events.csv", "--dry-run", "--strategy", "arrow")
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "arrow: panes in Spark, windows in NumPy kernels" in result.stdout
    assert "what was weighed:" in result.stdout
    told = run(*arguments, "--json", "-vv", "-o", tmp_path / "out")
    steps = json.loads(told.stdout)["physical"]["steps"]
    assert " muntin.query: statistics: " in told.stderr
    assert " muntin.query: arrow computes low, total, n over 2 windows: " in told.stderr
    assert " muntin.query: weighed native for low, total, n: " in told.stderr
    assert " muntin.api: <plan by auto: " in told.stderr
    assert [step["strategy"] for step in steps] == ["arrow"]
    assert not (tmp_path / "out").exists()


def test_a_difference_is_found_shown_and_exits_with_3(
    spark: SparkSession, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import functions as F

    import muntin.spark.execute

    right = muntin.spark.execute.execute

    def wrong(*arguments: Any) -> DataFrame:
        frame = right(*arguments)
        off = F.when((F.col("device") == "d1") & (F.col("n") > 15), 0.001).otherwise(0.0)
        return frame.withColumn("low", F.col("low") + off)

    monkeypatch.setattr(muntin.spark.execute, "execute", wrong)
    result = run(folder / "query.sql", "-i", f"Input={folder}/events.csv", "-o", tmp_path / "out", "--verify")
    assert result.exit_code == 3
    off = [(low, place) for place, (low, _, n) in by_hand(folder).items() if place[0] == "d1" and n > 15]
    said = " ".join(result.stdout.split())
    assert f"THE ROWS DIFFER from the plan written by hand, in {len(off)} rows" in said
    assert said.count("device d1: low ") == min(len(off), 5)
    assert any(f"low {low + 0.001!r}, native {low!r}" in said for low, _ in off)


# --- refused before any job starts


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: object) -> None:
        pytest.fail("Spark was asked for")

    monkeypatch.setattr(run_command, "session", started)


@pytest.mark.usefixtures("no_spark")
def test_bad_sql_shows_line_column_and_caret(folder: Path, tmp_path: Path) -> None:
    query = tmp_path / "bad.sql"
    query.write_text(QUERY.replace("minute, 10)),", "minuet, 10)),"))
    said = refused(query, "-i", f"Input={folder}/events.csv", "-o", tmp_path / "out").splitlines()
    assert said[0].startswith(f"{query}, line 5, column 37: unknown unit 'minuet'. Did you mean minute?")
    assert said[1:] == ["      Window('10 min', TumblingWindow(minuet, 10)),", " " * 38 + "^" * 6]


@pytest.mark.usefixtures("no_spark")
def test_paths_options_and_names_are_checked_without_spark(folder: Path, tmp_path: Path) -> None:
    query, events, out = folder / "query.sql", f"Input={folder}/events.csv", tmp_path / "out"
    assert refused(tmp_path / "none.sql", "-i", events, "-o", out) == (
        f"cannot read the query {tmp_path}/none.sql: No such file or directory"
    )
    (tmp_path / "latin.sql").write_bytes(b"SELECT \xe9")
    assert refused(tmp_path / "latin.sql", "-i", events, "-o", out).endswith("it is no text in UTF-8")
    assert refused(query, "-i", f"Input={tmp_path}/none.csv", "-o", out) == (
        f"input Input: there is no {tmp_path}/none.csv. Give a file or folder that exists"
    )
    assert refused(query, "-i", "events.csv", "-o", out).startswith("cannot read 'events.csv' as an input")
    assert refused(query, "-i", f"Other={folder}/events.csv", "-o", out) == (
        "the query reads Input, and the inputs given are: Other. Pass --input Input=PATH and no other"
    )
    assert "inputs given are: none" in refused(query, "-o", out)
    assert "given 2 times" in refused(query, "-i", events, "-i", events.lower().replace("input", "INPUT"), "-o", out)
    assert refused(query, "-i", events).startswith("there is nowhere to write: pass --output PATH")
    assert refused(query, "-i", events, "-o", out, "--conf", "fast").startswith("cannot read the setting 'fast'")
    assert "delta needs the package delta-spark" in refused(query, "-i", events, "-o", out, "-f", "delta")
    (tmp_path / "odd").write_text("")
    assert "does not tell its format" in refused(query, "-i", f"Input={tmp_path}/odd", "-o", out)
    (tmp_path / "untimed.sql").write_text(QUERY.replace(" TIMESTAMP BY ts", ""))
    assert refused(tmp_path / "untimed.sql", "-i", events, "-o", out).endswith("or pass --time column")


@pytest.mark.usefixtures("no_spark")
def test_an_output_that_exists_or_would_destroy_the_input_is_refused(folder: Path, tmp_path: Path) -> None:
    query, out = folder / "query.sql", tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("kept")
    arguments = (query, "-i", f"Input={folder}/events.csv")
    message = f"output {out} exists already: choose another, or pass --mode overwrite to replace it"
    assert refused(*arguments, "-o", out) == message
    for destructive in (folder, folder / "events.csv", folder.parent):
        said = refused(*arguments, "-o", destructive, "--mode", "overwrite")
        assert "writing would destroy what is read" in said
    assert (out / "mine").read_text() == "kept"
    assert "is no folder that may be written to" in refused(*arguments, "-o", out / "mine" / "deeper")


@pytest.mark.usefixtures("no_spark")
def test_links_in_an_input_lead_to_what_is_read(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    (store / "part-0.csv").write_bytes((folder / "events.csv").read_bytes())
    for deep in ("links", "links/day=1", "pattern"):
        (tmp_path / deep).mkdir()
    (tmp_path / "links" / "day=1" / "e.csv").symlink_to(store / "part-0.csv")
    (tmp_path / "pattern" / "e.csv").symlink_to(store / "part-0.csv")
    (tmp_path / "pattern" / "d").symlink_to(store)
    for read_from in ("links", "link?/", "pattern/*.csv", "pattern/{d,z}", "pattern/e.csv", "*"):
        arguments = ("-i", f"Input={tmp_path}/{read_from}", "--input-format", "csv", "--mode", "overwrite")
        said = refused(folder / "query.sql", *arguments, "-o", store)
        assert f"output {store} and input {tmp_path}/{read_from} lie in one another" in said


def test_an_input_that_is_gone_after_the_result_is_written_is_no_refusal(
    spark: SparkSession, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(folder / "events.csv", tmp_path / "e.csv")

    def written(*arguments: Any, **options: Any) -> None:
        write(*arguments, **options)
        (tmp_path / "e.csv").unlink()

    monkeypatch.setattr(run_command, "write", written)
    result = run(folder / "query.sql", "-i", f"Input={tmp_path}/e.csv", "-o", tmp_path / "out")
    assert result.exit_code == 1, result.output
    assert f"the result is written to {tmp_path}/out, but the rows of its input cannot be counted: " in result.stderr
    assert pq.read_table(tmp_path / "out").num_rows == len(by_hand(folder))


@pytest.mark.usefixtures("no_spark")
def test_only_results_are_replaced(folder: Path, tmp_path: Path) -> None:
    """A project, its query, a file, and folders that hold more than Spark writes stay as they are."""
    (tmp_path / "proj").mkdir()
    (tmp_path / "proj" / "a.sql").write_text(QUERY)
    arguments = ("-i", f"Input={folder}/events.csv", "--mode", "overwrite", "-o")
    for output in (tmp_path / "proj" / "a.sql", tmp_path / "proj", tmp_path):
        said = refused(tmp_path / "proj" / "a.sql", *arguments, output)
        assert f"output {output} is or holds the query {tmp_path}/proj/a.sql" in said
    (tmp_path / "notes.txt").write_text("kept")
    said = refused(folder / "query.sql", *arguments, tmp_path / "notes.txt")
    assert "notes.txt is a file, which is no result" in said
    out = tmp_path / "out"
    for inside, named in {
        "notes.txt": "notes.txt",
        "src/part-0": "src",
        "day=1/part-0/x": "day=1/part-0",
        "day=1/hour=2/mine.csv": "day=1/hour=2/mine.csv",
    }.items():
        (out / inside).parent.mkdir(parents=True)
        (out / "_SUCCESS").touch()
        (out / inside).touch()
        said = refused(folder / "query.sql", *arguments, out)
        assert said.startswith(f"output {out} holds {named}, which is no result of an earlier run")
        assert (out / inside).exists()
        shutil.rmtree(out)


def test_what_spark_writes_is_a_result(tmp_path: Path) -> None:
    check_replaced("none", tmp_path / "none")
    for inside in ("_SUCCESS", ".part-0.csv.crc", "_spark_metadata/0", "_delta_log/0.json", "a=1/b=2/part-1", "part-0"):
        (tmp_path / inside).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / inside).touch()
    check_replaced("out", tmp_path)


def test_overwrite_replaces(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "part-mine").write_text("gone")
    result = run(folder / "query.sql", "-i", f"Input={folder}/events.csv", "-o", out, "--mode", "overwrite")
    assert result.exit_code == 0, result.output
    assert not (out / "part-mine").exists()
    assert pq.read_table(out).num_rows == len(by_hand(folder))


@pytest.mark.parametrize("name", ["res.csv", "res.json/", "res"])
def test_the_name_of_an_output_tells_its_format_also_where_it_is_there(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "part-0.ndjson").touch()
    source = parse_input("e=s3a://bucket/e.csv")
    target = run_command._target(f"{tmp_path}/{name}", None, True, source, tmp_path / "q.sql")
    assert target.format == {"res.csv": "csv", "res.json/": "json", "res": "parquet"}[name]


def test_a_result_stands_until_the_one_in_its_place_is_whole(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    query, out = tmp_path / "query.sql", tmp_path / "out"
    arguments = (query, "-i", f"Input={folder}/events.csv", "-o", out, "--mode", "overwrite")
    query.write_text("SELECT device, MAX(temp) AS high FROM Input TIMESTAMP BY ts GROUP BY device, Tumbling(mi, 5)")
    assert run(*arguments).exit_code == 0
    before = {each.name: each.read_bytes() for each in out.iterdir()}
    query.write_text(query.read_text().replace("device,", "CAST(CONCAT(device, 'x') AS bigint) AS d,", 1))
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert "cannot be cast" in result.stderr
    assert {each.name: each.read_bytes() for each in out.iterdir()} == before
    # A link goes on leading to where it led, and nothing is left beside.
    query.write_text(QUERY)
    (tmp_path / "link").symlink_to(out)
    assert run(*arguments[:4], tmp_path / "link", *arguments[5:]).exit_code == 0
    assert (tmp_path / "link").is_symlink()
    assert pq.read_table(out).num_rows == len(by_hand(folder))
    assert {each.name for each in tmp_path.iterdir()} == {"query.sql", "out", "link"}


def test_what_only_the_data_can_tell_is_refused_before_anything_is_written(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    query, events, out = tmp_path / "query.sql", f"Input={folder}/events.csv", tmp_path / "out"
    query.write_text(QUERY.replace("MIN(temp)", "MIN(tmep)"))
    said = refused(query, "-i", events, "-o", out)
    assert "tmep" in said
    assert "temp" in said
    message, shown, caret = said.split("\n")
    line, column = query.read_text()[: query.read_text().index("MIN(tmep)")].count("\n") + 1, caret.index("^") - 1
    assert message.startswith(f"{query}, line {line}, column {column}: `low`: tmep cannot be taken from the input")
    assert shown[caret.index("^") :].startswith("MIN(tmep)")
    query.write_text(QUERY.replace("SUM(temp)", "Collect(temp)"))
    said = refused(query, "-i", events, "-o", out, "-f", "csv")
    assert said == "csv cannot hold column 'total' of type array<double>: use --format json or parquet"
    (tmp_path / "broken.parquet").write_text("no parquet")
    said = refused(folder / "query.sql", "-i", f"Input={tmp_path}/broken.parquet", "-o", out)
    assert f"{tmp_path}/broken.parquet cannot be read as parquet: " in said
    (tmp_path / "text.csv").write_text("device,ts,temp\na,yesterday,1\n")
    said = refused(folder / "query.sql", "-i", f"Input={tmp_path}/text.csv", "-o", out)
    assert "'yesterday'" in said
    assert "\n" not in said
    assert not out.exists()


def test_columns_that_a_format_cannot_hold_are_refused_before_anything_is_written(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    query, out = tmp_path / "query.sql", tmp_path / "out"
    intervals = {
        "make_interval(0, 1, 0, 2)": "interval",
        "array(make_interval(1))": "array<interval>",
        "struct(make_interval(1) AS a)": "struct<a:interval>",
    }
    cases = [(text, kind, form) for text, kind in intervals.items() for form in ("csv", "json", "parquet")]
    for text, kind, form in [*cases, ("NULL", "void", "csv")]:
        query.write_text(f"SELECT {text} AS odd, COUNT(*) AS n FROM e GROUP BY window(ts, '1 hour'), device")
        said = refused(query, "-i", f"e={folder}/events.csv", "-o", out, "-f", form)
        advice = "use --format json or parquet" if text == "NULL" else "CAST it to text"
        assert said == f"{form} cannot hold column 'odd' of type {kind}: {advice}"
    query.write_text(query.read_text().replace("NULL AS odd", "window, window.start AS Window_Start"))
    said = refused(query, "-i", f"e={folder}/events.csv", "-o", out, "-f", "csv")
    assert said.startswith("the result has columns 'window_start' and 'Window_Start' (in csv a window is two columns")
    # Neither is a column too many where Spark writes it.
    frame = spark.sql("SELECT NULL AS a, array(NULL) AS b, INTERVAL '1' DAY AS c, parse_json('1') AS d")
    forms: tuple[Format, ...] = ("json", "parquet")
    for form in forms:
        write(writable(frame, form), f"{tmp_path}/{form}", form, overwrite=False)
    with pytest.raises(MuntinError, match="the result has columns 'a', twice: call one otherwise"):
        writable(spark.sql("SELECT 1 AS a, 2 AS a"), "json")
    assert not out.exists()


def test_inputs_that_spark_does_not_see_or_that_are_empty_say_so(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    shutil.copy(folder / "events.csv", tmp_path / "_x.csv")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "empty.json").touch()
    for name, why in {
        "_x.csv": "cannot be read as csv: Spark finds no file with columns there. It passes over names that",
        "empty.csv": "is empty, so it has no columns: it must have a header line",
        "empty.json": "is empty, so it has no columns: it must have one record",
    }.items():
        said = refused(folder / "query.sql", "-i", f"Input={tmp_path}/{name}", "-o", tmp_path / "out")
        assert said.startswith(f"input Input: {tmp_path}/{name} {why}")


def test_a_colon_in_a_name_is_no_file_system(
    spark: SparkSession, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark alone would say: Relative path in absolute URI."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "day-1T00:00").mkdir()
    shutil.copy(folder / "events.csv", "day-1T00:00")
    shutil.copy(folder / "events.csv", "00:00.csv")
    said = refused(folder / "query.sql", "-i", "Input=00:00.csv", "-o", "out")
    assert said.endswith("Spark cannot read a file with a colon in its name: rename it")
    for _ in range(2):
        arguments = ("-i", "Input=day-1T00:00", "-o", "out-2026-11-19T00:00", "--mode", "overwrite")
        result = run(folder / "query.sql", *arguments)
        assert result.exit_code == 0, result.output
    assert pq.read_table(tmp_path / "out-2026-11-19T00:00").num_rows == len(by_hand(folder))


# --- its parts


def test_a_comparison_sees_rows_missing_doubled_and_off_and_forgives_only_the_order_of_addition(
    spark: SparkSession,
) -> None:
    from muntin.spark.compare import compare

    schema = "window_id string, window struct<start: timestamp, end: timestamp>, k double, x double, n long"
    start, end = datetime(2026, 1, 1), datetime(2026, 1, 2)
    nan, inf = float("nan"), float("inf")
    rows: list[tuple[Any, ...]] = [
        ("a", (start, end), 1.0, 1e6, 1),
        ("a", (start, end), nan, nan, 2),
        ("a", (start, end), None, None, 3),
        ("a", (start, end), 2.0, inf, 4),
        ("b", (start, end), 1.0, 3.0, 5),
        ("b", (start, end), 2.0, 3.0, 6),
    ]

    def against(changed: list[tuple[Any, ...]]) -> tuple[bool, int, list[tuple[str, int, int]], list[str]]:
        found = compare(spark.createDataFrame(changed, schema), spark.createDataFrame(rows, schema), keys=["k"])
        return found.equal, found.differing, list(found.rows), sorted(map(str, found.examples))

    counts = [("a", 4, 4), ("b", 2, 2)]
    near = [(*rows[0][:3], 1e6 + 1e-4, 1), *rows[1:]]
    assert against(near) == (True, 0, counts, [])
    off = [(*rows[0][:3], 1e6 + 1e-2, 1), *rows[1:4], (*rows[4][:4], 50), rows[5]]
    equal, differing, _, shown = against(off)
    assert (equal, differing) == (False, 2)
    assert shown[0].endswith("k 1.0: x 1000000.01, native 1000000.0")
    assert shown[1].endswith("k 1.0: n 50, native 5")
    for place, (value, said) in {1: (0.0, "x 0.0, native nan"), 2: (0.0, "x 0.0, native None"), 3: (-inf, "")}.items():
        wrong = [(*row[:3], value, row[4]) if i == place else row for i, row in enumerate(rows)]
        equal, differing, _, shown = against(wrong)
        assert (equal, differing) == (False, 1)
        assert said in shown[0]
    # As many rows, but one of them twice in place of another.
    equal, differing, found, shown = against([*rows[:5], rows[4]])
    assert (equal, differing, found) == (False, 1, counts)
    assert shown[0].endswith("k 2.0: only in the native plan")
    assert against([*rows, rows[5]]) == (False, 0, [("a", 4, 4), ("b", 3, 2)], [])


def test_a_terminal_sees_sparks_own_progress(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(progress_module, "_SECONDS", 0.01)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress_module.progress(spark, "counting"):
        spark.range(0, 300_000_000, 1, 37).selectExpr("sum(sqrt(id))").collect()
    assert "counting" in terminal.getvalue()
    assert "/37 tasks" in terminal.getvalue()


def test_without_java_it_says_what_to_do(tmp_path: Path) -> None:
    # Spark's own scripts need a shell and little else.
    for tool in ("bash", "env", "dirname", "ps", "cat", "head"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or tool)
    script = "from muntin.spark.session import start; start()"
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    for java in ({}, {"JAVA_HOME": str(tmp_path / "none")}):
        result = subprocess.run(
            [sys.executable, "-c", script],
            env=environment | java,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert result.stderr.splitlines()[-1] == (
            "muntin.errors.MuntinError: Spark needs Java, and there is none here. "
            "Install Java 17 or later, or set JAVA_HOME to the folder of one that is there"
        )
