"""Partials as bytes and back: a small tagged format for plain values, never pickle.

>>> decode(encode((1, 2.5, "x", None)))
(1, 2.5, 'x', None)
"""

from __future__ import annotations

import dataclasses
import math
import struct
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import numpy as np

from muntin.aggregate.extrema import Extent, Found, Tally
from muntin.aggregate.moments import Moments
from muntin.aggregate.totals import Logs, Total
from muntin.errors import IncrementalError
from muntin.incremental.structure import EMPTY, Empty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# By short names, which outlive a move of the class to another module.
_RECORDS: Final[dict[str, type]] = {kind.__name__: kind for kind in (Total, Logs, Moments, Tally, Found, Extent)}


def record(kind: type) -> type:
    """Let a NamedTuple or dataclass of your own stand in snapshots; it serves as a decorator.

    An instance is rebuilt from its fields, so the class must be known before a snapshot is read.

    >>> from typing import NamedTuple
    >>> class Spread(NamedTuple):
    ...     low: int
    ...     high: int
    >>> decode(encode(record(Spread)(1, 5)))
    Spread(low=1, high=5)
    """
    if not _is_record(kind):
        msg = f"only a NamedTuple, or a dataclass made from all its fields, can stand in a snapshot, got {kind!r}"
        raise IncrementalError(msg)
    _RECORDS[_name(kind)] = kind
    return kind


def encode(value: object, *, beside: Iterable[type] = ()) -> bytes:
    """Write a value; `beside` names NamedTuples and dataclasses that may occur in it and are not registered."""
    sink = _Sink({kind: name for name, kind in _known(beside).items()})
    try:
        sink.write(value)
    except RecursionError as error:
        msg = "a partial is nested too deeply for a snapshot"
        raise IncrementalError(msg) from error
    return bytes(sink.out)


def decode(data: bytes, *, beside: Iterable[type] = ()) -> Any:
    """Read a value back; refuse bytes that do not hold exactly one."""
    source = _Source(data, _known(beside))
    try:
        value = source.read()
    except (ArithmeticError, LookupError, MemoryError, OSError, RecursionError, TypeError, ValueError) as error:
        msg = f"no value of the snapshot format, near byte {source.at} of {len(data)}: {error}"
        raise IncrementalError(msg) from error
    if source.at != len(data):
        msg = f"the value ends at byte {source.at} of {len(data)}"
        raise IncrementalError(msg)
    return value


class _Sink:
    """Write values one after the other."""

    __slots__ = ("names", "out")

    def __init__(self, names: Mapping[type, str]) -> None:
        self.out = bytearray()
        self.names = names

    def size(self, count: int) -> None:
        while count > 127:
            self.out.append(count & 127 | 128)
            count >>= 7
        self.out.append(count)

    def bytes(self, value: bytes) -> None:
        self.size(len(value))
        self.out += value

    def all(self, values: Iterable[Any]) -> None:
        values = list(values)
        self.size(len(values))
        for value in values:
            self.write(value)

    def write(self, value: Any) -> None:
        # By the exact type: a subclass (an IntEnum, a NumPy float) would come back as its parent.
        kind = type(value)
        if kind in _WRITERS:
            tag, writer = _WRITERS[kind]
            self.out += tag
            writer(self, value)
        elif kind in self.names:
            self.out += b"R"
            self.bytes(self.names[kind].encode())
            self.all(getattr(value, field) for field in _fields(kind))
        elif isinstance(value, np.generic):
            self.out += b"n"
            _write_array(self, np.asarray(value))
        else:
            hint = "Register its class with muntin.incremental.codec.record" if _is_record(kind) else "Use plain values"
            msg = f"a partial of type {kind.__module__}.{kind.__qualname__} cannot stand in a snapshot. {hint}"
            raise IncrementalError(msg)


class _Source:
    """Read values one after the other."""

    __slots__ = ("at", "data", "records")

    def __init__(self, data: bytes, records: Mapping[str, type]) -> None:
        self.data = data
        self.at = 0
        self.records = records

    def take(self, count: int) -> bytes:
        piece = self.data[self.at : self.at + count]
        if len(piece) < count:
            msg = f"{count} bytes expected, {len(piece)} left"
            raise ValueError(msg)
        self.at += count
        return piece

    def size(self) -> int:
        count, shift = 0, 0
        while True:
            (byte,) = self.take(1)
            count |= (byte & 127) << shift
            if byte < 128:
                return count
            shift += 7

    def bytes(self) -> bytes:
        return self.take(self.size())

    def all(self) -> list[Any]:
        return [self.read() for _ in range(self.size())]

    def read(self) -> Any:
        tag = self.take(1)
        if tag not in _READERS:
            msg = f"unknown tag {tag!r}"
            raise ValueError(msg)
        return _READERS[tag](self)


