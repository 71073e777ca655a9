"""Intervals: what a window is made of."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    """One instance of a window: the half-open stretch `[start, end)`."""

    start: int
    end: int
