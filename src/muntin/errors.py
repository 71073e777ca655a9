"""What can go wrong, one class per stage of a query's way."""

from __future__ import annotations


class MuntinError(ValueError):
    """The parent of every error that muntin raises on purpose."""


class DurationError(MuntinError):
    """A duration could not be read."""


class WindowError(MuntinError):
    """A window, or a set of windows, is not well formed."""


class CoverError(MuntinError):
    """One window was asked to be made of another that does not cover it."""


class AggregateError(MuntinError):
    """An aggregate is unknown, ill defined, or does not allow what was asked of it."""


class OptimizeError(MuntinError):
    """The optimizer was given a rate, unit or option that it cannot work with."""


class IncrementalError(MuntinError):
    """An incremental structure was asked for what its window does not hold, or a snapshot does not fit."""


class ShowError(MuntinError):
    """A plan cannot be drawn in the form asked for."""


class SqlError(MuntinError):
    """A query in SQL cannot be read, or asks for what is not offered; `line` and `column` count from 1."""

    line: int | None = None
    column: int | None = None


class QueryError(MuntinError):
    """A query names columns, windows or aggregates that do not go together."""


class SqlQueryError(SqlError, QueryError):
    """A query in SQL can be read, and does not go with the columns of its input."""


class StateError(MuntinError):
    """The state of a stream cannot be read, or belongs to another query."""


class ManagerError(MuntinError):
    """A manager of queries over a stream was asked for what it cannot do, or cannot go on."""


class RunError(MuntinError):
    """Work that was begun failed on the way: on Spark, in a stream, or for want of space."""


class SinkError(MuntinError):
    """Rows cannot be written to where they are asked to go."""
