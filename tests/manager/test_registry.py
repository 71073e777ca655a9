"""The registry on disk: what was written comes back, what is damaged or another's is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from muntin import Window, agg, hopping, tumbling
from muntin.errors import AggregateError, ManagerError, QueryError, StateError, WindowError
from muntin.manager.asked import Asked, asked
from muntin.manager.history import Epoch, Position, Start, first_start, pruned
from muntin.manager.registry import Registry, Shape, Version
from muntin.window.edges import Comb

if TYPE_CHECKING:
    from pathlib import Path

IDENTITY = {"manager": 1, "time": "ts", "keys": ["k string"], "watermark": 10_000_000, "buckets": 4}
HOURLY = asked("hourly", [tumbling("1h"), hopping("1h", "5m", id="often")], {"n": agg.count(), "low": agg.min("v")})


def shape(*queries: Asked, retain: int = 0) -> Shape:
    windows = tuple(window for query in queries for window in query.windows)
    return Shape(
        windows, windows, (("count(1) n", "long"),), {q.name: frozenset({"count(1) n"}) for q in queries}, retain
    )


def test_a_version_comes_back_as_it_was(tmp_path: Path) -> None:
    registry = Registry(tmp_path, IDENTITY)
    first = registry.version.followed([HOURLY], Position(-1), shape(HOURLY))
    registry.write(first)
    second = first.followed([first.queries[0].suspended()], Position(7, 5_000_000, 16_000_000), None)
    registry.write(second)
    registry.close()
    again = Registry(tmp_path, IDENTITY)
    assert again.version == second
    assert again.version.queries[0].aggregates[1][1].function is agg.min
    again.close()


def test_only_whole_versions_count(tmp_path: Path) -> None:
    registry = Registry(tmp_path, IDENTITY)
    registry.write(registry.version.followed([HOURLY], Position(-1), shape(HOURLY)))
    registry.close()
    # What a crash leaves in the middle of a write.
    (tmp_path / ".0000000002.json.tmp").write_text('{"sha256": "12')
    again = Registry(tmp_path, IDENTITY)
    assert again.version.number == 1
    again.write(replace(again.version, number=2))
    again.close()


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda text: text[: len(text) // 2], "cannot be read"),
        (lambda text: f"[{text}]", "cannot be read"),
        (lambda text: text.replace('"n"', '"m"'), "do not go with their checksum"),
        (lambda text: text.replace('"format": 1', '"format": 9'), "has format 9, and this muntin reads 1"),
    ],
)
def test_what_is_damaged_or_of_another_format_is_refused(tmp_path: Path, damage: Any, told: str) -> None:
    registry = Registry(tmp_path, IDENTITY)
    registry.write(registry.version.followed([HOURLY], Position(-1), shape(HOURLY)))
    registry.close()
    path = tmp_path / "0000000001.json"
    path.write_text(damage(path.read_text()))
    with pytest.raises(StateError, match=told):
        Registry(tmp_path, IDENTITY)
    # The lock is free again.
    path.unlink()
    Registry(tmp_path, IDENTITY).close()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"watermark": 20_000_000}, "the watermark was 10s and is 20s"),
        ({"keys": ["k string", "v int"]}, r"the keys were \['k string'\] and are \['k string', 'v int'\]"),
        ({"time": "at"}, "the time of the events was ts and is at"),
        ({"manager": 2}, "the version of the manager's state was 1 and is 2"),
    ],
)
def test_what_is_not_as_it_was_is_refused_with_both(tmp_path: Path, changed: dict[str, Any], told: str) -> None:
    registry = Registry(tmp_path, IDENTITY)
    registry.write(registry.version.followed([HOURLY], Position(-1), shape(HOURLY)))
    registry.close()
    with pytest.raises(ManagerError, match=f"is of another manager: {told}. Go on as before, or start with a new"):
        Registry(tmp_path, IDENTITY | changed)


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ManagerError, match=r"cannot keep the registry in .*: Not a directory"):
        Registry(tmp_path / "file" / "registry", IDENTITY)


def test_a_checkpoint_has_one_manager_as_long_as_its_process_lives(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys, time\n"
        "from muntin.manager.registry import Registry\n"
        f"registry = Registry(pathlib.Path({str(tmp_path)!r}), {IDENTITY!r})\n"
        "print('held', flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(ManagerError, match=rf"another manager \(process {other.pid}\)"):
            Registry(tmp_path, IDENTITY)
        other.kill()
        other.wait()
    Registry(tmp_path, IDENTITY).close()


def test_a_system_without_flock_imports_muntin_and_refuses_a_manager(tmp_path: Path) -> None:
    # As on Windows: the module is not there.
    code = (
        "import pathlib, sys\n"
        "sys.modules['fcntl'] = None\n"
        "import muntin\n"
        "from muntin.manager.registry import Registry\n"
        "try:\n"
        "    Registry(pathlib.Path(sys.argv[1]), {})\n"
        "except muntin.MuntinError as error:\n"
        "    print(error)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert "run it on Linux or macOS" in ended.stdout, ended.stderr


def test_old_versions_go_and_the_last_stay(tmp_path: Path) -> None:
    registry = Registry(tmp_path, IDENTITY)
    for number in range(1, 31):
        registry.write(replace(registry.version, number=number))
    registry.close()
    assert sorted(os.listdir(tmp_path))[-2:] == ["0000000030.json", "lock"]
    assert len(list(tmp_path.glob("*.json"))) == 16
    assert json.loads((tmp_path / "0000000030.json").read_text())["version"] == 30


@pytest.mark.parametrize(
    ("name", "windows", "aggregates", "told"),
    [
        ("", [tumbling("1m")], {"n": agg.count()}, "name has letters"),
        ("../up", [tumbling("1m")], {"n": agg.count()}, "name has letters"),
        ("q", [], {"n": agg.count()}, "window"),
        ("q", [Window(5, 5)], {"n": agg.count()}, "counts a plain unit"),
        ("q", [tumbling("1m")], {}, "computes nothing"),
        ("q", [tumbling("1m")], {"n": "count"}, "must be an aggregate"),
        ("q", [tumbling("1m")], {"window": agg.count()}, "named like"),
        (
            "q",
            [tumbling("1m")],
            {"n": agg.define("mine", lift=int, combine=max, identity=0, returns="int")("v")},
            "of your own",
        ),
    ],
)
def test_what_cannot_be_asked_for_is_refused(name: str, windows: Any, aggregates: Any, told: str) -> None:
    with pytest.raises((ManagerError, QueryError, WindowError, AggregateError), match=told):
        asked(name, windows, aggregates)


MINUTE = Epoch(None, (Comb(60, 0),), frozenset({"n"}), reach=600)


def test_a_window_starts_where_its_events_begin_to_be_there() -> None:
    now = Position(9, watermark=1000, horizon=1010)
    # Nothing came yet.
    assert first_start(Window(60, 60), {"n"}, [], Position(-1)) == Start(None)
    # Slices end elsewhere, or hold other partials: only what is still to come counts.
    assert first_start(Window(60, 30), {"n"}, [MINUTE], now) == Start(1020, retained=False)
    assert first_start(Window(60, 60), {"m"}, [MINUTE], now) == Start(1020, retained=False)
    # All of them are there, back to 400: the first that has not ended by 1000.
    assert first_start(Window(60, 60), {"n"}, [MINUTE], now) == Start(960, retained=True)
    assert first_start(Window(900, 60), {"n"}, [MINUTE], now) == Start(420, retained=True)
    # An epoch in between that had no such edges: only what came after it.
    hole = Epoch(700, (Comb(90, 0),), frozenset({"n"}), reach=600)
    after = Epoch(800, (Comb(60, 0),), frozenset({"n"}), reach=600)
    assert first_start(Window(900, 60), {"n"}, [MINUTE, hole, after], now) == Start(840, retained=True)
    # Slices were kept for a shorter time.
    brief = replace(after, reach=100)
    assert first_start(Window(900, 60), {"n"}, [MINUTE, brief], now) == Start(960, retained=True)


def test_epochs_are_forgotten_once_their_slices_are() -> None:
    later = [replace(MINUTE, horizon=h) for h in (2000, 3000, 4000)]
    assert pruned([MINUTE, *later], Position(20, 3700, 3710)) == tuple(later[1:])
    assert pruned([MINUTE], Position(20, 9000, 9010)) == (MINUTE,)


def test_partials_of_another_type_are_refused_with_both() -> None:
    version = Version().followed([HOURLY], Position(-1), shape(HOURLY))
    assert version.fits(shape(HOURLY))
    assert not version.fits(shape(HOURLY, retain=10**12))
    with pytest.raises(ManagerError, match=r"the partial count\(1\) n was long and is double now"):
        version.followed([HOURLY], Position(-1), replace(shape(HOURLY), columns=(("count(1) n", "double"),)))


def test_versions_know_their_queries() -> None:
    version = Version().followed([HOURLY], Position(-1), shape(HOURLY))
    assert version.find("hourly").starts == (Start(None), Start(None))
    with pytest.raises(ManagerError, match="there is no query 'daily': known are hourly"):
        version.find("daily")
