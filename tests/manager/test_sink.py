"""The folder that a manager writes to: what a micro-batch left that was not done goes, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from muntin.errors import ManagerError
from muntin.manager.sink import Folder

if TYPE_CHECKING:
    from pathlib import Path


def batches(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.glob("*/*"))


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    for place in ("a/batch=0000000003", "a/batch=0000000004", "b/batch=0000000004", "b/other"):
        (tmp_path / place).mkdir(parents=True)
    return tmp_path


def test_a_micro_batch_that_was_not_done_goes(rows: Path) -> None:
    Folder(rows).clear(4)
    assert len(batches(rows)) == 4
    Folder(rows).clear(3)
    assert batches(rows) == ["a/batch=0000000003", "b/other"]


@pytest.mark.parametrize("after", [-1, 2])
def test_rows_of_another_checkpoint_are_refused_and_stay(rows: Path, after: int) -> None:
    before = batches(rows)
    with pytest.raises(ManagerError, match=f"has rows of micro-batch 4, and the checkpoint has come to {after}"):
        Folder(rows).clear(after)
    assert batches(rows) == before
