"""What changed between the query that wrote a checkpoint and the one that reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMED: Final = {
    "keys": "the keys",
    "windows": "the windows",
    "aggregates": "the aggregates",
    "lanes": "the partials that aggregates keep",
    "pane": "the width of the panes, in microseconds",
    "buckets": "the number of buckets (stream(buckets=...), by default from spark.sql.shuffle.partitions)",
    "mode": "the output mode",
    "version": "the version of the state",
}


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Say which parts of a plan differ.

    >>> difference({"keys": ["a"], "mode": "append"}, {"keys": ["a", "b"], "mode": "append"})[:82]
    "the checkpoint belongs to another query: the keys were ['a'] and are ['a', 'b']. G"
    """
    parts = []
    for name in dict.fromkeys([*before, *now]):
        old, new = before.get(name), now.get(name)
        if old == new:
            continue
        what = _NAMED.get(name, name)
        verb = (
            ("was", "is") if name in ("buckets", "mode", "pane", "version") or what.endswith(")") else ("were", "are")
        )
        if isinstance(old, list) and isinstance(new, list) and name in ("windows", "aggregates"):
            gone = [each for each in old if each not in new]
            come = [each for each in new if each not in old]
            words = [f"without {', '.join(map(str, gone))}"] * bool(gone) + [
                f"with {', '.join(map(str, come))}"
            ] * bool(come)
            parts.append(f"{what} changed ({' and '.join(words) or 'their order'})")
        else:
            parts.append(f"{what} {verb[0]} {old} and {verb[1]} {new}")
    found = "; ".join(parts) or "nothing that is named"
    return (
        f"the checkpoint belongs to another query: {found}. "
        "Go on with the query that wrote it, or start this one with a new checkpoint"
    )
