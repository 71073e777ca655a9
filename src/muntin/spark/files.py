"""Events and results as files: which format, whether they are there, and how Spark reads and writes them."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from muntin.errors import MuntinError
from muntin.spark.globs import escaped, is_pattern, lie_in_one_another
from muntin.spark.reason import reason
from muntin.spark.replaced import replaced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

Format: TypeAlias = Literal["parquet", "csv", "json", "delta"]
FORMATS: Final[tuple[str, ...]] = get_args(Format)
_SUFFIXES: Final = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
_PACKED: Final = (".gz", ".bz2", ".xz", ".zst", ".snappy", ".lz4")
# A format is told by the first files that are met: a folder may hold millions.
_LOOKED_AT: Final = 1000
# A quote in quotes is written twice, as by everybody else: Spark's own way is a backslash.
_QUOTES: Final = {"escape": '"'}
READ: Final = {
    "parquet": {},
    "csv": {"header": "true", "inferSchema": "true", **_QUOTES},
    "json": {"inferTimestamp": "true"},
    "delta": {},
}
# Windows end on whole units mostly, but times of events have microseconds: none may be lost in text, and Spark's own
# format stops at milliseconds. Before 1900 a zone may have seconds, Berlin +00:53:28: five X write them.
_TIMES: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
WRITE: Final = {
    "parquet": {},
    "csv": {
        "header": "true",
        # White space at the ends of a text is part of it.
        "ignoreLeadingWhiteSpace": "false",
        "ignoreTrailingWhiteSpace": "false",
        **_QUOTES,
        **_TIMES,
    },
    "json": {"ignoreNullFields": "false", **_TIMES},
    "delta": {},
}


@dataclass(frozen=True, slots=True)
class Source:
    """A named input: where it is, and in which format."""

    name: str
    path: str
    format: Format


def parse_input(text: str, form: str | None = None) -> Source:
    """Read NAME=PATH, look whether the path is there, and find its format.

    >>> parse_input("Input=s3a://bucket/events.parquet")
    Source(name='Input', path='s3a://bucket/events.parquet', format='parquet')
    >>> parse_input("events/")
    Traceback (most recent call last):
    ...
    muntin.errors.MuntinError: cannot read 'events/' as an input: write NAME=PATH, for example Input=events.parquet
    """
    name, equals, path = text.partition("=")
    if not name.strip() or not equals or not path.strip():
        msg = f"cannot read {text!r} as an input: write NAME=PATH, for example Input=events.parquet"
        raise MuntinError(msg)
    name, path = name.strip(), path.strip()
    place = local_path(path)
    if place is not None and not is_pattern(path) and not place.exists():
        msg = f"input {name}: there is no {path}. Give a file or folder that exists"
        raise MuntinError(msg)
    found = form or format_of(path)
    if found is None:
        why = "does not tell its format" if place is None or not place.is_dir() else _untold(place)
        msg = (
            f"input {name}: {path} {why}: expected files that end in {', '.join(_SUFFIXES)}. "
            f"Say which with --input-format {'|'.join(FORMATS)}"
        )
        raise MuntinError(msg)
    return Source(name, path, found)  # type: ignore[arg-type]


def check_output(path: str, form: str, inputs: list[Source], *, overwrite: bool) -> None:
    """Refuse an output that is there, cannot be written, or would destroy an input."""
    place = local_path(path)
    if place is None:
        return
    mine = place.resolve()
    for source in inputs:
        other = local_path(source.path)
        if other is None:
            continue
        if lie_in_one_another(mine, other):
            msg = f"output {path} and input {source.path} lie in one another: writing would destroy what is read"
            raise MuntinError(msg)
    if place.exists() and not overwrite:
        raise MuntinError(exists(path))
    above = next(folder for folder in (mine if place.is_dir() else mine.parent, *mine.parents) if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        msg = f"cannot write {path}: {above} is no folder that may be written to. Choose another --output"
        raise MuntinError(msg)


def spark_path(source: Source) -> str:
    """Give the path of an input to Spark: a file that is there is meant, whatever its name."""
    place = local_path(source.path)
    named = place is not None and is_pattern(source.path) and place.exists()
    return uncoloned(escaped(source.path) if named else source.path)


def uncoloned(path: str) -> str:
    """Give a path to Spark, which would take what stands before a colon for the name of a file system.

    >>> uncoloned("at-00:00") == str(Path.cwd() / "at-00:00"), uncoloned("out/00:00"), uncoloned("s3a://bucket/events")
    (True, 'out/00:00', 's3a://bucket/events')
    """
    return str(Path(path).absolute()) if ":" in path.split("/")[0] and local_path(path) == Path(path) else path


def exists(path: str) -> str:
    """Say that an output is there already."""
    return f"output {path} exists already: choose another, or pass --mode overwrite to replace it"


def format_of(path: str) -> str | None:
    """Tell a format by a path's suffix, or by the files in a folder of this machine.

    >>> format_of("events.csv.gz"), format_of("s3a://bucket/events")
    ('csv', None)
    """
    own = by_suffix(path)
    place = local_path(path)
    if place is None or not place.is_dir():
        return own
    if (place / "_delta_log").is_dir():
        return "delta"
    seen = _formats(place)
    # Where files of several formats lie together nothing is guessed.
    return next(iter(seen)) if len(seen) == 1 else own


def local_path(path: str) -> Path | None:
    """Give a path on this machine; None for one elsewhere, such as s3a://bucket/events.

    Spark takes a path as it is written: a percent sign in it is one, also after `file:`. A colon that no slash follows
    belongs to a name.

    >>> local_path("file:///tmp/a%20b?"), local_path("file:/tmp/a b")
    (PosixPath('/tmp/a%20b?'), PosixPath('/tmp/a b'))
    >>> local_path("hdfs://host/a"), local_path("at-00:00")
    (None, PosixPath('at-00:00'))
    """
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):(//[^/]*|(?=/))", path)
    if scheme is None:
        return Path(path)
    return Path(path[scheme.end() :]) if scheme[1].lower() == "file" else None


def read(spark: SparkSession, source: Source) -> DataFrame:
    """Read an input; types and times in text are inferred."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        frame = spark.read.format(source.format).options(**READ[source.format]).load(spark_path(source))
    except (PySparkException, Py4JError) as error:
        why = reason(error)
        if "UNABLE_TO_INFER_SCHEMA" in why:
            why = (
                "Spark finds no file with columns there. It passes over names that begin with _ or . and over empty "
                "files: give such a file another name, or one that has rows"
            )
        place = local_path(source.path)
        if place is not None and ":" in place.name and place.is_file():
            why = "Spark cannot read a file with a colon in its name: rename it"
        msg = f"input {source.name}: {source.path} cannot be read as {source.format}: {why}"
        raise MuntinError(msg) from error
    if not frame.columns:
        first = "a header line with the names of the columns" if source.format == "csv" else "one record or more"
        msg = f"input {source.name}: {source.path} is empty, so it has no columns: it must have {first}"
        raise MuntinError(msg)
    if source.format == "json" and frame.columns == ["_corrupt_record"]:
        msg = (
            f"input {source.name}: no line of {source.path} is a record of JSON. Write one record a line; of one array "
            "over many lines, jq -c '.[]' makes that"
        )
        raise MuntinError(msg)
    return frame


