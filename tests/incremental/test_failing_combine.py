"""A combine that raises, at whichever call, leaves every structure as it was."""

from __future__ import annotations

import functools
import random
from typing import Any

import pytest

from muntin.aggregate import catalog as agg
from muntin.incremental import ALGORITHMS, MULTI_RANGE
from muntin.incremental.flatfat import FlatFAT
from muntin.incremental.partial import Partials
from muntin.incremental.slickdeque_inv import SlickDequeInv
from muntin.window.slices import cutty
from muntin.window.spec import Window
from tests.incremental.counting import Calls, Stop, counted


def operator(algorithm: str) -> tuple[Any, Calls]:
    if algorithm in ("Panes-Inv", "SlickDeque-Inv"):
        return counted(agg.sum)
    return counted(agg.arg_max if algorithm == "SlickDeque-NonInv" else agg.collect)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_window_is_as_it_was(algorithm: str) -> None:
    function, calls = operator(algorithm)
    window: Any = ALGORITHMS[algorithm](function)
    if algorithm == "SlickDeque-Inv":
        window = SlickDequeInv(function, ranges=[1, 3, 4, 9])
    rng = random.Random(8)
    held: list[Any] = []
    stopped = {"insert": 0, "evict": 0, "query": 0, "query_last": 0, "register": 0}

    for i in range(200):
        act = rng.choice(["insert", "insert", "evict", "query", "query_last", "register"])
        if len(held) == 12:
            act = "evict"
        argument: tuple[Any, ...] = ()
        if act == "insert":
            argument = (function.lift((rng.randrange(4), i) if function.arity == 2 else i),)
        elif act in ("query_last", "register"):
            argument = (rng.randint(1, max(1, len(held))),)
        if (
            (not held and act != "insert")
            or (act == "query_last" and algorithm not in MULTI_RANGE)
            or (act == "register" and algorithm != "SlickDeque-Inv")
        ):
            continue
        if act == "register" and argument[0] in window.ranges:
            window.unregister(argument[0])

        for fail_at in range(1, 1000):
            before = window.snapshot()
            calls.reset(fail_at)
            try:
                answer = getattr(window, act)(*argument)
            except Stop:
                stopped[act] += 1
                if algorithm == "FlatFAT":  # it may have brought its tree up to date, which shows in no result
                    calls.reset()
                    copy = type(window).restore(function, window.snapshot())
                    assert copy.query() == functools.reduce(function.combine, held)
                else:
                    assert window.snapshot() == before
                assert len(window) == len(held)
            else:
                break
        calls.reset()
        held += argument if act == "insert" else ()
        del held[: act == "evict"]
        if act.startswith("query"):
            count = argument[0] if argument else len(held)
            assert answer == functools.reduce(function.combine, held[-count:])
    # Every call that ever combines was stopped at some time, or the test says nothing.
    assert {act for act, count in stopped.items() if count} == COMBINES[algorithm]


COMBINES = {
    "Panes": {"query", "query_last"},
    "Panes-Inv": {"insert", "evict"},
    "FlatFAT": {"query", "query_last"},
    "B-Int": {"insert", "query", "query_last"},
    "FlatFIT": {"query", "query_last"},
    "TwoStacks": {"insert", "evict", "query"},
    "DABA": {"insert", "evict", "query"},
    "SlickDeque-Inv": {"insert", "evict", "query_last", "register"},
    "SlickDeque-NonInv": {"insert"},
}


def test_the_running_slice_is_as_it_was() -> None:
    function, calls = counted(agg.collect)
    partials = Partials(cutty(Window(10, 10)), function)
    partials.add(1, (1,))
    before = partials.state()
    calls.reset(fail_at=1)
    with pytest.raises(Stop):
        partials.add(7, (7,))
    assert partials.state() == before
    calls.reset()
    partials.add(5, (5,))  # the time that failed was not reached
    assert partials.read() == (1, 5)


@pytest.mark.parametrize("changes", [1, 2, 5, 16])
def test_the_tree_is_as_it_was(changes: int) -> None:
    function, calls = counted(agg.collect)
    tree = FlatFAT.new(function.combine, [(i,) for i in range(16)])
    writes = [(place, (-place,)) for place in random.Random(changes).sample(range(1, 17), changes)]
    before = tree.nodes
    calls.reset()
    tree.update(writes)
    needed = calls.taken()
    for fail_at in range(1, needed + 1):
        tree = FlatFAT.of_nodes(function.combine, before)
        calls.reset(fail_at)
        with pytest.raises(Stop):
            tree.update(writes)
        assert tree.nodes == before
