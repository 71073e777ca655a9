"""How slices are written: with the columns of the one plan there is, or of plans that follow one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow as pa

from muntin.errors import StateError
from muntin.stream.blob import decode, encode

_NUMBER: Final = 4


class Codec(Protocol):
    """How the rows of a slice become bytes, and rows again."""

    def encode(self, batch: pa.RecordBatch) -> bytes:
        """Write rows."""

    def decode(self, blob: bytes) -> pa.RecordBatch:
        """Read rows."""


@dataclass(frozen=True, slots=True)
class Plain:
    """Slices have the same columns for ever."""

    schema: pa.Schema

    def encode(self, batch: pa.RecordBatch) -> bytes:
        """Write rows."""
        return encode(batch)

    def decode(self, blob: bytes) -> pa.RecordBatch:
        """Read rows."""
        return decode(blob, self.schema)


@dataclass(frozen=True, slots=True)
class Forms:
    """Slices have the columns of the plan that wrote them, and say which: they are read with those of today's.

    `names` tell columns of different forms apart, and together. A column that a slice does not have is null there:
    the partial of no events.

    >>> number, text = pa.field("n", pa.int64()), pa.field("t", pa.string())
    >>> names, schemas = (("count", "last"), ("last",)), (pa.schema([number, text]), pa.schema([text]))
    >>> old, new = Forms(names, schemas, 1), Forms(names, schemas, 0)
    >>> blob = old.encode(pa.RecordBatch.from_pydict({"t": ["a"]}))
    >>> new.decode(blob).to_pylist()
    [{'n': None, 't': 'a'}]
    """

    names: tuple[tuple[str, ...], ...]
    schemas: tuple[pa.Schema, ...]
    current: int

    def encode(self, batch: pa.RecordBatch) -> bytes:
        """Write rows, with the number of their form in front."""
        return self.current.to_bytes(_NUMBER, "little") + encode(batch)

    def decode(self, blob: bytes) -> pa.RecordBatch:
        """Read rows of any form that is known."""
        number = int.from_bytes(blob[:_NUMBER], "little")
        if len(blob) <= _NUMBER or number >= len(self.schemas):
            msg = (
                f"a slice of {len(blob)} bytes has columns of form {number}, and {len(self.schemas)} forms are known. "
                "The registry beside the checkpoint is older than the state, or belongs to another one"
            )
            raise StateError(msg)
        rows = decode(blob[_NUMBER:], self.schemas[number])
        if number == self.current:
            return rows
        there = dict(zip(self.names[number], rows.columns, strict=True))
        schema = self.schemas[self.current]
        columns = [
            there[name] if name in there else pa.nulls(rows.num_rows, kind)
            for name, kind in zip(self.names[self.current], schema.types, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)
