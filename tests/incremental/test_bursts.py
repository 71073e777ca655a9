"""A burst of partials, then few again: the results stay right, and the memory of the burst is given back."""

from __future__ import annotations

import functools
import gc
import random
import sys
from collections import deque
from typing import Any

import pytest

from muntin.aggregate import catalog as agg
from muntin.incremental import ALGORITHMS, MULTI_RANGE
from muntin.incremental.flatfat import FlatFAT
from muntin.incremental.reactive_buffer import ReactiveBuffer
from muntin.incremental.reactive_fifo import FifoBuffer

KINDS: dict[str, Any] = {**ALGORITHMS, FifoBuffer.card.name: FifoBuffer, ReactiveBuffer.card.name: ReactiveBuffer}


def operator(name: str) -> Any:
    """Take an operator to which order matters, where the algorithm does."""
    if name.endswith("-Inv"):
        return agg.count
    return agg.arg_max if name == "SlickDeque-NonInv" else agg.concat


def draw(function: Any, rng: random.Random, number: int) -> Any:
    if function is agg.count:
        return number
    return function.lift((rng.randrange(9), number) if function is agg.arg_max else rng.choice("abcdefgh"))


@pytest.mark.parametrize("name", KINDS)
def test_every_result_is_right_through_bursts(name: str) -> None:
    function = operator(name)
    rng = random.Random(name)
    window, held = KINDS[name](function), deque[Any]()
    arrived = 0
    for aim in (1, 40, 3, 200, 0, 17, 2, 65, 1, 9):
        while len(held) != aim:
            if len(held) < aim:
                arrived += 1
                partial = draw(function, rng, arrived)
                window.insert(partial)
                held.append(partial)
            else:
                window.evict()
                held.popleft()
            assert len(window) == len(held)
            if held and rng.random() < 0.5:
                assert window.query() == functools.reduce(function.combine, held)
            if held and name in MULTI_RANGE:
                count = rng.randint(1, len(held))
                assert window.query_last(count) == functools.reduce(function.combine, list(held)[-count:])
        window = type(window).restore(function, window.snapshot()) if rng.random() < 0.3 else window


def containers(root: object) -> int:
    """Add up the bytes of all lists, deques, dicts and sets that a structure is made of."""
    size, ahead = 0, [root]
    while ahead:
        for part in gc.get_referents(ahead.pop()):
            if isinstance(part, (list, deque, dict, set, FlatFAT)):
                size += sys.getsizeof(part)
                ahead.append(part)
    return size


@pytest.mark.parametrize("name", KINDS)
def test_the_memory_of_a_burst_is_given_back(name: str) -> None:
    function = agg.max if name == "SlickDeque-NonInv" else agg.count
    burst = 10_000
    window = KINDS[name](function)
    for i in range(burst):
        window.insert(-i)  # falling, so that no deque drops one
    window.query()
    assert containers(window) >= 8 * burst
    for _ in range(burst - 5):
        window.evict()
    window.query()
    assert containers(window) < 4_000
