"""Floats ranked as integers: the order of Spark, and the way back."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from muntin.aggregate.extrema import below
from muntin.kernels.ordered import floats_in_place, ranks


@given(st.floats(), st.floats())
def test_ranks_are_in_the_order_of_spark(x: float, y: float) -> None:
    first, second = ranks(np.array([x, y])).tolist()
    if below(x, y):
        assert first < second
    elif below(y, x):
        assert second < first


@given(st.lists(st.floats()))
def test_the_way_back_gives_the_same_floats(values: list[float]) -> None:
    floats = np.array(values, np.float64)
    found = ranks(floats)
    floats_in_place(found)
    np.testing.assert_array_equal(found.view(np.float64), floats)


def test_a_nan_with_its_sign_set_is_the_greatest_too() -> None:
    negative = np.array([-np.nan, np.inf]).copy()
    assert np.signbit(negative[0])
    assert np.argmax(ranks(negative)) == 0
