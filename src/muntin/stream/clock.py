"""What a bucket remembers between micro-batches beside its slices: the last batch, its watermark, what is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from muntin.errors import StateError
from muntin.stream.numbers import pack, unpack
from muntin.stream.version import VERSION

if TYPE_CHECKING:
    from muntin.incremental.columnar_operator import Array


class Clock(NamedTuple):
    """The last micro-batch that a bucket heard of, and the numbers of its slices and nodes by level."""

    batch: int
    watermark: int
    """In microseconds: windows that end there or before have left."""
    timer: int | None
    """When the bucket wants to be called again, in milliseconds of the watermark."""
    kept: dict[int, Array]
    """The numbers of slices (level 0) and of nodes above them."""

    def late(self, batch: int, watermark: int) -> int:
        """Find the watermark, in microseconds, by which Spark calls an event of a micro-batch late.

        It is that of the micro-batch before. Every bucket hears of every micro-batch with data; if the one before was
        without, nothing moved the watermark since.

        >>> Clock(4, 60_000_000, None, {}).late(5, 70_000_000), Clock(4, 60_000_000, None, {}).late(6, 70_000_000)
        (60000000, 70000000)
        """
        return self.watermark if batch == self.batch + 1 else watermark

    def pack(self) -> bytes:
        """Write it as bytes.

        >>> clock = Clock(4, 60_000_000, 61_000, {0: np.array([3, 4, 5]), 2: np.array([1])})
        >>> again = Clock.unpack(clock.pack())
        >>> again[:3] == clock[:3], {level: numbers.tolist() for level, numbers in again.kept.items()}
        (True, {0: [3, 4, 5], 2: [1]})
        """
        timer = -1 if self.timer is None else self.timer
        parts = [(level, pack(numbers)) for level, numbers in self.kept.items()]
        head = np.array([self.batch, self.watermark, timer, len(parts)], "<i8").tobytes()
        body = b"".join(np.array([level, len(packed)], "<i8").tobytes() + packed for level, packed in parts)
        return bytes([VERSION]) + head + body

    @classmethod
    def unpack(cls, packed: bytes) -> Clock:
        """Read it back; what was cut short or written by another version is refused."""
        if not packed or packed[0] != VERSION:
            msg = (
                f"the state of a bucket has version {packed[0] if packed else 'none'}, and this muntin reads "
                f"{VERSION}. Go on with the muntin that wrote the checkpoint, or start with a new checkpoint"
            )
            raise StateError(msg)
        try:
            batch, watermark, timer, levels = np.frombuffer(packed, "<i8", 4, 1).tolist()
            at, kept = 33, {}
            for _ in range(levels):
                level, size = np.frombuffer(packed, "<i8", 2, at).tolist()
                kept[level] = unpack(packed[at + 16 : at + 16 + size])
                at += 16 + size
        except ValueError as error:
            msg = f"the state of a bucket, {len(packed)} bytes, is damaged: {error}"
            raise StateError(msg) from error
        return cls(batch, watermark, None if timer < 0 else timer, kept)
