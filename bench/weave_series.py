"""A sensor's readings to run plans on: one in each unit of time, made up or from a file."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Final

import numpy as np
from pyarrow import ArrowInvalid, parquet

from muntin.errors import MuntinError

if TYPE_CHECKING:
    from pathlib import Path

SEED: Final = 12
MADE_UP: Final = "made up: power of a machine, cycles and drift with noise, whole numbers"


def made_up(length: int, seed: int = SEED) -> list[int]:
    """Make up readings of a machine's power: it runs in cycles, drifts, and is noisy.

    >>> len(made_up(1000)), 8_000 < min(made_up(1000))
    (1000, True)
    """
    draw = np.random.default_rng(seed)
    time = np.arange(length)
    drift = np.cumsum(draw.normal(0, 2, length))
    # A cycle of some minutes at 100 readings a second, and a load that is put on and taken off.
    cycle = 3_000 * np.sin(2 * np.pi * time / 30_000)
    load = np.repeat(draw.integers(0, 2, length // 5_000 + 1) * 1_500, 5_000)[:length]
    return [int(value) for value in np.round(12_000 + drift + cycle + load + draw.normal(0, 80, length))]


def from_file(path: Path, length: int) -> tuple[list[int], str]:
    """Read readings from a file, repeated end to end to the length asked for.

    Of a CSV the last column that has numbers is read, of parquet the column `mf01` (DEBS 2012 Grand Challenge).
    Readings are scaled to whole numbers: sums of floats would depend on their order.
    """
    values = _from_parquet(path, length) if path.suffix == ".parquet" else _from_csv(path, length)
    if len(values) < 2:
        msg = f"{path} has {len(values)} rows with a number: two at least are needed. Give --data a column of numbers"
        raise MuntinError(msg)
    largest = max(map(abs, values)) or 1.0
    scale = 1 if all(value.is_integer() for value in values) else 1_000_000 / largest
    whole = [round(value * scale) for value in values]
    turns = -(-length // len(whole))
    repeated = f", repeated {turns} times" if turns > 1 else ""
    return (whole * turns)[:length], f"{path.name}: {len(whole):,} readings{repeated}"


def _from_csv(path: Path, length: int) -> list[float]:
    values: list[float] = []
    column: int | None = None
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                if column is None:
                    column = max((i for i, cell in enumerate(row) if _number(cell) is not None), default=None)
                number = _number(row[column]) if column is not None and column < len(row) else None
                if number is not None:
                    values.append(number)
                if len(values) == length:
                    break
    except (OSError, UnicodeDecodeError) as error:
        msg = f"cannot read {path} as CSV: {error}. Give --data a text file with a column of numbers"
        raise MuntinError(msg) from error
    return values


def _from_parquet(path: Path, length: int) -> list[float]:
    try:
        column = parquet.read_table(path, columns=["mf01"]).column("mf01")
        found = [float(value) for value in column.slice(0, length).to_pylist() if value is not None]
    except (OSError, KeyError, ArrowInvalid, TypeError, ValueError) as error:
        msg = f"{path} cannot be read as parquet with a column mf01 of numbers: {str(error).splitlines()[0]}"
        raise MuntinError(msg) from error
    return [value for value in found if np.isfinite(value)]


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
