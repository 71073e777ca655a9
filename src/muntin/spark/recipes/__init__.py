"""How Spark computes each aggregate: from events, by partials, and by NumPy kernels."""
