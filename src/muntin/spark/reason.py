"""What went wrong, in one line: Spark's messages go on with plans, and ways through the JVM."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    from py4j.protocol import Py4JError
except ImportError:  # a Spark that is reached by Connect alone
    _FROM_THE_JVM: tuple[type[Exception], ...] = ()
else:
    _FROM_THE_JVM = (Py4JError,)
# With these Spark refuses an expression: most are its own, but not that of a collation that there is not.
REFUSALS: Final[tuple[type[Exception], ...]] = (PySparkException, *_FROM_THE_JVM)


def reason(error: BaseException) -> str:
    r"""Take what went wrong out of Spark's message, without the plan and the way through the JVM.

    >>> reason(ValueError("\n[NO_COLUMN] There is no `x`. SQLSTATE: 42703; line 1\n'Project"))
    '[NO_COLUMN] There is no `x`.'
    >>> reason(Exception("An error occurred while calling o34.load.\n: org.apache.spark.SparkException: [A] It broke."))
    '[A] It broke.'
    >>> reason(Exception("An error occurred while calling o6.count.\n: java.lang.NoSuchMethodError: 'void a.b()'"))
    "a jar was made for another version of Spark (NoSuchMethodError 'void a.b()')"
    """
    lines = [line.strip(" :") for line in str(error).splitlines() if line.strip(" :")]
    # py4j tells first which call it was, and then the class and the words of what the JVM threw.
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = [_without_class(lines[1])]
    return lines[0].split("SQLSTATE:", 1)[0].strip()[:400] if lines else type(error).__name__


def own_words(error: BaseException) -> str | None:
    """Find what muntin itself said in a worker, among what the JVM made of it."""
    found = re.search(r"muntin\.errors\.\w+: ([^\n]+)", "\n".join(str(each) for each in _causes(error)))
    return None if found is None else found[1].strip()


def first_and_root(error: BaseException) -> tuple[str, str]:
    """Say what failed, and what made it fail."""
    causes = [str(each) for each in _causes(error)]
    return _first_line(causes[0]), _first_line(causes[-1])


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        # PySpark keeps what the JVM says of causes there; over Connect there is nothing of the kind.
        error = getattr(error, "_cause", None)


def _first_line(text: str) -> str:
    r"""Take what went wrong out of a message of the JVM's.

    >>> _first_line("java.io.IOException: No space left on device\n at java.io")
    'No space left on device'
    """
    text = re.sub(r"^\[STREAM_FAILED\].*?terminated with exception: ", "", text.strip())
    return reason(Exception(_without_class(text))).rstrip(".")


def _without_class(text: str) -> str:
    """Take the words of what the JVM threw; where parts do not fit together the class says more than they do."""
    unfit = re.match(r"[\w.$]*\b(NoSuchMethodError|NoSuchFieldError|NoClassDefFoundError|AbstractMethodError): ", text)
    if unfit:
        return f"a jar was made for another version of Spark ({unfit[1]} {text[unfit.end() :].splitlines()[0]})"
    return re.sub(r"^[\w.$]+(Exception|Error): ", "", text)
