"""Ctrl-C and SIGTERM as a wish to stop, gathered instead of breaking off what runs."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES: Final = MappingProxyType({signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"})
"""How people call them."""


@contextmanager
def signals() -> Iterator[list[signal.Signals]]:
    """Gather the signals that ask to stop; Spark's own answer to Ctrl-C would be to break off what runs."""
    asked: list[signal.Signals] = []
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {
        number: signal.signal(number, lambda number, frame: asked.append(signal.Signals(number))) for number in NAMES
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
