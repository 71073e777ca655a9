"""What Spark says is wrong with a query, without the plan and the code that follow."""

from __future__ import annotations


def reason(error: Exception) -> str:
    r"""Take the first line of a message.

    >>> reason(ValueError("\n[NO_COLUMN] There is no `x`. SQLSTATE: 42703; line 1\n'Project"))
    '[NO_COLUMN] There is no `x`.'
    """
    return str(error).strip().split("\n", 1)[0].split(" SQLSTATE:", 1)[0]
