"""The command line: `muntin plan`, `muntin bench`."""

from __future__ import annotations

from contextlib import contextmanager
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Final

import click

from muntin import __version__
from muntin.commands.bench import bench
from muntin.commands.plan import plan
from muntin.errors import MuntinError

if TYPE_CHECKING:
    from collections.abc import Iterator


# Errors advise in the words of the Python interface; here the same advice is an option.
_OPTIONS: Final = MappingProxyType(
    {
        "pass share=False": "pass --sharing none",
        "Use sharing='partitioned'": "Use --sharing partitioned",
        "with id='...'": "as in ID=20m",
        "Use 'auto' or 'factor'": "Use --optimizer auto or factor",
    }
)


class _Refusal(click.ClickException):
    """Bad input, said in one line."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"muntin: error: {' '.join(self.message.split())}", file=file, err=file is None)


class _Commands(click.Group):
    """Commands whose errors on purpose are one line; any other error keeps its traceback."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _refusing():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _refusing():
            return super().invoke(ctx)


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except MuntinError as error:
        msg = str(error)
        for words, option in _OPTIONS.items():
            msg = msg.replace(words, option)
        raise _Refusal(msg) from error
    except click.UsageError as error:
        hint = f". See `{error.ctx.command_path} --help`" if error.ctx else ""
        msg = error.format_message().rstrip(".") + hint
        raise _Refusal(msg) from error


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""
    \b
    Example, the plan of three windows:
      muntin plan --window 20m --window 30m --window 40m --agg min

    \b
    Exit codes:
      0  done
      1  stopped: by Ctrl-C, a closed pipe (| head) or an unexpected error
      2  the input has an error: one line on standard error says which
    """,
)
@click.version_option(__version__, prog_name="muntin", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Plan many windowed aggregates over the same events for about the cost of one."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


main.add_command(plan)
main.add_command(bench)
