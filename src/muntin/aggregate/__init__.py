"""Aggregates as an algebra: lift, combine, lower, and the laws that say how windows may share them."""
