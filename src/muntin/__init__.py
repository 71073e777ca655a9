"""Many windowed aggregates over the same events for about the cost of one, on Apache Spark."""

from muntin.errors import MuntinError
from muntin.window.spec import Window, hopping, tumbling

__version__ = "0.1.0"

__all__ = ["MuntinError", "Window", "hopping", "tumbling"]
