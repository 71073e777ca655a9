"""The steps of a query, for who leaves one out: what to write between."""

from __future__ import annotations

from typing import Any, Final

_CHAIN: Final = (".over(tumbling('20m'))", ".agg(n=agg.count())", ".plan()", ".run()")
_LACKS: Final = ("the windows are not chosen yet", "the aggregates are not chosen yet", "it is not planned yet")
# After how many steps of the chain a name can be asked for.
_AFTER: Final = {
    "agg": 1,
    "plan": 2, "native": 2, "explain": 2,
    "run": 3, "stream": 3,
    "show": 4, "collect": 4, "toPandas": 4,
}  # fmt: skip


def left_out(given: object, name: str, done: int) -> Any:
    """Refuse an attribute that a later step has, of a value after so many steps; any other as Python does.

    >>> left_out(object(), "plan", 1)
    Traceback (most recent call last):
    ...
    AttributeError: object has no plan(): the aggregates are not chosen yet. Write .agg(n=agg.count()).plan()
    """
    after = _AFTER.get(name, 0)
    if after <= done:
        # Names that copies, pickles and notebooks look up, and what a property itself could not find.
        return object.__getattribute__(given, name)
    msg = f"{type(given).__name__} has no {name}(): {_LACKS[done]}. Write {''.join(_CHAIN[done:after])}.{name}()"
    raise AttributeError(msg)
