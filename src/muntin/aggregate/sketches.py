"""Sketches as declared kinds: what they allow is known here, what they compute is left to Spark."""

from __future__ import annotations

from muntin.aggregate.algebra import AggregateFunction, Unavailable


def _sketch(
    name: str, method: str, *, overlap_tolerant: bool, parameters: tuple[tuple[str, object], ...]
) -> AggregateFunction:
    elsewhere = Unavailable(
        f"`{name}` is computed by Spark's {method} sketch and has no Python form. Run the plan on Spark, "
        "or use an exact aggregate here"
    )
    return AggregateFunction(
        name=name,
        kind="algebraic",
        lift=elsewhere,
        combine=elsewhere,
        lower=elsewhere,
        identity=None,  # the empty sketch is Spark's to make
        commutative=True,
        overlap_tolerant=overlap_tolerant,
        sketch=True,
        parameters=parameters,
    )


# Sets: HLL keeps the largest ranks, theta the smallest hashes. A value seen twice changes nothing.
APPROX_DISTINCT = _sketch("approx_distinct", "HLL", overlap_tolerant=True, parameters=(("lg_k", 12),))
THETA = _sketch("theta", "theta", overlap_tolerant=True, parameters=(("lg_k", 12),))

# A sketch of ranks: a value seen twice weighs twice.
APPROX_QUANTILE = _sketch("approx_quantile", "KLL", overlap_tolerant=False, parameters=(("q", 0.5), ("k", 200)))
