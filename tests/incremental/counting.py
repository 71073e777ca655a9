"""Operators that count their calls, and fail when told to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from muntin.aggregate.algebra import AggregateFunction


class Stop(Exception):
    """What a combine raises that was told to fail."""


@dataclass
class Calls:
    """Count calls; at the call number `fail_at` raise instead."""

    count: int = 0
    fail_at: int | None = None

    def reset(self, fail_at: int | None = None) -> None:
        self.count, self.fail_at = 0, fail_at

    def taken(self) -> int:
        """Give the calls since the last time, and start anew."""
        count, self.count = self.count, 0
        return count

    def through(self, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def call(x: Any, y: Any) -> Any:
            self.count += 1
            if self.count == self.fail_at:
                raise Stop
            return function(x, y)

        return call


def counted(function: AggregateFunction) -> tuple[AggregateFunction, Calls]:
    """Make a copy of an aggregate whose combine and inverse go through one counter."""
    calls = Calls()
    inverse = None if function.inverse is None else calls.through(function.inverse)
    return replace(function, combine=calls.through(function.combine), inverse=inverse), calls
