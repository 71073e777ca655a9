"""Snapshots: the structure that comes back goes on as the one that left, and damage is found."""

from __future__ import annotations

import random
import struct
import zlib
from typing import Any, NamedTuple

import numpy as np
import pytest

from muntin.aggregate import catalog as agg
from muntin.aggregate.define import define
from muntin.errors import AggregateError, IncrementalError
from muntin.incremental import ALGORITHMS, MULTI_RANGE
from muntin.incremental.slickdeque_inv import SlickDequeInv
from muntin.incremental.snapshot import MAGIC, VERSION, pack, unpack
from tests.incremental.counting import counted
from tests.incremental.operators import PAIRING_IDS, PAIRINGS, Case


@pytest.mark.parametrize(("algorithm", "case"), PAIRINGS, ids=PAIRING_IDS)
def test_it_goes_on_identically(algorithm: str, case: Case) -> None:
    function, calls = counted(case.function)
    rng = random.Random(f"{algorithm} {case.label}")
    partials = iter(case.partials(7, 1000))
    window: Any = ALGORITHMS[algorithm](function)
    if algorithm == "SlickDeque-Inv":
        window = SlickDequeInv(function, ranges=[1, 2, 6])
    for leave_after in (0, 1, 2, 3, 5, 8, 9, 10, 11, 12, 13, 33):
        for _ in range(leave_after):
            step(window, algorithm, rng.random(), partials)
        data = window.snapshot()
        calls.reset()
        copy = type(window).restore(function, data)
        assert calls.taken() == 0
        assert copy.snapshot() == data
        for _ in range(40):
            choice, ahead = rng.random(), [next(partials)]
            answers = []
            for structure in (window, copy):
                answer = step(structure, algorithm, choice, iter(ahead))
                answers.append((repr(answer), calls.taken(), len(structure)))  # repr: NaN, and types
            assert answers[0] == answers[1]
        assert window.snapshot() == copy.snapshot()
        window = copy


def step(window: Any, algorithm: str, choice: float, partials: Any) -> Any:
    """Do one thing, which depends on the choice and on how much the window holds."""
    held = len(window)
    if held == 0 or choice < (0.5 if held < 12 else 0.2):
        window.insert(next(partials))
        return None
    if choice < 0.6:
        window.evict()
        return None
    if choice < 0.8 or algorithm not in MULTI_RANGE:
        return window.query()
    return window.query_last(1 + int(choice * 1000) % held)


def example() -> bytes:
    window = ALGORITHMS["DABA"](agg.sum)
    for value in (1, 2, 3):
        window.insert(agg.sum.lift(value))
    return window.snapshot()


def test_every_flipped_bit_is_found() -> None:
    data = example()
    for place in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[place] ^= 1 << bit
            with pytest.raises(IncrementalError):
                ALGORITHMS["DABA"].restore(agg.sum, bytes(damaged))


def test_every_cut_is_found() -> None:
    data = example()
    for length in range(len(data)):
        with pytest.raises(IncrementalError, match=r"cut short|not a snapshot"):
            ALGORITHMS["DABA"].restore(agg.sum, data[:length])


def sealed(header: bytes, payload: bytes) -> bytes:
    return header + payload + struct.pack("<I", zlib.crc32(header + payload))


def test_the_error_says_what_was_expected_and_found() -> None:
    data = example()
    daba = ALGORITHMS["DABA"]
    newer = sealed(struct.pack("<8sHQ", MAGIC, VERSION + 1, len(data)), data[18:-4])
    expected_and_found = [
        (b"PAR1" + data, r"not a snapshot: it must start with b'muntin\\x00\\x00', found b'PAR1munt'"),
        (b"", r"not a snapshot: it must start with b'muntin\\x00\\x00', found b''"),
        (data[:12], "cut short: at least 22 bytes expected, found 12"),
        (data[:-1], f"cut short: {len(data)} bytes expected, found {len(data) - 1}"),
        (data + b"\0\0", f"with bytes after its end: {len(data)} bytes expected, found {len(data) + 2}"),
        (newer, "of format version 2, expected 1. Restore it with the release that wrote it"),
        (data[:-4] + b"\0\0\0\0", "damaged snapshot: checksum 00000000 expected, found"),
        (data.decode("latin-1"), "a snapshot is bytes, got str"),
    ]
    for damaged, text in expected_and_found:
        with pytest.raises(IncrementalError, match=text):
            daba.restore(agg.sum, damaged)  # type: ignore[arg-type]
    with pytest.raises(
        IncrementalError, match=r"of TwoStacks over `sum` was expected, this is one of DABA over `sum`. Restore it with"
    ):
        ALGORITHMS["TwoStacks"].restore(agg.sum, data)
    with pytest.raises(IncrementalError, match="of DABA over `avg` was expected, this is one of DABA over `sum`"):
        daba.restore(agg.avg, data)


def test_an_illegal_pairing_cannot_be_restored() -> None:
    with pytest.raises(AggregateError, match="Panes-Inv needs"):
        ALGORITHMS["Panes-Inv"].restore(agg.max, pack("Panes-Inv", agg.max, ([], None)))


def test_buffers_other_than_bytes_will_do() -> None:
    data = example()
    for buffer in (bytearray(data), memoryview(data)):
        assert ALGORITHMS["DABA"].restore(agg.sum, buffer).query() == agg.sum.fold([1, 2, 3])  # type: ignore[arg-type]


class Spread(NamedTuple):
    low: int
    high: int


def test_the_class_of_a_users_identity_is_known() -> None:
    spread = define(
        "spread",
        lift=lambda value: Spread(value, value),
        combine=lambda x, y: Spread(min(x.low, y.low), max(x.high, y.high)),
        identity=Spread(10**9, -(10**9)),
        commutative=True,
    )
    window = ALGORITHMS["TwoStacks"](spread)
    for value in (4, 8, 6):
        window.insert(spread.lift(value))
    copy = ALGORITHMS["TwoStacks"].restore(spread, window.snapshot())
    assert copy.query() == Spread(4, 8)
    assert type(copy.query()) is Spread


def test_a_partial_that_cannot_be_written_is_refused_and_the_window_stays() -> None:
    window = ALGORITHMS["Panes"](agg.last)
    window.insert((object(),))
    with pytest.raises(IncrementalError, match=r"a partial of type builtins.object cannot stand in a snapshot"):
        window.snapshot()
    assert len(window) == 1


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - {"SlickDeque-NonInv"}))
def test_vectors_over_keys_come_back(algorithm: str) -> None:
    pairs = define(
        "pairs",
        lift=lambda value: value,
        combine=lambda x, y: (x[0] + y[0], x[1] + y[1]),
        inverse=lambda x, y: (x[0] - y[0], x[1] - y[1]),
        identity=(np.zeros(4, np.int64), np.zeros(4)),
        commutative=True,
    )
    window = ALGORITHMS[algorithm](pairs)
    for i in range(9):
        window.insert((np.full(4, i), np.linspace(0, i, 4)))
    window.query()
    window.evict()
    copy = ALGORITHMS[algorithm].restore(pairs, window.snapshot())
    for found, expected in zip(copy.query(), window.query(), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_no_pickle() -> None:
    assert b"\x80\x04" not in example()
    with pytest.raises(IncrementalError, match="not a snapshot"):
        unpack("DABA", agg.sum, b"\x80\x04N.")


def test_a_long_window_of_numbers_takes_eight_bytes_each() -> None:
    window = ALGORITHMS["Panes"](agg.max)
    for i in range(10_000):
        window.insert(float(i))
    assert len(window.snapshot()) < 8 * 10_000 + 100
