"""Every columnar operator by the name of its aggregate and the types of the columns it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from muntin.aggregate import totals
from muntin.aggregate.names import resolve
from muntin.errors import AggregateError
from muntin.incremental import columnar_extrema, columnar_moments, columnar_totals

if TYPE_CHECKING:
    from muntin.aggregate.algebra import AggregateFunction
    from muntin.incremental.columnar_operator import ColumnarOperator

_NUMBERS = ("int64", "float64")
_ARGUMENTS = ("int64", "float64", "bool")

# The types that each column of an aggregate may have.
_TAKES: dict[str, tuple[tuple[str, ...], ...]] = {
    "count": (),
    "sum": (_NUMBERS,),
    "avg": (_NUMBERS,),
    "geometric_mean": (_NUMBERS,),
    "variance": (_NUMBERS,),
    "var_pop": (_NUMBERS,),
    "stddev": (_NUMBERS,),
    "stddev_pop": (_NUMBERS,),
    "min": (_NUMBERS,),
    "max": (_NUMBERS,),
    "range": (_NUMBERS,),
    "min_count": (_NUMBERS,),
    "max_count": (_NUMBERS,),
    "any": (("bool",),),
    "all": (("bool",),),
    "arg_min": (_NUMBERS, _ARGUMENTS),
    "arg_max": (_NUMBERS, _ARGUMENTS),
}


def columnar(aggregate: str | AggregateFunction, *dtypes: str | np.dtype[Any]) -> ColumnarOperator:
    """Find the columnar operator of an aggregate over columns of the given types.

    >>> columnar("mean", "float64"), columnar("count"), columnar("arg_max", "float64", "int64")
    (<columnar avg(float64)>, <columnar count()>, <columnar arg_max(float64, int64)>)
    >>> columnar("sum", "float32")
    Traceback (most recent call last):
    ...
    muntin.errors.AggregateError: columnar `sum` takes int64 or float64, got float32. Cast the columns, for example ...
    """
    function = resolve(aggregate)
    if function.name not in _TAKES:
        msg = f"`{function.name}` has no columnar form: vectors over keys exist for {', '.join(sorted(_TAKES))}"
        raise AggregateError(msg)
    takes = _TAKES[function.name]
    types = [np.dtype(dtype) for dtype in dtypes]
    if len(types) != len(takes) or any(str(got) not in legal for got, legal in zip(types, takes, strict=True)):
        wanted = " and ".join(" or ".join(legal) for legal in takes) or "no column type"
        got = " and ".join(map(str, types)) or "none"
        msg = f"columnar `{function.name}` takes {wanted}, got {got}. Cast the columns, for example .astype('float64')"
        raise AggregateError(msg)
    return _build(function.name, types)


def _build(name: str, types: list[np.dtype[Any]]) -> ColumnarOperator:
    if name == "count":
        return columnar_totals.count()
    if name in ("sum", "avg"):
        function = totals.SUM if name == "sum" else totals.AVG
        floats = types[0].kind == "f"
        return columnar_totals.sum_floats(function) if floats else columnar_totals.sum_integers(function)
    if name == "geometric_mean":
        return columnar_totals.geometric_mean(types[0])
    if name in ("any", "all"):
        return columnar_extrema.any_true() if name == "any" else columnar_extrema.all_true()
    if name in ("arg_min", "arg_max"):
        return columnar_extrema.argument(types[0], types[1], largest=name == "arg_max")
    if name in columnar_extrema.EXTREMA:
        return columnar_extrema.EXTREMA[name](types[0])
    return columnar_moments.spread(name, types[0])
