"""A PostgreSQL server of the tests' own: in a folder of its own, reached through a socket in it and by no port."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 60


def binaries() -> Path:
    """Find the folder that holds `initdb` and `pg_ctl`, which Debian keeps off PATH, or skip."""
    on_path = shutil.which("initdb")
    usual = [*Path("/usr/lib/postgresql").glob("*/bin"), *Path("/opt/homebrew/opt").glob("postgresql*/bin")]
    places = ([Path(on_path).parent] if on_path else []) + sorted(usual, key=_version, reverse=True)
    for place in places:
        if (place / "initdb").exists() and (place / "pg_ctl").exists():
            return place
    pytest.skip("no PostgreSQL server here: install it (Debian, Ubuntu: apt-get install postgresql)")


def _version(place: Path) -> int:
    return int("".join(filter(str.isdigit, place.parent.name)) or 0)


@contextmanager
def server() -> Iterator[str]:
    """Start a server, give what libpq takes to connect to it, and stop it whatever happens."""
    place = binaries()
    # Short, because the path of a socket may have about a hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="muntin-pg-"))
    other: dict[str, Any] = {}
    if os.geteuid() == 0:
        # PostgreSQL refuses to run as root.
        nobody = pwd.getpwnam("nobody")
        other = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    data = folder / "data"

    def run(program: str, *options: str) -> None:
        done = subprocess.run(
            [str(place / program), *options],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            cwd=folder,
            **other,
        )
        assert done.returncode == 0, f"{program}: {done.stdout[-2000:]}{done.stderr[-2000:]}"

    try:
        run("initdb", "-D", str(data), "-U", "muntin", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        # Not in UTC, so that a time written without its zone would be seen.
        settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c timezone=Asia/Kolkata -c fsync=off"
        run("pg_ctl", "-D", str(data), "-w", "-t", str(PATIENCE), "-l", str(folder / "log"), "-o", settings, "start")
        yield f"host={folder} user=muntin dbname=postgres connect_timeout=10"
    finally:
        if (data / "postmaster.pid").exists():
            run("pg_ctl", "-D", str(data), "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
