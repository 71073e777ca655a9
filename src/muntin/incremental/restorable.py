"""Snapshots for what gives its state as plain values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from muntin.incremental.snapshot import pack, unpack
from muntin.incremental.structure import Card, Operator, P

if TYPE_CHECKING:
    from typing import Self


class Restorable(ABC, Generic[P]):
    """Turn into bytes and back by way of `state` and `of_state`, which also serve a whole that holds several of these.

    >>> from muntin.aggregate import catalog as agg
    >>> from muntin.incremental.reactive_fifo import FifoBuffer
    >>> window = FifoBuffer(agg.max)
    >>> window.insert(7)
    >>> FifoBuffer.restore(agg.max, window.snapshot()).query()
    7
    """

    __slots__ = ()

    card: ClassVar[Card]
    operator: Operator[P]

    @abstractmethod
    def state(self) -> tuple[Any, ...]:
        """Give the state as plain values."""

    @classmethod
    @abstractmethod
    def of_state(cls, operator: Operator[P], state: tuple[Any, ...]) -> Self:
        """Rebuild from a `state`."""

    def snapshot(self) -> bytes:
        """Write the state as bytes."""
        return pack(self.card.name, self.operator, self.state())

    @classmethod
    def restore(cls, operator: Operator[P], data: bytes) -> Self:
        """Make one that goes on where the one that wrote `data` stopped."""
        return cls.of_state(operator, unpack(cls.card.name, operator, data))
