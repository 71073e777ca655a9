"""When two partials count as equal: exactly, but for the rounding of floats."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from muntin.errors import AggregateError

_TOLERANCE = 1e-9  # of the largest number in play: rounding stays far below it, a wrong formula far above


def close(left: Any, right: Any, *, beside: object = ()) -> bool:
    """Compare two partials, floats within rounding of the largest number in them or in those used beside.

    >>> close((1, 0.1 + 0.2), (1, 0.3)), close((1, 0.3), (2, 0.3))
    (True, False)
    >>> close(1e-5, 0.0), close(1e-5, 0.0, beside=1e6)
    (False, True)
    """
    if type(left) is type(right) and (left == right) is True:
        return True
    return _close(left, right, _TOLERANCE * max(_magnitudes((left, right, beside)), default=0.0))


def _close(left: Any, right: Any, margin: float) -> bool:
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        if not isinstance(left, float) and not isinstance(right, float):
            return left == right
        both_nan = left != left and right != right
        return both_nan or math.isclose(left, right, rel_tol=_TOLERANCE, abs_tol=margin)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(_close, left, right, [margin] * len(left)))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_close(left[key], right[key], margin) for key in left)
    if dataclasses.is_dataclass(left) and type(left) is type(right):
        names = [field.name for field in dataclasses.fields(left)]
        return all(_close(getattr(left, name), getattr(right, name), margin) for name in names)
    try:
        return bool(left == right) or bool(left != left and right != right)
    except ValueError as error:  # arrays compare element by element
        msg = f"cannot compare partials of type {type(left).__name__} ({error}). Pass a function as equal="
        raise AggregateError(msg) from error


def _magnitudes(value: Any) -> Iterator[float]:
    """Yield the size of every finite number inside nested partials."""
    if isinstance(value, (int, float)):
        if abs(value) < math.inf:
            yield float(min(abs(value), sys.float_info.max))
    elif isinstance(value, (list, tuple, Mapping)):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _magnitudes(part)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _magnitudes(getattr(value, field.name))
