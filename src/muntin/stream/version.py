"""The version of what streams keep in their state."""

from __future__ import annotations

from typing import Final

VERSION: Final = 1
