"""What a report was made with: what was asked for, the code and the versions. The same need not be measured again."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final

import muntin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bench.report import Cell

CHECKOUT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = ("muntin", "pyspark", "numpy", "pyarrow", "pandas", "sqlglot", "duckdb", "polars")
# What only lays figures out does not change them.
LAYING_OUT: Final = Path("bench/evidence")


@dataclass(frozen=True, slots=True)
class Stamp:
    """What was asked for, by which code, with which versions, and how many seconds it took in all."""

    quick: bool
    options: Mapping[str, Cell]
    seconds: float
    code: str = field(default_factory=lambda: code(CHECKOUT))
    commit: str | None = field(default_factory=lambda: commit(CHECKOUT))
    versions: Mapping[str, str] = field(default_factory=lambda: versions())


def code(checkout: Path) -> str:
    """Sum up the package and its benchmarks, so that any change of either shows.

    >>> len(code(CHECKOUT))
    12
    """
    summed = hashlib.sha256()
    for path in _sources(checkout):
        summed.update(f"{path.relative_to(checkout).as_posix()}\n".encode() + path.read_bytes())
    return summed.hexdigest()[:12]


def _sources(checkout: Path) -> Iterator[Path]:
    for path in sorted([*(checkout / "src").rglob("*.py"), *(checkout / "bench").rglob("*.py")]):
        if not path.is_relative_to(checkout / LAYING_OUT):
            yield path


def commit(checkout: Path) -> str | None:
    """Name the commit of a checkout, marked where files have changed since; None where git knows of none."""
    git = shutil.which("git")
    if git is None or not (checkout / ".git").exists():
        return None
    told = subprocess.run(
        [git, "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=10"],
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout.strip() or None


def versions() -> dict[str, str]:
    """List the versions that figures depend on.

    >>> versions()["muntin"] == muntin.__version__
    True
    """
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    # What runs, also where an older one is installed beside it.
    found["muntin"] = muntin.__version__
    java = _java()
    return found | ({"Java": java} if java else {})


def _java() -> str | None:
    """Read the version from the file that every JDK has, because to start one takes half a second."""
    home = os.environ.get("JAVA_HOME")
    release = Path(home) / "release" if home else None
    if release is None or not release.is_file():
        return None
    lines = release.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line.partition("=")[2].strip('"') for line in lines if line.startswith("JAVA_VERSION=")), None)


def named(path: Path) -> str:
    """Name a file by what is in it: the same name for the same data, wherever it lies.

    >>> named(Path(muntin.__file__).parent / "py.typed")
    'py.typed e3b0c44298fc'
    """
    if path.is_dir():
        return path.name
    with path.open("rb") as file:
        return f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()[:12]}"
