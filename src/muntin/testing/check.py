"""Search for counter-examples to what an aggregate claims, and show the smallest."""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from muntin.aggregate.names import resolve
from muntin.errors import AggregateError
from muntin.testing.closeness import close
from muntin.testing.laws import Law, claimed_laws, laws_of_all_values, purity, unclaimed_laws

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from muntin.aggregate.algebra import Aggregate, AggregateFunction

_Events: TypeAlias = tuple[list[Any], ...]  # the inputs that make up the partials a, b, c


@dataclass(frozen=True, slots=True)
class Report:
    """Say which laws held, in how many examples, and which flags could perhaps be claimed besides.

    `hints` are the flags that are not claimed and that no example contradicted: they may hold, or the values
    were too plain to show that they do not.
    """

    function: str
    held: tuple[str, ...]
    hints: tuple[str, ...] = ()
    examples: int = 0

    def __str__(self) -> str:
        if not self.held:
            return f"{self.function}: computed by Spark's sketch, nothing to check in Python"
        text = f"{self.function}: {', '.join(self.held)} hold in {self.examples} examples"
        return text + (f"; not claimed, yet never contradicted: {', '.join(self.hints)}" if self.hints else "")


def check_aggregate(
    function: str | AggregateFunction | Aggregate,
    values: SearchStrategy[Any] | Sequence[Any] | None = None,
    *,
    examples: int = 200,
    seed: int = 0,
    equal: Callable[[Any, Any], bool] | None = None,
) -> Report:
    """Search for counter-examples to the flags that an aggregate claims, and raise the smallest.

    `values` are inputs of `lift`: a Hypothesis strategy or sample values; by default integers or else
    strings, whichever the functions take. Partials are compared by `equal(left, right)`; by default floats
    may differ by rounding, and all else must be equal.

    >>> from muntin.aggregate.catalog import define, sum
    >>> print(check_aggregate(sum))
    sum: purity, identity, nulls, associative, commutative, inverse, lower hold in 200 examples
    >>> halfway = define("halfway", lift=float, combine=lambda x, y: (x + y) / 2, commutative=True)
    >>> check_aggregate(halfway)
    Traceback (most recent call last):
    ...
    muntin.errors.AggregateError: `halfway` claims associative=True, but ... = 0.5 and ... = 0.25 for a = ...
    """
    if examples < 1:
        msg = f"examples must be at least 1, got {examples!r}"
        raise AggregateError(msg)
    checked = resolve(function)
    if checked.sketch:
        return Report(checked.name, ())
    search = _Search(checked, _inputs(checked, values), examples, seed, equal)
    if checked.whole is not None:
        claimed = laws_of_all_values(checked)
        search.run(claimed)
        return Report(checked.name, _labels(claimed), (), examples)
    # Purity first and alone: a combine that changes its operands makes every other observation unreliable.
    # Few examples do, because one that changes them at all changes them nearly always.
    pure, claimed = purity(checked), claimed_laws(checked)
    replace(search, examples=min(examples, 20)).run([pure])
    hints = search.run(claimed, unclaimed_laws(checked))
    return Report(checked.name, _labels([pure, *claimed]), hints, examples)