def _write_list(sink: _Sink, value: list[Any]) -> None:
    # A window of plain numbers is the common case, and long: one buffer in place of a tag for each.
    kinds = set(map(type, value))
    if kinds == {float}:
        form = "d"
    elif kinds == {int} and min(value) >= -(1 << 63) and max(value) < 1 << 63:
        form = "q"
    else:
        form = "*"
    sink.out += form.encode()
    if form == "*":
        sink.all(value)
    else:
        sink.bytes(struct.pack(f"<{len(value)}{form}", *value))


def _read_list(source: _Source) -> list[Any]:
    form = source.take(1)
    if form == b"*":
        return source.all()
    if form not in (b"d", b"q"):
        msg = f"unknown form of a list {form!r}"
        raise ValueError(msg)
    buffer = source.bytes()
    if len(buffer) % 8:
        msg = f"a list of 8-byte numbers in {len(buffer)} bytes"
        raise ValueError(msg)
    return list(struct.unpack(f"<{len(buffer) // 8}{form.decode()}", buffer))


def _write_set(sink: _Sink, value: frozenset[Any]) -> None:
    # Sorted as bytes: one set gives one snapshot, whatever the order of its members in memory.
    members = []
    for member in value:
        piece = _Sink(sink.names)
        piece.write(member)
        members.append(bytes(piece.out))
    sink.size(len(members))
    sink.out += b"".join(sorted(members))


def _write_dict(sink: _Sink, value: dict[Any, Any]) -> None:
    sink.all(value.keys())
    sink.all(value.values())


def _read_dict(source: _Source) -> dict[Any, Any]:
    keys, values = source.all(), source.all()
    return dict(zip(keys, values, strict=True))


def _write_time(sink: _Sink, value: time | datetime) -> None:
    # One offset of an hour that comes twice is told from the other by `fold`.
    fields = (value.hour, value.minute, value.second, value.microsecond, value.fold)
    sink.out += struct.pack("<BBBIB", *fields)
    zone = value.tzinfo
    if isinstance(zone, ZoneInfo) and zone.key is not None:
        sink.write(zone.key)
    elif zone is None or type(zone) is timezone:
        sink.write(None if zone is None else zone.__reduce__()[1])  # the arguments it was made with
    else:
        msg = f"a time in the zone {zone!r} cannot stand in a snapshot. Use zoneinfo or a fixed offset"
        raise IncrementalError(msg)


def _read_time(source: _Source) -> time:
    hour, minute, second, microsecond, fold = struct.unpack("<BBBIB", source.take(8))
    zone = source.read()
    place: tzinfo | None = None
    if zone is not None:
        place = ZoneInfo(zone) if isinstance(zone, str) else timezone(*zone)
    return time(hour, minute, second, microsecond, place, fold=fold)


def _write_datetime(sink: _Sink, value: datetime) -> None:
    sink.out += struct.pack("<i", value.toordinal())
    _write_time(sink, value)


def _read_date(source: _Source) -> date:
    return date.fromordinal(struct.unpack("<i", source.take(4))[0])


def _write_array(sink: _Sink, value: np.ndarray[Any, Any]) -> None:
    sink.write(value.shape)
    if value.dtype == object:
        sink.write(None)
        sink.all(value.ravel())
        return
    if _of_addresses(value.dtype):
        msg = f"an array of dtype {value.dtype} cannot stand in a snapshot. Use a plain dtype, or object"
        raise IncrementalError(msg)
    sink.write(np.lib.format.dtype_to_descr(value.dtype))
    sink.bytes(value.tobytes())


