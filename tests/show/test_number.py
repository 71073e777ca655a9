from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.show.number import number, percent, times, within


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (1_234, "1,234"),
        (10**15 - 1, "999,999,999,999,999"),
        (10**15, "1.00e15"),
        (123_456 * 10**40, "1.23e45"),
        (9_996 * 10**40, "1.00e44"),
        (Fraction(10, 3), "10/3"),
        (Fraction(6, 3), "2"),
        (Fraction(1_234_567, 1_000), "1,234.57"),
        (Fraction(1, 3_000_000), "1/3000000"),
    ],
)
def test_numbers_are_exact_while_short(value: int | Fraction, written: str) -> None:
    assert number(value) == written


def test_numbers_that_python_does_not_write_out() -> None:
    assert number(10**5_000 + 1) == "1.00e5000"
    assert number(Fraction(10**5_000, 3)) == "3.33e4999"
    assert number(Fraction(3, 10**5_000)) == "3.00e-5000"


def test_fewer_digits_can_be_asked_for() -> None:
    assert (number(999_999, 6), number(1_000_000, 6)) == ("999,999", "1.00e6")


@given(st.integers(0, 10**15 - 1))
def test_short_integers_can_be_read_back(value: int) -> None:
    assert int(number(value).replace(",", "")) == value


@given(st.integers(10**15, 10**60))
def test_long_integers_are_within_half_a_percent(value: int) -> None:
    assert abs(Fraction(number(value)) - value) <= Fraction(value, 200)


@pytest.mark.parametrize(
    ("part", "whole", "written"),
    [
        (210, 360, "58.3 %"),
        (0, 7, "0 %"),
        (1, 1, "100 %"),
        (1, 10**600, "under 0.1 %"),
        (10**600 - 1, 10**600, "over 99.9 %"),
        (999, 1000, "99.9 %"),
        (9991, 10000, "over 99.9 %"),
        (7 * 10**600, 10**601 * 2, "35 %"),
    ],
    ids=["some", "none", "all", "little", "most", "tenth", "nearly", "long"],
)
def test_shares_never_round_to_all_or_nothing(part: int, whole: int, written: str) -> None:
    assert percent(part, whole) == written


def test_ratios() -> None:
    assert times(360, 150) == "2.4x"
    assert times(289, 28) == "10x"
    assert times(10**900, 7) == "1.43e899x"
    assert times(Fraction(10, 3), Fraction(5, 3)) == "2.0x"


def test_a_gap_is_said_as_the_distance_above_the_optimum_and_rounded_up() -> None:
    assert within(0.0) == "proved optimal"
    assert within(1e-12) == "within 0.1 % of optimal"
    assert within(0.5) == "within 100.0 % of optimal"
    assert within(1.0) == ""
