"""Every kind of value that a partial may hold goes to bytes and comes back the same."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import math
import struct
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregate.extrema import Extent, Found, Tally
from muntin.aggregate.moments import Moments
from muntin.aggregate.totals import Logs, Total
from muntin.errors import IncrementalError
from muntin.incremental.codec import decode, encode, record
from muntin.incremental.structure import EMPTY


def same(left: Any, right: Any) -> bool:
    """Compare to the bit, types included."""
    if type(left) is not type(right):
        return False
    if isinstance(left, complex):
        return same((left.real, left.imag), (right.real, right.imag))
    if type(left) is float:
        return bool(struct.pack("<d", left) == struct.pack("<d", right))
    if isinstance(left, Decimal):
        return bool(left.as_tuple() == right.as_tuple())
    if isinstance(left, np.ndarray):
        if left.shape != right.shape or left.dtype != right.dtype:
            return False
        return all(map(same, left.ravel().tolist(), right.ravel().tolist()))
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if isinstance(left, datetime):
        return left.replace(tzinfo=None) == right.replace(tzinfo=None) and same_zone(left.tzinfo, right.tzinfo)
    return bool(left == right)


def same_zone(left: tzinfo | None, right: tzinfo | None) -> bool:
    return type(left) is type(right) and repr(left) == repr(right)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.complex_numbers()
    | st.text()
    | st.binary(max_size=20)
    | st.decimals()
    | st.dates()
    | st.times()
    | st.datetimes()
    | st.datetimes(timezones=st.timezones())
    | st.timedeltas()
)
# NaN equals nothing, so it is no good as a key.
KEYS = st.none() | st.integers() | st.text() | st.dates() | st.tuples(st.integers(), st.text())
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.builds(Total, st.integers(), inner)
        | st.builds(Found, inner, inner)
    ),
    max_leaves=12,
) | st.frozensets(KEYS, max_size=4)


@given(VALUES)
@settings(max_examples=300, deadline=None)
def test_a_value_comes_back(value: Any) -> None:
    assert same(decode(encode(value)), value)


@pytest.mark.parametrize(
    "value",
    [
        EMPTY,
        10**400,
        -(10**400),
        -128,
        255,
        "\ud800",
        math.nan,
        struct.unpack("<d", bytes.fromhex("01000000deadfe7f"))[0],  # a NaN with bits of its own
        -0.0,
        Decimal("1.500"),
        Decimal("-0E+3"),
        Decimal("sNaN123"),
        Decimal("-Infinity"),
        [1.0, math.nan, -0.0],
        [1, 2**63 - 1, -(2**63)],
        [1, 2**63],
        [True, 1],
        [1, 1.0],
        [],
        set("abc"),
        frozenset({frozenset({1}), frozenset()}),
        {"b": 1, "a": [None]},
        Total(3, Decimal(5)),
        Logs(1, 0, 0, 0.5),
        Moments(2, 1.5, 0.5),
        Tally(2, "x"),
        Found(1, ("y",)),
        Extent(date(1, 1, 1), date.max),
        [Total(1, 1), None, EMPTY],
        datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
        datetime(2024, 1, 1, tzinfo=UTC),
        datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=30), "IST")),
        time(23, 59, 59, 999999, tzinfo=timezone(-timedelta(hours=8))),
        timedelta.min,
        timedelta.max,
    ],
    # In order: two processes that run the tests must call them alike, and a set of texts has no order of its own.
    ids=lambda value: repr(sorted(value) if value == set("abc") else value),
)
def test_an_odd_value_comes_back(value: Any) -> None:
    found = decode(encode(value))
    assert same(found, value)
    if isinstance(value, datetime):
        assert found.fold == value.fold


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int64).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(10)[::-3],
        np.array([], dtype=np.float32),
        np.zeros((0, 4), dtype=bool),
        np.array(5, dtype=np.uint8),
        np.array([1, 2], dtype=">i4"),
        np.array(["a", "bcd"]),
        np.array([b"x", b"yz"]),
        np.array(["2024-01-01", "NaT"], dtype="M8[us]"),
        np.array([3, 4], dtype="m8[ms]"),
        np.array([(1, 2.0)], dtype=[("n", "<i8"), ("total", "<f8")]),
        np.array([1 + 2j]),
        np.array([Decimal("1.0"), None, "x", (1, 2)], dtype=object),
        np.array([[10**30, 1], [2, 3]], dtype=object),
    ],
    ids=lambda array: f"{array.dtype} {array.shape}",
)
def test_an_array_comes_back(array: np.ndarray[Any, Any]) -> None:
    found = decode(encode((array, [array])))[0]
    assert same(found.tolist(), array.tolist()) or "M8" in array.dtype.str
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found, array)
    assert found.flags.writeable


@pytest.mark.parametrize("scalar", [np.float64(1.5), np.int8(-3), np.bool_(True), np.str_("x"), np.datetime64(5, "us")])
def test_a_scalar_of_numpy_comes_back_as_one(scalar: np.generic) -> None:
    found = decode(encode(scalar))
    assert type(found) is type(scalar)
    assert found == scalar
    assert found.dtype == scalar.dtype


def test_equal_sets_give_equal_bytes() -> None:
    words = [f"word{i}" for i in range(50)]
    assert encode(frozenset(words)) == encode(frozenset(reversed(words)))


class Pair(NamedTuple):
    left: int
    right: str


@dataclasses.dataclass(frozen=True)
class Sketch:
    size: int
    bits: bytes


class Stranger(NamedTuple):
    left: int


@dataclasses.dataclass
class Derived:
    size: int
    twice: int = dataclasses.field(init=False, default=0)


class Colour(enum.IntEnum):
    RED = 1


def test_a_registered_class_comes_back_as_itself() -> None:
    assert record(Pair) is Pair
    assert decode(encode([Pair(1, "x")])) == [Pair(1, "x")]
    assert type(decode(encode(Pair(1, "x")))) is Pair
    sketch = Sketch(3, b"\1")
    assert decode(encode(sketch, beside=[Sketch]), beside=[Sketch]) == sketch


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (Stranger(1), "test_codec.Stranger cannot stand in a snapshot. Register its class with .*codec.record"),
        (Derived(1), "test_codec.Derived cannot stand in a snapshot. Use plain values"),
        (Colour.RED, "Colour cannot stand in a snapshot. Use plain values"),
        (object(), "builtins.object cannot stand in a snapshot"),
        ([lambda: None], "builtins.function cannot stand in a snapshot"),
        (np.ma.masked_array([1], mask=[True]), "MaskedArray cannot stand in a snapshot"),
        (np.array([(1, None)], dtype=[("a", "i4"), ("b", object)]), "an array of dtype .* cannot stand in a snapshot"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_plain_is_refused(value: Any, hint: str) -> None:
    with pytest.raises(IncrementalError, match=hint):
        encode((1, value))


class Nowhere(tzinfo):
    def utcoffset(self, _: datetime | None) -> timedelta:
        return timedelta(0)

    dst = utcoffset

    def tzname(self, _: datetime | None) -> str:
        return "nowhere"


def test_a_zone_of_ones_own_is_refused() -> None:
    with pytest.raises(IncrementalError, match=r"in the zone .* cannot stand in a snapshot. Use zoneinfo or a fixed"):
        encode(datetime(2024, 1, 1, tzinfo=Nowhere()))


def test_only_a_record_can_be_registered() -> None:
    for kind in (int, Derived):
        with pytest.raises(IncrementalError, match="only a NamedTuple, or a dataclass made from all its fields"):
            record(kind)


def test_nesting_without_end_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(IncrementalError, match="nested too deeply"):
        encode(endless)


def test_a_record_that_is_not_known_is_named() -> None:
    data = encode(Stranger(1), beside=[Stranger])
    with pytest.raises(IncrementalError, match=r"the record .*Stranger is not known. Register its class"):
        decode(data)


def array_of(shape: tuple[int, ...], descr: object, buffer: bytes) -> bytes:
    return b"A" + encode(shape) + encode(descr) + encode(buffer)[1:]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "1 bytes expected, 0 left"),
        (b"?", r"unknown tag b'\?'"),
        (b"f\0", "8 bytes expected, 1 left"),
        (b"s\xff\xff", "1 bytes expected, 0 left"),
        (b"s\2\xff\xff", "can't decode"),
        (b"(\5N", "1 bytes expected"),
        (b"[x", "unknown form of a list b'x'"),
        (b"[q\3abc", "a list of 8-byte numbers in 3 bytes"),
        (b"S\1[*\0", "unhashable"),
        (b"NN", "the value ends at byte 1 of 2"),
        (b"D\xff\xff\xff\xff", "ordinal must be"),
        (b"d\1x", "no value"),
        (encode(np.arange(3))[:-1], "bytes expected"),
        # Bytes taken for addresses would be followed.
        (array_of((1,), "|O", bytes(8)), r"no array of shape \(1,\) and dtype object in 8 bytes"),
        (array_of((1,), [("a", "|O")], bytes(8)), r"no array of shape \(1,\) and dtype .* in 8 bytes"),
        (array_of((-1,), "<i8", bytes(8)), r"no array of shape \(-1,\)"),
        (array_of((1,), "<i8", bytes(16)), "int64 in 16 bytes"),
        (b"h" + bytes(8) + encode("America"), "America"),  # a folder of zones, not a zone
    ],
)
def test_bytes_that_hold_no_value_are_refused(data: bytes, text: str) -> None:
    with pytest.raises(IncrementalError, match=text):
        decode(data)


@given(st.binary(max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_bytes_give_a_value_or_the_one_error(data: bytes) -> None:
    with contextlib.suppress(IncrementalError):
        decode(data)
