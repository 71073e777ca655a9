"""Several columnar operators as one, where each component combines by itself: one pass for all of them."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NoReturn

from muntin.aggregate import totals
from muntin.incremental.columnar_operator import ColumnarOperator, by_ufuncs

if TYPE_CHECKING:
    from collections.abc import Sequence


def separable(operator: ColumnarOperator) -> bool:
    """Tell whether an operator's components combine each by itself."""
    return operator.ufuncs is not None


def product(operators: Sequence[ColumnarOperator]) -> ColumnarOperator:
    """Combine partials that stand side by side, each by its own operator.

    >>> import numpy as np
    >>> from muntin.incremental.columnar_catalog import columnar
    >>> both = product([columnar("count"), columnar("max", "int64")])
    >>> [part.name for part in both.components]
    ['n', 'high', 'valid']
    """
    ufuncs = tuple(ufunc for operator in operators for ufunc in operator.ufuncs or ())
    return ColumnarOperator(
        function=totals.COUNT,  # stands for all: nobody lifts or lowers by the product
        inputs=(),
        components=tuple(part for operator in operators for part in operator.components),
        make=_unavailable,
        merge=by_ufuncs(*ufuncs),
        finish=_unavailable,
        ufuncs=ufuncs,
        warns=any(operator.warns for operator in operators),
        exact=all(operator.exact for operator in operators),
    )


def places(operators: Sequence[ColumnarOperator]) -> list[slice]:
    """Say where each operator's components stand in the product."""
    ends = accumulate((len(operator.components) for operator in operators), initial=0)
    return [slice(a, b) for a, b in pairwise(ends)]


def _unavailable(*_: object) -> NoReturn:
    msg = "a product is combined only: lift and lower by its operators"
    raise AssertionError(msg)
