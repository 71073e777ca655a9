"""What the optimizer refuses, by the text of the refusal: what is wrong, why, and what to do."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from muntin import Window, agg, optimize, tumbling
from muntin.errors import AggregateError, DurationError, MuntinError, OptimizeError, WindowError

PLAIN = [Window(20, 20), Window(30, 30)]
TIMED = [tumbling("20m"), tumbling("30m")]


@pytest.mark.parametrize("optimizer", ["mincost", "factor", "exact"])
@pytest.mark.parametrize("functions", [agg.median, "median", [agg.median, agg.count_distinct]])
def test_holistic_aggregates_alone(functions: Any, optimizer: Any) -> None:
    message = r"`median` cannot be shared between windows: it has no bounded partial\. Use .* or pass share=False"
    with pytest.raises(AggregateError, match=message):
        optimize(PLAIN, functions, optimizer=optimizer)


@pytest.mark.parametrize("optimizer", ["none", "auto"])
def test_holistic_aggregates_where_no_sharing_was_asked_for(optimizer: Any) -> None:
    plan = optimize(PLAIN, agg.median, optimizer=optimizer)
    assert plan.cost == plan.baseline_cost


@pytest.mark.parametrize("functions", [agg.median, [agg.min, agg.median]])
def test_holistic_aggregates_where_sharing_was_asked_for(functions: Any) -> None:
    with pytest.raises(AggregateError, match="`median` cannot be shared between windows"):
        optimize(PLAIN, functions, sharing="partitioned")


@pytest.mark.parametrize("functions", [agg.sum, "total", [agg.min, agg.sum]])
@pytest.mark.parametrize("optimizer", ["mincost", "factor", "exact", "auto"])
def test_overlapping_covers_for_what_adds_up(functions: Any, optimizer: Any) -> None:
    message = (
        r"`sum` cannot be shared under 'covered': where a parent's intervals overlap, an event would count "
        r"more than once\. Use sharing='partitioned', or leave it out"
    )
    with pytest.raises(AggregateError, match=message):
        optimize(PLAIN, functions, optimizer=optimizer, sharing="covered")


@pytest.mark.parametrize("optimizer", ["fastest", "", None, "MINCOST"])
def test_unknown_optimizer(optimizer: Any) -> None:
    message = rf"optimizer must be one of 'none', 'mincost', 'factor', 'exact', 'auto', got {optimizer!r}"
    with pytest.raises(OptimizeError, match=message):
        optimize(PLAIN, agg.min, optimizer=optimizer)


@pytest.mark.parametrize("rate", [0, -1, "x", math.nan, math.inf, -0.5, "1/0", None, True, "", Fraction(0)])
def test_bad_rate(rate: Any) -> None:
    message = r"rate must be a positive number of events per unit, such as 1, 100 or '3/2', got "
    with pytest.raises(OptimizeError, match=message) as caught:
        optimize(PLAIN, agg.min, rate=rate)
    assert str(caught.value).endswith(repr(rate))


@pytest.mark.parametrize("rate", [1, 2.0, 0.1, "3/2", " 7 ", "1e3", Fraction(1, 3), 10**30])
def test_good_rates_are_exact(rate: Any) -> None:
    window = Window(30, 30)
    assert optimize([window], agg.min, rate=rate, optimizer="none").cost == 30 * Fraction(str(rate).strip())


@pytest.mark.parametrize("unit", [7, 0, -1, 60])
def test_unit_that_does_not_divide(unit: int) -> None:
    message = rf"unit {unit} does not divide every range, slide and distance .* Use a unit that divides 10$"
    with pytest.raises(OptimizeError, match=message):
        optimize(PLAIN, agg.min, unit=unit)


def test_unit_that_does_not_divide_durations() -> None:
    with pytest.raises(OptimizeError, match=r"unit hour does not divide .*tumbling\('20m'\).* that divides 10m$"):
        optimize(TIMED, agg.min, unit="hour")
    with pytest.raises(OptimizeError, match=r"distance between offsets .* Use a unit that divides 5$"):
        optimize([Window(20, 20), Window(30, 30, 5)], agg.min, unit=10)


@pytest.mark.parametrize("unit", [2.0, 1.5, True, math.nan, [1], Fraction(5)])
def test_unit_that_is_no_whole_number(unit: Any) -> None:
    for windows in (PLAIN, TIMED):
        with pytest.raises(OptimizeError, match="unit must be a whole number, or a name such as 'minute'"):
            optimize(windows, agg.min, unit=unit)


def test_unit_by_name() -> None:
    with pytest.raises(OptimizeError, match=r"unit 'minute' goes with durations, but Window\(20, 20\) is in plain"):
        optimize(PLAIN, agg.min, unit="minute")
    with pytest.raises(DurationError, match="unknown unit 'fortnight'"):
        optimize(TIMED, agg.min, unit="fortnight")
    assert optimize(TIMED, agg.min, unit="minute").cost == optimize(TIMED, agg.min).cost


@pytest.mark.parametrize(
    ("option", "known"), [("sharing", "'covered', 'partitioned', 'none'"), ("covers", "'dense', 'sparse'")]
)
@pytest.mark.parametrize("value", ["some", "", 3])
def test_unknown_sharing_and_covers(option: str, known: str, value: Any) -> None:
    options: Any = {option: value}
    with pytest.raises(OptimizeError, match=f"{option} must be one of {known}, or None .* got {value!r}"):
        optimize(PLAIN, agg.min, **options)


@pytest.mark.parametrize("period", ["daily", None])
def test_unknown_period(period: Any) -> None:
    with pytest.raises(OptimizeError, match=f"period must be either 'paper' or 'steady', got {period!r}"):
        optimize(PLAIN, agg.min, period=period)


def test_window_sets() -> None:
    with pytest.raises(WindowError, match=r"the window set is empty: declare at least one window"):
        optimize([], agg.min)
    with pytest.raises(
        WindowError, match=r"window id 'tumbling_20' stands twice: .* Give each window an id of its own"
    ):
        optimize([Window(20, 20), Window(20, 20)], agg.min)
    with pytest.raises(WindowError, match=r"window id 'a' stands twice"):
        optimize([Window(20, 20, id="a"), Window(30, 30, id="a")], agg.min)
    with pytest.raises(WindowError, match=r"cannot stand in one set: one counts microseconds, the other a plain unit"):
        optimize([Window(20, 20), tumbling("20m")], agg.min)
    with pytest.raises(WindowError, match=r"expected a window such as .* got 20"):
        optimize([20], agg.min)  # type: ignore[list-item]


def test_aggregates() -> None:
    with pytest.raises(
        AggregateError, match=r"unknown aggregate 'medain'\. Did you mean `median`\? Known are all, any"
    ):
        optimize(PLAIN, "medain")
    with pytest.raises(AggregateError, match=r"there is no aggregate: name at least one, for example agg\.min"):
        optimize(PLAIN, [])
    with pytest.raises(AggregateError, match=r"expected an aggregate or the name of one, got .* Write agg\.min"):
        optimize(PLAIN, min)  # type: ignore[arg-type]


def test_every_refusal_is_a_muntin_error_and_a_value_error() -> None:
    for error in (OptimizeError, AggregateError, WindowError, DurationError):
        assert issubclass(error, MuntinError)
        assert issubclass(error, ValueError)
