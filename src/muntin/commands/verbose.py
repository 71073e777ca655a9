"""`-v` and `-vv`: what the package logs, on standard error; without them it says nothing."""

from __future__ import annotations

import logging
from typing import Any, Final

import click

_LEVELS: Final = (logging.WARNING, logging.INFO, logging.DEBUG)
_HELP: Final = "Say on standard error what is decided, and why; -vv says more."


class StandardError(logging.Handler):
    """Write records where standard error is at that moment: a progress bar takes its place while it is shown."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record, and never fail because of it."""
        try:
            click.echo(self.format(record), err=True)
        except Exception:
            self.handleError(record)


def verbose_option() -> click.Option:
    """Make the option; it can stand before a command's name and after."""
    return click.Option(["-v", "--verbose"], count=True, expose_value=False, callback=_set, help=_HELP)


def _set(context: click.Context, _: Any, count: int) -> None:
    if not count:
        return
    # Given before the name of the command and after, both count.
    root = context.find_root()
    total = root.meta["muntin.verbose"] = root.meta.get("muntin.verbose", 0) + count
    log = logging.getLogger("muntin")
    before = log.level
    log.setLevel(_LEVELS[min(total, len(_LEVELS) - 1)])
    if total > count:
        return
    handler = StandardError()
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
    log.addHandler(handler)

    # One process may run several commands, as tests do.
    def end() -> None:
        log.removeHandler(handler)
        log.setLevel(before)

    root.call_on_close(end)
