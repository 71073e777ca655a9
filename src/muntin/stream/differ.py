"""What changed between the query that wrote a checkpoint and the one that reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_NAMED: Final = {
    "keys": "the keys",
    "windows": "the windows",
    "aggregates": "the aggregates",
    "inputs": "what aggregates read",
    "lanes": "the partials that aggregates keep",
    "events": "the types of what aggregates in Python read",
    "outputs": "the columns of the result",
    "pane": "the width of the panes, in microseconds",
    "buckets": "the number of buckets (stream(buckets=...), by default from spark.sql.shuffle.partitions)",
    "mode": "the output mode",
    "version": "the version of the state",
    "manager": "the version of the manager's state",
    "input": "the input",
    "time": "the time of the events",
    "closed": "the end of a window that belongs to it",
    "where": "the WHERE",
    "having": "the HAVING",
    "watermark": "the watermark",
    "output": "the output",
    "format": "the format of the output",
}
_MANY: Final = frozenset({"keys", "windows", "aggregates", "lanes", "events", "outputs"})
# Of lists of these it is said what went and what came.
_LISTED: Final = frozenset({"windows", "aggregates", "inputs", "outputs"})
# Columns with their types, told one by one.
_COLUMNS: Final = frozenset({"schema", "columns"})
ADVICE: Final = "Go on with the query that wrote it, or start this one with a new checkpoint"


def difference(before: Mapping[str, Any], now: Mapping[str, Any], advice: str = ADVICE) -> str:
    """Say which parts of a plan differ, and what to do.

    >>> difference({"keys": ["a"], "mode": "append"}, {"keys": ["a", "b"], "mode": "append"})[:82]
    "the checkpoint belongs to another query: the keys were ['a'] and are ['a', 'b']. G"
    """
    parts: list[str] = []
    for name in dict.fromkeys([*before, *now]):
        old, new = before.get(name), now.get(name)
        if old == new:
            continue
        if name == "columns" and parts:
            # The columns of the state follow from keys and aggregates, of which more was said already.
            continue
        what = _NAMED.get(name, name)
        if name in _COLUMNS:
            parts += columns(old or (), new or ())
        elif name in _LISTED and isinstance(old, list) and isinstance(new, list):
            parts.append(f"{what} changed ({_changes(old, new)})")
        else:
            were, are = ("were", "are") if name in _MANY else ("was", "is")
            parts.append(f"{what} {were} {_said(old)} and {are} {_said(new)}")
    found = "; ".join(parts) or "nothing that is named"
    return f"the checkpoint belongs to another query: {found}. {advice}"


def columns(before: Sequence[Sequence[Any]], now: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Say, column by column, how names and types differ.

    >>> list(columns([["v", "bigint"], ["w", "int"]], [["v", "string"], ["x", "int"]]))
    ['column v was bigint and is string now', 'column w is gone', 'column x is new']
    """
    old, new = ({name: kind for name, kind in several} for several in (before, now))
    for name, kind in old.items():
        if name not in new:
            yield f"column {name} is gone"
        elif new[name] != kind:
            yield f"column {name} was {kind} and is {new[name]} now"
    yield from (f"column {name} is new" for name in new if name not in old)


def _changes(old: list[Any], new: list[Any]) -> str:
    gone = [str(each) for each in old if each not in new]
    come = [str(each) for each in new if each not in old]
    words = [f"without {', '.join(gone)}"] * bool(gone) + [f"with {', '.join(come)}"] * bool(come)
    return " and ".join(words) or "their order"


def _said(value: Any) -> str:
    return "not there" if value is None else str(value)
