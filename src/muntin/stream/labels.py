"""Numbers for buckets such that Spark deals them out evenly to its partitions."""

from __future__ import annotations

from typing import Final

MOST: Final = 1024
_WORD: Final = 0xFFFFFFFF


def labels(buckets: int) -> tuple[int, ...]:
    """Find a number for each bucket: their hashes, by which Spark chooses partitions, are 0, 1, ... modulo `buckets`.

    So every number of partitions that divides `buckets` gets as many of them in each. `buckets` is a power of two.

    >>> labels(4)
    (12, 6, 2, 0)
    >>> [spark_hash(label) % 4 for label in labels(4)]
    [0, 1, 2, 3]
    """
    found: dict[int, int] = {}
    number = 0
    while len(found) < buckets:
        found.setdefault(spark_hash(number) % buckets, number)
        number += 1
    return tuple(found[place] for place in range(buckets))


def buckets_for(partitions: int) -> int:
    """Choose how many buckets to make for a number of partitions: the next power of two.

    >>> buckets_for(1), buckets_for(4), buckets_for(200), buckets_for(100_000)
    (1, 4, 256, 1024)
    """
    return min(1 << max(partitions - 1, 0).bit_length(), MOST)


def spark_hash(value: int) -> int:
    """Hash an int as Spark does: MurmurHash3 of 32 bits with the seed 42, as a signed number."""
    mixed = value * 0xCC9E2D51 & _WORD
    mixed = (_rotated(mixed, 15)) * 0x1B873593 & _WORD
    found = _rotated(42 ^ mixed, 13) * 5 + 0xE6546B64 & _WORD
    found ^= 4
    found = (found ^ found >> 16) * 0x85EBCA6B & _WORD
    found = (found ^ found >> 13) * 0xC2B2AE35 & _WORD
    found ^= found >> 16
    return found - (1 << 32) if found >> 31 else found


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & _WORD