@dataclass(frozen=True, slots=True)
class _Search:
    function: AggregateFunction
    inputs: SearchStrategy[Any]
    examples: int
    seed: int
    equal: Callable[[Any, Any], bool] | None

    def run(self, claimed: Sequence[Law], unclaimed: Sequence[Law] = ()) -> tuple[str, ...]:
        """Raise the smallest counter-example to a claimed law; name the others that nothing contradicts."""
        from hypothesis import HealthCheck, Phase, find, settings
        from hypothesis import strategies as st
        from hypothesis.errors import NoSuchExample

        open_laws = list(unclaimed)
        broken: list[Law] = []  # the first law found broken: the search shrinks for that one alone

        def contradicts(events: _Events) -> bool:
            if broken:
                return self.objection(broken[0], events) is not None
            open_laws[:] = [law for law in open_laws if self.objection(law, events) is None]
            broken.extend(law for law in claimed if not broken and self.objection(law, events) is not None)
            return bool(broken)

        least = 1 if any(law.label == "purity" for law in claimed) else 0
        partial = st.lists(self.inputs, min_size=least, max_size=3)
        quiet = settings(
            max_examples=self.examples,
            phases=[Phase.generate, Phase.shrink],  # `explain` takes longest, and nobody reads what it finds
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        try:
            events = find(
                st.tuples(partial, partial, partial),
                contradicts,
                settings=quiet,
                random=random.Random(self.seed),
            )
        except NoSuchExample:
            return tuple(law.label for law in open_laws)
        raise AggregateError(self.objection(broken[0], events))

    def objection(self, law: Law, events: _Events) -> str | None:
        """Say how events contradict a law; None if they do not."""
        made = events
        if law.label == "purity":  # a and c of the same events, yet sharing no object with them or each other
            made = copy.deepcopy((events[0], events[1])) + copy.deepcopy((events[0],))
        try:
            partials = [self.partial(part) for part in made]
            left, *right = law.sides(*partials)
            whole = self.partial([event for part in made for event in part])
        except Exception as error:
            problem = f"raises {type(error).__name__}: {error}"
            return f"`{self.function.name}`: {law.left} {problem} for {self.names(law, events)}. {law.remedy}"
        equal = self.equal or functools.partial(close, beside=(events, partials, whole))
        if not right or any(equal(left, side) for side in right):
            return None
        shown = " and ".join(f"{text} = {side!r}" for text, side in zip(law.right, right, strict=True))
        return (
            f"`{self.function.name}` claims {law.claim}, but {law.left} = {left!r} and {shown} "
            f"for {self.names(law, events)}. {law.remedy}"
        )

    def partial(self, events: list[Any]) -> Any:
        """Make a partial of events, without the identity unless there are none: it is itself under test."""
        f = self.function
        if f.whole is not None:
            return events
        return functools.reduce(f.combine, map(f.lift, events)) if events else f.identity

    def names(self, law: Law, events: _Events) -> str:
        """Write how the partials of a counter-example are made."""
        return ", ".join(
            f"{name} = {events[i] if self.function.whole else _formula(events[i])}"
            for i, name in enumerate("abc"[: law.partials])
        )


def _labels(laws: Sequence[Law]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(law.label for law in laws))


def _formula(events: list[Any]) -> str:
    lifted = [f"lift({value!r})" for value in events]
    return functools.reduce(lambda text, one: f"combine({text}, {one})", lifted) if lifted else "identity"


def _inputs(f: AggregateFunction, values: SearchStrategy[Any] | Sequence[Any] | None) -> SearchStrategy[Any]:
    """Make a strategy of inputs: the one given, samples, or the first default that the functions take."""
    try:
        from hypothesis import strategies as st
    except ImportError as error:
        msg = "check_aggregate searches with Hypothesis, which is not installed: pip install hypothesis"
        raise AggregateError(msg) from error
    if isinstance(values, st.SearchStrategy):
        return values
    if isinstance(values, Sequence) and not isinstance(values, str) and len(values):
        return st.sampled_from(values)
    if values is not None:
        msg = f"values must be a Hypothesis strategy or a list of sample inputs, not empty, got {values!r}"
        raise AggregateError(msg)
    if f.arity == 0:
        return st.just(())
    # Few different values, because order and repetition show in ties: fewer still where a tie in one column
    # must meet a difference in another. From one range, so that ties shrink together.
    numbers = st.integers(-5, 5) if f.arity == 1 else st.integers(-1, 1)
    texts = st.text("ab", max_size=2)
    refusals = []
    singles: list[tuple[Any, SearchStrategy[Any]]] = [(1, numbers), ("a", texts)]
    for sample, single in singles:
        value = sample if f.arity == 1 else (sample,) * f.arity
        try:
            if f.whole is not None:
                f.whole([value])
            else:
                f.lower(f.combine(f.lift(value), f.lift(value)))
        except Exception as error:
            refusals.append(f"{value!r} raises {type(error).__name__}: {error}")
        else:
            return single if f.arity == 1 else st.tuples(*[single] * f.arity)
    msg = f"`{f.name}` takes neither integers nor strings: {'; '.join(refusals)}. Pass sample inputs as values="
    raise AggregateError(msg)
