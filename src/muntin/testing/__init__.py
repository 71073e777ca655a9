"""What helps to test aggregates and plans."""

from muntin.testing.check import check_aggregate

__all__ = ["check_aggregate"]
