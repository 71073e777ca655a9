"""What the page asks for: a query in SQL or a window set of a form, and how it is to be planned."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, get_args

from muntin.aggregate.algebra import Aggregate
from muntin.aggregate.names import resolve
from muntin.declare.sql import parse_sql
from muntin.declare.sql.aggregate_text import parse_aggregate
from muntin.declare.sql.source import Source
from muntin.errors import MuntinError, SqlError
from muntin.logical.cost import Period
from muntin.logical.optimize import check_optimizer
from muntin.manager.request import RequestError
from muntin.window.spec import Window, hopping, window_set

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from muntin.aggregate.algebra import AggregateFunction
    from muntin.declare.sql import SelectQuery
    from muntin.logical.optimize import Optimizer

MOST_WINDOWS: Final = 200
"""A page shows no more; `muntin plan` takes as many as there are."""
MOST_TEXT: Final = 100_000
_MOST_FIELD: Final = 200
# Numbers that nobody means: to write them out, or to compute with them, takes as long as one likes.
_ENDLESS: Final = re.compile(r"\d{31,}|[eE][+-]?\d{4,}")
_FIELD: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)")
_BARE: Final = re.compile(r"[A-Za-z_][\w -]*")


@dataclass(frozen=True, slots=True)
class Ask:
    """A query to plan: its windows and aggregates, from SQL (`query` and its `text`) or from the form."""

    windows: tuple[Window, ...]
    aggregates: tuple[tuple[str, Aggregate | AggregateFunction], ...]
    optimizer: Optimizer
    rate: str
    unit: str | None
    period: Period
    keys: tuple[str, ...] = ()
    text: str = ""
    query: SelectQuery | None = None

    @property
    def functions(self) -> tuple[AggregateFunction, ...]:
        """The functions of all aggregates, each once."""
        return tuple(dict.fromkeys(resolve(what) for _, what in self.aggregates))


def read_ask(said: Mapping[str, Any]) -> Ask:
    """Read what the page sends; fields that are not there have the values that the page begins with.

    >>> ask = read_ask({"mode": "form", "windows": [{"range": "20m"}, {"range": "1h", "slide": "10m"}]})
    >>> ask.windows, ask.functions, ask.optimizer
    ((tumbling('20m'), hopping('1h', slide='10m')), (<aggregate min>,), 'auto')
    """
    optimizer: Any = text_of(said, "optimizer") or "auto"
    check_optimizer(optimizer)
    period: Any = text_of(said, "period") or "paper"
    if period not in get_args(Period):
        msg = f"period must be one of {', '.join(get_args(Period))}, got {period!r}"
        raise RequestError(msg)
    rate = text_of(said, "rate") or "1"
    if len(rate) > _MOST_FIELD or _ENDLESS.search(rate):
        msg = f"the rate {_short(rate)} has more digits than anybody counts: write for example 100 or 3/2"
        raise RequestError(msg)
    how = {"optimizer": optimizer, "rate": rate, "unit": text_of(said, "unit") or None, "period": period}
    mode = text_of(said, "mode") or "form"
    if mode == "sql":
        return _from_sql(text_of(said, "sql", most=MOST_TEXT), how)
    if mode == "form":
        return _from_form(said, how)
    msg = f"mode must be sql or form, got {mode!r}"
    raise RequestError(msg)


def text_of(said: Mapping[str, Any], field: str, *, most: int = _MOST_FIELD) -> str:
    """Take a field that is text, or was left out.

    >>> text_of({"rate": " 100 "}, "rate"), text_of({}, "unit")
    ('100', '')
    """
    value = said.get(field, "")
    if not isinstance(value, str):
        msg = f"{field} must be text, got {type(value).__name__}"
        raise RequestError(msg)
    if len(value) > most:
        msg = f"{field} has {len(value):,} characters, and at most {most:,} are taken here"
        raise RequestError(msg)
    # A query keeps its first lines, also where they are empty: errors count them.
    return value if field == "sql" else value.strip()


def parts(text: str) -> list[str]:
    """Part a list at its commas, but not inside of parentheses or quotes.

    >>> parts("low=min(temp), count(), concat(name, separator=', ')")
    ['low=min(temp)', 'count()', "concat(name, separator=', ')"]
    """
    found, depth, quote = [""], 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"`":
            quote = char
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "," and depth <= 0:
            found.append("")
            continue
        found[-1] += char
    return [part.strip() for part in found if part.strip()]


def _from_sql(text: str, how: Mapping[str, Any]) -> Ask:
    endless = _ENDLESS.search(text)
    if endless:
        Source(text, ()).fail("this number has more digits than anybody counts", endless.start(), endless.end() - 1)
    query = parse_sql(text)
    _check_count(query.windows)
    calls = tuple((call.name, resolve(call.function)) for call in query.aggregates)
    return Ask(query.windows, calls, keys=tuple(key.name for key in query.keys), text=text, query=query, **how)


def _from_form(said: Mapping[str, Any], how: Mapping[str, Any]) -> Ask:
    rows = said.get("windows", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        msg = 'windows must be a list of objects such as {"range": "1h", "slide": "10m"}'
        raise RequestError(msg)
    _check_count(rows)
    found = [window for place, row in enumerate(rows, 1) if (window := _window(row, place)) is not None]
    aggregates = _aggregates(text_of(said, "aggregates", most=MOST_TEXT) or "min")
    keys = tuple(parts(text_of(said, "keys")))
    return Ask(window_set(found), aggregates, keys=keys, **how)


def _window(row: Mapping[str, Any], place: int) -> Window | None:
    """Read a row of the form; one that is empty is none."""
    size, slide, offset, name = (text_of(row, field) for field in ("range", "slide", "offset", "id"))
    if not (size or slide or offset):
        return None
    try:
        lengths = [size, slide or size, offset]
        if not size:
            msg = "it has no range. Write for example 1h, or 60 where all windows are plain integers"
            raise RequestError(msg)
        for length in lengths:
            if _ENDLESS.search(length):
                msg = f"{_short(length)} has more digits than anybody counts"
                raise RequestError(msg)
        if all(length.removeprefix("-").isdecimal() for length in lengths if length):
            return Window(int(lengths[0]), int(lengths[1]), int(offset or 0), name)
        return hopping(lengths[0], lengths[1], offset=offset or "0s", id=name)
    except MuntinError as error:
        msg = f"window {place}: {error}"
        raise RequestError(msg) from error


def _aggregates(text: str) -> tuple[tuple[str, Aggregate | AggregateFunction], ...]:
    """Read `[NAME=]AGGREGATE, ...`, where an aggregate is a name alone or has its columns."""
    found: dict[str, Aggregate | AggregateFunction] = {}
    for part in parts(text):
        named = _FIELD.match(part)
        body = part[named.end() :].strip() if named else part
        try:
            what = resolve(body) if _BARE.fullmatch(body) else parse_aggregate(body)
        except SqlError as error:
            # The place is one in the aggregate alone, and not in the field: the caret shows it.
            msg = f"aggregates, {error}"
            raise RequestError(msg) from error
        name = named[1] if named else _name(what)
        if name in found and not named:
            name = next(other for n in range(2, len(found) + 3) if (other := f"{name}_{n}") not in found)
        if name in found:
            msg = f"aggregates: {name} is given twice. Give each column a name of its own"
            raise RequestError(msg)
        found[name] = what
    return tuple(found.items())


def _name(what: Aggregate | AggregateFunction) -> str:
    if not isinstance(what, Aggregate):
        return what.name
    return "_".join([what.function.name, *(re.sub(r"\W+", "_", str(column)) for column in what.columns)])


def _check_count(windows: Sequence[object]) -> None:
    if len(windows) > MOST_WINDOWS:
        msg = (
            f"there are {len(windows):,} windows, and a page can show {MOST_WINDOWS}. "
            "Plan them with muntin plan --out plan.html, or in Python"
        )
        raise RequestError(msg)


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:20]}..."
