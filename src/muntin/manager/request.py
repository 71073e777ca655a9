"""What a request to a manager says: JSON of a known shape, and every refusal names the field."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from muntin.declare.sql.aggregate_text import parse_aggregate
from muntin.errors import ManagerError, MuntinError
from muntin.window.spec import hopping, parse_window

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muntin.aggregate.algebra import Aggregate
    from muntin.window.spec import Window

_KINDS: Final = {str: "text", list: "a list", dict: "an object", bool: "true or false", type(None): "null"}
_WINDOW: Final = ("range", "slide", "offset", "id")


class RequestError(ManagerError):
    """A request is no JSON, or not of the shape that its path asks for."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A query to be registered: its name, its windows and its aggregates."""

    name: str
    windows: tuple[Window, ...]
    aggregates: Mapping[str, Aggregate]


def read_body(body: bytes) -> dict[str, Any]:
    """Read the object that a request holds; a name that stands twice is refused, for one of them would be lost.

    >>> read_body(b'{"name": "load"}')
    {'name': 'load'}
    >>> read_body(b'["load"]')
    Traceback (most recent call last):
    ...
    muntin.manager.request.RequestError: the request must be a JSON object such as {"name": "load"}, got a list
    """
    try:
        found = json.loads(body.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant)
    except RequestError:
        raise
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        msg = f"the request is no JSON: {why}"
        raise RequestError(msg) from error
    if not isinstance(found, dict):
        msg = f'the request must be a JSON object such as {{"name": "load"}}, got {_kind(found)}'
        raise RequestError(msg)
    return found


def read_registration(said: Mapping[str, Any]) -> Registration:
    """Read `{"name": ..., "windows": [...], "aggregates": {...}}`.

    >>> found = read_registration({"name": "load", "windows": ["5m", "1h/10m"], "aggregates": {"low": "min(temp)"}})
    >>> found.windows, found.aggregates
    ((tumbling('5m'), hopping('1h', slide='10m')), {'low': min(temp)})
    """
    _check_fields(said, ("name", "windows", "aggregates"), "the request")
    windows = _taken(said, "windows", list, '["5m", "1h/10m"]')
    aggregates = _taken(said, "aggregates", dict, '{"n": "count()"}')
    for field, given in (("windows", windows), ("aggregates", aggregates)):
        if not given:
            msg = f"{field} is empty: a query needs at least one"
            raise RequestError(msg)
    return Registration(
        _name(said),
        tuple(_window(each, f"windows[{place}]") for place, each in enumerate(windows)),
        {name: _aggregate(text, name) for name, text in aggregates.items()},
    )


def read_name(said: Mapping[str, Any]) -> str:
    """Read `{"name": ...}`.

    >>> read_name({"nmae": "load"})
    Traceback (most recent call last):
    ...
    muntin.manager.request.RequestError: the request has an unknown field 'nmae'. Did you mean 'name'? Known are name
    """
    _check_fields(said, ("name",), "the request")
    return _name(said)


def _name(said: Mapping[str, Any]) -> str:
    name: str = _taken(said, "name", str, '"load"')
    if not name.strip():
        msg = "name is empty: give the query a name, which is how it is suspended, resumed and dropped"
        raise RequestError(msg)
    return name


def _window(given: object, field: str) -> Window:
    try:
        if isinstance(given, str):
            found = parse_window(given)
        elif isinstance(given, dict):
            _check_fields(given, _WINDOW, field)
            shape = {part: _taken(given, part, str, '"1h"', field) for part in given}
            if "range" not in shape:
                msg = f"{field} has no range: write for example {{'range': '1h', 'slide': '10m'}}"
                raise RequestError(msg)
            found = hopping(slide=shape.pop("slide", shape["range"]), **shape)
        else:
            msg = f'{field} must be text such as "1h/10m" or an object with {", ".join(_WINDOW)}, got {_kind(given)}'
            raise RequestError(msg)
    except RequestError:
        raise
    except MuntinError as error:
        msg = f"{field}: {error}"
        raise RequestError(msg) from error
    if not found.timed:
        msg = f"{field}: {given!r} has no unit, and events have times. Write for example {given}s or {given}m"
        raise RequestError(msg)
    return found


def _aggregate(text: object, name: str) -> Aggregate:
    field = f"aggregates.{name}"
    if not isinstance(text, str):
        msg = f'{field} must be text such as "min(temp)", got {_kind(text)}'
        raise RequestError(msg)
    try:
        return parse_aggregate(text)
    except MuntinError as error:
        msg = f"{field}: {error}"
        raise RequestError(msg) from error


def _taken(said: Mapping[str, Any], field: str, kind: type, example: str, within: str = "") -> Any:
    place = f"{within}.{field}" if within else field
    if field not in said:
        msg = f"{place} is missing: write for example {place}: {example}"
        raise RequestError(msg)
    value = said[field]
    if not isinstance(value, kind):
        msg = f"{place} must be {_KINDS[kind]} such as {example}, got {_kind(value)}"
        raise RequestError(msg)
    return value


def _check_fields(said: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for field in said:
        if field not in known:
            near = difflib.get_close_matches(field, known, 1, cutoff=0.4)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            msg = f"{what} has an unknown field {field!r}.{guess} Known are {', '.join(known)}"
            raise RequestError(msg)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"{twice!r} stands twice in one object of the request"
        raise RequestError(msg)
    return found


def _constant(text: str) -> None:
    msg = f"the request is no JSON: it has {text}, which only JavaScript knows"
    raise RequestError(msg)


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "a number")