def write(frame: DataFrame, path: str, form: Format, *, overwrite: bool) -> None:
    """Write a result. One that it replaces on this machine stands until the new one is whole."""
    place = local_path(path)
    writer = frame.write.format(form).options(**WRITE[form])
    # Delta keeps what was there as an earlier version of the same table.
    if not overwrite or place is None or not place.exists() or (form == "delta" and (place / "_delta_log").is_dir()):
        writer.mode("overwrite" if overwrite else "error").save(uncoloned(path))
        return
    with replaced(place) as new:
        writer.mode("error").save(str(new))


def is_there(spark: SparkSession, path: str) -> bool:
    """Look, where only Spark can, whether a path exists."""
    from pyspark.errors import AnalysisException

    try:
        spark.read.format("binaryFile").load(path)
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return False
        raise
    return True


def writable(frame: DataFrame, form: str) -> DataFrame:
    """Fit a result to a format: in csv a window is two columns, its start and its end."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    _refuse_doubled(frame, frame.columns, form)
    columns: list[Column] = []
    names: list[str] = []
    for field in frame.schema.fields:
        column = F.col("`" + field.name.replace("`", "``") + "`")
        if form == "csv" and isinstance(field.dataType, T.StructType) and field.dataType.names == ["start", "end"]:
            parts = [(f"{field.name}_{end.name}", column[end.name], end.dataType) for end in field.dataType.fields]
        else:
            parts = [(field.name, column, field.dataType)]
        for name, part, kind in parts:
            if not _fits(kind, form):
                advice = "use --format json or parquet" if _fits(kind, "json") else "CAST it to text"
                msg = f"{form} cannot hold column {name!r} of type {kind.simpleString()}: {advice}"
                raise MuntinError(msg)
            names.append(name)
            columns.append(part.alias(name))
    _refuse_doubled(frame, names, form)
    return frame.select(*columns) if form == "csv" else frame


def _fits(kind: DataType, form: str) -> bool:
    """Tell whether a format can hold a type. Parquet and JSON hold all but intervals of both months and days."""
    from pyspark.sql import types as T

    if isinstance(kind, T.StructType):
        inner = [field.dataType for field in kind.fields]
    elif isinstance(kind, T.MapType):
        inner = [kind.keyType, kind.valueType]
    else:
        inner = [kind.elementType] if isinstance(kind, T.ArrayType) else []
    if isinstance(kind, T.CalendarIntervalType) or not all(_fits(each, form) for each in inner):
        return False
    flat = not isinstance(kind, (T.StructType, T.ArrayType, T.MapType, T.BinaryType, T.VariantType, T.NullType))
    return form != "csv" or flat


def _refuse_doubled(frame: DataFrame, names: list[str], form: str) -> None:
    """Refuse columns that are called the same: Spark does too, but for csv, and only when all is computed."""
    exact = frame.sparkSession.conf.get("spark.sql.caseSensitive", "false") == "true"
    seen: dict[str, str] = {}
    for name in names:
        key = name if exact else name.lower()
        if key in seen:
            both = f"{seen[key]!r} and {name!r}" if name != seen[key] else f"{name!r}, twice"
            why = " (in csv a window is two columns, its start and its end)" if form == "csv" else ""
            msg = f"the result has columns {both}{why}: call one otherwise, with AS"
            raise MuntinError(msg)
        seen[key] = name


def _formats(folder: Path) -> Counter[str]:
    return Counter(filter(None, (by_suffix(name) for name in _files(folder))))


def _untold(folder: Path) -> str:
    """Say why a folder does not tell its format."""
    if next(_files(folder), None) is None:
        return "holds no files"
    seen = _formats(folder)
    return f"holds files of {' and of '.join(sorted(seen))}" if seen else "does not tell its format"


def _files(folder: Path) -> Iterator[str]:
    """Name the first files below a folder that Spark would read."""
    seen = 0
    for _, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(("_", ".")))
        for name in files:
            if not name.startswith(("_", ".")):
                seen += 1
                yield name
            if seen >= _LOOKED_AT:
                return


def by_suffix(name: str) -> str | None:
    """Tell a format by a path's suffix alone.

    >>> by_suffix("events.csv.gz"), by_suffix("out.parquet/"), by_suffix("out")
    ('csv', 'parquet', None)
    """
    path = Path(name)
    while path.suffix.lower() in _PACKED:
        path = path.with_suffix("")
    return _SUFFIXES.get(path.suffix.lower())
