"""Windows by their definition: from the whole history, what each holds whenever a result is due."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from hypothesis import strategies as st

from muntin.incremental.windowing.policies import (
    CountPolicy,
    DeltaPolicy,
    Policy,
    PunctuationPolicy,
    Sliding,
    TimePolicy,
    Tumbling,
)
from muntin.incremental.windowing.windower import WHOLE, Windower

if TYPE_CHECKING:
    from collections.abc import Hashable

    from muntin.incremental.windowing.events import Event


class Item(NamedTuple):
    """One thing that happens on the input: a tuple, a punctuation, or time that passes."""

    kind: Literal["tuple", "punctuation", "time"]
    time: int
    key: str | None = None
    km: int = 0
    label: int = 0


def feed(windower: Windower, item: Item) -> list[Event]:
    if item.kind == "tuple":
        return windower.arrive(item.key, item.time, {"km": item.km, "label": item.label})
    return windower.punctuate(item.time, item.key) if item.kind == "punctuation" else windower.advance(item.time)


class Tuple(NamedTuple):
    """A tuple as its key's stream has it: the k-th, after so many punctuations."""

    time: int
    number: int
    punctuations: int
    km: int
    label: int


@dataclass
class Log:
    """All that ever came to one key."""

    tuples: list[Tuple] = field(default_factory=list)
    punctuations: int = 0
    flushed: int = 0
    """How many tuples came before the last trigger of a tumbling window."""
    mark: int | None = None
    """The attribute of the first tuple since the last trigger."""


class Definition:
    """Say for each trigger, from the whole history, what the window holds."""

    def __init__(self, window: Sliding | Tumbling, partitioned: bool) -> None:
        self.window, self.partitioned = window, partitioned
        self.clock: int | None = None
        self.logs: dict[Hashable, Log] = {}
        self.late = 0
        self.found: dict[Hashable, list[tuple[int, list[int]]]] = defaultdict(list)

    def holds(self, log: Log, each: Tuple, clock: int, punctuations: int) -> bool:
        extent = self.window.extent
        if isinstance(self.window, Tumbling):
            return each.number > log.flushed
        if isinstance(extent, TimePolicy):
            return clock - extent.length < each.time <= clock
        if isinstance(extent, CountPolicy):
            return each.number > len(log.tuples) - extent.count
        if isinstance(extent, DeltaPolicy):
            return bool(each.km >= max(other.km for other in log.tuples) - extent.delta)
        assert isinstance(extent, PunctuationPolicy)
        return each.punctuations > punctuations - extent.count

    def trigger(self, key: Hashable, log: Log, clock: int, time: int) -> None:
        content = [each for each in log.tuples if self.holds(log, each, clock, log.punctuations)]
        if content:
            self.found[key].append((time, [each.label for each in sorted(content, key=lambda t: (t.time, t.number))]))
        log.flushed = len(log.tuples)

    def step(self, item: Item) -> None:
        slide, extent = self.window.slide, self.window.extent
        before = item.time if self.clock is None else self.clock
        clock = self.clock = max(before, item.time)
        if isinstance(slide, TimePolicy):
            for end in range(before + 1, clock + 1):
                if (end - slide.offset) % slide.length == 0:
                    for key, log in self.logs.items():
                        self.trigger(key, log, end - 1, end)
        if item.kind == "punctuation":
            for key, log in self.logs.items():
                if item.key is None or not self.partitioned or key == item.key:
                    if isinstance(slide, PunctuationPolicy) and (log.punctuations + 1) % slide.count == 0:
                        self.trigger(key, log, clock, clock)
                    log.punctuations += 1
        if item.kind == "tuple":
            name: Hashable = item.key if self.partitioned else WHOLE
            log = self.logs.get(name, Log())
            new = Tuple(item.time, len(log.tuples) + 1, log.punctuations, item.km, item.label)
            if isinstance(self.window, Tumbling):
                # Its interval is over, if an end lies after its time.
                late = isinstance(extent, TimePolicy) and any(
                    (end - extent.offset) % extent.length == 0 for end in range(item.time + 1, clock + 1)
                )
            else:
                late = not self.holds(Log([*log.tuples, new]), new, clock, log.punctuations)
            if late:
                self.late += 1
                return
            self.logs[name] = log
            if isinstance(slide, DeltaPolicy):
                if log.mark is None:
                    log.mark = item.km
                elif item.km - log.mark > slide.delta:
                    self.trigger(name, log, before, before)
                    log.mark = item.km
            log.tuples.append(new)
            if isinstance(slide, CountPolicy) and len(log.tuples) % slide.count == 0:
                self.trigger(name, log, clock, clock)


lengths = st.integers(1, 12)
policies: st.SearchStrategy[Policy] = st.one_of(
    st.builds(TimePolicy, lengths, st.integers(-3, 3)),
    st.builds(CountPolicy, st.integers(1, 5)),
    st.builds(DeltaPolicy, st.just("km"), st.integers(0, 9)),
    st.builds(PunctuationPolicy, st.integers(1, 3)),
)
windows: st.SearchStrategy[Sliding | Tumbling] = st.one_of(
    st.builds(Sliding, policies, policies), st.builds(Tumbling, policies)
)


@st.composite
def streams(draw: st.DrawFn, ordered: bool = False) -> list[Item]:
    time, km = draw(st.integers(-20, 20)), 0
    stream: list[Item] = []
    for label in range(draw(st.integers(1, 30))):
        time += draw(st.sampled_from([0, 0, 1, 1, 2, 5, 17]))
        km += draw(st.integers(0, 4) if ordered else st.integers(-3, 6))
        late = 0 if ordered else draw(st.sampled_from([0, 0, 0, 1, 3, 8]))
        key = draw(st.sampled_from("ab"))
        kind = draw(st.sampled_from(["tuple"] * 6 + ["punctuation", "time"]))
        if kind == "punctuation":
            stream.append(Item("punctuation", time, draw(st.sampled_from([None, "a", "b"]))))
        elif kind == "time":
            stream.append(Item("time", time))
        else:
            stream.append(Item("tuple", time - late, key, km, label))
    return stream
