"""Where a manager's rows go: a folder of Parquet files, a query a folder, or a function of the user's."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from muntin.errors import ManagerError

if TYPE_CHECKING:
    from collections.abc import Callable

_BATCH: Final = "batch="


class Folder:
    """Write the rows of each query and micro-batch to `folder/query/batch=N`, in place of what an earlier try left.

    So a micro-batch that Spark computes again after a crash does not count twice.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str, rows: Any, batch: int) -> None:
        """Write the rows of a query."""
        rows.write.mode("overwrite").parquet(str(self.folder / name / f"{_BATCH}{batch:010}"))

    def read(self, spark: Any, name: str) -> Any:
        """Read what a query has given so far: only micro-batches that are whole.

        One that was dropped and registered anew may have other columns since: those of all, null where they were not.
        """
        whole = sorted(path.parent for path in (self.folder / name).glob(f"{_BATCH}*/_SUCCESS"))
        if not whole:
            msg = f"{name} has given no rows yet in {self.folder}"
            raise ManagerError(msg)
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        from muntin.spark.reason import reason

        try:
            return spark.read.option("mergeSchema", True).parquet(*map(str, whole))
        except (PySparkException, Py4JError) as error:
            msg = (
                f"the rows of {name} cannot be read as one table, as it was registered with columns of other types "
                f"before: {reason(error)} Read the micro-batches in {self.folder / name} one by one"
            )
            raise ManagerError(msg) from error

    def refuse_rows(self) -> None:
        """Refuse a folder with rows of a manager that had another checkpoint: micro-batches have the same numbers."""
        if any(self.folder.glob(f"*/{_BATCH}*")):
            msg = (
                f"the sink {self.folder} has rows already, and the checkpoint is new. Give the checkpoint that goes "
                "with the rows, or a folder without any"
            )
            raise ManagerError(msg)

    def clear(self, after: int) -> None:
        """Remove what a micro-batch left that was not done: another version of the queries may run it now.

        Only the one after the last that was done can be such: rows of later ones were given by another checkpoint, or
        by this one before it was put back from a copy, and are refused, not removed.
        """
        found = {path: path.name.removeprefix(_BATCH) for path in self.folder.glob(f"*/{_BATCH}*")}
        numbers = {path: int(number) for path, number in found.items() if number.isdigit()}
        last = max(numbers.values(), default=after)
        if last > after + 1:
            msg = (
                f"the sink {self.folder} has rows of micro-batch {last}, and the checkpoint has come to {after}: it is "
                "older than the rows, or another's. Put the checkpoint back that goes with them, or start with a new "
                "checkpoint and a folder without rows"
            )
            raise ManagerError(msg)
        for path, number in numbers.items():
            if number > after:
                shutil.rmtree(path)


def sink_of(given: object) -> Callable[..., None]:
    """Tell a folder from a function."""
    if callable(given):
        return given
    if isinstance(given, (str, Path)):
        return Folder(local(given, "sink"))
    msg = f"a sink is a folder, or a function of a query's name, its rows and the micro-batch's number; got {given!r}"
    raise ManagerError(msg)


def local(given: object, what: str) -> Path:
    """Take a path on this machine's file systems, and refuse another."""
    text = str(given).removeprefix("file://")
    if "://" in text or not text:
        msg = (
            f"{what}={str(given)!r}: a manager keeps its registry, and looks at its checkpoint, on a file system that "
            "the driver has mounted. Give a path without a scheme"
        )
        raise ManagerError(msg)
    return Path(text).absolute()
