"""What work costs on a machine: constants that are measured once, and those that ship."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

from muntin.errors import QueryError


@dataclass(frozen=True, slots=True)
class Constants:
    """Microseconds of one core for each item, and milliseconds for what does not depend on their number.

    The constants that ship fit what was measured on 2 cores with Spark 4.3; `muntin calibrate` measures others.
    """

    scan: float = 0.1
    """An event read, for each branch of a plan that reads the events."""
    group_struct: float = 0.08
    """An event grouped by Spark's `window()`, for each window it is in."""
    group: float = 0.045
    """A row grouped by an integer, in a hash table on its own side of the exchange."""
    part: float = 0.02
    """Each further aggregate of a row."""
    exchange: float = 1.2
    """A grouped row sent to its partition and grouped again."""
    copy: float = 0.011
    """A row copied for one more window."""
    enter: float = 1.05
    """A pane sent to its partition, sorted, and handed to Python."""
    place: float = 0.002
    """An event compared with one place of its pack of panes."""
    cell: float = 0.08
    """A place of a pack sent to its partition, sorted, and handed to Python."""
    leave: float = 0.5
    """A window handed back by Python."""
    element: float = 0.2
    """A window handed back by Python in a list of neighbours."""
    fold: float = 5.0
    """A row whose partial Spark merges in objects: a variance, a list, a sketch."""
    branch: float = 14.0
    """One more branch of a union, in milliseconds."""
    stage: float = 60.0
    """One more exchange, in milliseconds."""
    python: float = 150.0
    """Python workers called for, in milliseconds."""
    cores: float = 2.0
    source: str = "shipped"


def calibration_path() -> Path:
    """Say where calibrated constants are kept: $MUNTIN_CALIBRATION, or the user's configuration folder."""
    given = os.environ.get("MUNTIN_CALIBRATION")
    if given:
        return Path(given)
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "muntin" / "calibration.json"


def load_constants() -> Constants:
    """Read the calibrated constants, or give those that ship."""
    path = calibration_path()
    try:
        text = path.read_text()
    except OSError:
        return SHIPPED
    names = {field.name for field in fields(Constants)}
    try:
        found = json.loads(text)
        if not isinstance(found, dict) or set(found) != names:
            raise ValueError
        numbers = {name: float(found[name]) for name in names - {"source"}}
    except (ValueError, TypeError) as error:
        msg = (
            f"the calibration in {path} cannot be read: it should hold the numbers {', '.join(sorted(names))}. "
            "Run `muntin calibrate` again, or remove the file"
        )
        raise QueryError(msg) from error
    return Constants(**numbers, source=str(found["source"]))


def save_constants(constants: Constants) -> Path:
    """Keep constants for later plans."""
    path = calibration_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(constants), indent=2) + "\n")
    return path


SHIPPED: Final = Constants()
