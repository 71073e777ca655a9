"""Queries registered, suspended, resumed and dropped while a stream runs."""
