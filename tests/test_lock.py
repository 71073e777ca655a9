"""The lock installs what pyproject.toml asks for, and holds nothing but names, versions and hashes."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def locked() -> dict[str, list[str]]:
    """Map each locked package to its versions: one for each range of Pythons."""
    versions: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE):
        versions.setdefault(name, []).append(version)
    return versions


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_lock_holds_names_versions_and_hashes_only() -> None:
    for line in (ROOT / "requirements.lock").read_text().splitlines()[1:]:
        assert re.fullmatch(r"[a-z0-9-]+==[0-9][\w.]*( ; [\w .<>=!*']+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?", line)


def test_the_lock_satisfies_pyproject() -> None:
    project = pyproject()
    asked = [
        *project["project"]["dependencies"],
        *chain(*project["project"]["optional-dependencies"].values()),
        *project["dependency-groups"]["dev"],
        *project["dependency-groups"]["docs"],
        *project["build-system"]["requires"],
        "setuptools>=70.1",  # builds pyspark; before 70.1 it needs `wheel` beside it
    ]
    for requirement in map(Requirement, asked):
        versions = locked().get(requirement.name, [])
        assert versions, f"{requirement.name} is not in requirements.lock: run `make lock`"
        assert all(version in requirement.specifier for version in versions), f"{requirement}: run `make lock`"


def test_uv_is_not_locked() -> None:
    assert "uv" not in locked()


def test_pyspark_has_one_hash_and_comes_only_with_the_extra() -> None:
    # Set-up takes wheels only, but for pyspark, which has one file: a source archive. A second file would be a wheel.
    block = re.findall(r"^pyspark==\S+ \\\n(?:.+\\\n)*.+$", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert [entry.count("--hash=") for entry in block] == [1]
    # A cluster brings its own Spark, which `pip install muntin` must not replace.
    assert not any(re.match("pyspark", asked) for asked in pyproject()["project"]["dependencies"])


def test_every_dependency_has_its_row_in_the_documents() -> None:
    project = pyproject()
    asked = [*project["project"]["dependencies"], *chain(*project["project"]["optional-dependencies"].values())]
    asked += project["dependency-groups"]["dev"] + project["dependency-groups"]["docs"]
    asked += project["build-system"]["requires"]
    rows = re.findall(r"^\| (`.+?) \|", (ROOT / "docs/dependencies.md").read_text(), re.MULTILINE)
    assert {Requirement(each).name for each in asked} <= set(re.findall(r"`([\w-]+)`", " ".join(rows)))


def test_set_up_and_pyproject_agree_on_the_oldest_python() -> None:
    oldest = pyproject()["project"]["requires-python"].removeprefix(">=")
    script = (ROOT / "scripts/find_python.sh").read_text()
    assert f"sys.version_info >= ({oldest.replace('.', ', ')})" in script
    assert f'python{oldest}"' in script
