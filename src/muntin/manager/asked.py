"""What queries ask for, as values that JSON can hold: nothing that needs code to be read back."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from muntin.aggregate import catalog
from muntin.aggregate.algebra import Aggregate, AggregateFunction
from muntin.declare.query import WindowQuery, named_aggregates
from muntin.errors import ManagerError
from muntin.manager.history import Start
from muntin.window.spec import Window, window_set

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Activity: TypeAlias = Literal["running", "suspended"]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Asked:
    """A query by its name: its windows and aggregates, whether it runs, and where each of its windows started."""

    name: str
    windows: tuple[Window, ...]
    aggregates: tuple[tuple[str, Aggregate], ...]
    activity: Activity = "running"
    starts: tuple[Start, ...] = ()

    @property
    def running(self) -> bool:
        """Whether it is computed."""
        return self.activity == "running"

    def started(self, starts: Sequence[Start]) -> Asked:
        """Let it run from these starts on."""
        return replace(self, activity="running", starts=tuple(starts))

    def suspended(self) -> Asked:
        """Let it wait."""
        return replace(self, activity="suspended", starts=())

    def to_dict(self) -> dict[str, Any]:
        """Give it as values that JSON can hold."""
        return {
            "name": self.name,
            "windows": [[w.id, w.range, w.slide, w.offset] for w in self.windows],
            "aggregates": {name: _written(aggregate) for name, aggregate in self.aggregates},
            "activity": self.activity,
            "starts": [list(start) for start in self.starts],
        }

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> Asked:
        """Read it back.

        >>> from muntin import agg, tumbling
        >>> query = asked("hourly", [tumbling("1h")], {"low": agg.min("temp", filter="ok")})
        >>> Asked.from_dict(query.to_dict()) == query
        True
        """
        return cls(
            said["name"],
            tuple(Window(range_, slide, offset, name, timed=True) for name, range_, slide, offset in said["windows"]),
            tuple((name, _read(each)) for name, each in said["aggregates"].items()),
            said["activity"],
            tuple(Start(*start) for start in said["starts"]),
        )


def asked(name: str, windows: Window | Sequence[Window], aggregates: Mapping[str, object]) -> Asked:
    """Check what a query asks for, as far as that needs no stream.

    >>> from muntin import agg, tumbling
    >>> asked("per hour", [tumbling("1h")], {"n": agg.count()})
    Traceback (most recent call last):
    ...
    muntin.errors.ManagerError: a query's name has letters, digits, _ and -, begins with a letter or _, and is at most \
64 long: got 'per hour'
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        msg = (
            "a query's name has letters, digits, _ and -, begins with a letter or _, and is at most 64 long: "
            f"got {name!r}"
        )
        raise ManagerError(msg)
    several = [windows] if isinstance(windows, Window) else windows
    found = Asked(name, window_set(several), named_aggregates(dict(aggregates)))
    # The same rules as for any query.
    WindowQuery(None, "_", (), found.windows, found.aggregates)
    for column, aggregate in found.aggregates:
        if getattr(catalog, aggregate.function.name, None) is not aggregate.function:
            msg = (
                f"`{column}` is an aggregate of your own ({aggregate.function.name}): a manager's queries come back "
                "after a crash from what is on disk, and code is not kept there. Take aggregates of muntin.agg"
            )
            raise ManagerError(msg)
        for what in (*aggregate.columns, aggregate.filter):
            if not isinstance(what, (str, type(None))):
                msg = (
                    f"`{column}` reads a Spark expression: a manager keeps its queries on disk, and needs text. "
                    "Give columns by name and filters as SQL, and compute others on the stream beforehand"
                )
                raise ManagerError(msg)
    return found


def _written(aggregate: Aggregate) -> dict[str, Any]:
    found: dict[str, Any] = {"function": aggregate.function.name, "columns": list(aggregate.columns)}
    found |= {} if aggregate.filter is None else {"filter": aggregate.filter}
    return found | ({"params": dict(aggregate.params)} if aggregate.params else {})


def _read(said: Mapping[str, Any]) -> Aggregate:
    function = getattr(catalog, said["function"], None)
    if not isinstance(function, AggregateFunction):
        msg = f"the registry has a query with the aggregate {said['function']!r}, which this muntin does not know"
        raise ManagerError(msg)
    return Aggregate(function, tuple(said["columns"]), said.get("filter"), tuple(said.get("params", {}).items()))
