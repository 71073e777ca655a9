"""`muntin completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from muntin.commands.exit_codes import exits

_VARIABLE: Final = "_MUNTIN_COMPLETE"
SHELLS: Final[dict[str, type[ShellComplete]]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command(
    short_help="Print what makes a shell complete muntin's commands and options.",
    epilog=f"""
    \b
    Examples, for now and for every new shell:
      source <(muntin completion bash)
      muntin completion bash \\
        > ~/.local/share/bash-completion/completions/muntin
      muntin completion zsh > ~/.zfunc/_muntin
      muntin completion fish \\
        > ~/.config/fish/completions/muntin.fish

    zsh reads ~/.zfunc where ~/.zshrc has `fpath+=~/.zfunc` before `compinit`.

    {exits(0, 2)}
    """,
)
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script for SHELL after which the tab key completes commands, options and their values."""
    made = SHELLS[shell](context.find_root().command, {}, "muntin", _VARIABLE)
    # Not `source()`: bash's looks at the version of whatever bash there is, and warns on standard error.
    click.echo(made.source_template % made.source_vars())
