"""Durations: text such as `"15m"` or `"PT1H"` to exact microseconds, and back."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Final

from muntin.errors import DurationError

# Months and years are left out on purpose: they have no fixed length.
UNITS: Final[dict[str, int]] = {
    "week": 604_800_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_SHORT: Final[dict[str, str]] = {
    "day": "d",
    "hour": "h",
    "minute": "m",
    "second": "s",
    "millisecond": "ms",
    "microsecond": "us",
}
_ALIASES: Final[dict[str, str]] = {
    "w": "week", "wk": "week",
    "d": "day", "dd": "day",
    "h": "hour", "hh": "hour", "hr": "hour",
    "m": "minute", "mi": "minute", "min": "minute", "n": "minute",
    "s": "second", "ss": "second", "sec": "second",
    "ms": "millisecond", "milli": "millisecond", "msec": "millisecond",
    "us": "microsecond", "µs": "microsecond", "μs": "microsecond", "mcs": "microsecond", "micro": "microsecond",
}  # fmt: skip
# English makes plurals of words, not of signs: "hs" is nothing, and "ns" is no minutes of Azure's n.
_PLURALS: Final[dict[str, str]] = {
    **{f"{name}s": name for name in UNITS},
    **{f"{word}s": _ALIASES[word] for word in ("wk", "hr", "min", "sec", "milli", "msec", "micro")},
}
_NANOSECONDS: Final = frozenset({"ns", "nano", "nanos", "nsec", "nsecs", "nanosecond", "nanoseconds"})
_NUMBER: Final = r"\d+(?:\.\d+)?"
_PART: Final = re.compile(rf"\s*({_NUMBER})\s*([a-zµμ]+)\s*,?", re.IGNORECASE)
_ISO: Final = re.compile(
    rf"P(?:({_NUMBER})W)?(?:({_NUMBER})D)?(?:T(?:({_NUMBER})H)?(?:({_NUMBER})M)?(?:({_NUMBER})S)?)?", re.IGNORECASE
)
_EXPECTED: Final = (
    "Write a number and a unit, for example '15m', '1h30m', '90 seconds', '250ms' or ISO-8601 'PT1H30M'; "
    "units are w, d, h, m, s, ms, us or their names"
)


def parse_duration(text: str | timedelta) -> int:
    """Read a duration as exact microseconds; zero is allowed, a sign is not.

    >>> parse_duration("1h30m"), parse_duration("90 seconds"), parse_duration("PT0.25S")
    (5400000000, 90000000, 250000)
    """
    if isinstance(text, timedelta):
        return _from_timedelta(text)
    if not isinstance(text, str):
        msg = f"a duration must be text or a timedelta, got {text!r}. {_EXPECTED}"
        raise DurationError(msg)
    stripped = text.strip()
    if stripped.startswith("-"):
        msg = f"duration {text!r} is negative: ranges, slides and offsets count forward. {_EXPECTED}"
        raise DurationError(msg)
    parts = _iso_parts(stripped) if stripped[:1] in {"P", "p"} else _plain_parts(stripped, text)
    if not parts:
        msg = f"cannot read {text!r} as a duration. {_EXPECTED}"
        raise DurationError(msg)
    total = sum((Fraction(number) * UNITS[unit] for number, unit in parts), Fraction(0))
    if total.denominator != 1:
        exact = Decimal(total.numerator) / total.denominator
        msg = f"duration {text!r} is {exact} microseconds: muntin counts whole microseconds"
        raise DurationError(msg)
    return total.numerator


def parse_unit(text: str) -> int:
    """Read the name of a unit as microseconds.

    >>> parse_unit("minute"), parse_unit("ms")
    (60000000, 1000)
    """
    name = _unit(text.strip())
    if name is None and is_nanosecond(text.strip()):
        msg = f"unit {text!r} is nanoseconds: muntin counts whole microseconds, as Spark does. Take microsecond"
        raise DurationError(msg)
    if name is None:
        msg = f"unknown unit {text!r}: expected one of {', '.join(UNITS)}, or a short form such as m or ms"
        raise DurationError(msg)
    return UNITS[name]


def format_duration(microseconds: int) -> str:
    """Write microseconds as one number of the largest unit up to a day that divides them.

    >>> format_duration(1_200_000_000), format_duration(5_400_000_000), format_duration(0)
    ('20m', '90m', '0s')
    """
    if microseconds == 0:
        return "0s"
    name = next(name for name, size in UNITS.items() if name != "week" and microseconds % size == 0)
    return f"{microseconds // UNITS[name]}{_SHORT[name]}"


def format_unit(microseconds: int) -> str:
    """Name a unit of time: `minute` where it is one, else its length.

    >>> format_unit(60_000_000), format_unit(600_000_000)
    ('minute', '10m')
    """
    return next((name for name, size in UNITS.items() if size == microseconds), format_duration(microseconds))


def is_nanosecond(word: str) -> bool:
    """Tell whether a word names the nanosecond, which is finer than times of events are.

    >>> is_nanosecond("ns"), is_nanosecond("ms")
    (True, False)
    """
    return word.lower() in _NANOSECONDS


def _unit(word: str) -> str | None:
    lowered = word.lower()
    return lowered if lowered in UNITS else _ALIASES.get(lowered) or _PLURALS.get(lowered)


def _plain_parts(stripped: str, text: str) -> list[tuple[str, str]]:
    parts: list[tuple[str, str]] = []
    position = 0
    while position < len(stripped):
        match = _PART.match(stripped, position)
        if match is None:
            return []
        unit = _unit(match[2])
        if unit is None and is_nanosecond(match[2]):
            msg = (
                f"duration {text!r} is in nanoseconds: muntin counts whole microseconds, as Spark does. "
                "Write it in us, a thousand nanoseconds each"
            )
            raise DurationError(msg)
        if unit is None:
            msg = f"unknown unit {match[2]!r} in duration {text!r}. {_EXPECTED}"
            raise DurationError(msg)
        if parts and UNITS[unit] >= UNITS[parts[-1][1]]:
            raise DurationError(_two_lengths(text, stripped[:position], match[1] + match[2]))
        parts.append((match[1], unit))
        position = match.end()
    return parts


def _two_lengths(text: str, before: str, part: str) -> str:
    # Added up, a list of lengths would be one length that nobody asked for.
    first = re.sub(r"[\s,]", "", before)
    return (
        f"duration {text!r} has {part} after {first}: within one duration units get smaller, as in '1h30m'. "
        f"Two lengths need a window each, for example `muntin plan -w {first} -w {part}`"
    )


def _iso_parts(stripped: str) -> list[tuple[str, str]]:
    match = _ISO.fullmatch(stripped)
    if match is None or stripped[-1] in {"T", "t"}:
        return []
    units = ("week", "day", "hour", "minute", "second")
    return [(number, unit) for number, unit in zip(match.groups(), units, strict=True) if number is not None]


def _from_timedelta(delta: timedelta) -> int:
    micros = delta // timedelta(microseconds=1)
    if micros < 0:
        msg = f"duration {delta!r} is negative: ranges, slides and offsets count forward"
        raise DurationError(msg)
    return micros