def _read_array(source: _Source) -> np.ndarray[Any, Any]:
    shape, descr = source.read(), source.read()
    if descr is None:
        array = np.empty(shape, dtype=object)
        for index, value in zip(np.ndindex(shape), source.all(), strict=True):
            array[index] = value
        return array
    dtype, buffer = np.lib.format.descr_to_dtype(descr), source.bytes()
    if _of_addresses(dtype) or any(size < 0 for size in shape) or len(buffer) != math.prod(shape) * dtype.itemsize:
        msg = f"no array of shape {shape} and dtype {dtype} in {len(buffer)} bytes"
        raise ValueError(msg)
    flat: np.ndarray[Any, Any] = np.ndarray(shape, dtype, buffer)
    return flat.copy()  # its own memory: the snapshot's bytes are read-only


def _of_addresses(dtype: np.dtype[Any]) -> bool:
    return dtype.hasobject or dtype.kind == "T"  # a buffer of addresses says nothing, and to follow them is fatal


def _read_record(source: _Source) -> Any:
    name, values = source.bytes().decode(), source.all()
    if name not in source.records:
        msg = f"the record {name} is not known. Register its class with muntin.incremental.codec.record"
        raise ValueError(msg)
    kind = source.records[name]
    return kind(**dict(zip(_fields(kind), values, strict=True)))


def _is_record(kind: type) -> bool:
    if dataclasses.is_dataclass(kind):
        return all(field.init for field in dataclasses.fields(kind))
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _fields(kind: type) -> tuple[str, ...]:
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    names: tuple[str, ...] = getattr(kind, "_fields", ())
    return names


def _name(kind: type) -> str:
    return kind.__name__ if _RECORDS.get(kind.__name__) is kind else f"{kind.__module__}.{kind.__qualname__}"


def _known(beside: Iterable[type]) -> dict[str, type]:
    return _RECORDS | {_name(kind): kind for kind in beside if _is_record(kind)}


def _nothing(_: _Sink, __: object) -> None:
    """Write no more than the tag."""


_WRITERS: Final[dict[type, tuple[bytes, Callable[[_Sink, Any], None]]]] = {
    type(None): (b"N", _nothing),
    Empty: (b"E", _nothing),
    bool: (b"B", lambda sink, value: sink.out.append(value)),
    int: (b"i", lambda sink, value: sink.bytes(value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))),
    float: (b"f", lambda sink, value: sink.out.extend(struct.pack("<d", value))),
    complex: (b"c", lambda sink, value: sink.out.extend(struct.pack("<dd", value.real, value.imag))),
    str: (b"s", lambda sink, value: sink.bytes(value.encode("utf-8", "surrogatepass"))),
    bytes: (b"b", lambda sink, value: sink.bytes(value)),
    Decimal: (b"d", lambda sink, value: sink.bytes(str(value).encode())),  # exact: zeros, signs and NaN included
    date: (b"D", lambda sink, value: sink.out.extend(struct.pack("<i", value.toordinal()))),
    time: (b"h", _write_time),
    datetime: (b"t", _write_datetime),
    timedelta: (b"u", lambda sink, value: sink.all((value.days, value.seconds, value.microseconds))),
    tuple: (b"(", lambda sink, value: sink.all(value)),
    list: (b"[", _write_list),
    dict: (b"{", _write_dict),
    set: (b"S", _write_set),
    frozenset: (b"Z", _write_set),
    np.ndarray: (b"A", _write_array),
}

_READERS: Final[dict[bytes, Callable[[_Source], Any]]] = {
    b"N": lambda _: None,
    b"E": lambda _: EMPTY,
    b"B": lambda source: source.take(1) != b"\0",
    b"i": lambda source: int.from_bytes(source.bytes(), "little", signed=True),
    b"f": lambda source: struct.unpack("<d", source.take(8))[0],
    b"c": lambda source: complex(*struct.unpack("<dd", source.take(16))),
    b"s": lambda source: source.bytes().decode("utf-8", "surrogatepass"),
    b"b": lambda source: source.bytes(),
    b"d": lambda source: Decimal(source.bytes().decode()),
    b"D": _read_date,
    b"h": _read_time,
    b"t": lambda source: datetime.combine(_read_date(source), _read_time(source)),
    b"u": lambda source: timedelta(*source.all()),
    b"(": lambda source: tuple(source.all()),
    b"[": _read_list,
    b"{": _read_dict,
    b"S": lambda source: set(source.all()),
    b"Z": lambda source: frozenset(source.all()),
    b"A": _read_array,
    b"n": lambda source: _read_array(source)[()],
    b"R": _read_record,
}
