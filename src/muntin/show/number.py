"""Numbers for people: costs of any size, shares and ratios, rounded only when written."""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from muntin.logical.cost import Number

# Costs grow with the least common multiple of the ranges, past what a float can hold, and past the 4,300 digits
# that Python agrees to write out: decimals have neither bound.
_THREE: Final = Context(prec=3, Emax=MAX_EMAX, Emin=MIN_EMIN)
_FORTY: Final = Context(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN)
_SHORT: Final = 9


def number(value: Number, digits: int = 15) -> str:
    """Write a number: exactly while it has at most `digits` digits, else as 1.23e45.

    >>> number(1234567), number(10**44 + 1), number(Fraction(10, 3)), number(Fraction(1234567, 1000))
    ('1,234,567', '1.00e44', '10/3', '1,234.57')
    """
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**digits else _scientific(Fraction(value))
    if value.denominator == 1:
        return number(value.numerator, digits)
    if max(abs(value.numerator), value.denominator) < 10**_SHORT:
        exact = f"{value.numerator}/{value.denominator}"
        if len(exact) <= _SHORT:
            return exact
    if Fraction(1, 100) <= abs(value) < 10**digits:
        return _rounded(value, 2)
    return _scientific(value)


def percent(part: Number, whole: Number) -> str:
    """Write a share in percent; a rest that is there never rounds away.

    >>> percent(210, 360), percent(10**400 - 1, 10**400), percent(1, 10**400), percent(5, 5)
    ('58.3 %', 'over 99.9 %', 'under 0.1 %', '100 %')
    """
    share = Fraction(part) / Fraction(whole) * 100
    if share.denominator == 1:
        return f"{number(share.numerator)} %"
    if share < Fraction(1, 10):
        return "under 0.1 %"
    if Fraction(999, 10) < share < 100:
        return "over 99.9 %"
    return f"{_rounded(share, 1)} %"


def times(many: Number, few: Number) -> str:
    """Write how many times one number is another.

    >>> times(360, 150), times(1000, 3), times(10**400, 1)
    ('2.4x', '333x', '1.00e400x')
    """
    ratio = Fraction(many) / Fraction(few)
    if ratio < 10:
        return f"{_rounded(ratio, 1)}x"
    return f"{number(math.floor(ratio + Fraction(1, 2)), 9)}x"


def within(gap: float) -> str:
    """Say how far above the optimum a plan can be, if no plan saves more than the share `gap` of its cost.

    >>> within(0.0), within(0.01), within(1.0)
    ('proved optimal', 'within 1.1 % of optimal', '')
    """
    if gap <= 0:
        return "proved optimal"
    if gap >= 1:
        return ""
    share = Fraction(gap)
    # Rounded up: a proof may claim too little, never too much.
    tenths = math.ceil(share / (1 - share) * 1000)
    return f"within {number(tenths // 10)}.{tenths % 10} % of optimal"


def _rounded(value: Fraction, places: int) -> str:
    """Write with a fixed number of places, half up, in integers: a Fraction need not fit a float."""
    whole, rest = divmod(math.floor(value * 10**places + Fraction(1, 2)), 10**places)
    return f"{whole:,}.{rest:0{places}}"


def _scientific(value: Fraction) -> str:
    quotient = _THREE.divide(_leading(value.numerator), _leading(value.denominator))
    return f"{quotient:.2e}".replace("e+", "e")


def _leading(value: int) -> Decimal:
    """Take the first 38 or so of the digits: to turn thousands of them into decimals is slow."""
    surplus = max(value.bit_length() - 128, 0)
    return _FORTY.multiply(Decimal(value >> surplus), _FORTY.power(2, surplus))
