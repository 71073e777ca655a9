"""Rows as bytes: an Arrow record batch without its schema, which the plan knows, behind a byte for the version."""

from __future__ import annotations

import pyarrow as pa

from muntin.errors import StateError

VERSION = 1


def encode(batch: pa.RecordBatch) -> bytes:
    """Write rows as bytes.

    >>> batch = pa.RecordBatch.from_pydict({"k": ["a"], "n": [3]})
    >>> decode(encode(batch), batch.schema).to_pylist()
    [{'k': 'a', 'n': 3}]
    """
    return b"".join((bytes([VERSION]), batch.serialize().to_pybytes()))


def decode(blob: bytes, schema: pa.Schema) -> pa.RecordBatch:
    """Read rows back; bytes of another version, or none at all, are refused and never misread.

    >>> decode(bytes([9, 0]), pa.schema([]))
    Traceback (most recent call last):
    ...
    muntin.errors.StateError: state of version 9 cannot be read: this muntin reads version 1. ...
    """
    if not blob or blob[0] != VERSION:
        version = f"version {blob[0]}" if blob else "no version"
        msg = (
            f"state of {version} cannot be read: this muntin reads version {VERSION}. "
            "Go on with the muntin that wrote the checkpoint, or start with a new checkpoint"
        )
        raise StateError(msg)
    try:
        return pa.ipc.read_record_batch(pa.BufferReader(pa.py_buffer(blob)[1:]), schema)
    except (pa.ArrowInvalid, OSError) as error:
        msg = f"state of {len(blob)} bytes is damaged, or was written for other columns: {error}"
        raise StateError(msg) from error
