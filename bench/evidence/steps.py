"""What a whole run consists of, and how long each of it may take where it is quick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from muntin.errors import MuntinError

if TYPE_CHECKING:
    from collections.abc import Sequence

PATIENCE: Final = 10
"""A quick benchmark that takes so many times its budget is stopped: it hangs, or the machine is not fit for it."""
QUICK_SECONDS: Final = 20 * 60
"""What a quick run may take on a quiet machine of two cores."""


@dataclass(frozen=True, slots=True)
class Step:
    """A benchmark of a whole run.

    `budget` are the seconds that `--quick` may take on two quiet cores; `reads` is what it is given as `--data`: the
    readings that the user has, or the CSV of another benchmark; `sets` are the window sets of a quick run, and
    `events` its events, where they are fewer than the benchmark's own; `instead` says why a quick run does without it.
    """

    name: str
    budget: int
    reads: str | None = None
    sets: int | None = None
    events: int | None = None
    instead: str = ""

    @property
    def fewer(self) -> dict[str, int]:
        """The options by which a quick run measures less than the benchmark's own quick form."""
        return {name: fewer for name, fewer in (("sets", self.sets), ("events", self.events)) if fewer is not None}

    def left_out(self, quick: bool) -> str:
        """Say why it is not run, or nothing where it is."""
        return self.instead if quick else ""


# Those without Spark first: a mistake there shows within minutes. A benchmark stands behind the one it reads.
STEPS: Final = (
    Step("optimizer", 20),
    Step("gap", 10),
    Step("incremental", 50),
    Step("weave", 30, reads="readings"),
    Step("subsume", 45),
    Step("table1", 155, sets=1),
    Step("correlation", 5, reads="table1"),
    Step("table2", 125, reads="readings", sets=1, events=500_000),
    Step("table3", 250, sets=1, events=500_000),
    Step("table4", 0, instead="with --quick table1 has the million events of Table IV: see there"),
    Step("forum", 115),
    Step("never_slower", 60),
    Step("stages", 0, instead="a million events are too few to tell stages apart: `muntin bench stages` takes ten"),
    Step("peers", 30),
    Step("streaming", 150),
    Step("soak", 0, instead="a minute says little of half an hour: `muntin bench soak` measures that"),
    Step("weave_stream", 30),
    Step("manager", 110),
)


def chosen(only: Sequence[str], skip: Sequence[str]) -> tuple[Step, ...]:
    """Choose among the benchmarks, in their order.

    >>> [step.name for step in chosen(["table1", "gap"], [])]
    ['gap', 'table1']
    """
    known = [step.name for step in STEPS]
    for option, names in (("--only", only), ("--skip", skip)):
        strange = [name for name in names if name not in known]
        if strange:
            msg = f"{option} {strange[0]}: there is no such benchmark. Known are {', '.join(known)}"
            raise MuntinError(msg)
    found = tuple(step for step in STEPS if (not only or step.name in only) and step.name not in skip)
    if not found:
        msg = "--only and --skip leave no benchmark to run. Leave one of them out"
        raise MuntinError(msg)
    return found
