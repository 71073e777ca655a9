"""What a query in SQL says, as plain values: expressions are Spark SQL text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from muntin.declare.query import WINDOW, WINDOW_ID

if TYPE_CHECKING:
    from muntin.declare.sql.source import Place
    from muntin.window.spec import Window

OWN_NAMES = frozenset({WINDOW, WINDOW_ID})
"""The names that stand for the window itself; nothing else may bear them."""


@dataclass(frozen=True, slots=True)
class Key:
    """Name an expression that rows are grouped by.

    >>> Key("device", "upper(device)").text
    'upper(device)'
    """

    name: str
    text: str
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """Apply one of muntin's aggregates, by its own name, to expressions of the input.

    >>> AggregateCall("hottest", "max", ("temp",)).function
    'max'
    """

    name: str
    function: str
    arguments: tuple[str, ...] = ()
    params: tuple[tuple[str, object], ...] = ()
    filter: str | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Output:
    """Name a column of the result, an expression over keys, aggregates, `window_id` and `window`.

    >>> Output("spread", "max_1 - min_2").name
    'spread'
    """

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class SelectQuery:
    """Hold one aggregation over windows, read from SQL.

    `where`, the keys and the aggregates' arguments and filters are text over the input's columns. `having` and
    the outputs are text over internal names: those of the keys and the aggregates, `window_id`, `window.start`
    and `window.end`. `closed` says which end of a window belongs to it: Azure's are `(start, end]`, closed on
    the right, Spark's `[start, end)`.
    """

    source: str
    time: str | None
    closed: Literal["left", "right"]
    where: str | None
    keys: tuple[Key, ...]
    windows: tuple[Window, ...]
    aggregates: tuple[AggregateCall, ...]
    having: str | None
    outputs: tuple[Output, ...]
    into: str | None = None
    over: tuple[str, ...] = ()
    """The columns of `TIMESTAMP BY ... OVER`: streams whose lateness is judged apart. A batch has none."""
    where_place: Place | None = field(default=None, compare=False, repr=False)
    time_place: Place | None = field(default=None, compare=False, repr=False)
    having_place: Place | None = field(default=None, compare=False, repr=False)
