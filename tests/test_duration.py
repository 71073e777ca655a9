"""Durations: what each form reads as, what is written back, and every refusal by its text."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from muntin.duration import UNITS, format_duration, format_unit, parse_duration, parse_unit
from muntin.errors import DurationError, MuntinError

SECOND = 1_000_000
EXPECTED = (
    "Write a number and a unit, for example '15m', '1h30m', '90 seconds', '250ms' or ISO-8601 'PT1H30M'; "
    "units are w, d, h, m, s, ms, us or their names"
)

# Every spelling of each unit that is read, with its length in seconds.
SPELLINGS: dict[str, Fraction] = {
    spelling: length
    for spellings, length in [
        ("w wk wks week weeks", Fraction(604_800)),
        ("d dd day days", Fraction(86_400)),
        ("h hh hr hrs hour hours", Fraction(3_600)),
        ("m mi min mins n minute minutes", Fraction(60)),
        ("s ss sec secs second seconds", Fraction(1)),
        ("ms milli millis msec msecs millisecond milliseconds", Fraction(1, 1_000)),
        ("us µs μs mcs micro micros microsecond microseconds", Fraction(1, SECOND)),
    ]
    for spelling in spellings.split()
}
iso_numbers = st.integers(0, 999)


@pytest.mark.parametrize(("text", "seconds"), [
    ("90s", 90), ("1 hour", 3600), ("1h30m", 5400), ("250ms", Fraction(1, 4)), ("1h 30m", 5400),
    ("1h, 30m", 5400), ("1 hour 30 minutes", 5400), ("  15m  ", 900), ("0s", 0), ("1.5h", 5400),
    ("0.25s", Fraction(1, 4)), ("2w", 1_209_600), ("1d", 86_400), ("1us", Fraction(1, SECOND)),
    ("1d 12h 30m", 131_400), ("1M", 60), ("1H30M", 5400), ("PT1H30M", 5400), ("P1D", 86_400), ("P1W", 604_800),
    ("P1DT12H", 129_600), ("PT0.25S", Fraction(1, 4)), ("pt15m", 900), ("PT0S", 0), ("PT1.5H", 5400),
])  # fmt: skip
def test_forms(text: str, seconds: Fraction | int) -> None:
    assert parse_duration(text) == seconds * SECOND


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(SPELLINGS)), st.integers(0, 10**6), st.sampled_from(["", " ", "  "]), st.booleans())
def test_every_spelling_of_a_unit(spelling: str, number: int, space: str, upper: bool) -> None:
    text = f"{number}{space}{spelling}"
    # µ has an upper case of its own, which is no unit.
    shouted = text.upper() if upper and spelling.isascii() else text
    assert parse_duration(shouted) == number * SPELLINGS[spelling] * SECOND


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**18))
def test_what_is_written_is_read_back(microseconds: int) -> None:
    assert parse_duration(format_duration(microseconds)) == microseconds


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 10**6), st.sampled_from([name for name in UNITS if name != "week"]))
def test_writing_uses_the_largest_unit_that_divides(number: int, unit: str) -> None:
    written = format_duration(number * UNITS[unit])
    digits = written.rstrip("dhmsu")
    assert int(digits) <= number
    length = SPELLINGS[written[len(digits) :]] * SECOND
    larger = [size for name, size in UNITS.items() if name != "week" and size > length]
    assert not any(number * UNITS[unit] % size == 0 for size in larger)


def test_writing_reads_well() -> None:
    for microseconds, text in [
        (0, "0s"), (1, "1us"), (1_500, "1500us"), (250_000, "250ms"), (90 * SECOND, "90s"),
        (60 * SECOND, "1m"), (5_400 * SECOND, "90m"), (86_400 * SECOND, "1d"), (7 * 86_400 * SECOND, "7d"),
    ]:  # fmt: skip
        assert format_duration(microseconds) == text


@settings(max_examples=60, deadline=None)
@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=10**6)))
def test_timedeltas_are_exact(delta: timedelta) -> None:
    assert timedelta(microseconds=parse_duration(delta)) == delta


@settings(max_examples=60, deadline=None)
@given(iso_numbers, iso_numbers, iso_numbers, iso_numbers, st.integers(0, 999_999))
def test_iso_8601(days: int, hours: int, minutes: int, seconds: int, fraction: int) -> None:
    expected = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, microseconds=fraction)
    text = f"P{days}DT{hours}H{minutes}M{seconds}.{fraction:06d}S"
    assert parse_duration(text) == expected // timedelta(microseconds=1)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9).map(lambda n: 9 * n), st.sampled_from(["hour", "minute", "second", "millisecond"]))
def test_fractions_are_exact(microseconds: int, unit: str) -> None:
    # Only where the unit's decimals end within nine places: those of a third of an hour never do.
    billionths = Fraction(microseconds, UNITS[unit]) * 10**9
    assume(billionths.denominator == 1)
    whole, rest = divmod(billionths.numerator, 10**9)
    assert parse_duration(f"{whole}.{rest:09d} {unit}") == microseconds


def test_a_fraction_that_a_float_would_blur_is_exact() -> None:
    assert parse_duration("9007199254740993us") == 2**53 + 1
    assert parse_duration("9007199254.740993s") == 2**53 + 1


@pytest.mark.parametrize("text", [
    "", " ", "m", "0", "15", "soon", "15m-", "1h30", "+5m", ".5h", "1..5h", "1,5h", "1h;30m",
    "P", "PT", "P1DT", "P1H", "PT1D", "PT1M1H", "P1Y", "P1M", "PT1H 30M", ",", "1m,,2m",
])  # fmt: skip
def test_text_that_is_no_duration(text: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert str(caught.value) == f"cannot read {text!r} as a duration. {EXPECTED}"
    assert isinstance(caught.value, MuntinError)


@pytest.mark.parametrize(("text", "unit"), [("1 month", "month"), ("2 years", "years"), ("1h5x", "x"), ("1e3s", "e")])
def test_unknown_units(text: str, unit: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert str(caught.value) == f"unknown unit {unit!r} in duration {text!r}. {EXPECTED}"


@pytest.mark.parametrize(("text", "first", "part"), [
    ("20m,30m", "20m", "30m"), ("5m 10m", "5m", "10m"), ("30m1h", "30m", "1h"), ("20m, 30m, 40m", "20m", "30m"),
    ("1 hour 5 min, 60 s 9 m", "1hour5min60s", "9m"),
])  # fmt: skip
def test_two_lengths_are_not_added_up(text: str, first: str, part: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert str(caught.value) == (
        f"duration {text!r} has {part} after {first}: within one duration units get smaller, as in '1h30m'. "
        f"Two lengths need a window each, for example `muntin plan -w {first} -w {part}`"
    )


@pytest.mark.parametrize(
    "unit", ["hs", "ds", "ws", "dds", "mss", "uss", "sss", "mis", "mcss", "hhs", "secss", "weekss"]
)
def test_a_plural_is_of_a_word_not_of_a_sign(unit: str) -> None:
    with pytest.raises(DurationError, match=f"unknown unit '{unit}' in duration '10{unit}'"):
        parse_duration(f"10{unit}")
    with pytest.raises(DurationError, match=f"unknown unit '{unit}'"):
        parse_unit(unit)


@pytest.mark.parametrize("unit", ["ns", "NS", "nano", "nanos", "nsec", "nanosecond", "nanoseconds"])
def test_nanoseconds_are_no_minutes_but_refused_in_words(unit: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(f"1h 1000{unit}")
    assert str(caught.value) == (
        f"duration '1h 1000{unit}' is in nanoseconds: muntin counts whole microseconds, as Spark does. "
        "Write it in us, a thousand nanoseconds each"
    )
    with pytest.raises(DurationError, match=f"unit '{unit}' is nanoseconds: muntin counts whole microseconds"):
        parse_unit(unit)


@pytest.mark.parametrize("text", ["-5m", " -1h30m", "-PT1H"])
def test_negative_text(text: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert str(caught.value) == (f"duration {text!r} is negative: ranges, slides and offsets count forward. {EXPECTED}")


def test_negative_timedelta() -> None:
    with pytest.raises(DurationError, match=r"is negative: ranges, slides and offsets count forward$"):
        parse_duration(timedelta(seconds=-1))


@pytest.mark.parametrize("value", [20, 2.5, True, None, b"15m"])
def test_what_is_neither_text_nor_timedelta(value: Any) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(value)
    assert str(caught.value) == f"a duration must be text or a timedelta, got {value!r}. {EXPECTED}"


@pytest.mark.parametrize(("text", "exact"), [("0.5us", "0.5"), ("1.0000001s", "1000000.1"), ("PT0.0000001S", "0.1")])
def test_parts_of_a_microsecond(text: str, exact: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert str(caught.value) == (f"duration {text!r} is {exact} microseconds: muntin counts whole microseconds")


def test_a_huge_part_of_a_microsecond_is_refused_in_the_same_words() -> None:
    with pytest.raises(DurationError, match="muntin counts whole microseconds"):
        parse_duration("9" * 400 + ".5us")


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(SPELLINGS)))
def test_units(spelling: str) -> None:
    assert parse_unit(f" {spelling} ") == SPELLINGS[spelling] * SECOND


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(UNITS)))
def test_a_unit_is_named_and_read_back(name: str) -> None:
    assert format_unit(UNITS[name]) == name
    assert parse_unit(name) == UNITS[name]


def test_a_length_that_is_no_unit_is_written_as_a_duration() -> None:
    assert format_unit(600 * SECOND) == "10m"


def test_unknown_unit_by_itself() -> None:
    with pytest.raises(DurationError) as caught:
        parse_unit("fortnight")
    assert str(caught.value) == (
        "unknown unit 'fortnight': expected one of week, day, hour, minute, second, millisecond, "
        "microsecond, or a short form such as m or ms"
    )
