"""The cost model: how many items each window reads over one period (factor-windows III-B)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from muntin.duration import UNITS, format_unit, parse_unit
from muntin.errors import OptimizeError
from muntin.window.slices import common_measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.window.spec import Window

Number: TypeAlias = int | Fraction
Period: TypeAlias = Literal["paper", "steady"]
_UNITS_DOWN: Final = [size for name, size in UNITS.items() if name != "week"]


@dataclass(frozen=True, slots=True)
class CostModel:
    """Count the items that windows read over a period: events, or intervals of a parent.

    `period` is the least common multiple of the ranges. The paper counts the intervals that fit in one such
    period; with `steady` the count is the long-run one, which charges a single 24 h window sliding by a
    minute for every firing and not for one.

    >>> from muntin import Window
    >>> model = cost_model([Window(20, 20), Window(30, 30), Window(40, 40)])
    >>> model.period, model.instances(Window(10, 10)), model.from_events(Window(30, 30))
    (120, 12, 120)
    """

    period: int
    rate: Number
    unit: int
    steady: bool = False

    def instances(self, window: Window) -> Number:
        """Count how often a window recurs over the period: n_i of Equation 1, exactly.

        Where the slide does not divide the range the count is a fraction: its whole part is the number of
        intervals that fit, and it grows by exactly one every slide.

        >>> from muntin import Window
        >>> cost_model([Window(5, 3)]).instances(Window(5, 3)), CostModel(12, 1, 1).instances(Window(5, 3))
        (1, Fraction(10, 3))
        """
        span = self.period if self.steady else self.period - window.range + window.slide
        return exact(span, window.slide)

    def events(self, window: Window) -> Number:
        """Count the events in one interval: the instance cost without sharing."""
        return exact(self.rate * window.range, self.unit)

    def from_events(self, window: Window) -> Number:
        """Cost of computing a window from the events: n_i times rate times range."""
        return self.instances(window) * self.events(window)

    def from_parent(self, window: Window, count: int) -> Number:
        """Cost of computing a window from `count` intervals of a parent each time (Observation 1)."""
        return self.instances(window) * count


def cost_model(
    windows: Sequence[Window],
    *,
    rate: float | str | Fraction = 1,
    unit: int | str | None = None,
    period: Period = "paper",
) -> CostModel:
    """Build the model of a window set; `rate` is the number of events per `unit`.

    The unit of durations is by default the longest of day, hour, minute, ... that divides every range, slide
    and distance between offsets; that of plain integers is 1.

    >>> from muntin import tumbling
    >>> cost_model([tumbling("20m"), tumbling("1h")], rate="3/2").unit
    60000000
    """
    if period not in ("paper", "steady"):
        msg = f"period must be either 'paper' or 'steady', got {period!r}"
        raise OptimizeError(msg)
    spans = [w.range for w in windows] + ([w.slide for w in windows] if period == "steady" else [])
    return CostModel(math.lcm(*spans), read_rate(rate), read_unit(windows, unit), steady=period == "steady")


def read_rate(rate: float | str | Fraction) -> Number:
    """Read a rate exactly: a whole number, a fraction such as `"3/2"`, or a decimal as it is written.

    >>> read_rate(0.1), read_rate("3/2"), read_rate(2.0)
    (Fraction(1, 10), Fraction(3, 2), 2)
    """
    try:
        value = Fraction(str(rate).strip()) if not isinstance(rate, bool) else None
    except (ValueError, ZeroDivisionError):
        value = None
    if value is None or value <= 0:
        msg = f"rate must be a positive number of events per unit, such as 1, 100 or '3/2', got {rate!r}"
        raise OptimizeError(msg)
    return simplified(value)


def read_unit(windows: Sequence[Window], unit: int | str | None) -> int:
    """Find the unit of time, and check that it divides what it must."""
    base = common_measure(windows)
    if unit is None:
        return next(size for size in _UNITS_DOWN if base % size == 0) if windows[0].timed else 1
    if isinstance(unit, str):
        if not windows[0].timed:
            msg = f"unit {unit!r} goes with durations, but {windows[0]!r} is in plain integers: its unit is 1"
            raise OptimizeError(msg)
        size = parse_unit(unit)
    elif isinstance(unit, int) and not isinstance(unit, bool):
        size = unit
    else:
        msg = f"unit must be a whole number, or a name such as 'minute' for durations, got {unit!r}"
        raise OptimizeError(msg)
    if size <= 0 or base % size:
        odd = next((w for w in windows if size > 0 and (w.range % size or w.slide % size)), windows[0])
        shown = format_unit(size) if windows[0].timed else str(size)
        msg = (
            f"unit {shown} does not divide every range, slide and distance between offsets of the windows "
            f"({odd!r} for one). Use a unit that divides {windows[0].text(base)}"
        )
        raise OptimizeError(msg)
    return size


def exact(numerator: Number, denominator: Number) -> Number:
    """Divide without rounding: an int where it comes out even, else a Fraction.

    >>> exact(6, 3), exact(Fraction(1, 2), 3)
    (2, Fraction(1, 6))
    """
    if isinstance(numerator, int) and isinstance(denominator, int):
        quotient, rest = divmod(numerator, denominator)
        return Fraction(numerator, denominator) if rest else quotient
    return simplified(Fraction(numerator) / denominator)


def simplified(value: Number) -> Number:
    """Turn a Fraction that is whole into an int."""
    return value.numerator if value.denominator == 1 else value
