"""Many windowed aggregates over the same events for about the cost of one, on Apache Spark."""

import logging

from muntin.aggregate import catalog as agg
from muntin.api import LogicalPlan, optimize
from muntin.distinct import distinct
from muntin.errors import MuntinError
from muntin.from_sql import sql
from muntin.join import WindowJoin, join
from muntin.manager.manager import Manager
from muntin.many import plan
from muntin.physical.statistics import Statistics
from muntin.planned import Plan
from muntin.query import Query, windows
from muntin.window.spec import Window, hopping, tumbling

__version__ = "0.1.0"

# Whoever wants to hear what is decided asks logging for it; nobody else does.
logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = [
    "LogicalPlan",
    "Manager",
    "MuntinError",
    "Plan",
    "Query",
    "Statistics",
    "Window",
    "WindowJoin",
    "agg",
    "distinct",
    "hopping",
    "join",
    "optimize",
    "plan",
    "sql",
    "tumbling",
    "windows",
]
