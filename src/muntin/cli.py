"""The command line: `muntin plan`, `run`, `serve` and what talks to it, `studio`, `demo`, `calibrate`, `bench`."""

from __future__ import annotations

import logging
import signal
from contextlib import contextmanager
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Final

import click

from muntin import __version__
from muntin.commands.bench import bench
from muntin.commands.calibrate import calibrate
from muntin.commands.completion import completion
from muntin.commands.demo import demo
from muntin.commands.exit_codes import FAILED, REFUSED, exits, signalled
from muntin.commands.manage import drop, register, resume, status, stop, suspend
from muntin.commands.plan import plan
from muntin.commands.run import run
from muntin.commands.serve import serve
from muntin.commands.signals import NAMES
from muntin.commands.studio import studio
from muntin.commands.verbose import verbose_option
from muntin.errors import MuntinError, RunError, SqlError

if TYPE_CHECKING:
    from collections.abc import Iterator


# Errors advise in the words of the Python interface; here the same advice is an option.
_OPTIONS: Final = MappingProxyType(
    {
        "pass share=False": "pass --sharing none",
        "Use sharing='partitioned'": "Use --sharing partitioned",
        "with id='...'": "as in ID=20m",
        "Use 'auto' or 'factor'": "Use --optimizer auto or factor",
        "stream(buckets=...)": "--buckets",
    }
)


class _Refusal(click.ClickException):
    """Bad input, said in one line; the lines below it, if any, show the place."""

    exit_code = REFUSED

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.place = place

    def show(self, file: IO[Any] | None = None) -> None:
        lines = [f"muntin: error: {' '.join(self.message.split())}", *self.place.splitlines()]
        click.echo("\n".join(lines), file=file, err=file is None)


class _Failure(_Refusal):
    """Work that was begun and failed, said in one line."""

    exit_code = FAILED


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
    except SqlError as error:
        # The place in the query, and the caret below it, must stay as they are.
        msg, _, place = str(error).partition("\n")
        raise _Refusal(msg, place) from error
    except MuntinError as error:
        msg = str(error)
        for words, option in _OPTIONS.items():
            msg = msg.replace(words, option)
        kind = _Failure if isinstance(error, RunError) else _Refusal
        raise kind(msg) from error
    except KeyboardInterrupt as error:
        # click would say that it was aborted, and end as if the work had failed.
        by = error.args[0] if error.args else signal.SIGINT
        click.echo(f"muntin: stopped by {NAMES[by]}", err=True)
        raise click.exceptions.Exit(signalled(by)) from error
    except click.UsageError as error:
        msg = error.format_message().rstrip(".")
        if error.ctx:
            msg += f"{'' if msg.endswith('?') else '.'} See `{error.ctx.command_path} --help`"
        raise _Refusal(msg) from error


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"""
    \b
    The plan of three windows:
      muntin plan --window 20m --window 30m --window 40m \\
                  --agg min
    A query over files, on Spark:
      muntin run query.sql --input Input=events/ --output out/
    A stream whose queries come and go, and a query for it:
      muntin serve --input events/ --time ts \\
                   --watermark 10s --checkpoint ck/ \\
                   --output out/
      muntin register load --checkpoint ck/ --window 5m \\
                   --agg "n=count()"

    {exits()}
    """,
)
@click.version_option(__version__, prog_name="muntin", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Run many windowed aggregates over the same events for about the cost of one."""
    if not logging.getLogger().handlers:
        # py4j would print the way through itself when Ctrl-C breaks off a job.
        logging.getLogger().addHandler(logging.NullHandler())
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (
    plan, run, serve, register, suspend, resume, drop, status, stop, studio, demo, calibrate, bench, completion
):  # fmt: skip
    main.add_command(_command)
for _command in (main, *main.commands.values()):
    _command.params.append(verbose_option())
