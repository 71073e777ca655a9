from __future__ import annotations

from typing import TYPE_CHECKING

from bench import kept
from bench.kept import Kept, part

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ROWS: list[dict[str, object]] = [{"seconds": 1.25, "ways": "arrow"}, {"seconds": 0.5, "ways": None}]


def test_what_was_kept_is_there_for_the_same_settings(tmp_path: Path) -> None:
    path = part(tmp_path / "new", "table1")
    first = Kept(path, {"events": 10, "sizes": (1, 2)})
    assert (len(first), first.get("R-5")) == (0, None)
    first.keep("R-5", ROWS)
    again = Kept(path, {"events": 10, "sizes": (1, 2)})
    assert (len(again), again.get("R-5"), again.get("S-5")) == (1, ROWS, None)
    again.keep("S-5", ROWS[:1])
    assert len(Kept(path, {"events": 10, "sizes": (1, 2)})) == 2


def test_what_was_measured_otherwise_is_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = part(tmp_path, "table1")
    Kept(path, {"events": 10}).keep("R-5", ROWS)
    monkeypatch.setattr(kept, "code", lambda _: "another")
    assert len(Kept(path, {"events": 10})) == 0
    monkeypatch.undo()
    # It was written over.
    assert len(Kept(path, {"events": 10})) == 0
    Kept(path, {"events": 10}).keep("R-5", ROWS)
    assert len(Kept(path, {"events": 11})) == 0


def test_a_line_that_was_cut_off_is_measured_again(tmp_path: Path) -> None:
    path = part(tmp_path, "table1")
    first = Kept(path, {})
    first.keep("R-5", ROWS)
    first.keep("S-5", ROWS)
    whole = path.read_bytes()
    for cut in range(2, 40):
        path.write_bytes(whole[:-cut])
        again = Kept(path, {})
        assert (len(again), again.get("S-5")) == (1, None)
        again.keep("S-5", ROWS)
        assert path.read_bytes() == whole


def test_without_a_path_nothing_is_kept() -> None:
    found = Kept(None, {})
    found.keep("R-5", ROWS)
    assert found.get("R-5") == ROWS
