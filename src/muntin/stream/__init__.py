"""Windows over a stream, without Spark: slices as state, what is late, what is due, what leaves."""
