"""What helps to test aggregates and plans."""

from muntin.testing.check import check_aggregate
from muntin.testing.evaluate import Evaluation, count_reads, evaluate, from_scratch

__all__ = ["Evaluation", "check_aggregate", "count_reads", "evaluate", "from_scratch"]
