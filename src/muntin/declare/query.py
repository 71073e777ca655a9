"""The query as a value: events, windows and aggregates, before anything is planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from muntin.aggregate.algebra import Aggregate, AggregateFunction
from muntin.errors import QueryError
from muntin.window.spec import Window, window_set

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What the result's own columns are called, and how names begin that only muntin may use.
WINDOW_ID: Final = "window_id"
WINDOW: Final = "window"
RESERVED: Final = "_mt_"


@dataclass(frozen=True, slots=True)
class WindowQuery:
    """Say what to compute: the events, their time and keys, the windows and the named aggregates.

    `source` is a DataFrame, and nothing here looks into it. `having` and `outputs` are Spark SQL texts over the
    result's columns: which rows to keep, and what to show of them; None shows window_id, window, keys, aggregates.
    """

    source: Any
    time: str
    keys: tuple[str, ...]
    windows: tuple[Window, ...]
    aggregates: tuple[tuple[str, Aggregate], ...]
    watermark: int | None = None
    having: str | None = None
    outputs: tuple[tuple[str, str], ...] | None = None
    origins: tuple[tuple[str, str | None], ...] = ()
    """Of the time and keys that were derived: the columns of the events that tell the same, None where none does."""

    def __post_init__(self) -> None:
        window_set(self.windows)
        for window in self.windows:
            if not window.timed:
                msg = (
                    f"{window!r} counts a plain unit, and events have times. Declare it with durations, "
                    f"for example tumbling('{window.range}s')"
                )
                raise QueryError(msg)
        if not self.aggregates:
            msg = "the query computes nothing: name at least one aggregate, for example .agg(low=agg.min('temp'))"
            raise QueryError(msg)
        _check_names(self.time, self.keys, [name for name, _ in self.aggregates])

    @property
    def functions(self) -> tuple[AggregateFunction, ...]:
        """The functions of all aggregates, each once."""
        return tuple(dict.fromkeys(aggregate.function for _, aggregate in self.aggregates))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the result before `outputs`: window_id, window, the keys, the aggregates."""
        return (WINDOW_ID, WINDOW, *self.keys, *(name for name, _ in self.aggregates))


def named_aggregates(given: Mapping[str, object]) -> tuple[tuple[str, Aggregate], ...]:
    """Check that each name stands for an aggregate of columns.

    >>> from muntin import agg
    >>> named_aggregates({"low": agg.min("temp"), "n": agg.count})
    (('low', min(temp)), ('n', count()))
    >>> named_aggregates({"low": "min"})
    Traceback (most recent call last):
    ...
    muntin.errors.QueryError: `low` must be an aggregate such as agg.min('temp'), got 'min'
    """
    found = []
    for name, what in given.items():
        aggregate = what() if isinstance(what, AggregateFunction) else what
        if not isinstance(aggregate, Aggregate):
            msg = f"`{name}` must be an aggregate such as agg.min('temp'), got {what!r}"
            raise QueryError(msg)
        found.append((name, aggregate))
    return tuple(found)


def _check_names(time: str, keys: Sequence[str], aggregates: Sequence[str]) -> None:
    for what, names in (("key", keys), ("aggregate", aggregates)):
        for name in names:
            if not isinstance(name, str) or not name:
                msg = f"{'an' if what == 'aggregate' else 'a'} {what} needs a name, got {name!r}"
                raise QueryError(msg)
            if name.lower() in (WINDOW_ID, WINDOW):
                rename = "rename the column first" if what == "key" else "choose another name"
                msg = f"the {what} {name!r} is named like the result's own column {name.lower()!r}: {rename}"
                raise QueryError(msg)
            if name.lower().startswith(RESERVED):
                msg = f"the {what} {name!r} begins with {RESERVED!r}, which is reserved: choose another name"
                raise QueryError(msg)
    seen: dict[str, str] = {}
    for what, names in (("key", keys), ("aggregate", aggregates)):
        for name in names:
            # Spark's names do not tell upper from lower case unless it is told to.
            if name.lower() in seen:
                msg = f"{what} {name!r} is named like {seen[name.lower()]}: the result would have two such columns"
                raise QueryError(msg)
            seen[name.lower()] = f"{what} {name!r}"
    if time.lower() in (key.lower() for key in keys):
        msg = f"{time!r} is the time of the events and cannot be a key too: every instant would be a group of its own"
        raise QueryError(msg)
