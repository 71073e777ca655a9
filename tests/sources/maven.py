"""Jars that only tests need: fetched once by `mvn`, from the registry it is set up for, into the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "muntin" / "jars"
PATIENCE = 180
PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>muntin</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>
  </dependencies>
</project>
"""


def jar(group: str, artifact: str, *versions: str) -> Path:
    """Give one jar without what it depends on, of the first version that is to be had, or skip."""
    names = [f"{artifact}-{version}.jar" for version in versions]
    for name in names:
        if (CACHE / name).exists():
            return CACHE / name
    why = ""
    for name, version in zip(names, versions, strict=True):
        with tempfile.TemporaryDirectory(dir=_cache()) as folder:
            why = _mvn(folder, "dependency:copy", f"-Dartifact={group}:{artifact}:{version}", "-DoutputDirectory=out")
            if not why:
                Path(folder, "out", name).replace(CACHE / name)
                return CACHE / name
    pytest.skip(f"mvn cannot fetch {group}:{artifact}, version {' or '.join(versions)}: {why}")


def with_dependencies(group: str, artifact: str, version: str) -> Path:
    """Give a folder with a jar and all that it needs to run, or skip."""
    place = CACHE / f"{artifact}-{version}"
    if place.is_dir():
        return place
    with tempfile.TemporaryDirectory(dir=_cache()) as folder:
        Path(folder, "pom.xml").write_text(PROJECT.format(group, artifact, version))
        why = _mvn(folder, "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=out")
        if why:
            pytest.skip(f"mvn cannot fetch {group}:{artifact}:{version} and what it needs: {why}")
        Path(folder, "out").replace(place)
    return place


def _cache() -> Path:
    CACHE.mkdir(parents=True, exist_ok=True)
    return CACHE


def _mvn(folder: str, *options: str) -> str:
    """Run Maven; say what went wrong, nothing where all is well."""
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("no mvn on PATH to fetch jars with: install Maven (Debian, Ubuntu: apt-get install maven)")
    try:
        done = subprocess.run(
            # Not the user's own repository: a description there without its jar makes Spark's --packages fail.
            [maven, "-B", "-q", f"-Dmaven.repo.local={CACHE.parent / 'maven'}", *options],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            cwd=folder,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {PATIENCE} s"
    if done.returncode == 0:
        return ""
    return next((line for line in done.stdout.splitlines() if "ERROR" in line), done.stderr or "no reason")[:400]
