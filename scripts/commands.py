"""Write the reference of the command line, docs/commands.md, anew from the commands themselves.

Above the mark the page is written by hand; below it stands what `--help` says. tests/test_commands_page.py compares.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click
from click.testing import CliRunner

from muntin.cli import main

PAGE: Final = Path(__file__).parents[1] / "docs" / "commands.md"
MARK: Final = "<!-- From here on scripts/commands.py writes. -->"
# As in a terminal of 80 columns, of which click leaves two free.
_COLUMNS: Final = 78


def reference() -> str:
    """Give what follows the mark: each command's help, as it is printed."""
    parts = [_section("muntin", [])]
    for name in main.list_commands(click.Context(main)):
        parts.append(_section(f"muntin {name}", [name]))
    return "\n".join([MARK, "", *parts])


def _section(title: str, arguments: list[str]) -> str:
    said = CliRunner().invoke(main, [*arguments, "--help"], prog_name="muntin", terminal_width=_COLUMNS)
    return f"## {title}\n\n```text\n{said.stdout.rstrip()}\n```\n"


if __name__ == "__main__":
    by_hand = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(by_hand + reference(), encoding="utf-8")
