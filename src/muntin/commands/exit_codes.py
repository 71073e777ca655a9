"""With what a command ends: one meaning for each number, the same for all commands."""

from __future__ import annotations

import signal
from types import MappingProxyType
from typing import Final

DONE: Final = 0
FAILED: Final = 1
REFUSED: Final = 2
DIFFERENT: Final = 3
_SIGNALLED: Final = 128

EXIT_CODES: Final = MappingProxyType(
    {
        DONE: "done; what has no end of its own: stopped in order",
        FAILED: "the work began and failed, or its output was closed",
        REFUSED: "refused before anything was done: see the message",
        DIFFERENT: "rows differ from those of the plan written by hand",
        _SIGNALLED + signal.SIGINT: "broken off by Ctrl-C",
        _SIGNALLED + signal.SIGTERM: "broken off by SIGTERM",
    }
)
"""What each means; `muntin --help` and docs/commands.md show them."""


def signalled(by: signal.Signals) -> int:
    """Give the code of a command that a signal broke off, as shells do.

    >>> signalled(signal.SIGINT), signalled(signal.SIGTERM)
    (130, 143)
    """
    return _SIGNALLED + by


def exits(*codes: int) -> str:
    r"""List codes and what they mean, as the last paragraph of a help text; all of them where none is named.

    >>> exits(0).splitlines()
    ['\x08', '    Exit codes:', '      0    done; what has no end of its own: stopped in order']
    """
    # Help texts are indented by four, and the mark keeps click from joining lines.
    lines = [f"      {code:<4} {EXIT_CODES[code]}" for code in codes or EXIT_CODES]
    return "\n".join(["\b", "    Exit codes:", *lines])
