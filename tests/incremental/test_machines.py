"""Any sequence of insert, evict, query and snapshot, against a plain list."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from muntin.aggregate import catalog as agg
from muntin.errors import IncrementalError
from muntin.incremental import ALGORITHMS, MULTI_RANGE
from tests.incremental.operators import affine


class Machine(RuleBasedStateMachine):
    """A window and the list of what it should hold. Subclasses name the algorithm and the operator."""

    algorithm: str
    function: Any

    def __init__(self) -> None:
        super().__init__()
        self.held: list[Any] = []
        self.window: Any = ALGORITHMS[self.algorithm](self.function)

    def expected(self, count: int) -> Any:
        return functools.reduce(self.function.combine, self.held[-count:])

    @rule(value=st.tuples(st.integers(1, 5), st.integers(0, 9)))
    def insert(self, value: tuple[int, int]) -> None:
        partial = self.function.lift(value if self.function in (affine, agg.arg_max) else value[0])
        self.held.append(partial)
        self.window.insert(partial)

    @rule(values=st.lists(st.integers(1, 5), min_size=3, max_size=9))
    def insert_a_burst(self, values: list[int]) -> None:
        for value in values:
            self.insert((value, value))

    @precondition(lambda self: self.held)
    @rule()
    def evict(self) -> None:
        self.held.pop(0)
        self.window.evict()

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def evict_some(self, data: st.DataObject) -> None:
        for _ in range(data.draw(st.integers(1, len(self.held)))):
            self.evict()

    @precondition(lambda self: not self.held)
    @rule()
    def refuse(self) -> None:
        for act in (self.window.evict, self.window.query):
            with pytest.raises(IncrementalError, match="an empty window"):
                act()

    @precondition(lambda self: self.held)
    @rule()
    def query(self) -> None:
        assert self.window.query() == self.expected(len(self.held))

    @precondition(lambda self: self.held and self.algorithm in MULTI_RANGE)
    @rule(data=st.data())
    def query_last(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(1, len(self.held)))
        assert self.window.query_last(count) == self.expected(count)

    @precondition(lambda self: self.algorithm == "SlickDeque-Inv")
    @rule(count=st.integers(1, 12))
    def register(self, count: int) -> None:
        if count in self.window.ranges:
            self.window.unregister(count)
        else:
            self.window.register(count)

    @rule()
    def restore(self) -> None:
        self.window = type(self.window).restore(self.function, self.window.snapshot())

    @invariant()
    def holds_as_many(self) -> None:
        assert len(self.window) == len(self.held)


def operators(algorithm: str) -> list[Any]:
    if algorithm in ("Panes-Inv", "SlickDeque-Inv"):
        return [agg.sum]
    return [agg.arg_max, agg.first] if algorithm == "SlickDeque-NonInv" else [affine, agg.max_count]


@pytest.mark.parametrize(
    ("algorithm", "function"), [(name, function) for name in ALGORITHMS for function in operators(name)]
)
def test_any_sequence_of_calls(algorithm: str, function: Any) -> None:
    machine = type("Run", (Machine,), {"algorithm": algorithm, "function": function})
    run_state_machine_as_test(machine, settings=settings(max_examples=25, stateful_step_count=40, deadline=None))
