"""Delta Lake as source and sink, where there is one for the Spark that is here; what is said where there is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest
from click.testing import CliRunner

from muntin.cli import main
from muntin.spark.delta import with_delta
from tests.sources.maven import jar

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
SPARK = ".".join(pyspark.__version__.split(".")[:2])
# The version of Delta Lake that was seen to work with a version of Spark. On Spark 4.3 its 4.4.0, made for Spark 4.2,
# wrote a table and could not read it (NoSuchMethodError: LogicalRDD.<init>); 4.4.1, the newest in November 2026, asks
# for pyspark<=4.2.0.
DELTA = {"4.2": "4.4.0"}
QUERY = """SELECT device, System.Window().Id AS id, System.Timestamp() AS t, COUNT(*) AS n, MIN(temp) AS low
FROM Input TIMESTAMP BY ts GROUP BY device, Windows(TumblingWindow(minute, 1), HoppingWindow(minute, 5, 1))"""


@pytest.fixture
def query(tmp_path: Path) -> Path:
    (tmp_path / "query.sql").write_text(QUERY)
    (tmp_path / "events.csv").write_text("ts,device,temp\n2026-01-05 00:00:01,a,1.5\n")
    (tmp_path / "table" / "_delta_log").mkdir(parents=True)
    return tmp_path / "query.sql"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Have the metadata of a package delta-spark before any that is here."""

    def install(delta: str, needs: str) -> None:
        place = tmp_path / "site" / f"delta_spark-{delta}.dist-info"
        place.mkdir(parents=True)
        (place / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: delta-spark\nVersion: {delta}\nRequires-Dist: {needs}\n"
        )
        monkeypatch.syspath_prepend(str(place.parent))

    return install


@pytest.mark.parametrize(
    "options", [["Input=events.csv", "--output", "out", "--format", "delta"], ["Input=table", "--output", "out"]]
)
def test_without_its_package_delta_is_refused_before_spark_starts(
    query: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    try:
        version("delta-spark")
    except PackageNotFoundError:
        pass
    else:
        pytest.skip("delta-spark is installed here")
    monkeypatch.chdir(query.parent)
    result = CliRunner().invoke(main, ["run", str(query), "--input", *options], prog_name="muntin")
    assert result.exit_code == 2
    assert result.stderr == (
        "muntin: error: delta needs the package delta-spark, which is not installed here: install the one that goes "
        "with your Spark, name its jars with --conf spark.jars=..., or use parquet\n"
    )
    assert not (query.parent / "out").exists()


def test_a_package_for_an_earlier_spark_is_refused_before_spark_starts(
    query: Path, monkeypatch: pytest.MonkeyPatch, installed: Callable[[str, str], None]
) -> None:
    installed("3.9.9", "pyspark<=3.5.9,>=3.5.0")
    monkeypatch.chdir(query.parent)
    options = ["--input", "Input=events.csv", "--output", "out", "--format", "delta"]
    result = CliRunner().invoke(main, ["run", str(query), *options], prog_name="muntin")
    assert result.exit_code == 2
    assert f"a delta-spark for Spark {SPARK}, and the one installed, 3.9.9, is for pyspark<=3.5.9" in result.stderr


def test_settings_go_beside_those_of_the_user(installed: Callable[[str, str], None]) -> None:
    installed("99.1.2", "pyspark<98,>=4")
    found = with_delta({"spark.jars.packages": "a:b:1", "spark.sql.extensions": "mine", "spark.x": "y"})
    assert found == {
        "spark.jars.packages": f"a:b:1,io.delta:delta-spark_{SPARK}_2.13:99.1.2",
        "spark.sql.extensions": "mine,io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.x": "y",
    }


def test_jars_that_the_user_names_are_taken_as_they_are() -> None:
    assert "spark.jars.packages" not in with_delta({"spark.jars": "/opt/delta-spark_4.3_2.13-9.jar"})


@pytest.mark.slow
def test_delta_tables_are_read_and_written_as_table_and_as_stream(query: Path, tmp_path: Path) -> None:
    if SPARK not in DELTA:
        pytest.skip(f"no Delta Lake is known to work with Spark {SPARK}, only with Spark {', '.join(DELTA)}")
    jars = [
        str(jar("io.delta", f"delta-spark_{SPARK}_2.13", DELTA[SPARK])),
        str(jar("io.delta", "delta-storage", DELTA[SPARK])),
    ]
    folder = tmp_path / "delta"
    assert started("-m", "tests.sources.delta_driver", str(folder), *jars).startswith("rows ")
    # The tables that the driver has left, by the command line.
    conf = [f"spark.jars={','.join(jars)}", "spark.databricks.delta.snapshotPartitions=1"]
    options = ["--input", f"Input={folder}/events", "--format", "delta", *(f"--conf={each}" for each in conf), "--json"]
    told = json.loads(started("-m", "muntin", "run", str(query), *options, "--output", str(folder / "out"), "--verify"))
    assert told["input"] == {"name": "Input", "path": f"{folder}/events", "format": "delta", "rows": 901}
    assert told["verify"]["equal"]
    assert (folder / "out" / "_delta_log").is_dir()
    streaming = ["--stream", "--watermark", "30s", "--trigger", "available-now", "--checkpoint", str(folder / "ck")]
    told = json.loads(
        started("-m", "muntin", "run", str(query), *options, *streaming, "--output", str(folder / "live"))
    )
    assert told["input"]["rows"] == 901
    assert told["output"]["rows"] == sum(each["rows"] for each in told["windows"]) > 100
    assert (folder / "live" / "_delta_log").is_dir()


def started(*command: str) -> str:
    environment = dict(os.environ, PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-4000:]
    return done.stdout
