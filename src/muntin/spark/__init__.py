"""Everything that touches Spark: the plan written by hand, and ours."""
