"""Delta Lake in a session of the command line's: its jars and settings, or why it cannot be had."""

from __future__ import annotations

import os
import re
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from muntin.errors import MuntinError

if TYPE_CHECKING:
    from collections.abc import Mapping

_EXTENSION: Final = ("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
_CATALOG: Final = ("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
_PACKAGES: Final = "spark.jars.packages"
# Where the one who starts Spark may have put Delta Lake's jars.
_JARS: Final = ("spark.jars", _PACKAGES, "spark.driver.extraClassPath")
# Since then there is a jar for each Spark, which has it in its name.
_NAMED: Final = (4, 1)


def with_delta(conf: Mapping[str, str]) -> dict[str, str]:
    """Add what a session needs to read and write delta; refuse where its jars are not to be had.

    Jars that `conf` names, or that lie among Spark's own, are taken as they are. Otherwise those go in that belong to
    the package delta-spark.

    >>> with_delta({"spark.jars": "delta-spark_4.2_2.13-4.4.0.jar,delta-storage-4.4.0.jar"})["spark.sql.extensions"]
    'io.delta.sql.DeltaSparkSessionExtension'
    """
    found = dict(conf)
    if not any("delta-spark" in conf.get(name, "") for name in _JARS) and not _among_spark():
        found[_PACKAGES] = _joined(conf.get(_PACKAGES), _package())
    name, extension = _EXTENSION
    found[name] = _joined(conf.get(name), extension)
    found.setdefault(*_CATALOG)
    return found


def package_for(spark: str, delta: str) -> str:
    """Name the jar of a version of Delta Lake that is for a version of Spark.

    >>> package_for("4.2.0", "4.4.0"), package_for("4.0.1", "4.0.1")
    ('io.delta:delta-spark_4.2_2.13:4.4.0', 'io.delta:delta-spark_2.13:4.0.1')
    """
    of_spark = "{}.{}_".format(*_minor(spark)) if _minor(delta) >= _NAMED else ""
    return f"io.delta:delta-spark_{of_spark}2.13:{delta}"


def refusal(spark: str, delta: str, needs: str) -> str:
    """Say why a version of Delta Lake does not go with a version of Spark, by what it needs; nothing where it does.

    >>> refusal("4.3.0", "4.4.1", "pyspark<=4.2.0,>=4.0.1")
    'delta needs a delta-spark for Spark 4.3, and the one installed, 4.4.1, is for pyspark<=4.2.0,>=4.0.1: ...'
    >>> refusal("4.2.1", "4.4.1", "pyspark<=4.2.0,>=4.0.1"), refusal("4.2.1", "5", "pyspark<4.3")
    ('', '')
    """
    newest = re.search(r"<(=?)\s*(\d+\.\d+)(\.[1-9]\d*)?", needs)
    if newest is None:
        return ""
    here, most = _minor(spark), _minor(newest[2])
    # Spark's parts may change from minor version to minor version; its patches leave them alone for the most part.
    if here < most or (here == most and (newest[1] or newest[3])):
        return ""
    named = "{}.{}".format(*here)
    return (
        f"delta needs a delta-spark for Spark {named}, and the one installed, {delta}, is for {needs}: install one for "
        f"Spark {named} where there is one, or use parquet"
    )


def _package() -> str:
    try:
        delta, needs = version("delta-spark"), requires("delta-spark") or []
    except PackageNotFoundError as error:
        msg = (
            "delta needs the package delta-spark, which is not installed here: install the one that goes with your "
            "Spark, name its jars with --conf spark.jars=..., or use parquet"
        )
        raise MuntinError(msg) from error
    spark = version("pyspark")
    why = refusal(spark, delta, next((each for each in needs if re.match(r"pyspark\b(?!-)", each)), ""))
    if why:
        raise MuntinError(why)
    return package_for(spark, delta)


def _among_spark() -> bool:
    home = os.environ.get("SPARK_HOME")
    if home is None:
        spark = find_spec("pyspark")
        home = str(Path(spark.origin).parent) if spark and spark.origin else "."
    return any(Path(home, "jars").glob("delta-spark*.jar"))


def _joined(given: str | None, ours: str) -> str:
    """Add to a list with commas.

    >>> _joined("a,b", "c"), _joined("a,c", "c"), _joined(None, "c")
    ('a,b,c', 'a,c', 'c')
    """
    parts = given.split(",") if given else []
    return ",".join(parts if ours in parts else [*parts, ours])


def _minor(text: str) -> tuple[int, int]:
    numbers = [int(each) for each in re.findall(r"\d+", text)[:2]]
    return (numbers[0], numbers[1] if len(numbers) > 1 else 0)
