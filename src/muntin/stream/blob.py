"""Rows as bytes: an Arrow record batch without its schema, which the plan knows, behind a byte for the form.

Form 1 is the record batch as it is, form 2 the same behind its length and packed by Zstandard: keys in order, numbers
of one size and panes that are all the same pack well, better than what RocksDB does block by block.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from muntin.errors import StateError

_PLAIN, _PACKED = 1, 2
_CODEC: Final = "zstd"
# Fewer bytes are not worth packing; a length takes so many.
_LEAST, _LENGTH = 1 << 10, 4


def encode(batch: pa.RecordBatch) -> bytes:
    """Write rows as bytes.

    >>> batch = pa.RecordBatch.from_pydict({"k": ["a"], "n": [3]})
    >>> decode(encode(batch), batch.schema).to_pylist()
    [{'k': 'a', 'n': 3}]
    """
    rows = batch.serialize()
    if rows.size < _LEAST:
        return b"".join((bytes([_PLAIN]), rows))
    packed = pa.compress(rows, codec=_CODEC)
    return b"".join((bytes([_PACKED]), rows.size.to_bytes(_LENGTH, "little"), packed))


def decode(blob: bytes, schema: pa.Schema) -> pa.RecordBatch:
    """Read rows back; bytes of another form, or none at all, are refused and never misread.

    >>> decode(bytes([9, 0]), pa.schema([]))
    Traceback (most recent call last):
    ...
    muntin.errors.StateError: state of form 9 cannot be read: this muntin reads forms 1 and 2. ...
    """
    if not blob or blob[0] not in (_PLAIN, _PACKED):
        form = f"form {blob[0]}" if blob else "no form"
        msg = (
            f"state of {form} cannot be read: this muntin reads forms {_PLAIN} and {_PACKED}. "
            "Go on with the muntin that wrote the checkpoint, or start with a new checkpoint"
        )
        raise StateError(msg)
    try:
        rows = pa.py_buffer(blob)[1:]
        if blob[0] == _PACKED:
            rows = pa.decompress(rows[_LENGTH:], int.from_bytes(blob[1 : 1 + _LENGTH], "little"), codec=_CODEC)
        return pa.ipc.read_record_batch(pa.BufferReader(rows), schema)
    except (pa.ArrowInvalid, OSError) as error:
        msg = f"state of {len(blob)} bytes is damaged, or was written for other columns: {error}"
        raise StateError(msg) from error
