"""The state of a structure as bytes: a header, the state as plain values, a checksum.

Layout: `muntin` and two zero bytes, the format's version (2 bytes), the length of the whole (8 bytes), then by
`codec` the algorithm, the operator's name and the state, then the CRC-32 of all before it (4 bytes). Numbers are
little endian. The operator itself is code and stays out: whoever restores brings it.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any, Final

from muntin.errors import IncrementalError
from muntin.incremental.codec import decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from muntin.incremental.structure import Operator

MAGIC: Final = b"muntin\0\0"
VERSION: Final = 1

_HEADER: Final = struct.Struct("<8sHQ")
_CHECKSUM: Final = struct.Struct("<I")


def pack(algorithm: str, operator: Operator[Any], state: object) -> bytes:
    """Write the state of `algorithm` over `operator`.

    >>> from muntin.aggregate import catalog as agg
    >>> unpack("Panes", agg.sum, pack("Panes", agg.sum, [1, 2]))
    [1, 2]
    """
    return seal(algorithm, operator.name, state, beside=_partial_types(operator))


def unpack(algorithm: str, operator: Operator[Any], data: bytes) -> Any:
    """Read the state that `pack` wrote for the same algorithm and operator.

    >>> from muntin.aggregate import catalog as agg
    >>> unpack("DABA", agg.sum, pack("Panes", agg.sum, [1, 2]))
    Traceback (most recent call last):
    ...
    muntin.errors.IncrementalError: a snapshot of DABA over `sum` was expected, this is one of Panes over `sum`. ...
    """
    return unseal(algorithm, operator.name, data, beside=_partial_types(operator))


def seal(kind: str, of: str, state: object, *, beside: Iterable[type] = ()) -> bytes:
    """Write the state of what need not rest on one operator; `of` says what it was made for, as an operator's name.

    >>> unseal("Windower", "every 5 tuples", seal("Windower", "every 5 tuples", [1, 2]))
    [1, 2]
    """
    payload = encode((kind, of, state), beside=beside)
    header = _HEADER.pack(MAGIC, VERSION, _HEADER.size + len(payload) + _CHECKSUM.size)
    return header + payload + _CHECKSUM.pack(zlib.crc32(payload, zlib.crc32(header)))


def unseal(kind: str, of: str, data: bytes, *, beside: Iterable[type] = ()) -> Any:
    """Read the state that `seal` wrote for the same kind and purpose."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        msg = f"a snapshot is bytes, got {type(data).__name__}"
        raise IncrementalError(msg)
    payload = _opened(bytes(data))
    found, name, state = decode(payload, beside=beside)
    if (found, name) != (kind, of):
        msg = (
            f"a snapshot of {kind} over `{of}` was expected, this is one of {found} over `{name}`. "
            "Restore it with the algorithm and the operator that wrote it"
        )
        raise IncrementalError(msg)
    return state


def _opened(data: bytes) -> bytes:
    least = _HEADER.size + _CHECKSUM.size
    if not data.startswith(MAGIC[: len(data)]) or not data:
        msg = f"not a snapshot: it must start with {MAGIC!r}, found {data[: len(MAGIC)]!r}"
        raise IncrementalError(msg)
    if len(data) < least:
        msg = f"a snapshot cut short: at least {least} bytes expected, found {len(data)}"
        raise IncrementalError(msg)
    _, version, length = _HEADER.unpack_from(data)
    if version != VERSION:
        msg = f"a snapshot of format version {version}, expected {VERSION}. Restore it with the release that wrote it"
        raise IncrementalError(msg)
    if len(data) != length:
        what = "cut short" if len(data) < length else "with bytes after its end"
        msg = f"a snapshot {what}: {length} bytes expected, found {len(data)}"
        raise IncrementalError(msg)
    body, checksum = data[: -_CHECKSUM.size], _CHECKSUM.unpack_from(data, len(data) - _CHECKSUM.size)[0]
    actual = zlib.crc32(body)
    if actual != checksum:
        msg = f"a damaged snapshot: checksum {checksum:08x} expected, found {actual:08x}. Take another copy"
        raise IncrementalError(msg)
    return body[_HEADER.size :]


def _partial_types(operator: Operator[Any]) -> tuple[type, ...]:
    # A user's aggregate shows the class of its partials in its identity, unless that is the adjoined None.
    # Aggregates side by side have a tuple of identities.
    identity = operator.identity
    return (type(identity), *map(type, identity)) if type(identity) is tuple else (type(identity),)
