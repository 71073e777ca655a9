"""SQL over windows: the dialect of Azure Stream Analytics, and Spark SQL with `window(...)`.

>>> query = parse_sql('''
...     SELECT DeviceID, System.Window().Id, MIN(T) AS MinTemp
...     FROM Input TIMESTAMP BY EntryTime
...     GROUP BY DeviceID, Windows(TumblingWindow(minute, 20), TumblingWindow(minute, 30))
... ''')
>>> query.windows, query.aggregates[0].function
((tumbling('20m'), tumbling('30m')), 'min')
"""

from muntin.declare.sql.parse import parse_sql
from muntin.declare.sql.query import AggregateCall, Key, Output, SelectQuery

__all__ = ["AggregateCall", "Key", "Output", "SelectQuery", "parse_sql"]
